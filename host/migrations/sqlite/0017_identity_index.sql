-- The expression that statements use, which is the same for all engines.
DROP INDEX documents_by_identity;
CREATE UNIQUE INDEX documents_by_identity ON documents (user_id, source, COALESCE(feed_id, 0), identity);
