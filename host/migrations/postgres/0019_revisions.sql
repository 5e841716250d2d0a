-- How often what processes keep in memory has changed. Each compares before it serves a request.

-- One row.
CREATE TABLE registry (
    -- Changes of what is live, of its owner, and of what is shown of it.
    generation BIGINT NOT NULL,
    -- How often secrets of users were deleted with their toolkit, or because its owner changed.
    removals   BIGINT NOT NULL
);

INSERT INTO registry (generation, removals) VALUES (0, 0);

-- Of users who have ever set a secret.
CREATE TABLE secret_revisions (
    user_id  TEXT COLLATE "C" PRIMARY KEY,
    -- Changes that the user has made.
    revision BIGINT NOT NULL
);

-- Another one after each failover and each restore: revisions may have been lost, and given again. Fails on a standby.
CREATE FUNCTION timeline() RETURNS TEXT LANGUAGE sql VOLATILE
AS $$ SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) $$;
