// Loading: snapshots first, then the feed from their number on. What the feed
// tells is always at least as new as what a list has shown.

import { all, api, Problem } from "../api/client";
import type { Agent, Change, Delta, Message } from "../api/types";
import { subscribe, type Feed, type FeedEvent, type Link } from "./feed";
import type { State } from "./model";
import { pack, unpack } from "./outbox";
import { apply, hear, mergeAgents, mergeChats, mergeItems, mergeMessages, mergeModelCalls, mergeTasks, mergeToolCalls } from "./reduce";
import { browserSharing, share } from "./share";
import { sentence } from "../text/format";
import { flush, read, update, write } from "./store";

const pageOfMessages = 200;

let userFeed: Feed | null = null;
let chatFeed: { chat: string; feed: Feed } | null = null;
const loadedAgents = new Set<string>();
const olderCalls = new Map<string, string>(); // where older tool calls of a chat begin

function take(event: FeedEvent): void {
  if (event.event === "delta") {
    const delta = JSON.parse(event.data) as Delta;
    update((s) => hear(s, delta, Date.now()));
  } else if (event.event === "change" || event.event === "message") {
    const change = JSON.parse(event.data) as Change;
    update((s) => apply(s, change));
  } else if (event.event === "state") {
    const { paused } = JSON.parse(event.data) as { paused?: string };
    update((s) => (s.me ? { ...s, me: { ...s.me, paused: paused ?? "" } } : s));
  }
}

const showLink = (link: Link, retryAt: number) => write({ link, retryAt });

let leaving = false;

/**
 * What is held may be of a chat that was deleted, or of another data folder:
 * none of it is kept. Drafts are, and the outbox. Both feeds may ask for it.
 */
function anew(): void {
  if (leaving) return;
  leaving = true;
  location.reload();
}

/** start loads what every page needs, and follows it. */
export async function start(): Promise<void> {
  userFeed?.close();
  const sharing = browserSharing("cadre-user-feed"); // it listens before the number is read
  try {
    const me = await api.me();
    const [chats, archived, items] = await Promise.all([
      api.chats({ limit: 100 }),
      api.chats({ limit: 50, archived: "true" }),
      all(api.inbox),
    ]);
    update((s) => mergeItems(mergeChats({ ...s, me }, [...chats.items, ...archived.items]), items));
    flush(); // what is said to be there is there
    write({ ready: true, broken: "", stranger: false, moreChats: chats.next ?? "" });
    const options = { url: api.userFeed(), since: me.seq, on: take, link: showLink, gone: anew };
    userFeed = sharing ? share({ ...options, ...sharing, missed: () => void start() }) : subscribe(options);
  } catch (err) {
    sharing?.channel.close();
    write({ broken: reason(err), stranger: err instanceof Problem && err.status === 401, ready: false });
    if (!(err instanceof Problem) || err.status === 0 || err.status >= 500) setTimeout(() => void start(), 3000);
  }
}

/** olderChats loads the next page of chats. */
export async function olderChats(): Promise<void> {
  const page = await api.chats({ limit: 100, cursor: read().moreChats });
  update((s) => mergeChats(s, page.items));
  write({ moreChats: page.next ?? "" });
}

/** searchChats loads chats that have a text in their title, also those not loaded yet. */
export async function searchChats(text: string): Promise<void> {
  const page = await api.chats({ limit: 100, archived: "all", search: text });
  update((s) => mergeChats(s, page.items));
}

export const reason = (err: unknown): string =>
  err instanceof Problem
    ? [err.message, err.hint].filter(Boolean).map(sentence).join(" ")
    : err instanceof Error
      ? err.message
      : String(err);

/** openChat loads a chat and follows it; the one followed before is left. */
export async function openChat(chat: string): Promise<void> {
  if (chatFeed?.chat === chat) return;
  closeChat();
  const fresh = read().opened[chat] !== "ready";
  if (fresh) write((s) => ({ opened: { ...s.opened, [chat]: "loading" } }));
  const place = { chat, feed: { close: () => {}, retry: () => {} } as Feed };
  chatFeed = place;
  loadedAgents.clear();
  try {
    const snapshot = await api.chat(chat);
    const [tree, tasks, items, messages, calls] = await Promise.all([
      api.tree(chat),
      all((q) => api.tasks(chat, q)),
      all((q) => api.items(chat, { ...q, all: true })),
      api.messages(chat, { limit: pageOfMessages, order: "desc" }),
      api.toolCalls(chat, chat, { limit: pageOfMessages, order: "desc" }),
    ]);
    if (chatFeed !== place) return;
    update((s) => {
      let next = mergeChats(s, [snapshot.chat]);
      next = mergeTasks(mergeAgents(next, [snapshot.orchestrator, ...tree.agents]), tasks);
      next = mergeMessages(withoutGap(mergeItems(next, items), chat, messages.items), chat, messages.items);
      return mergeToolCalls(next, chat, calls.items);
    });
    flush();
    olderCalls.set(chat, calls.next ?? "");
    write((s) => ({ opened: { ...s.opened, [chat]: "ready" }, older: { ...s.older, [chat]: messages.next ?? "" } }));
    place.feed = subscribe({
      url: api.chatFeed(chat),
      since: snapshot.seq,
      on: take,
      link: showLink,
      gone: anew,
    });
    void loadUnderWay(chat, tree.agents);
  } catch (err) {
    if (chatFeed === place) chatFeed = null;
    const told = err instanceof Problem && err.status === 404 ? "missing" : reason(err);
    write((s) => ({ opened: { ...s.opened, [chat]: told } }));
  }
}

/** Of how many agents is loaded what they are at, of the others the feed tells what they do next. */
const mostUnderWay = 100;

/** loadUnderWay loads the calls that agents are at: the feed tells only of those that begin after it. */
async function loadUnderWay(chat: string, agents: readonly Agent[]): Promise<void> {
  const acting = agents.filter((a) => a.id !== chat && ["acting", "awaiting_approval", "awaiting_answer"].includes(a.state));
  await Promise.all(
    acting.slice(0, mostUnderWay).map(async (a) => {
      const calls = await api.toolCalls(chat, a.id, { limit: 20, order: "desc" }).catch(() => null); // the page works without
      if (calls) update((s) => mergeToolCalls(s, a.id, calls.items));
    }),
  );
}

/** withoutGap drops messages held from before if others came in between that are not here. */
function withoutGap(state: State, chat: string, page: readonly Message[]): State {
  const held = state.messages[chat]?.findLast((m) => m.pos >= 0)?.pos ?? -1;
  const first = Math.min(...page.filter((m) => m.pos >= 0).map((m) => m.pos));
  return Number.isFinite(first) && first > held + 1 ? { ...state, messages: { ...state.messages, [chat]: [] } } : state;
}

export function closeChat(): void {
  chatFeed?.feed.close();
  chatFeed = null;
}

/** keepOutbox takes the outbox of the page before, and leaves its own to the next one. */
export function keepOutbox(): void {
  write({ outbox: unpack() });
  window.addEventListener("pagehide", (e) => {
    if (!e.persisted) pack(read().outbox); // a page that may come back keeps it itself
  });
}

/** A window that nobody sees for a while leaves the chat's feed, and comes back to it when it is seen. */
export function restWhileHidden(): void {
  let left = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        left = chatFeed?.chat ?? "";
        closeChat();
      }, 60_000);
    } else if (left) {
      if (!chatFeed) void openChat(left);
      left = "";
    }
  });
}

/** reconnect tries at once instead of waiting. */
export function reconnect(): void {
  userFeed?.retry();
  chatFeed?.feed.retry();
}

/** olderMessages loads the page before the oldest message that is here. */
export async function olderMessages(chat: string): Promise<void> {
  const cursor = read().older[chat];
  if (!cursor) return;
  write((s) => ({ older: { ...s.older, [chat]: "" } }));
  try {
    const page = await api.messages(chat, { limit: pageOfMessages, order: "desc", cursor });
    const more = olderCalls.get(chat);
    const calls = more ? await api.toolCalls(chat, chat, { limit: pageOfMessages, order: "desc", cursor: more }) : { items: [], next: "" };
    olderCalls.set(chat, calls.next ?? "");
    update((s) => mergeToolCalls(mergeMessages(s, chat, page.items), chat, calls.items));
    write((s) => ({ older: { ...s.older, [chat]: page.next ?? "" } }));
  } catch {
    write((s) => ({ older: { ...s.older, [chat]: cursor } }));
  }
}

/** loadAgent loads the whole conversation of an agent, once; the feed keeps it current. */
export async function loadAgent(chat: string, agent: string): Promise<void> {
  if (loadedAgents.has(agent)) return;
  loadedAgents.add(agent);
  try {
    const [messages, tools, models] = await Promise.all([
      all((q) => api.agentMessages(chat, agent, q)),
      all((q) => api.toolCalls(chat, agent, q)),
      all((q) => api.modelCalls(chat, agent, q)),
    ]);
    update((s) => mergeModelCalls(mergeToolCalls(mergeMessages(s, agent, messages), agent, tools), agent, models));
  } catch (err) {
    loadedAgents.delete(agent);
    throw err;
  }
}

/** loadSteps loads the tool calls of an agent only. */
export async function loadSteps(chat: string, agent: string): Promise<void> {
  const calls = await all((q) => api.toolCalls(chat, agent, q));
  update((s) => mergeToolCalls(s, agent, calls));
}

/** loadTimeline loads the model and tool calls of an agent. */
export async function loadTimeline(chat: string, agent: string): Promise<void> {
  const [tools, models] = await Promise.all([all((q) => api.toolCalls(chat, agent, q)), all((q) => api.modelCalls(chat, agent, q))]);
  update((s) => mergeModelCalls(mergeToolCalls(s, agent, tools), agent, models));
}

/** loadTasks loads the tasks of a chat that is not open. */
export async function loadTasks(chat: string): Promise<void> {
  const [tree, tasks] = await Promise.all([api.tree(chat), all((q) => api.tasks(chat, q))]);
  update((s) => mergeTasks(mergeAgents(s, tree.agents), tasks));
}
