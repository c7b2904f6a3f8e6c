ALTER TABLE "worlds" ADD COLUMN "running_capacity" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Runs that are under way: the name of a scaling profile ends with its capacity.
UPDATE "worlds" SET "running_capacity" = coalesce(substring("started_with" ->> 'scaling profile' from '[0-9]+$')::integer, "estimated_capacity") WHERE "run_id" IS NOT NULL;
