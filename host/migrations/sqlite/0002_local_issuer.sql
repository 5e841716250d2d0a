-- Clients that registered with the local issuer (RFC 7591).
CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY NOT NULL,
    -- What the client calls itself, where it said so.
    name          TEXT,
    -- JSON array of strings.
    redirect_uris TEXT NOT NULL,
    -- Milliseconds since 1970, UTC: when the client last obtained a refresh token, or else registered.
    used_at       INTEGER NOT NULL
) STRICT;

-- Consents that last beyond an access token. One refresh token of each is good, the newest: the id is
-- the part that all of them have in common, so an older one still finds its grant, and ends it.
CREATE TABLE oauth_grants (
    id             TEXT PRIMARY KEY NOT NULL,
    client_id      TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL,
    -- Separated by spaces.
    scopes         TEXT NOT NULL,
    -- SHA-256 of the newest refresh token.
    refresh_digest BLOB NOT NULL,
    -- Milliseconds since 1970, UTC; moves on with every refresh.
    expires_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX oauth_grants_by_client ON oauth_grants (client_id);
