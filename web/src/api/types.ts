// The documents of the API as the page uses them. Times are Unix
// milliseconds, money is in millionths of a dollar.

/** What an agent does, or how it ended. */
export type AgentState =
  | "idle"
  | "queued"
  | "thinking"
  | "compacting"
  | "acting"
  | "accepting"
  | "retrying"
  | "awaiting_approval"
  | "awaiting_answer"
  | "awaiting_budget"
  | "awaiting_children"
  | "cancelling"
  | "settling"
  | "completed"
  | "partial"
  | "failed"
  | "cancelled"
  | "timeout"
  | "max_turns"
  | "budget"
  | "superseded"
  | "interrupted";

export interface Chat {
  id: string;
  userId: string;
  title: string;
  role: string;
  model: string;
  dir: string;
  status?: string;
  archived?: boolean;
  createdAt: number;
  updatedAt: number;
  // What a listed chat has beyond its document.
  state?: string;
  liveChildren?: number;
  turns?: number;
  tokens?: number;
  costMicros?: number;
  unpriced?: boolean;
  waitingItems?: number;
  readSeq?: number;
  lastSeq?: number;
}

export interface Agent {
  id: string;
  chatId: string;
  parent?: string;
  role: string;
  name: string;
  path: string;
  depth: number;
  model: string;
  dir?: string;
  triggerMessageId?: string;
  contextMode?: string;
  contextTokenCount?: number;
  maxTurns?: number;
  maxDurationMs?: number;
  maxTokens?: number;
  maxCostMicros?: number;
  continues?: string;
  summary?: string;
  error?: string;
  state: string;
  status: string;
  recordedStatus: string;
  bailoutReason?: string;
  waitsFor?: string;
  waitsUntil?: number;
  turns: number;
  activeMs: number;
  tokens: number;
  costMicros: number;
  unpriced?: boolean;
  childTokens?: number;
  childCostMicros?: number;
  children?: number;
  liveChildren?: number;
  createdAt: number;
  updatedAt: number;
  endedAt?: number;
}

/** What the record of an agent's tool calls shows of its work. */
export interface TaskRecord {
  files_modified?: string[];
  files_created?: string[];
  files_deleted?: string[];
  tests_run?: number | null;
  tests_passed?: number | null;
  tool_call_count?: number;
  iteration_count?: number;
  duration_ms?: number;
  unverified?: string[];
  worktree?: string;
}

export interface Task {
  id: string;
  chatId: string;
  parentAgentId: string;
  number: number;
  type: string;
  name: string;
  instruction: string;
  subAgentId?: string;
  turn: number;
  call: number;
  status: string;
  result?: string;
  error?: string;
  errorKind?: string;
  reason?: string;
  triggerMessageId?: string;
  metadata?: TaskRecord;
  createdAt: number;
  updatedAt: number;
}

export type Part =
  | { type: "text"; text: string }
  | { type: "thinking"; text?: string; encrypted?: string }
  | { type: "image"; media_type: string; data: string }
  | { type: "tool_call"; id: string; name: string; input: unknown }
  | { type: "tool_result"; call_id: string; name: string; is_error?: boolean; parts: Part[] };

export interface Message {
  id: string;
  agentId: string;
  pos: number;
  role: string;
  kind: string;
  turn?: number;
  toolCallId?: string;
  parts: Part[];
  createdAt: number;
}

export interface ToolCall {
  id: string;
  subAgentId: string;
  turn: number;
  call: number;
  callId: string;
  toolName: string;
  class: string;
  args: unknown;
  phase: string;
  status: string;
  result?: string;
  error?: string;
  record?: { files?: { path: string; op: string; diff?: string }[]; command?: string; exit?: number };
  createdAt: number;
  startedAt?: number;
  endedAt?: number;
}

export interface ModelCall {
  id: string;
  agentId: string;
  turn: number;
  try: number;
  model: string;
  requestType: string;
  response?: string;
  status: string;
  stop?: string;
  errorKind?: string;
  error?: string;
  requestId?: string;
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
  reasoning?: number;
  costMicros: number;
  priced: boolean;
  startedAt: number;
  firstTokenAt?: number;
  endedAt: number;
}

/** The detail of an inbox item that asks for an approval. */
export interface Approval {
  tool: string;
  input?: unknown;
  action?: { class?: string; paths?: string[]; command?: string; hosts?: string[]; shown?: string };
  dir?: string;
  allows?: string[];
  why?: string;
}

export interface Item {
  id: string;
  chatId: string;
  agentId: string;
  path: string;
  role: string;
  turn: number;
  call: number;
  kind: string;
  action: string;
  reason?: string;
  detail?: Approval;
  deadline?: number;
  default?: string;
  status: string;
  how?: string;
  by?: string;
  scope?: string;
  answer?: string;
  createdAt: number;
  closedAt?: number;
}

export interface Answer {
  allow?: boolean;
  scope?: string;
  reason?: string;
  text?: string;
  decline?: boolean;
  how?: string;
}

export interface Document {
  collection: string;
  id: string;
  data?: unknown;
  deleted?: boolean;
}

export interface Change {
  seq: number;
  prev?: number;
  at: number;
  type: string;
  chat: string;
  agent?: string;
  path?: string;
  docs?: Document[];
}

export interface Delta {
  chat: string;
  agent: string;
  call: string;
  kind: string;
  part: number;
  offset: number;
  name?: string;
  text: string;
}

export interface Page<T> {
  items: T[];
  next?: string;
}
export interface Snapshot {
  chat: Chat;
  orchestrator: Agent;
  seq: number;
}
export interface Tree {
  seq: number;
  agents: Agent[];
  tokens: number;
  costMicros: number;
  more?: boolean;
}
export interface Me {
  user: { id: string; name: string };
  scope: string;
  seq: number;
  waitingItems: number;
  version: string;
  dir: string;
  paused?: string;
}
export interface Role {
  name: string;
  label: string;
  description: string;
  icon?: string;
  model?: string;
  mode: string;
  tools: string[];
  allTools?: boolean;
  delegates: string[];
  maxTurns: number;
  maxDurationMs: number;
  source?: string;
  warnings?: string[];
}
export interface Model {
  ref: string;
  provider: string;
  name?: string;
  window?: number;
  priced: boolean;
  inputMicros: number;
  outputMicros: number;
  images: boolean;
  reasoning: boolean;
  offline?: boolean;
}
export interface Models {
  choices: { name: string; model: string; reason?: string }[];
  models: Model[];
}
export interface Spending {
  key: string;
  calls: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costMicros: number;
  unpricedCalls: number;
}
export interface Stats {
  by: string;
  items: Spending[];
  total: Spending;
}
export interface Prompt {
  id: string;
  text: string;
  model: string;
  tools: { name: string; description?: string; schema?: unknown }[];
}
export interface LogEntry {
  seq: number;
  at: number;
  type: string;
  verdict?: string;
}
export interface Attachment {
  name: string;
  mediaType: string;
  data: string;
}
