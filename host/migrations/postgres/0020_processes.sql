-- The processes that use the database, and the jobs that each has taken.

-- Milliseconds since 1970 by the server's clock: those of processes may differ.
CREATE FUNCTION clock_millis() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT $$;

CREATE TABLE processes (
    -- Random, and never used again.
    id           TEXT COLLATE "C" PRIMARY KEY,
    -- What jobs are done with: model and transcriber.
    job_settings TEXT NOT NULL,
    started_at   BIGINT NOT NULL DEFAULT clock_millis(),
    -- When it was last heard of.
    seen_at      BIGINT NOT NULL DEFAULT clock_millis()
);

-- One row.
CREATE TABLE service (
    -- The settings that all jobs were last adapted to; NULL before the first time.
    job_settings TEXT,
    -- Who adapts them to others now.
    adapting     TEXT COLLATE "C" REFERENCES processes (id) ON DELETE SET NULL
);

INSERT INTO service (job_settings, adapting) VALUES (NULL, NULL);

-- Whoever does the job. It is free again when that process has gone.
ALTER TABLE knowledge_jobs ADD COLUMN taken_by TEXT COLLATE "C" REFERENCES processes (id) ON DELETE SET NULL;

-- The users with free jobs of a kind, and the next job of each, are found by one step each.
DROP INDEX knowledge_jobs_by_user;
CREATE INDEX knowledge_jobs_by_user ON knowledge_jobs (kind, user_id, run_at, document) WHERE taken_by IS NULL;
CREATE INDEX knowledge_jobs_taken ON knowledge_jobs (taken_by) WHERE taken_by IS NOT NULL;
