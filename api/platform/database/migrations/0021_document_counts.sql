CREATE TABLE "document_counts" (
	"organization_id" text NOT NULL,
	"slot" integer NOT NULL,
	"documents" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"kept_rows" bigint NOT NULL,
	"kept_bytes" bigint NOT NULL,
	CONSTRAINT "document_counts_organization_id_slot_pk" PRIMARY KEY("organization_id","slot")
);--> statement-breakpoint
-- Adds a change to the counts of an organization. Connections use different slots, so that concurrent writes do not wait for each other.
-- The API's role gets its rights to the table only after the migration, and the previous version of the API writes meanwhile.
CREATE FUNCTION document_counts_add(organization text, documents bigint, bytes bigint, kept_rows bigint, kept_bytes bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	INSERT INTO document_counts AS c (organization_id, slot, documents, bytes, kept_rows, kept_bytes)
	SELECT organization, pg_backend_pid() % 8, $2, $3, $4, $5 WHERE ($2, $3, $4, $5) IS DISTINCT FROM (0, 0, 0, 0)
	ON CONFLICT (organization_id, slot) DO UPDATE SET documents = c.documents + excluded.documents, bytes = c.bytes + excluded.bytes,
		kept_rows = c.kept_rows + excluded.kept_rows, kept_bytes = c.kept_bytes + excluded.kept_bytes
$$;--> statement-breakpoint
-- One call for each statement and organization: a batch changes a thousand rows. New rows are read from their table, since a transition
-- table has their data as it was before compression. The order of organizations keeps two batches from waiting for each other.
CREATE FUNCTION documents_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, present, bytes, deleted, 0) FROM (
		SELECT d.organization_id, count(*) FILTER (WHERE d.deleted_at IS NULL) AS present,
			coalesce(sum(pg_column_size(d.data)) FILTER (WHERE d.deleted_at IS NULL), 0)::bigint AS bytes,
			count(*) FILTER (WHERE d.deleted_at IS NOT NULL) AS deleted
		FROM new_rows JOIN documents d USING (organization_id, project_id, world_id, type, id)
		GROUP BY d.organization_id ORDER BY d.organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION documents_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, present, bytes, deleted, 0) FROM (
		SELECT organization_id, coalesce(sum(sign) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS present,
			coalesce(sum(sign * size) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS bytes,
			coalesce(sum(sign) FILTER (WHERE deleted_at IS NOT NULL), 0)::bigint AS deleted
		FROM (
			SELECT d.organization_id, d.deleted_at, pg_column_size(d.data) AS size, 1 AS sign
			FROM new_rows JOIN documents d USING (organization_id, project_id, world_id, type, id)
			UNION ALL
			SELECT organization_id, deleted_at, pg_column_size(data), -1 FROM old_rows
		) each
		GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION documents_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, -present, -bytes, -deleted, 0) FROM (
		SELECT organization_id, count(*) FILTER (WHERE deleted_at IS NULL) AS present,
			coalesce(sum(pg_column_size(data)) FILTER (WHERE deleted_at IS NULL), 0)::bigint AS bytes,
			count(*) FILTER (WHERE deleted_at IS NOT NULL) AS deleted
		FROM old_rows GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION kept_documents_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, 0, 0, kept, bytes) FROM (
		SELECT k.organization_id, count(*) AS kept, sum(pg_column_size(k.data))::bigint AS bytes
		FROM new_rows JOIN kept_documents k USING (organization_id, project_id, world_id, type, id)
		GROUP BY k.organization_id ORDER BY k.organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION kept_documents_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM document_counts_add(organization_id, 0, 0, -kept, -bytes) FROM (
		SELECT organization_id, count(*) AS kept, sum(pg_column_size(data))::bigint AS bytes
		FROM old_rows GROUP BY organization_id ORDER BY organization_id) changes;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER documents_added AFTER INSERT ON "documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_added();--> statement-breakpoint
CREATE TRIGGER documents_changed AFTER UPDATE ON "documents" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_changed();--> statement-breakpoint
CREATE TRIGGER documents_removed AFTER DELETE ON "documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION documents_removed();--> statement-breakpoint
CREATE TRIGGER kept_documents_added AFTER INSERT ON "kept_documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_added();--> statement-breakpoint
CREATE TRIGGER kept_documents_replaced AFTER UPDATE ON "kept_documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_removed();--> statement-breakpoint
CREATE TRIGGER kept_documents_replacing AFTER UPDATE ON "kept_documents" REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_added();--> statement-breakpoint
CREATE TRIGGER kept_documents_removed AFTER DELETE ON "kept_documents" REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION kept_documents_removed();--> statement-breakpoint
-- The triggers lock both tables until the migration commits, so no write is missed.
INSERT INTO document_counts (organization_id, slot, documents, bytes, kept_rows, kept_bytes)
	SELECT organization_id, 0, sum(documents), sum(bytes), sum(kept_rows), sum(kept_bytes) FROM (
		SELECT organization_id, count(*) FILTER (WHERE deleted_at IS NULL) AS documents,
			coalesce(sum(pg_column_size(data)) FILTER (WHERE deleted_at IS NULL), 0) AS bytes,
			count(*) FILTER (WHERE deleted_at IS NOT NULL) AS kept_rows, 0 AS kept_bytes
		FROM documents GROUP BY organization_id
		UNION ALL
		SELECT organization_id, 0, 0, count(*), sum(pg_column_size(data)) FROM kept_documents GROUP BY organization_id
	) each GROUP BY organization_id;--> statement-breakpoint
-- Rows that are updated in place leave their former versions behind. A share of a large table would be much before it is vacuumed.
ALTER TABLE "documents" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "kept_documents" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "worlds" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "bot_deployments" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "cluster_outbox" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "webhook_deliveries" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "idempotency_keys" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000, toast.autovacuum_vacuum_cost_delay = 0);--> statement-breakpoint
ALTER TABLE "document_counts" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
