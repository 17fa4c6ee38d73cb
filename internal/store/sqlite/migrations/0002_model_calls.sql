-- What a vendor says that answered, and how long the call waited for its place.
ALTER TABLE model_calls ADD COLUMN answered TEXT NOT NULL DEFAULT '';
ALTER TABLE model_calls ADD COLUMN waited INTEGER NOT NULL DEFAULT 0; -- milliseconds
