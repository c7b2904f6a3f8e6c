-- The tables, indexes and keys are those of the table.ts files, which `npm run lint` compares. Partitions, functions, triggers and
-- vacuum settings are written by hand.

-- ## Tenants

CREATE TABLE "organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"tenant_id" text NOT NULL,
	"picture_url" text,
	"featured_event_id" text,
	"website_info" jsonb,
	"features" jsonb NOT NULL,
	"legal_policies" jsonb,
	"idle_stop_minutes" integer,
	"has_event_enabled" boolean DEFAULT false NOT NULL,
	"limits" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"group_mappings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_by" text,
	"revision" integer DEFAULT 1 NOT NULL,
	"deleting_at" timestamp (3) with time zone,
	"purge_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
CREATE INDEX "organizations_tenant_id_index" ON "organizations" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "organizations_created_by_index" ON "organizations" USING btree ("created_by");--> statement-breakpoint

CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"deleting_at" timestamp (3) with time zone,
	"purge_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "projects_organizationId_id_unique" UNIQUE("organization_id","id")
);--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "projects_organization_id_created_at_id_index" ON "projects" USING btree ("organization_id","created_at","id");--> statement-breakpoint

-- ## Credentials and builds

CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"display_name" text NOT NULL,
	"is_active" boolean NOT NULL,
	"is_managed_by_provisioner" boolean DEFAULT false NOT NULL,
	"claims" jsonb NOT NULL,
	"permissions" jsonb NOT NULL,
	"fingerprint" text NOT NULL,
	"sealed" text NOT NULL,
	"rotation" integer DEFAULT 0 NOT NULL,
	"previous_fingerprint" text,
	"previous_valid_until" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"allowed_networks" jsonb,
	"ancestor_id" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_keys_fingerprint_unique" UNIQUE("fingerprint"),
	CONSTRAINT "api_keys_previousFingerprint_unique" UNIQUE("previous_fingerprint")
);--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_organization_id_created_at_id_index" ON "api_keys" USING btree ("organization_id","created_at","id");--> statement-breakpoint

CREATE TABLE "revoked_tokens" (
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "revoked_tokens_organization_id_user_id_id_pk" PRIMARY KEY("organization_id","user_id","id")
);--> statement-breakpoint
ALTER TABLE "revoked_tokens" ADD CONSTRAINT "revoked_tokens_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "revoked_tokens_expires_at_index" ON "revoked_tokens" USING btree ("expires_at");--> statement-breakpoint

CREATE TABLE "signing_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"public_jwk" jsonb NOT NULL,
	"sealed" text NOT NULL,
	"generation" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signing_keys_generation_unique" UNIQUE("generation")
);--> statement-breakpoint

CREATE TABLE "builds" (
	"organization_id" text NOT NULL,
	"channel_id" text NOT NULL,
	"tag" text NOT NULL,
	"id" text NOT NULL,
	"image" text NOT NULL,
	"content_id" text NOT NULL,
	"digest" text,
	"probes" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "builds_organization_id_channel_id_tag_pk" PRIMARY KEY("organization_id","channel_id","tag"),
	CONSTRAINT "builds_id_unique" UNIQUE("id")
);--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "builds_organization_id_content_id_created_at_index" ON "builds" USING btree ("organization_id","content_id","created_at");--> statement-breakpoint

-- ## Worlds and their runs

CREATE TABLE "worlds" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"picture_url" text,
	"transient" boolean NOT NULL,
	"compute" jsonb NOT NULL,
	"networking" jsonb NOT NULL,
	"runtime" jsonb NOT NULL,
	"manifest" jsonb NOT NULL,
	"admission" jsonb NOT NULL,
	"sessions" jsonb NOT NULL,
	"state" text DEFAULT 'Stopped' NOT NULL,
	"run_id" text,
	"started_at" timestamp (3) with time zone,
	"program" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"resolved_build" jsonb,
	"started_with" jsonb,
	"granted" jsonb,
	"waits_since" timestamp (3) with time zone,
	"waits_for" text,
	"waits_until" timestamp (3) with time zone,
	"estimated_capacity" integer NOT NULL,
	"run_revision" bigint DEFAULT 0 NOT NULL,
	"phase" text DEFAULT 'Inactive' NOT NULL,
	"address" jsonb,
	"queue_queued" integer,
	"queue_active" integer,
	"queue_reported" jsonb,
	"idle" jsonb,
	"next_action" jsonb,
	"restarts" integer DEFAULT 0 NOT NULL,
	"followed_version" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"cluster" text DEFAULT 'default' NOT NULL,
	"target_cluster" text,
	"revision" bigint DEFAULT 1 NOT NULL,
	"status_message" text DEFAULT '' NOT NULL,
	"conditions" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"metadata" jsonb NOT NULL,
	"applied" jsonb,
	"applied_resource_version" text,
	"resource_uid" text,
	"resource_name" text NOT NULL,
	"refusal" jsonb,
	"push_refusal" text,
	"deleting_at" timestamp (3) with time zone,
	"purge_at" timestamp (3) with time zone,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "worlds_organizationId_projectId_id_unique" UNIQUE("organization_id","project_id","id")
);--> statement-breakpoint
ALTER TABLE "worlds" ADD CONSTRAINT "worlds_organization_id_project_id_projects_organization_id_id_fk" FOREIGN KEY ("organization_id","project_id") REFERENCES "public"."projects"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "worlds_organization_id_resource_name_index" ON "worlds" USING btree ("organization_id","resource_name");--> statement-breakpoint
CREATE INDEX "worlds_organization_id_created_at_id_index" ON "worlds" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "worlds_cluster_index" ON "worlds" USING btree ("cluster") WHERE "worlds"."resource_uid" is not null;--> statement-breakpoint
CREATE INDEX "worlds_purge_at_index" ON "worlds" USING btree ("purge_at") WHERE "worlds"."removed_at" is not null;--> statement-breakpoint
-- Finds the starts that wait for room, the oldest of each organization first.
CREATE INDEX "worlds_organization_id_waits_since_index" ON "worlds" USING btree ("organization_id","waits_since") WHERE "worlds"."waits_since" is not null;--> statement-breakpoint
-- Finds the actions of schedules that are due.
CREATE INDEX "worlds_next_action_at_index" ON "worlds" USING btree (("next_action" ->> 'at') collate "C") WHERE "worlds"."next_action" is not null and "worlds"."deleting_at" is null;--> statement-breakpoint

CREATE TABLE "launch_contexts" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"picture_url" text,
	"is_active" boolean DEFAULT true NOT NULL,
	"is_public" boolean DEFAULT false NOT NULL,
	"is_world_travel_only" boolean DEFAULT false NOT NULL,
	"use_world_sessions" boolean DEFAULT true NOT NULL,
	"details" jsonb NOT NULL,
	CONSTRAINT "launch_contexts_worldId_unique" UNIQUE("world_id")
);--> statement-breakpoint
ALTER TABLE "launch_contexts" ADD CONSTRAINT "launch_contexts_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "launch_contexts_world_id_index" ON "launch_contexts" USING btree ("world_id") WHERE "launch_contexts"."is_public";--> statement-breakpoint

CREATE TABLE "deployments" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"run_id" text NOT NULL,
	"external_id" text NOT NULL,
	"status" text NOT NULL,
	"networking" jsonb NOT NULL,
	"capacity" integer DEFAULT 0 NOT NULL,
	"strategy" text DEFAULT 'Default' NOT NULL,
	"service_ports" integer DEFAULT 2 NOT NULL,
	"compute" jsonb NOT NULL,
	"runtime" jsonb NOT NULL,
	"image" text,
	"started_at" timestamp (3) with time zone,
	"ready_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"end_reason" text,
	"exit_code" integer,
	"woken_by" text,
	"restarts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deployments_world_id_created_at_id_index" ON "deployments" USING btree ("world_id","created_at","id");--> statement-breakpoint
CREATE INDEX "woken_deployments" ON "deployments" USING btree ("woken_by","created_at") WHERE "deployments"."woken_by" is not null;--> statement-breakpoint
CREATE INDEX "open_deployments" ON "deployments" USING btree ("organization_id") WHERE "deployments"."status" not in ('Stopped', 'Error');--> statement-breakpoint

CREATE TABLE "deployment_logs" (
	"deployment_id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"world_id" text NOT NULL,
	"pod_uid" text NOT NULL,
	"content" "bytea" NOT NULL,
	"kept_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
ALTER TABLE "deployment_logs" ADD CONSTRAINT "deployment_logs_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deployment_logs_world_id_kept_at_index" ON "deployment_logs" USING btree ("world_id","kept_at");--> statement-breakpoint

CREATE TABLE "world_events" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"type" text NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"run_id" text
);--> statement-breakpoint
ALTER TABLE "world_events" ADD CONSTRAINT "world_events_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "world_events_world_id_created_at_id_index" ON "world_events" USING btree ("world_id","created_at","id");--> statement-breakpoint

-- ## Bots

CREATE TABLE "bot_deployments" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"world_name" text NOT NULL,
	"description" text NOT NULL,
	"count" integer NOT NULL,
	"cpu" text NOT NULL,
	"memory" text NOT NULL,
	"args" jsonb NOT NULL,
	"duration_minutes" double precision,
	"phase" text DEFAULT 'Pending' NOT NULL,
	"started_at" timestamp (3) with time zone,
	"cluster" text NOT NULL,
	"target_cluster" text,
	"revision" bigint DEFAULT 1 NOT NULL,
	"status_message" text DEFAULT '' NOT NULL,
	"conditions" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"metadata" jsonb NOT NULL,
	"applied" jsonb,
	"applied_resource_version" text,
	"resource_uid" text,
	"resource_name" text NOT NULL,
	"refusal" jsonb,
	"push_refusal" text,
	"deleting_at" timestamp (3) with time zone,
	"purge_at" timestamp (3) with time zone,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD CONSTRAINT "bot_deployments_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bot_deployments_world_id_created_at_id_index" ON "bot_deployments" USING btree ("world_id","created_at","id");--> statement-breakpoint
CREATE INDEX "bot_deployments_organization_id_world_id_index" ON "bot_deployments" USING btree ("organization_id","world_id");--> statement-breakpoint
CREATE INDEX "bot_deployments_organization_id_resource_name_index" ON "bot_deployments" USING btree ("organization_id","resource_name");--> statement-breakpoint
CREATE INDEX "bot_deployments_cluster_index" ON "bot_deployments" USING btree ("cluster") WHERE "bot_deployments"."resource_uid" is not null;--> statement-breakpoint

CREATE TABLE "bot_events" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"type" text NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"run_id" text,
	"bot_deployment_id" text NOT NULL
);--> statement-breakpoint
ALTER TABLE "bot_events" ADD CONSTRAINT "bot_events_bot_deployment_id_bot_deployments_id_fk" FOREIGN KEY ("bot_deployment_id") REFERENCES "public"."bot_deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bot_events_bot_deployment_id_created_at_id_index" ON "bot_events" USING btree ("bot_deployment_id","created_at","id");--> statement-breakpoint

-- ## Documents, and how many each organization has

CREATE TABLE "documents" (
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"type" text NOT NULL,
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"data" jsonb NOT NULL,
	"version" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "documents_organization_id_project_id_world_id_type_id_pk" PRIMARY KEY("organization_id","project_id","world_id","type","id")
);--> statement-breakpoint
ALTER TABLE "documents" ADD CONSTRAINT "documents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "documents_deleted_at_index" ON "documents" USING btree ("deleted_at") WHERE "documents"."deleted_at" is not null;--> statement-breakpoint

CREATE TABLE "kept_documents" (
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"type" text NOT NULL,
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "kept_documents_organization_id_project_id_world_id_type_id_pk" PRIMARY KEY("organization_id","project_id","world_id","type","id")
);--> statement-breakpoint

CREATE TABLE "document_counts" (
	"organization_id" text NOT NULL,
	"slot" integer NOT NULL,
	"documents" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"kept_rows" bigint NOT NULL,
	"kept_bytes" bigint NOT NULL,
	CONSTRAINT "document_counts_organization_id_slot_pk" PRIMARY KEY("organization_id","slot")
);--> statement-breakpoint

-- Adds a change to the counts of an organization. Connections use different slots, so that concurrent writes do not wait for each
-- other. It has the rights of the owner, so a role that writes documents needs none on the counts.
CREATE FUNCTION document_counts_add(organization text, documents bigint, bytes bigint, kept_rows bigint, kept_bytes bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	INSERT INTO document_counts AS c (organization_id, slot, documents, bytes, kept_rows, kept_bytes)
	SELECT organization, pg_backend_pid() % 8, $2, $3, $4, $5 WHERE ($2, $3, $4, $5) IS DISTINCT FROM (0, 0, 0, 0)
	ON CONFLICT (organization_id, slot) DO UPDATE SET documents = c.documents + excluded.documents, bytes = c.bytes + excluded.bytes,
		kept_rows = c.kept_rows + excluded.kept_rows, kept_bytes = c.kept_bytes + excluded.kept_bytes
$$;--> statement-breakpoint

-- One call for each statement and organization: a batch changes a thousand rows. New rows are read from their table, since a
-- transition table has their data as it was before compression. The order of organizations keeps two batches from waiting for each
-- other.
CREATE FUNCTION documents_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, present, bytes, deleted, 0) FROM (
		SELECT d.organization_id, count(*) FILTER (WHERE d.deleted_at IS NULL) AS present,
			coalesce(sum(pg_column_size(d.data)) FILTER (WHERE d.deleted_at IS NULL), 0)::bigint AS bytes,
			count(*) FILTER (WHERE d.deleted_at IS NOT NULL) AS deleted
		FROM new_rows JOIN documents d USING (organization_id, project_id, world_id, type, id)
		GROUP BY d.organization_id ORDER BY d.organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER documents_added AFTER INSERT ON "documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_added();--> statement-breakpoint

-- A change can delete a document, restore it, or give it another size. The version before it is subtracted, and the new one is added.
CREATE FUNCTION documents_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, present, bytes, deleted, 0) FROM (
		SELECT organization_id, coalesce(sum(sign) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS present,
			coalesce(sum(sign * size) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS bytes,
			coalesce(sum(sign) FILTER (WHERE deleted_at IS NOT NULL), 0)::bigint AS deleted
		FROM (
			SELECT d.organization_id, d.deleted_at, pg_column_size(d.data) AS size, 1 AS sign
			FROM new_rows JOIN documents d USING (organization_id, project_id, world_id, type, id)
			UNION ALL
			SELECT organization_id, deleted_at, pg_column_size(data), -1 FROM old_rows
		) each
		GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER documents_changed AFTER UPDATE ON "documents" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_changed();--> statement-breakpoint

-- Erased rows, present and deleted ones.
CREATE FUNCTION documents_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, -present, -bytes, -deleted, 0) FROM (
		SELECT organization_id, count(*) FILTER (WHERE deleted_at IS NULL) AS present,
			coalesce(sum(pg_column_size(data)) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS bytes,
			count(*) FILTER (WHERE deleted_at IS NOT NULL) AS deleted
		FROM old_rows GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER documents_removed AFTER DELETE ON "documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_removed();--> statement-breakpoint

-- The documents that are kept with their deleted world or project.
CREATE FUNCTION kept_documents_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, 0, 0, kept, bytes) FROM (
		SELECT k.organization_id, count(*) AS kept, sum(pg_column_size(k.data))::bigint AS bytes
		FROM new_rows JOIN kept_documents k USING (organization_id, project_id, world_id, type, id)
		GROUP BY k.organization_id ORDER BY k.organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER kept_documents_added AFTER INSERT ON "kept_documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_added();--> statement-breakpoint

-- Those that are restored or erased.
CREATE FUNCTION kept_documents_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, 0, 0, -kept, -bytes) FROM (
		SELECT organization_id, count(*) AS kept, sum(pg_column_size(data))::bigint AS bytes
		FROM old_rows GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER kept_documents_removed AFTER DELETE ON "kept_documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_removed();--> statement-breakpoint
-- An update is a removal and an addition.
CREATE TRIGGER kept_documents_replaced AFTER UPDATE ON "kept_documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_removed();--> statement-breakpoint
CREATE TRIGGER kept_documents_replacing AFTER UPDATE ON "kept_documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_added();--> statement-breakpoint

-- ## Sync with the clusters

CREATE TABLE "clusters" (
	"name" text PRIMARY KEY NOT NULL,
	"pull_term" integer NOT NULL
);--> statement-breakpoint

CREATE TABLE "cluster_states" (
	"name" text PRIMARY KEY NOT NULL,
	"uid" text NOT NULL,
	"version" text NOT NULL,
	"refusal" text,
	"refused_uid" text,
	"refused_at" timestamp (3) with time zone
);--> statement-breakpoint

CREATE TABLE "cluster_containers" (
	"cluster" text NOT NULL,
	"name" text NOT NULL,
	"uid" text NOT NULL,
	CONSTRAINT "cluster_containers_cluster_name_pk" PRIMARY KEY("cluster","name")
);--> statement-breakpoint

CREATE TABLE "held_sweeps" (
	"cluster" text NOT NULL,
	"kind" text NOT NULL,
	"missing" integer NOT NULL,
	"total" integer NOT NULL,
	"examples" jsonb NOT NULL,
	"held_at" timestamp (3) with time zone NOT NULL,
	"accepted" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "held_sweeps_cluster_kind_pk" PRIMARY KEY("cluster","kind")
);--> statement-breakpoint

CREATE TABLE "sync_findings" (
	"id" text PRIMARY KEY NOT NULL,
	"cluster" text NOT NULL,
	"type" text NOT NULL,
	"kind" text NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"uid" text NOT NULL,
	"message" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
CREATE INDEX "sync_findings_cluster_type_created_at_id_index" ON "sync_findings" USING btree ("cluster","type","created_at","id");--> statement-breakpoint

CREATE TABLE "cluster_outbox" (
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"revision" bigint NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"epoch" integer DEFAULT 1 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"cluster" text DEFAULT '' NOT NULL,
	"organization_id" text DEFAULT '' NOT NULL,
	"marked_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"traceparent" text,
	CONSTRAINT "cluster_outbox_id_kind_pk" PRIMARY KEY("id","kind")
);--> statement-breakpoint
CREATE INDEX "cluster_outbox_cluster_organization_id_next_at_index" ON "cluster_outbox" USING btree ("cluster","organization_id","next_at");--> statement-breakpoint

-- Returns the cluster to which the row of a mark is pushed, and its organization. Both are '' if the row does not exist.
CREATE FUNCTION cluster_outbox_place(kind text, id text) RETURNS TABLE (cluster text, organization_id text) LANGUAGE sql STABLE AS $$
	SELECT
		coalesce(w.cluster, b.cluster, CASE $1 WHEN 'organization' THEN split_part($2, '@', 2) END, ''),
		coalesce(w.organization_id, b.organization_id, CASE $1 WHEN 'organization' THEN split_part($2, '@', 1) END, '')
	FROM (VALUES (1)) AS one
	LEFT JOIN worlds w ON $1 = 'world' AND w.id = $2
	LEFT JOIN bot_deployments b ON $1 = 'bot' AND b.id = $2
$$;--> statement-breakpoint

-- Writes the cluster and the organization to each new mark, so that no path to a mark can miss them.
CREATE FUNCTION cluster_outbox_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	SELECT place.cluster, place.organization_id INTO STRICT NEW.cluster, NEW.organization_id
	FROM cluster_outbox_place(NEW.kind, NEW.id) AS place;
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER cluster_outbox_insert BEFORE INSERT ON "cluster_outbox"
	FOR EACH ROW EXECUTE FUNCTION cluster_outbox_insert();--> statement-breakpoint

-- ## Change records of realtime

-- Partitions by time are created in advance, and dropped when their records are old (api/platform/database/partitions).
CREATE TABLE "realtime_changes" (
	"xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"type" text NOT NULL,
	"id" text NOT NULL,
	"version" timestamp (3) with time zone NOT NULL,
	"user_id" text NOT NULL,
	"data" jsonb
) PARTITION BY RANGE ("at");--> statement-breakpoint
CREATE INDEX "realtime_changes_xid_index" ON "realtime_changes" USING btree ("xid");--> statement-breakpoint

-- Stores the records for which there is no partition yet.
CREATE UNLOGGED TABLE "realtime_changes_default" PARTITION OF "realtime_changes" DEFAULT;--> statement-breakpoint

-- Larger data is read from its row by those who need it. The limit is that of api/realtime/service.ts.
CREATE FUNCTION realtime_record_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, NEW.project_id, NEW.world_id, NEW.type, NEW.id, NEW.version, NEW.user_id,
		CASE WHEN pg_column_size(NEW.data) <= 8192 THEN NEW.data END);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_documents AFTER INSERT OR UPDATE ON "documents"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_document();--> statement-breakpoint

-- A status is read from the row, because it depends on more than the columns of a change. Only a deletion has data. The version grows with
-- each change, also if the clock goes back.
CREATE FUNCTION realtime_record_world() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.followed_version := date_trunc('milliseconds', clock_timestamp());
	IF TG_OP = 'UPDATE' THEN
		NEW.followed_version := greatest(NEW.followed_version, OLD.followed_version + interval '1 millisecond');
	END IF;
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, NEW.project_id, NEW.id, 'world', NEW.id, NEW.followed_version, '',
		CASE WHEN NEW.deleting_at IS NOT NULL THEN '{}'::jsonb END);
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_world_made BEFORE INSERT ON "worlds"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_world();--> statement-breakpoint
-- Every column that a status shows (api/domain/worlds/present.ts), and the name, which the feed of worlds shows too. A deletion and a
-- restoration are recorded; changes of a deleted world are not.
CREATE TRIGGER realtime_world_changed BEFORE UPDATE ON "worlds" FOR EACH ROW
	WHEN ((OLD.deleting_at IS NULL OR NEW.deleting_at IS NULL) AND (
		OLD.phase, OLD.status_message, OLD.address, OLD.idle, OLD.next_action, OLD.conditions, OLD.started_at, OLD.run_id, OLD.resolved_build,
		OLD.started_with, OLD.waits_for, OLD.runtime, OLD.networking, OLD.admission, OLD.compute, OLD.name, OLD.deleting_at
	) IS DISTINCT FROM (
		NEW.phase, NEW.status_message, NEW.address, NEW.idle, NEW.next_action, NEW.conditions, NEW.started_at, NEW.run_id, NEW.resolved_build,
		NEW.started_with, NEW.waits_for, NEW.runtime, NEW.networking, NEW.admission, NEW.compute, NEW.name, NEW.deleting_at
	)) EXECUTE FUNCTION realtime_record_world();--> statement-breakpoint
-- The feed shows labels too. They are large, so only a statement that sets them compares them. The trigger above comes first, and a change
-- that it recorded has another version.
CREATE TRIGGER realtime_world_labelled BEFORE UPDATE OF "metadata" ON "worlds" FOR EACH ROW
	WHEN (OLD.deleting_at IS NULL AND NEW.deleting_at IS NULL AND OLD.followed_version = NEW.followed_version
		AND OLD.metadata -> 'labels' IS DISTINCT FROM NEW.metadata -> 'labels')
	EXECUTE FUNCTION realtime_record_world();--> statement-breakpoint

-- Players come and go all the time. These records are for feeds alone, and keep the version of the status. An update with another version
-- has a record already.
CREATE FUNCTION realtime_record_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, NEW.project_id, NEW.id, 'worldCounts', NEW.id, NEW.followed_version, '', NULL);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_world_counted AFTER UPDATE ON "worlds" FOR EACH ROW
	WHEN (NEW.deleting_at IS NULL AND OLD.followed_version = NEW.followed_version
		AND (OLD.queue_active, OLD.queue_queued, OLD.queue_reported, OLD.restarts)
			IS DISTINCT FROM (NEW.queue_active, NEW.queue_queued, NEW.queue_reported, NEW.restarts))
	EXECUTE FUNCTION realtime_record_counts();--> statement-breakpoint

-- Replicas learn of changed credentials of every kind by their ids, as changes of the type apiKey. An
-- organization and a signing key stand for all of their tokens.
CREATE FUNCTION realtime_record_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (OLD.organization_id, '', '', 'apiKey', OLD.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
-- A fingerprint says nothing about the rights of a key: a rotation of the pepper rewrites all fingerprints.
CREATE TRIGGER "realtime_key_changed" AFTER UPDATE ON "api_keys" FOR EACH ROW
	WHEN ((OLD.is_active, OLD.permissions, OLD.claims, OLD.expires_at, OLD.allowed_networks, OLD.rotation)
		IS DISTINCT FROM (NEW.is_active, NEW.permissions, NEW.claims, NEW.expires_at, NEW.allowed_networks, NEW.rotation))
	EXECUTE FUNCTION realtime_record_key();--> statement-breakpoint
CREATE TRIGGER realtime_key_deleted AFTER DELETE ON "api_keys"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_key();--> statement-breakpoint

-- A revoked token must not wait for its expiry.
CREATE FUNCTION realtime_record_revoked_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, '', '', 'apiKey', NEW.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_token_revoked" AFTER INSERT ON "revoked_tokens"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_revoked_token();--> statement-breakpoint

-- A retired key ends the tokens that it signed.
CREATE FUNCTION realtime_record_signing_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES ('', '', '', 'apiKey', OLD.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_signing_key_retired" AFTER DELETE ON "signing_keys"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_signing_key();--> statement-breakpoint

-- Replicas read the tokens of an organization again when its group mappings change, and when it is deleted or restored.
CREATE FUNCTION realtime_record_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.id, '', '', 'apiKey', NEW.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_organization_changed" AFTER UPDATE ON "organizations" FOR EACH ROW
	WHEN ((OLD.group_mappings, OLD.deleting_at) IS DISTINCT FROM (NEW.group_mappings, NEW.deleting_at))
	EXECUTE FUNCTION realtime_record_organization();--> statement-breakpoint

-- ## Webhooks

CREATE TABLE "webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"url" text NOT NULL,
	"events" jsonb NOT NULL,
	"is_active" boolean NOT NULL,
	"sealed" text NOT NULL,
	"previous_sealed" text,
	"previous_valid_until" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhooks_organizationId_id_unique" UNIQUE("organization_id","id")
);--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhooks_organization_id_created_at_id_index" ON "webhooks" USING btree ("organization_id","created_at","id");--> statement-breakpoint

CREATE TABLE "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" text NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"status" text DEFAULT 'Pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"claimed_until" timestamp (3) with time zone,
	"last_attempt_at" timestamp (3) with time zone,
	"status_code" integer,
	"failure" text,
	"created_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organization_id_webhook_id_webhooks_organization_id_id_fk" FOREIGN KEY ("organization_id","webhook_id") REFERENCES "public"."webhooks"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_webhook_id_created_at_id_index" ON "webhook_deliveries" USING btree ("webhook_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_webhook_id_next_attempt_at_index" ON "webhook_deliveries" USING btree ("webhook_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'Pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_organization_id_webhook_id_index" ON "webhook_deliveries" USING btree ("organization_id","webhook_id") WHERE "webhook_deliveries"."claimed_until" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_created_at_index" ON "webhook_deliveries" USING btree ("created_at");--> statement-breakpoint

-- Adds a delivery of an event to every active webhook that selects it, in the transaction of the change. Without such webhooks this is
-- one index scan. The ids have the form of shared/ids.ts, whose alphabet contains the hexadecimal digits.
CREATE FUNCTION webhook_enqueue(organization text, event text, content jsonb) RETURNS void LANGUAGE sql AS $$
	WITH message AS MATERIALIZED (
		SELECT 'msg-0' || substr(md5(gen_random_uuid()::text), 1, 25) AS id, date_trunc('milliseconds', clock_timestamp()) AS at
	)
	INSERT INTO webhook_deliveries (id, organization_id, webhook_id, message_id, type, data, next_attempt_at, created_at)
	SELECT 'dlv-0' || substr(md5(gen_random_uuid()::text), 1, 25), w.organization_id, w.id, message.id, event, content,
		message.at, message.at
	FROM webhooks w CROSS JOIN message
	WHERE w.organization_id = organization AND w.is_active AND (w.events = '[]'::jsonb OR w.events ? event)
$$;--> statement-breakpoint

-- Every path to a phase passes here: requests, reports of the operator, and edits with kubectl.
CREATE FUNCTION webhook_world_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM webhook_enqueue(NEW.organization_id, 'world.phase_changed', jsonb_build_object(
		'organizationId', NEW.organization_id, 'projectId', NEW.project_id, 'worldId', NEW.id,
		'phase', NEW.phase, 'previousPhase', OLD.phase, 'runId', NEW.run_id));
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_world_phase AFTER UPDATE ON "worlds" FOR EACH ROW
	WHEN (OLD.phase IS DISTINCT FROM NEW.phase) EXECUTE FUNCTION webhook_world_phase();--> statement-breakpoint

-- The same for bot deployments.
CREATE FUNCTION webhook_bot_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM webhook_enqueue(NEW.organization_id, 'bot_deployment.phase_changed', jsonb_build_object(
		'organizationId', NEW.organization_id, 'projectId', NEW.project_id, 'worldId', NEW.world_id,
		'botDeploymentId', NEW.id, 'phase', NEW.phase, 'previousPhase', OLD.phase));
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_bot_phase AFTER UPDATE ON "bot_deployments" FOR EACH ROW
	WHEN (OLD.phase IS DISTINCT FROM NEW.phase) EXECUTE FUNCTION webhook_bot_phase();--> statement-breakpoint

-- A deleted row has no new version, an inserted one no old version.
CREATE FUNCTION webhook_api_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		PERFORM webhook_enqueue(OLD.organization_id, 'api_key.deleted', jsonb_build_object(
			'organizationId', OLD.organization_id, 'apiKeyId', OLD.id));
	ELSE
		PERFORM webhook_enqueue(NEW.organization_id,
			CASE TG_OP WHEN 'INSERT' THEN 'api_key.created' ELSE 'api_key.updated' END,
			jsonb_build_object('organizationId', NEW.organization_id, 'apiKeyId', NEW.id, 'isActive', NEW.is_active));
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_api_key AFTER INSERT OR DELETE ON "api_keys"
	FOR EACH ROW EXECUTE FUNCTION webhook_api_key();--> statement-breakpoint
-- The time of the last use, the sealed form and the fingerprint are not changes that the owner made.
CREATE TRIGGER webhook_api_key_changed AFTER UPDATE ON "api_keys" FOR EACH ROW
	WHEN ((OLD.display_name, OLD.is_active, OLD.permissions, OLD.claims, OLD.expires_at, OLD.allowed_networks, OLD.rotation)
		IS DISTINCT FROM (NEW.display_name, NEW.is_active, NEW.permissions, NEW.claims, NEW.expires_at, NEW.allowed_networks, NEW.rotation))
	EXECUTE FUNCTION webhook_api_key();--> statement-breakpoint

-- ## Records of requests

CREATE TABLE "idempotency_keys" (
	"principal_id" text NOT NULL,
	"organization_id" text DEFAULT '' NOT NULL,
	"operation_id" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_principal_id_operation_id_key_pk" PRIMARY KEY("principal_id","operation_id","key")
);--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_organization_id_index" ON "idempotency_keys" USING btree ("organization_id");--> statement-breakpoint

-- Unlogged: a ticket that was used does not come back after a crash or on a standby, and the many clients that reconnect at the same
-- time do not wait for the disk. pg_dump includes the rows unless it is told not to (docs/operations.md).
CREATE UNLOGGED TABLE "realtime_tickets" (
	"hash" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"caller" text NOT NULL,
	"sealed" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);--> statement-breakpoint
CREATE INDEX "realtime_tickets_organization_id_caller_expires_at_index" ON "realtime_tickets" USING btree ("organization_id","caller","expires_at");--> statement-breakpoint
CREATE INDEX "realtime_tickets_expires_at_index" ON "realtime_tickets" USING btree ("expires_at");--> statement-breakpoint

-- Partitions by time are created in advance (api/platform/database/partitions).
CREATE TABLE "audit_records" (
	"id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"door" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"action" text NOT NULL,
	"resources" jsonb NOT NULL,
	"fields" jsonb NOT NULL,
	"address" text NOT NULL,
	"request_id" text NOT NULL
) PARTITION BY RANGE ("created_at");--> statement-breakpoint
CREATE INDEX "audit_records_organization_id_created_at_id_index" ON "audit_records" USING btree ("organization_id","created_at","id");--> statement-breakpoint

-- Stores the records for which there is no partition.
CREATE TABLE "audit_records_default" PARTITION OF "audit_records" DEFAULT;--> statement-breakpoint

-- ## Vacuum

-- Rows that are updated in place leave their former versions behind. By default, Postgres vacuums a table when a fifth of its rows has
-- changed, which is a lot of a large table.
ALTER TABLE "documents" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "kept_documents" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "worlds" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "bot_deployments" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "cluster_outbox" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "webhook_deliveries" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "idempotency_keys" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "realtime_tickets" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "document_counts" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
-- Marks come in bursts, so statistics of them are wrong when they are used. After an ANALYZE of few marks and another one of none, Postgres
-- would expect that an index scan reads all pages, and would sort all marks for each claim.
ALTER TABLE "cluster_outbox" ALTER "id" SET STATISTICS 0, ALTER "kind" SET STATISTICS 0, ALTER "cluster" SET STATISTICS 0,
	ALTER "organization_id" SET STATISTICS 0, ALTER "next_at" SET STATISTICS 0;
