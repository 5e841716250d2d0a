-- Secrets of users, sealed: what is here opens with the master key alone, and in its own row alone.
CREATE TABLE secrets (
    user_id     TEXT NOT NULL,
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    -- Which master key wraps the record's own key.
    master_key  TEXT NOT NULL,
    -- Nonce, key, tag.
    wrapped_key BLOB NOT NULL,
    -- Nonce, value, tag.
    sealed      BLOB NOT NULL,
    -- Milliseconds since 1970, UTC.
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_by_toolkit ON secrets (toolkit_id);
CREATE INDEX secrets_by_master_key ON secrets (master_key);
