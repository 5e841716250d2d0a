-- Components that were received and inspected, and wait for an operator to deploy or discard them. Their files have
-- the names of deployed ones.
CREATE TABLE toolkit_uploads (
    -- SHA-256 of the component, hexadecimal; the name of its file.
    digest      TEXT PRIMARY KEY NOT NULL,
    toolkit_id  TEXT NOT NULL,
    version     TEXT NOT NULL,
    size        INTEGER NOT NULL,
    -- manifest.json
    manifest    TEXT NOT NULL,
    -- The interfaces that it imports, without their versions: a JSON array.
    imports     TEXT NOT NULL,
    uploaded_by TEXT NOT NULL,
    -- Milliseconds since 1970, UTC.
    uploaded_at INTEGER NOT NULL
) STRICT;
