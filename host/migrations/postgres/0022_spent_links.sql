-- Links to pages of secrets that have set one. A row goes some time after its link has expired.

CREATE TABLE spent_links (
    -- SHA-256 of the link.
    digest  BYTEA PRIMARY KEY,
    -- Seconds since 1970.
    expires BIGINT NOT NULL
);

CREATE INDEX spent_links_by_expiry ON spent_links (expires);
