-- Retention asks for the newest records of each user, their sizes and how they ended: a row's size
-- stands behind its content, and is not read there for ten thousand rows.
DROP INDEX invocations_by_user;
CREATE INDEX invocations_by_user ON invocations (toolkit_id, user_id, id, size, outcome);
