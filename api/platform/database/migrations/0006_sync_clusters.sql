CREATE TABLE "clusters" (
	"name" text PRIMARY KEY NOT NULL,
	"pull_term" integer NOT NULL
);
