// Requests to the API, through the client that is made of its document. A
// failed one is a Problem, which says what happened and what to do.

import createClient from "openapi-fetch";
import type { components, operations, paths } from "./generated/schema";
import type { Answer, Page } from "./types";

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

const client = createClient<paths>({ credentials: "same-origin" });

type Told<T> = { data?: T; error?: unknown; response: Response };

/** told waits for an answer and takes what it says, or throws its problem. */
async function told<T>(asked: Promise<Told<T>>): Promise<T> {
  let answer: Told<T>;
  try {
    answer = await asked;
  } catch {
    throw new Problem(0, "offline", "The server cannot be reached.", "Check that cadre serve is running, then try again.");
  }
  if (answer.response.ok) return answer.data as T;
  const { status } = answer.response;
  const said = (typeof answer.error === "object" ? answer.error : {}) as Partial<components["schemas"]["Problem"]>;
  throw new Problem(status, said.code ?? "", said.detail ?? said.title ?? `The server answered ${status}.`, said.hint ?? "");
}

/** What an operation understands in the address. */
type Query<Name extends keyof operations> = operations[Name]["parameters"]["query"];
type Body<Name extends keyof components["schemas"]> = components["schemas"][Name];

const root = "/v1/users/{user}";
const chatPath = `${root}/orch-chats/{chat}` as const;
const agentPath = `${chatPath}/sub-agents/{agent}` as const;
const me = { user: "me" };
const the = (chat: string) => ({ path: { user: "me", chat } });
const one = (chat: string, agent: string) => ({ path: { user: "me", chat, agent } });

export const api = {
  signIn: (token: string) => told(client.POST("/v1/session", { body: { token } })),
  me: () => told(client.GET(root, { params: { path: me } })),
  settings: () => told(client.GET(`${root}/settings`, { params: { path: me } })),
  putSettings: (body: Record<string, unknown>) => told(client.PUT(`${root}/settings`, { params: { path: me }, body })),
  inbox: (query?: Query<"listInbox">) => told(client.GET(`${root}/inbox`, { params: { path: me, query } })),
  chats: (query?: Query<"listChats">) => told(client.GET(`${root}/orch-chats`, { params: { path: me, query } })),
  createChat: (body: Body<"NewChat">) => told(client.POST(`${root}/orch-chats`, { params: { path: me }, body })),
  chat: (chat: string) => told(client.GET(chatPath, { params: the(chat) })),
  setChat: (chat: string, body: Body<"SetChat">) => told(client.PATCH(chatPath, { params: the(chat), body })),
  deleteChat: (chat: string, force: boolean) => told(client.DELETE(chatPath, { params: { ...the(chat), query: { force } } })),
  tree: (chat: string) => told(client.GET(`${chatPath}/tree`, { params: the(chat) })),
  tasks: (chat: string, query?: Query<"listTasks">) => told(client.GET(`${chatPath}/tasks`, { params: { ...the(chat), query } })),
  items: (chat: string, query?: Query<"listChatInbox">) => told(client.GET(`${chatPath}/inbox`, { params: { ...the(chat), query } })),
  messages: (chat: string, query?: Query<"listMessages">) => told(client.GET(`${chatPath}/messages`, { params: { ...the(chat), query } })),
  send: (chat: string, body: Body<"NewMessage">) => told(client.POST(`${chatPath}/messages`, { params: the(chat), body })),
  fork: (chat: string, body: Body<"Fork">) => told(client.POST(`${chatPath}/fork`, { params: the(chat), body })),
  stopChat: (chat: string) => told(client.POST(`${chatPath}/stop`, { params: the(chat) })),
  markRead: (chat: string, seq: number) => told(client.PUT(`${chatPath}/read`, { params: the(chat), body: { seq } })),
  answer: (chat: string, item: string, body: Answer) =>
    told(client.POST(`${chatPath}/inbox/{item}/answer`, { params: { path: { ...me, chat, item } }, body })),
  stopAgent: (chat: string, agent: string) => told(client.POST(`${agentPath}/stop`, { params: one(chat, agent) })),
  agentMessages: (chat: string, agent: string, query?: Query<"listAgentMessages">) =>
    told(client.GET(`${agentPath}/messages`, { params: { ...one(chat, agent), query } })),
  toolCalls: (chat: string, agent: string, query?: Query<"listToolCalls">) =>
    told(client.GET(`${agentPath}/tool-calls`, { params: { ...one(chat, agent), query } })),
  modelCalls: (chat: string, agent: string, query?: Query<"listModelCalls">) =>
    told(client.GET(`${agentPath}/model-calls`, { params: { ...one(chat, agent), query } })),
  prompt: (chat: string, agent: string) => told(client.GET(`${agentPath}/prompt`, { params: one(chat, agent) })),
  log: (chat: string, agent: string, query?: Query<"listLog">) =>
    told(client.GET(`${agentPath}/log`, { params: { ...one(chat, agent), query } })),
  roles: () => told(client.GET("/v1/roles")),
  models: () => told(client.GET("/v1/models")),
  providers: () => told(client.GET("/v1/providers")),
  testProvider: (provider: string) => told(client.POST("/v1/providers/{provider}/test", { params: { path: { provider } } })),
  policy: () => told(client.GET("/v1/policy")),
  stats: (query: Query<"getStats">) => told(client.GET("/v1/stats", { params: { query } })),
  chatFeed: (chat: string) => `/v1/users/me/orch-chats/${encodeURIComponent(chat)}/changes`,
  userFeed: () => "/v1/users/me/changes",
};

/** all reads every page of a list, up to a bound. */
export async function all<T>(read: (page: { limit: number; cursor?: string }) => Promise<Page<T>>, bound = 20_000): Promise<T[]> {
  const out: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor ? { limit: 200, cursor } : { limit: 200 });
    out.push(...page.items);
    cursor = page.next;
  } while (cursor && out.length < bound);
  return out;
}
