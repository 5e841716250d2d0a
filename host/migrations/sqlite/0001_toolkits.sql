-- A toolkit exists exactly as long as one of its versions is live.
CREATE TABLE toolkits (
    id           TEXT PRIMARY KEY NOT NULL,
    owner        TEXT NOT NULL,
    live_version TEXT NOT NULL,
    FOREIGN KEY (id, live_version) REFERENCES toolkit_versions (toolkit_id, version)
        DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE TABLE toolkit_versions (
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    version     TEXT NOT NULL,
    -- SHA-256 of the component, hexadecimal; the name of its file.
    digest      TEXT NOT NULL,
    size        INTEGER NOT NULL,
    -- manifest.json
    manifest    TEXT NOT NULL,
    -- What changed since the version that was live before: { "added": [...], "removed": [...] }
    changes     TEXT NOT NULL,
    deployed_by TEXT NOT NULL,
    -- Milliseconds since 1970, UTC.
    deployed_at INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, version)
) STRICT;

CREATE INDEX toolkit_versions_by_digest ON toolkit_versions (digest);

-- Which version became live, when and by whom; a roll-back adds a line like any deploy.
CREATE TABLE toolkit_activations (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    toolkit_id   TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    version      TEXT NOT NULL,
    activated_by TEXT NOT NULL,
    activated_at INTEGER NOT NULL
) STRICT;
