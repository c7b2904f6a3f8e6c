ALTER TABLE "deployments" ADD COLUMN "capacity" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "strategy" text DEFAULT 'Default' NOT NULL;--> statement-breakpoint
-- Runs that earlier versions left open when the resource of a deleted world was gone.
UPDATE "deployments" d SET status = 'Stopped', ended_at = coalesce(d.ended_at, w.removed_at), end_reason = coalesce(d.end_reason, 'Stopped')
	FROM "worlds" w WHERE w.id = d.world_id AND w.removed_at IS NOT NULL AND d.status NOT IN ('Stopped', 'Error');--> statement-breakpoint
-- Runs that are under way: the name of a scaling profile ends with its capacity.
UPDATE "deployments" d SET
	capacity = coalesce(substring(d.networking #>> '{scaling,profile}' from '[0-9]+$')::integer, 0),
	strategy = coalesce(CASE WHEN w.run_id = d.run_id THEN coalesce(w.address ->> 'strategy', w.started_with ->> 'networking strategy') END, 'Default')
	FROM "worlds" w WHERE w.id = d.world_id AND d.status NOT IN ('Stopped', 'Error');--> statement-breakpoint
CREATE INDEX "open_deployments" ON "deployments" USING btree ("organization_id") WHERE "deployments"."status" not in ('Stopped', 'Error');
