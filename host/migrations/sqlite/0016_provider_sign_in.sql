-- Sign-in of browsers with an external provider. Times are milliseconds since 1970.

-- What the provider has granted for a session.
CREATE TABLE browser_session_grants (
    digest BLOB PRIMARY KEY REFERENCES browser_sessions (digest) ON DELETE CASCADE,
    -- When the access token expires.
    expires_at INTEGER NOT NULL,
    -- The refresh token, sealed by the vault; NULL where the provider has given none.
    master_key TEXT,
    wrapped_key BLOB,
    refresh_token BLOB
) STRICT;

-- Clients that this server has registered for its pages (RFC 7591).
CREATE TABLE web_clients (
    issuer TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    client_id TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, redirect_uri)
) STRICT;
