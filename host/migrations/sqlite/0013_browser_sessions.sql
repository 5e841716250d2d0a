-- Sessions of browsers on Kitbag's own pages. Times are milliseconds since 1970.
CREATE TABLE browser_sessions (
    -- SHA-256 of the cookie's value.
    digest BLOB PRIMARY KEY,
    -- Who knows the user by this id.
    issuer TEXT NOT NULL,
    user_id TEXT NOT NULL,
    -- The browser's name for itself.
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;

CREATE INDEX browser_sessions_by_user ON browser_sessions (user_id, used_at);
