CREATE TABLE "kept_documents" (
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"type" text NOT NULL,
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "kept_documents_organization_id_project_id_world_id_type_id_pk" PRIMARY KEY("organization_id","project_id","world_id","type","id")
);
--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "purge_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "removed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "deleting_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "purge_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "purge_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "purge_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "removed_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "worlds_purge_at_index" ON "worlds" USING btree ("purge_at") WHERE "worlds"."removed_at" is not null;--> statement-breakpoint
DROP TRIGGER realtime_world_changed ON "worlds";--> statement-breakpoint
-- A restoration is told too: the status is read from the row again.
CREATE TRIGGER realtime_world_changed BEFORE UPDATE ON "worlds" FOR EACH ROW
	WHEN ((OLD.deleting_at IS NULL OR NEW.deleting_at IS NULL) AND (
		OLD.phase, OLD.status_message, OLD.address, OLD.started_at, OLD.run_id, OLD.resolved_build, OLD.started_with,
		OLD.runtime, OLD.networking, OLD.admission, OLD.compute, OLD.deleting_at
	) IS DISTINCT FROM (
		NEW.phase, NEW.status_message, NEW.address, NEW.started_at, NEW.run_id, NEW.resolved_build, NEW.started_with,
		NEW.runtime, NEW.networking, NEW.admission, NEW.compute, NEW.deleting_at
	)) EXECUTE FUNCTION realtime_record_world();
