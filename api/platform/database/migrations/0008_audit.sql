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
) PARTITION BY RANGE ("created_at");
--> statement-breakpoint
CREATE INDEX "audit_records_organization_id_created_at_id_index" ON "audit_records" USING btree ("organization_id","created_at","id");--> statement-breakpoint
-- Partitions by time are created in advance (api/platform/database/partitions). Rows outside of them are stored here.
CREATE TABLE "audit_records_default" PARTITION OF "audit_records" DEFAULT;
