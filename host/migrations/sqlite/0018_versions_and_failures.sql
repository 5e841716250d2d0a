-- The interfaces that the component imports, without their versions: a JSON array. NULL for versions that were deployed
-- before this was kept.
ALTER TABLE toolkit_versions ADD COLUMN imports TEXT;

-- Pictures of versions whose icon is a URL, as they were when the version was deployed.
CREATE TABLE toolkit_icons (
    toolkit_id TEXT NOT NULL,
    version    TEXT NOT NULL,
    -- SHA-256 of the content, hexadecimal.
    digest     TEXT NOT NULL,
    -- Of the content, whatever its sender called it.
    media_type TEXT NOT NULL,
    content    BLOB NOT NULL,
    PRIMARY KEY (toolkit_id, version),
    FOREIGN KEY (toolkit_id, version) REFERENCES toolkit_versions (toolkit_id, version) ON DELETE CASCADE
) STRICT;

-- Failures of all toolkits are counted from this index alone; calls that succeed are not in it.
CREATE INDEX invocations_failed ON invocations (started_at, toolkit_id, outcome) WHERE outcome <> 'succeeded';
