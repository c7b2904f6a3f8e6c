ALTER TABLE "bot_deployments" ADD COLUMN "target_cluster" text;--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "target_cluster" text;--> statement-breakpoint
ALTER TABLE "cluster_outbox" ADD COLUMN "cluster" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "cluster_outbox_cluster_next_at_index" ON "cluster_outbox" USING btree ("cluster","next_at");--> statement-breakpoint
-- Names the cluster to which a mark's row is pushed, so that no path to a mark can miss it. A row that does not exist has none.
CREATE FUNCTION cluster_outbox_cluster(kind text, id text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce(CASE kind
		WHEN 'world' THEN (SELECT w.cluster FROM worlds w WHERE w.id = $2)
		WHEN 'bot' THEN (SELECT b.cluster FROM bot_deployments b WHERE b.id = $2)
		ELSE split_part($2, '@', 2)
	END, '')
$$;--> statement-breakpoint
CREATE FUNCTION cluster_outbox_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.cluster := cluster_outbox_cluster(NEW.kind, NEW.id);
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER cluster_outbox_insert BEFORE INSERT ON "cluster_outbox"
	FOR EACH ROW EXECUTE FUNCTION cluster_outbox_insert();--> statement-breakpoint
UPDATE "cluster_outbox" SET cluster = cluster_outbox_cluster(kind, id);
