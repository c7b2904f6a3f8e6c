CREATE TABLE "cluster_containers" (
	"cluster" text NOT NULL,
	"name" text NOT NULL,
	"uid" text NOT NULL,
	CONSTRAINT "cluster_containers_cluster_name_pk" PRIMARY KEY("cluster","name")
);
--> statement-breakpoint
CREATE TABLE "cluster_states" (
	"name" text PRIMARY KEY NOT NULL,
	"uid" text NOT NULL,
	"version" text NOT NULL,
	"refusal" text,
	"refused_uid" text,
	"refused_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "held_sweeps" (
	"cluster" text NOT NULL,
	"kind" text NOT NULL,
	"missing" integer NOT NULL,
	"total" integer NOT NULL,
	"examples" jsonb NOT NULL,
	"held_at" timestamp (3) with time zone NOT NULL,
	"accepted" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "held_sweeps_cluster_kind_pk" PRIMARY KEY("cluster","kind")
);
--> statement-breakpoint
CREATE TABLE "sync_findings" (
	"id" text PRIMARY KEY NOT NULL,
	"cluster" text NOT NULL,
	"type" text NOT NULL,
	"kind" text NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"uid" text NOT NULL,
	"message" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "cluster_outbox" ADD COLUMN "marked_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE INDEX "sync_findings_cluster_type_created_at_id_index" ON "sync_findings" USING btree ("cluster","type","created_at","id");