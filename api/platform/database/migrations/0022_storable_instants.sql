-- Instants outside the years 1970 to 9999 are refused now. Those that were stored cannot be read, or are read as another year.
UPDATE "api_keys" SET "expires_at" = '1970-01-01 00:00:00+00' WHERE "expires_at" < '1970-01-01 00:00:00+00';--> statement-breakpoint
UPDATE "api_keys" SET "expires_at" = '9999-12-31 23:59:59.999+00' WHERE "expires_at" >= '10000-01-01 00:00:00+00';--> statement-breakpoint
UPDATE "worlds" SET "started_at" = now()
	WHERE "started_at" < '1970-01-01 00:00:00+00' OR "started_at" >= '10000-01-01 00:00:00+00';--> statement-breakpoint
UPDATE "deployments" SET "started_at" = now()
	WHERE "started_at" < '1970-01-01 00:00:00+00' OR "started_at" >= '10000-01-01 00:00:00+00';
