CREATE TABLE "deployment_logs" (
	"deployment_id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"world_id" text NOT NULL,
	"pod_uid" text NOT NULL,
	"content" "bytea" NOT NULL,
	"kept_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "deployment_logs" ADD CONSTRAINT "deployment_logs_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deployment_logs_world_id_kept_at_index" ON "deployment_logs" USING btree ("world_id","kept_at");