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
);
--> statement-breakpoint
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
);
--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "conditions" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "conditions" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "bot_events" ADD CONSTRAINT "bot_events_bot_deployment_id_bot_deployments_id_fk" FOREIGN KEY ("bot_deployment_id") REFERENCES "public"."bot_deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "world_events" ADD CONSTRAINT "world_events_organization_id_project_id_world_id_worlds_organization_id_project_id_id_fk" FOREIGN KEY ("organization_id","project_id","world_id") REFERENCES "public"."worlds"("organization_id","project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bot_events_bot_deployment_id_created_at_id_index" ON "bot_events" USING btree ("bot_deployment_id","created_at","id");--> statement-breakpoint
CREATE INDEX "world_events_world_id_created_at_id_index" ON "world_events" USING btree ("world_id","created_at","id");--> statement-breakpoint
DROP TRIGGER realtime_world_changed ON "worlds";--> statement-breakpoint
-- Every column that a status shows (api/domain/worlds/present.ts), and the name, which the feed of worlds shows too.
CREATE TRIGGER realtime_world_changed BEFORE UPDATE ON "worlds" FOR EACH ROW
	WHEN ((OLD.deleting_at IS NULL OR NEW.deleting_at IS NULL) AND (
		OLD.phase, OLD.status_message, OLD.address, OLD.conditions, OLD.started_at, OLD.run_id, OLD.resolved_build,
		OLD.started_with, OLD.runtime, OLD.networking, OLD.admission, OLD.compute, OLD.name, OLD.deleting_at
	) IS DISTINCT FROM (
		NEW.phase, NEW.status_message, NEW.address, NEW.conditions, NEW.started_at, NEW.run_id, NEW.resolved_build,
		NEW.started_with, NEW.runtime, NEW.networking, NEW.admission, NEW.compute, NEW.name, NEW.deleting_at
	)) EXECUTE FUNCTION realtime_record_world();
