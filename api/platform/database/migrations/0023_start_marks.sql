DROP INDEX "cluster_outbox_cluster_next_at_index";--> statement-breakpoint
ALTER TABLE "cluster_outbox" ADD COLUMN "is_start" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "cluster_outbox_cluster_is_start_next_at_index" ON "cluster_outbox" USING btree ("cluster","is_start","next_at");