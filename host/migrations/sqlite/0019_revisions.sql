-- How often what processes keep in memory has changed. Each compares before it serves a request.

-- One row.
CREATE TABLE registry (
    -- Changes of what is live, of its owner, and of what is shown of it.
    generation INTEGER NOT NULL,
    -- How often secrets of users were deleted with their toolkit, or because its owner changed.
    removals   INTEGER NOT NULL
) STRICT;

INSERT INTO registry (generation, removals) VALUES (0, 0);

-- Of users who have ever set a secret.
CREATE TABLE secret_revisions (
    user_id  TEXT PRIMARY KEY,
    -- Changes that the user has made.
    revision INTEGER NOT NULL
) STRICT;
