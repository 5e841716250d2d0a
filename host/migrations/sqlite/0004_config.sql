-- What users have set of the settings that toolkits declare.
CREATE TABLE user_config (
    user_id    TEXT NOT NULL,
    toolkit_id TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    key        TEXT NOT NULL,
    -- JSON
    value      TEXT NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX user_config_by_toolkit ON user_config (toolkit_id);
