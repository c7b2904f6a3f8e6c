ALTER TABLE "bot_deployments" ALTER COLUMN "revision" SET DATA TYPE bigint;--> statement-breakpoint
ALTER TABLE "bot_deployments" ALTER COLUMN "revision" SET DEFAULT 1;--> statement-breakpoint
ALTER TABLE "worlds" ALTER COLUMN "revision" SET DATA TYPE bigint;--> statement-breakpoint
ALTER TABLE "worlds" ALTER COLUMN "revision" SET DEFAULT 1;--> statement-breakpoint
ALTER TABLE "worlds" ALTER COLUMN "run_revision" SET DATA TYPE bigint;--> statement-breakpoint
ALTER TABLE "cluster_outbox" ALTER COLUMN "revision" SET DATA TYPE bigint;--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "world_name" text;--> statement-breakpoint
UPDATE "bot_deployments" SET "world_name" = "world_id";--> statement-breakpoint
ALTER TABLE "bot_deployments" ALTER COLUMN "world_name" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "resource_name" text;--> statement-breakpoint
UPDATE "bot_deployments" SET "resource_name" = "id";--> statement-breakpoint
ALTER TABLE "bot_deployments" ALTER COLUMN "resource_name" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "bot_deployments" ADD COLUMN "refusal" jsonb;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "program" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "resource_name" text;--> statement-breakpoint
UPDATE "worlds" SET "resource_name" = "id";--> statement-breakpoint
ALTER TABLE "worlds" ALTER COLUMN "resource_name" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "refusal" jsonb;--> statement-breakpoint
CREATE INDEX "bot_deployments_organization_id_resource_name_index" ON "bot_deployments" USING btree ("organization_id","resource_name");--> statement-breakpoint
CREATE INDEX "worlds_organization_id_resource_name_index" ON "worlds" USING btree ("organization_id","resource_name");