ALTER TABLE "deployments" ADD COLUMN "image" text;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "ready_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "ended_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "end_reason" text;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "exit_code" integer;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "restarts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "address" jsonb;--> statement-breakpoint
DROP TRIGGER realtime_world_changed ON "worlds";--> statement-breakpoint
-- Every column that REST shows in a status, or makes its message of (api/worlds/present.ts, settings.ts).
CREATE TRIGGER realtime_world_changed BEFORE UPDATE ON "worlds" FOR EACH ROW
	WHEN (OLD.deleting_at IS NULL AND (
		OLD.phase, OLD.status_message, OLD.started_at, OLD.run_id, OLD.resolved_build, OLD.started_with,
		OLD.runtime, OLD.networking, OLD.admission, OLD.compute, OLD.address, OLD.deleting_at
	) IS DISTINCT FROM (
		NEW.phase, NEW.status_message, NEW.started_at, NEW.run_id, NEW.resolved_build, NEW.started_with,
		NEW.runtime, NEW.networking, NEW.admission, NEW.compute, NEW.address, NEW.deleting_at
	)) EXECUTE FUNCTION realtime_record_world();
