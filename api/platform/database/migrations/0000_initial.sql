CREATE TABLE "cluster_outbox" (
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"revision" integer NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"epoch" integer DEFAULT 1 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "cluster_outbox_kind_id_pk" PRIMARY KEY("kind","id")
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"tenant_id" text NOT NULL,
	"picture_url" text,
	"featured_event_id" text,
	"website_info" jsonb,
	"features" jsonb NOT NULL,
	"legal_policies" jsonb,
	"has_event_enabled" boolean DEFAULT false NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "organizations_tenantId_unique" UNIQUE("tenant_id")
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "projects_organizationId_id_unique" UNIQUE("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"run_id" text NOT NULL,
	"external_id" text NOT NULL,
	"status" text NOT NULL,
	"networking" jsonb NOT NULL,
	"compute" jsonb NOT NULL,
	"runtime" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
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
);
--> statement-breakpoint
CREATE TABLE "worlds" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"picture_url" text,
	"transient" boolean NOT NULL,
	"metadata" jsonb NOT NULL,
	"compute" jsonb NOT NULL,
	"networking" jsonb NOT NULL,
	"runtime" jsonb NOT NULL,
	"manifest" jsonb NOT NULL,
	"admission" jsonb NOT NULL,
	"sessions" jsonb NOT NULL,
	"state" text DEFAULT 'Stopped' NOT NULL,
	"run_id" text,
	"started_at" timestamp (3) with time zone,
	"resolved_build" jsonb,
	"revision" integer DEFAULT 1 NOT NULL,
	"run_revision" integer DEFAULT 0 NOT NULL,
	"phase" text DEFAULT 'Inactive' NOT NULL,
	"status_message" text DEFAULT '' NOT NULL,
	"queue_queued" integer DEFAULT 0 NOT NULL,
	"queue_active" integer DEFAULT 0 NOT NULL,
	"status_version" integer DEFAULT 0 NOT NULL,
	"cluster" text DEFAULT 'default' NOT NULL,
	"applied" jsonb,
	"applied_resource_version" text,
	"resource_uid" text,
	"deleting_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "worlds_organizationId_projectId_id_unique" UNIQUE("organization_id","project_id","id")
);
--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "launch_contexts" ADD CONSTRAINT "launch_contexts_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "worlds" ADD CONSTRAINT "worlds_organization_id_project_id_projects_organization_id_id_fk" FOREIGN KEY ("organization_id","project_id") REFERENCES "public"."projects"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "cluster_outbox_next_at_index" ON "cluster_outbox" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "projects_organization_id_created_at_id_index" ON "projects" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deployments_world_id_created_at_id_index" ON "deployments" USING btree ("world_id","created_at","id");--> statement-breakpoint
CREATE INDEX "worlds_organization_id_created_at_id_index" ON "worlds" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "worlds_cluster_index" ON "worlds" USING btree ("cluster") WHERE "worlds"."resource_uid" is not null;