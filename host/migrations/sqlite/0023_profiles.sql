-- What processes need to know of each other before they work side by side.

-- The release of its program, such as 1.4.
ALTER TABLE processes ADD COLUMN release TEXT NOT NULL DEFAULT '';
-- The names of its master keys, separated by spaces. It seals with the first.
ALTER TABLE processes ADD COLUMN master_keys TEXT NOT NULL DEFAULT '';
-- Fingerprints of the settings that all processes should have alike, by name: a JSON object.
ALTER TABLE processes ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

-- The name of the store of files that all processes have; NULL before the first of several has named it.
ALTER TABLE service ADD COLUMN store TEXT;
-- The newest release that has changed the schema; NULL before this was kept.
ALTER TABLE service ADD COLUMN release TEXT;
