CREATE TABLE "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" text NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"status" text DEFAULT 'Pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"claimed_until" timestamp (3) with time zone,
	"last_attempt_at" timestamp (3) with time zone,
	"status_code" integer,
	"failure" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"url" text NOT NULL,
	"events" jsonb NOT NULL,
	"is_active" boolean NOT NULL,
	"sealed" text NOT NULL,
	"previous_sealed" text,
	"previous_valid_until" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhooks_organizationId_id_unique" UNIQUE("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organization_id_webhook_id_webhooks_organization_id_id_fk" FOREIGN KEY ("organization_id","webhook_id") REFERENCES "public"."webhooks"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_webhook_id_created_at_id_index" ON "webhook_deliveries" USING btree ("webhook_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_webhook_id_next_attempt_at_index" ON "webhook_deliveries" USING btree ("webhook_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'Pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_organization_id_webhook_id_index" ON "webhook_deliveries" USING btree ("organization_id","webhook_id") WHERE "webhook_deliveries"."claimed_until" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_created_at_index" ON "webhook_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhooks_organization_id_created_at_id_index" ON "webhooks" USING btree ("organization_id","created_at","id");--> statement-breakpoint
-- Adds a delivery of an event to every active webhook that selects it. Without such webhooks this is one index scan. The ids have
-- the form of shared/ids.ts, whose alphabet contains the hexadecimal digits.
CREATE FUNCTION webhook_enqueue(organization text, event text, content jsonb) RETURNS void LANGUAGE sql AS $$
	WITH message AS MATERIALIZED (
		SELECT 'msg-0' || substr(md5(gen_random_uuid()::text), 1, 25) AS id, date_trunc('milliseconds', clock_timestamp()) AS at
	)
	INSERT INTO webhook_deliveries (id, organization_id, webhook_id, message_id, type, data, next_attempt_at, created_at)
	SELECT 'dlv-0' || substr(md5(gen_random_uuid()::text), 1, 25), w.organization_id, w.id, message.id, event, content,
		message.at, message.at
	FROM webhooks w CROSS JOIN message
	WHERE w.organization_id = organization AND w.is_active AND (w.events = '[]'::jsonb OR w.events ? event)
$$;--> statement-breakpoint
CREATE FUNCTION webhook_world_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM webhook_enqueue(NEW.organization_id, 'world.phase_changed', jsonb_build_object(
		'organizationId', NEW.organization_id, 'projectId', NEW.project_id, 'worldId', NEW.id,
		'phase', NEW.phase, 'previousPhase', OLD.phase, 'runId', NEW.run_id));
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_world_phase AFTER UPDATE ON "worlds" FOR EACH ROW
	WHEN (OLD.phase IS DISTINCT FROM NEW.phase) EXECUTE FUNCTION webhook_world_phase();--> statement-breakpoint
CREATE FUNCTION webhook_bot_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM webhook_enqueue(NEW.organization_id, 'bot_deployment.phase_changed', jsonb_build_object(
		'organizationId', NEW.organization_id, 'projectId', NEW.project_id, 'worldId', NEW.world_id,
		'botDeploymentId', NEW.id, 'phase', NEW.phase, 'previousPhase', OLD.phase));
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_bot_phase AFTER UPDATE ON "bot_deployments" FOR EACH ROW
	WHEN (OLD.phase IS DISTINCT FROM NEW.phase) EXECUTE FUNCTION webhook_bot_phase();--> statement-breakpoint
-- A deleted row has no new version, an inserted one no old version.
CREATE FUNCTION webhook_api_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		PERFORM webhook_enqueue(OLD.organization_id, 'api_key.deleted', jsonb_build_object(
			'organizationId', OLD.organization_id, 'apiKeyId', OLD.id));
	ELSE
		PERFORM webhook_enqueue(NEW.organization_id,
			CASE TG_OP WHEN 'INSERT' THEN 'api_key.created' ELSE 'api_key.updated' END,
			jsonb_build_object('organizationId', NEW.organization_id, 'apiKeyId', NEW.id, 'isActive', NEW.is_active));
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER webhook_api_key AFTER INSERT OR DELETE ON "api_keys"
	FOR EACH ROW EXECUTE FUNCTION webhook_api_key();--> statement-breakpoint
-- The time of the last use, the sealed form and the fingerprint are not changes that the owner made.
CREATE TRIGGER webhook_api_key_changed AFTER UPDATE ON "api_keys" FOR EACH ROW
	WHEN ((OLD.display_name, OLD.is_active, OLD.permissions, OLD.claims, OLD.expires_at, OLD.allowed_networks, OLD.rotation)
		IS DISTINCT FROM (NEW.display_name, NEW.is_active, NEW.permissions, NEW.claims, NEW.expires_at, NEW.allowed_networks, NEW.rotation))
	EXECUTE FUNCTION webhook_api_key();
