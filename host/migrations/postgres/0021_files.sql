-- The files to which rows refer: components of toolkits, and captured files. They are kept outside the database, in a
-- folder or in a bucket.

-- Milliseconds since 1970, by the clock of the database.
CREATE VIEW clock AS SELECT clock_millis() AS now;

CREATE TABLE files (
    -- Where the file is. Never used again, so that a deletion which is late hits nothing that came after it.
    object     TEXT COLLATE "C" PRIMARY KEY,
    -- What it is: `components/` or `artifacts/` and the SHA-256 of its bytes, as the rows have it that refer to it.
    name       TEXT COLLATE "C" NOT NULL,
    -- 0 while rows refer to it. Otherwise nobody drops it before this time; or, of one that is dropped, when to try
    -- again to delete it.
    kept_until BIGINT NOT NULL,
    -- Whether it is being deleted, and may not be referred to any more.
    dropped    BOOLEAN NOT NULL
);

CREATE UNIQUE INDEX files_by_name ON files (name) WHERE NOT dropped;
CREATE INDEX files_to_end ON files (kept_until) WHERE kept_until > 0;

-- Those that there are keep their places.
INSERT INTO files (object, name, kept_until, dropped)
SELECT 'components/' || digest || '.wasm', 'components/' || digest, 0, FALSE
FROM (SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads) AS named;

INSERT INTO files (object, name, kept_until, dropped)
SELECT 'artifacts/' || substr(artifact, 1, 2) || '/' || artifact, 'artifacts/' || artifact, 0, FALSE
FROM (SELECT DISTINCT artifact FROM documents WHERE artifact IS NOT NULL) AS named;
