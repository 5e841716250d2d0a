-- What tells this database from an older copy of itself that was put in its place.

-- Random, of the process that has started last; NULL before this was kept.
ALTER TABLE service ADD COLUMN last_start TEXT;
