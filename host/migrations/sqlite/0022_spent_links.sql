-- Links to pages of secrets that have set one. A row goes some time after its link has expired.

CREATE TABLE spent_links (
    -- SHA-256 of the link.
    digest  BLOB PRIMARY KEY,
    -- Seconds since 1970.
    expires INTEGER NOT NULL
) STRICT;

CREATE INDEX spent_links_by_expiry ON spent_links (expires);
