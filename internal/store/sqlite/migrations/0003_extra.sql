-- What an agent was given beyond its limits, by whoever extended a spent budget.
ALTER TABLE agents ADD COLUMN extra_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN extra_cost   INTEGER NOT NULL DEFAULT 0;
