-- The tables of a data folder.
--
-- Rowid tables in commit order, with few and plain indexes: what is written
-- together lies together. Rows refer to each other by integer (n); the ids
-- that the rest of the program speaks in are looked up at the edge. What
-- changes often is kept apart from what is wide.

CREATE TABLE users (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  name       TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What lets somebody in: tokens and sessions, by the hash of their secret.
CREATE TABLE keys (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  hash       TEXT    NOT NULL UNIQUE,
  user       TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  scope      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX keys_of_user ON keys (user);

-- What a user has set for the page, as the page wants it.
CREATE TABLE settings (
  user TEXT NOT NULL PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

-- Up to which change the owner of a chat has read it.
CREATE TABLE read_marks (
  n   INTEGER PRIMARY KEY, -- of chats
  seq INTEGER NOT NULL
) STRICT;

-- Who came in, who allowed what, who stopped what.
CREATE TABLE audit (
  n       INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  user    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  action  TEXT    NOT NULL,
  target  TEXT    NOT NULL,
  address TEXT    NOT NULL,
  detail  TEXT    NOT NULL
) STRICT;

CREATE TABLE chats (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  user       TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  model      TEXT    NOT NULL,
  dir        TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  archived   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  born       INTEGER NOT NULL  -- the change that made it: no earlier one is about it
) STRICT;
CREATE INDEX chats_of_user  ON chats (user, updated_at);
CREATE INDEX chats_by_birth ON chats (user, created_at);

-- The narrow row of an agent, written with most events.
CREATE TABLE agents (
  n            INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  chat         INTEGER NOT NULL,
  parent       INTEGER,           -- NULL: the orchestrator
  depth        INTEGER NOT NULL,
  snapshot     INTEGER,           -- the event that carries the newest one
  status       TEXT    NOT NULL,
  sub_agent    TEXT    NOT NULL,
  recorded     TEXT    NOT NULL,
  bailout      TEXT    NOT NULL,
  why          TEXT    NOT NULL,
  until        INTEGER NOT NULL,
  turns        INTEGER NOT NULL,
  active_ms    INTEGER NOT NULL,
  tokens       INTEGER NOT NULL,
  cost         INTEGER NOT NULL,
  unpriced     INTEGER NOT NULL,
  child_tokens INTEGER NOT NULL,
  child_cost   INTEGER NOT NULL,
  children     INTEGER NOT NULL,
  live         INTEGER NOT NULL,
  busy         INTEGER NOT NULL,
  wake_at      INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  waits        INTEGER NOT NULL   -- busy or wake_at: apart, so that the index seldom changes
) STRICT;
CREATE INDEX agents_of_chat   ON agents (chat);
CREATE INDEX agents_of_parent ON agents (parent) WHERE parent IS NOT NULL;
CREATE INDEX agents_waiting   ON agents (chat) WHERE waits = 1;

-- What an agent is born and ends with.
CREATE TABLE agent_details (
  n              INTEGER PRIMARY KEY, -- of agents
  task           TEXT    NOT NULL,
  role           TEXT    NOT NULL,
  name           TEXT    NOT NULL,
  path           TEXT    NOT NULL,
  model          TEXT    NOT NULL,
  prompt         TEXT    NOT NULL,
  dir            TEXT    NOT NULL,
  cause          TEXT    NOT NULL,
  context_mode   TEXT    NOT NULL,
  context_tokens INTEGER NOT NULL,
  max_turns      INTEGER NOT NULL,
  max_duration   INTEGER NOT NULL,
  max_tokens     INTEGER NOT NULL,
  max_cost       INTEGER NOT NULL,
  continues      TEXT    NOT NULL,
  created_at     INTEGER NOT NULL,
  ended_at       INTEGER NOT NULL,
  summary        TEXT    NOT NULL,
  error          TEXT    NOT NULL,
  metadata       BLOB,
  spec           BLOB
) STRICT;
CREATE INDEX agents_caused ON agent_details (cause) WHERE cause <> '';

-- The log. Append-only; only deleting a whole chat takes events away.
CREATE TABLE events (
  id      INTEGER PRIMARY KEY, -- the number of the change
  agent   INTEGER,
  chat    INTEGER,
  at      INTEGER NOT NULL,
  version INTEGER NOT NULL,
  type    TEXT    NOT NULL,
  verdict TEXT    NOT NULL,
  touched TEXT    NOT NULL,    -- the documents it changed: a letter and a row each
  body    BLOB,
  state   BLOB                 -- the snapshot after it, if one was due
) STRICT;
CREATE INDEX events_of_agent ON events (agent) WHERE agent IS NOT NULL;
CREATE INDEX events_of_chat  ON events (chat)  WHERE agent IS NULL;

CREATE TABLE messages (
  n          INTEGER PRIMARY KEY,
  agent      INTEGER NOT NULL,
  pos        INTEGER,          -- NULL: queued
  turn       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  id         TEXT,             -- NULL: made of agent and pos
  role       TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  call       TEXT    NOT NULL,
  parts      BLOB
) STRICT;
CREATE UNIQUE INDEX messages_of_agent ON messages (agent, pos);
CREATE UNIQUE INDEX messages_by_id    ON messages (id) WHERE id IS NOT NULL;

CREATE TABLE tasks (
  n           INTEGER PRIMARY KEY,
  id          TEXT    NOT NULL UNIQUE,
  agent       INTEGER NOT NULL, -- the parent
  number      INTEGER NOT NULL,
  type        TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  sub_agent   TEXT    NOT NULL,
  turn        INTEGER NOT NULL,
  call        INTEGER NOT NULL,
  status      TEXT    NOT NULL,
  error_kind  TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  cause       TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  instruction TEXT    NOT NULL,
  metadata    BLOB,
  error       TEXT    NOT NULL,
  result      TEXT    NOT NULL
) STRICT;
CREATE INDEX tasks_of_agent ON tasks (agent, number);

CREATE TABLE tool_calls (
  n          INTEGER PRIMARY KEY,
  agent      INTEGER NOT NULL,
  turn       INTEGER NOT NULL,
  call       INTEGER NOT NULL,
  pos        INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  phase      TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  class      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  call_id    TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX tool_calls_of_agent ON tool_calls (agent, turn, call);

-- The wide part of a tool call, which never changes.
CREATE TABLE tool_inputs (
  n    INTEGER PRIMARY KEY, -- of tool_calls
  args BLOB
) STRICT;

-- What a tool call did, as the system saw it; only of those that have ended
-- and did something worth noting.
CREATE TABLE tool_records (
  n      INTEGER PRIMARY KEY, -- of tool_calls
  record BLOB
) STRICT;

CREATE TABLE model_calls (
  n            INTEGER PRIMARY KEY,
  agent        INTEGER NOT NULL,
  turn         INTEGER NOT NULL,
  try          INTEGER NOT NULL,
  from_pos     INTEGER NOT NULL,
  reply_pos    INTEGER NOT NULL,
  input        INTEGER NOT NULL,
  output       INTEGER NOT NULL,
  cache_read   INTEGER NOT NULL,
  cache_write  INTEGER NOT NULL,
  reasoning    INTEGER NOT NULL,
  cost         INTEGER NOT NULL,
  priced       INTEGER NOT NULL,
  started_at   INTEGER NOT NULL,
  first_at     INTEGER NOT NULL,
  ended_at     INTEGER NOT NULL,
  model        TEXT    NOT NULL,
  request_type TEXT    NOT NULL,
  status       TEXT    NOT NULL,
  stop         TEXT    NOT NULL,
  error_kind   TEXT    NOT NULL,
  error        TEXT    NOT NULL,
  request_id   TEXT    NOT NULL,
  response     TEXT    NOT NULL
) STRICT;
CREATE INDEX model_calls_of_agent ON model_calls (agent);

CREATE TABLE inbox (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  chat       INTEGER NOT NULL,
  agent      INTEGER NOT NULL,
  user       TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  turn       INTEGER NOT NULL,
  call       INTEGER NOT NULL,
  kind       TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  permit     TEXT    NOT NULL,
  detail     BLOB,
  deadline   INTEGER NOT NULL,
  otherwise  TEXT    NOT NULL, -- what happens at the deadline
  status     TEXT    NOT NULL,
  how        TEXT    NOT NULL,
  by_whom    TEXT    NOT NULL,
  scope      TEXT    NOT NULL,
  answer     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  closed_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_of_chat  ON inbox (chat);
CREATE INDEX inbox_of_agent ON inbox (agent);
CREATE INDEX inbox_of_user  ON inbox (user);
CREATE INDEX inbox_waiting  ON inbox (user) WHERE status <> 'closed';

CREATE TABLE artifacts (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  chat       INTEGER NOT NULL,
  agent      INTEGER,
  name       TEXT    NOT NULL,
  media_type TEXT    NOT NULL,
  size       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  data       BLOB
) STRICT;
CREATE INDEX artifacts_of_chat ON artifacts (chat);

-- System prompts, by their hash; shared by all chats.
CREATE TABLE prompts (
  n    INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

-- For people: what the feed tells, without the documents.
CREATE VIEW changes AS
SELECT e.id AS seq, e.at, e.type, c.id AS chat, a.id AS agent, d.path, e.verdict, e.touched
FROM events e
LEFT JOIN chats c ON c.n = e.chat
LEFT JOIN agents a ON a.n = e.agent
LEFT JOIN agent_details d ON d.n = e.agent;

-- For people: what must be under way now, and what recovery would start again.
CREATE VIEW pending_effects AS
SELECT c.id AS chat, a.id AS agent, a.status AS state,
       CASE t.phase WHEN 'asking' THEN 'consult' ELSE 'tool' END AS effect,
       t.turn, t.call, t.name, t.phase, a.wake_at
FROM agents a
JOIN chats c ON c.n = a.chat
JOIN tool_calls t ON t.agent = a.n AND t.phase IN ('running', 'started', 'asking')
WHERE a.waits = 1 AND a.busy = 1
UNION ALL
SELECT c.id, a.id, a.status,
       CASE a.status WHEN 'compacting' THEN 'compact' WHEN 'accepting' THEN 'acceptance' ELSE 'model' END,
       a.turns, NULL, NULL, NULL, a.wake_at
FROM agents a
JOIN chats c ON c.n = a.chat
WHERE a.waits = 1 AND a.busy = 1 AND a.status IN ('thinking', 'queued', 'compacting', 'accepting');
