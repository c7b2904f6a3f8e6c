CREATE TABLE "revoked_tokens" (
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "revoked_tokens_organization_id_user_id_id_pk" PRIMARY KEY("organization_id","user_id","id")
);
--> statement-breakpoint
ALTER TABLE "organizations" DROP CONSTRAINT "organizations_tenantId_unique";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "rotation" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_fingerprint" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_valid_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "last_used_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "allowed_networks" jsonb;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "ancestor_id" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "created_by" text;--> statement-breakpoint
ALTER TABLE "revoked_tokens" ADD CONSTRAINT "revoked_tokens_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "revoked_tokens_expires_at_index" ON "revoked_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "organizations_tenant_id_index" ON "organizations" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "organizations_created_by_index" ON "organizations" USING btree ("created_by");--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_previousFingerprint_unique" UNIQUE("previous_fingerprint");
--> statement-breakpoint
-- A fingerprint says nothing of what a key may do: rotating the pepper rewrites all of them.
DROP TRIGGER "realtime_key_changed" ON "api_keys";--> statement-breakpoint
CREATE TRIGGER "realtime_key_changed" AFTER UPDATE ON "api_keys" FOR EACH ROW
	WHEN ((OLD.is_active, OLD.permissions, OLD.claims, OLD.expires_at, OLD.allowed_networks, OLD.rotation)
		IS DISTINCT FROM (NEW.is_active, NEW.permissions, NEW.claims, NEW.expires_at, NEW.allowed_networks, NEW.rotation))
	EXECUTE FUNCTION realtime_record_key();--> statement-breakpoint
-- Replicas learn of changed credentials of every kind by their ids, as changes of the type apiKey.
CREATE FUNCTION realtime_record_revoked_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES (NEW.organization_id, '', '', 'apiKey', NEW.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_token_revoked" AFTER INSERT ON "revoked_tokens"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_revoked_token();--> statement-breakpoint
CREATE FUNCTION realtime_record_signing_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
	VALUES ('', '', '', 'apiKey', OLD.id, clock_timestamp(), '', '{}'::jsonb);
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "realtime_signing_key_retired" AFTER DELETE ON "signing_keys"
	FOR EACH ROW EXECUTE FUNCTION realtime_record_signing_key();
