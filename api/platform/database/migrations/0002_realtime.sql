CREATE TABLE "realtime_changes" (
	"xid" xid8 DEFAULT pg_current_xact_id() NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"world_id" text NOT NULL,
	"type" text NOT NULL,
	"id" text NOT NULL,
	"version" timestamp (3) with time zone NOT NULL,
	"user_id" text NOT NULL,
	"data" jsonb
) PARTITION BY RANGE ("at");
--> statement-breakpoint
ALTER TABLE "worlds" ADD COLUMN "followed_version" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE INDEX "realtime_changes_xid_index" ON "realtime_changes" USING btree ("xid");--> statement-breakpoint
-- Partitions by time are made ahead; what comes when none was made lands here. See api/realtime/partitions.
CREATE UNLOGGED TABLE "realtime_changes_default" PARTITION OF "realtime_changes" DEFAULT;--> statement-breakpoint
-- The limit is that of api/realtime/service.ts: what is larger is read from its row by those who need it.
CREATE FUNCTION realtime_record_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, NEW.project_id, NEW.world_id, NEW.type, NEW.id, NEW.version, NEW.user_id,
		CASE WHEN pg_column_size(NEW.data) <= 8192 THEN NEW.data END);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_documents AFTER INSERT OR UPDATE ON "documents"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_document();--> statement-breakpoint
-- A status is shown by more than these columns say, so it is read from the row; a deletion is told here, once.
CREATE FUNCTION realtime_record_world() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.followed_version := date_trunc('milliseconds', clock_timestamp());
	IF TG_OP = 'UPDATE' THEN
		NEW.followed_version := greatest(NEW.followed_version, OLD.followed_version + interval '1 millisecond');
	END IF;
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, NEW.project_id, NEW.id, 'world', NEW.id, NEW.followed_version, '',
		CASE WHEN NEW.deleting_at IS NOT NULL THEN '{}'::jsonb END);
	RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_world_made BEFORE INSERT ON "worlds"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_world();--> statement-breakpoint
-- Every column that REST shows in a status, or makes its message of (api/worlds/present.ts, settings.ts).
CREATE TRIGGER realtime_world_changed BEFORE UPDATE ON "worlds" FOR EACH ROW
	WHEN (OLD.deleting_at IS NULL AND (
		OLD.phase, OLD.status_message, OLD.started_at, OLD.run_id, OLD.resolved_build, OLD.started_with,
		OLD.runtime, OLD.networking, OLD.admission, OLD.compute, OLD.deleting_at
	) IS DISTINCT FROM (
		NEW.phase, NEW.status_message, NEW.started_at, NEW.run_id, NEW.resolved_build, NEW.started_with,
		NEW.runtime, NEW.networking, NEW.admission, NEW.compute, NEW.deleting_at
	)) EXECUTE FUNCTION realtime_record_world();--> statement-breakpoint
CREATE FUNCTION realtime_record_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (OLD.organization_id, '', '', 'apiKey', OLD.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER realtime_key_changed AFTER UPDATE ON "api_keys" FOR EACH ROW
	WHEN ((OLD.is_active, OLD.permissions, OLD.claims, OLD.fingerprint)
		IS DISTINCT FROM (NEW.is_active, NEW.permissions, NEW.claims, NEW.fingerprint))
	EXECUTE FUNCTION realtime_record_key();--> statement-breakpoint
CREATE TRIGGER realtime_key_deleted AFTER DELETE ON "api_keys"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_key();
