ALTER TABLE "organizations" ADD COLUMN "group_mappings" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
-- Replicas read the tokens of an organization again when its group mappings change, and when it is deleted or restored.
CREATE FUNCTION realtime_record_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.id, '', '', 'apiKey', NEW.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_organization_changed" AFTER UPDATE ON "organizations" FOR EACH ROW
	WHEN ((OLD.group_mappings, OLD.deleting_at) IS DISTINCT FROM (NEW.group_mappings, NEW.deleting_at))
	EXECUTE FUNCTION realtime_record_organization();
