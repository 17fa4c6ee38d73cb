// Requests to the API. A failed one is a Problem, which says what happened and
// what to do.

import type {
  Agent,
  Answer,
  Attachment,
  Chat,
  Item,
  LogEntry,
  Me,
  Message,
  ModelCall,
  Models,
  Page,
  Prompt,
  Role,
  Snapshot,
  Stats,
  Task,
  ToolCall,
  Tree,
} from "./types";

/** A request that failed, in the server's words where it has any. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly hint: string,
  ) {
    super(detail);
  }
}

interface ProblemBody {
  code?: string;
  detail?: string;
  title?: string;
  hint?: string;
}

async function problemOf(answer: Response): Promise<Problem> {
  const body = (await answer.json().catch(() => ({}))) as ProblemBody;
  const detail = body.detail ?? body.title ?? `The server answered ${answer.status}.`;
  return new Problem(answer.status, body.code ?? "", detail, body.hint ?? "");
}

type Query = Record<string, string | number | boolean | undefined>;

export function address(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, v]) => v !== undefined && v !== "");
  const text = new URLSearchParams(pairs.map(([k, v]) => [k, String(v)])).toString();
  return text ? `${path}?${text}` : path;
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, "offline", "The server cannot be reached.", "Check that cadre serve is running, then try again.");
  }
  if (!answer.ok) throw await problemOf(answer);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

const get = <T>(path: string, query?: Query) => request<T>("GET", address(path, query));
const post = <T>(path: string, body: unknown = {}) => request<T>("POST", path, body);

const chats = "/v1/users/me/orch-chats";
const chatPath = (chat: string) => `${chats}/${encodeURIComponent(chat)}`;
const agentPath = (chat: string, agent: string) => `${chatPath(chat)}/sub-agents/${encodeURIComponent(agent)}`;

export interface NewChat {
  title?: string;
  role?: string;
  model?: string;
  text?: string;
  dir?: string;
}

export const api = {
  me: () => get<Me>("/v1/users/me"),
  settings: () => get<Record<string, unknown>>("/v1/users/me/settings"),
  putSettings: (body: Record<string, unknown>) => request<void>("PUT", "/v1/users/me/settings", body),
  inbox: (query?: Query) => get<Page<Item>>("/v1/users/me/inbox", query),
  chats: (query?: Query) => get<Page<Chat>>(chats, query),
  createChat: (body: NewChat) => post<Snapshot>(chats, body),
  chat: (chat: string) => get<Snapshot>(chatPath(chat)),
  setChat: (chat: string, body: { title?: string; archived?: boolean }) => request<unknown>("PATCH", chatPath(chat), body),
  deleteChat: (chat: string, force: boolean) => request<void>("DELETE", address(chatPath(chat), { force: force || undefined })),
  tree: (chat: string) => get<Tree>(`${chatPath(chat)}/tree`),
  tasks: (chat: string, query?: Query) => get<Page<Task>>(`${chatPath(chat)}/tasks`, query),
  items: (chat: string, query?: Query) => get<Page<Item>>(`${chatPath(chat)}/inbox`, query),
  messages: (chat: string, query?: Query) => get<Page<Message>>(`${chatPath(chat)}/messages`, query),
  send: (chat: string, body: { id: string; text: string; attachments?: Attachment[] }) => post<Message>(`${chatPath(chat)}/messages`, body),
  fork: (chat: string, body: { message: string; text?: string }) => post<Snapshot>(`${chatPath(chat)}/fork`, body),
  stopChat: (chat: string) => post<void>(`${chatPath(chat)}/stop`),
  stopAgent: (chat: string, agent: string) => post<void>(`${agentPath(chat, agent)}/stop`),
  markRead: (chat: string, seq: number) => request<void>("PUT", `${chatPath(chat)}/read`, { seq }),
  answer: (chat: string, item: string, body: Answer) =>
    post<{ said: string; item: Item }>(`${chatPath(chat)}/inbox/${encodeURIComponent(item)}/answer`, body),
  agent: (chat: string, agent: string) => get<Agent>(agentPath(chat, agent)),
  agentMessages: (chat: string, agent: string, query?: Query) => get<Page<Message>>(`${agentPath(chat, agent)}/messages`, query),
  toolCalls: (chat: string, agent: string, query?: Query) => get<Page<ToolCall>>(`${agentPath(chat, agent)}/tool-calls`, query),
  modelCalls: (chat: string, agent: string, query?: Query) => get<Page<ModelCall>>(`${agentPath(chat, agent)}/model-calls`, query),
  prompt: (chat: string, agent: string) => get<Prompt>(`${agentPath(chat, agent)}/prompt`),
  log: (chat: string, agent: string, query?: Query) => get<Page<LogEntry>>(`${agentPath(chat, agent)}/log`, query),
  roles: () => get<Page<Role>>("/v1/roles"),
  models: () => get<Models>("/v1/models"),
  stats: (query: Query) => get<Stats>("/v1/stats", query),
  chatFeed: (chat: string) => `${chatPath(chat)}/changes`,
  userFeed: () => "/v1/users/me/changes",
};

/** all reads every page of a list, up to a bound. */
export async function all<T>(read: (query: Query) => Promise<Page<T>>, query: Query = {}, bound = 20_000): Promise<T[]> {
  const out: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: 200, ...query, cursor });
    out.push(...page.items);
    cursor = page.next;
  } while (cursor && out.length < bound);
  return out;
}
