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
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_keys_fingerprint_unique" UNIQUE("fingerprint")
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"public_jwk" jsonb NOT NULL,
	"sealed" text NOT NULL,
	"generation" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signing_keys_generation_unique" UNIQUE("generation")
);
--> statement-breakpoint
CREATE TABLE "bot_deployments" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"description" text NOT NULL,
	"count" integer NOT NULL,
	"cpu" text NOT NULL,
	"memory" text NOT NULL,
	"args" jsonb NOT NULL,
	"duration_minutes" double precision,
	"metadata" jsonb NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"phase" text DEFAULT 'Pending' NOT NULL,
	"status_message" text DEFAULT '' NOT NULL,
	"started_at" timestamp (3) with time zone,
	"status_version" integer DEFAULT 0 NOT NULL,
	"cluster" text NOT NULL,
	"applied" jsonb,
	"applied_resource_version" text,
	"resource_uid" text,
	"deleting_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
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
);
--> statement-breakpoint
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
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"principal_id" text NOT NULL,
	"operation_id" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_principal_id_operation_id_key_pk" PRIMARY KEY("principal_id","operation_id","key")
);
--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "limits" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "deleting_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "started_with" jsonb;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "estimated_capacity" integer;--> statement-breakpoint
-- The capacity is the number in the name of the profile.
UPDATE "worlds" SET "estimated_capacity" = substring("networking" -> 'scaling' ->> 'profile' from '[0-9]+$')::integer;--> statement-breakpoint
ALTER TABLE "worlds" ALTER COLUMN "estimated_capacity" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD CONSTRAINT "bot_deployments_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "documents" ADD CONSTRAINT "documents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_organization_id_created_at_id_index" ON "api_keys" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "bot_deployments_world_id_created_at_id_index" ON "bot_deployments" USING btree ("world_id","created_at","id");--> statement-breakpoint
CREATE INDEX "bot_deployments_cluster_index" ON "bot_deployments" USING btree ("cluster") WHERE "bot_deployments"."resource_uid" is not null;--> statement-breakpoint
CREATE INDEX "builds_organization_id_content_id_created_at_index" ON "builds" USING btree ("organization_id","content_id","created_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "launch_contexts_world_id_index" ON "launch_contexts" USING btree ("world_id") WHERE "launch_contexts"."is_public";