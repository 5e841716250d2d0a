-- What became of the ownership of toolkits, oldest first. Lines stay when their toolkit is removed: whoever
-- takes one over, removes it and deploys it anew is still seen to have done so.
CREATE TABLE toolkit_ownership (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    toolkit_id   TEXT NOT NULL,
    -- `released`, `kept` (released before, and used by its owner again), `taken-over`, `removed`
    event        TEXT NOT NULL,
    owner_before TEXT NOT NULL,
    -- Who did it; the owner from then on, where the toolkit was taken over.
    by_user      TEXT NOT NULL,
    -- Milliseconds since 1970, UTC.
    at           INTEGER NOT NULL
) STRICT;

CREATE INDEX toolkit_ownership_by_toolkit ON toolkit_ownership (toolkit_id, sequence);
