-- Whose `sub` the user ids of all other tables are: the last row counts.
CREATE TABLE issuers (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The identifier of an OpenID provider, letter for letter, or `local`.
    issuer   TEXT NOT NULL,
    -- Milliseconds since 1970, UTC.
    since    INTEGER NOT NULL
) STRICT;
