// Views of the documents: trees of agents, what waits, what was used.

import type { Agent, Item, Message, Task, ToolCall } from "../api/types";
import { shown } from "../text/states";
import type { Docs, State } from "./model";

/** remembered keeps the last result for the same arguments. */
function remembered<A extends unknown[], R>(make: (...args: A) => R): (...args: A) => R {
  let last: { args: A; result: R } | null = null;
  return (...args) => {
    if (last && last.args.every((a, i) => a === args[i])) return last.result;
    last = { args, result: make(...args) };
    return last.result;
  };
}

export interface Family {
  byParent: ReadonlyMap<string, readonly Agent[]>;
}

const noAgents: readonly Agent[] = [];

/** family groups the agents of all loaded chats by parent, oldest first. */
export const family = remembered((agents: Docs<Agent>): Family => {
  const byParent = new Map<string, Agent[]>();
  for (const a of Object.values(agents)) {
    if (!a.parent) continue;
    const list = byParent.get(a.parent);
    if (list) list.push(a);
    else byParent.set(a.parent, [a]);
  }
  for (const list of byParent.values()) list.sort((a, b) => number(a.id) - number(b.id));
  return { byParent };
});

const number = (id: string) => Number(id.slice(id.lastIndexOf(".") + 1));

export const childrenOf = (f: Family, agent: string) => f.byParent.get(agent) ?? noAgents;

const openItems = remembered((items: Docs<Item>) =>
  Object.values(items)
    .filter((i) => i.status === "open")
    .sort((a, b) => a.createdAt - b.createdAt),
);

/** waiting lists what waits for the user, the oldest first. */
export const waiting = (s: State) => openItems(s.items);

export const itemOf = (s: State, agent: string): Item | undefined => waiting(s).find((i) => i.agentId === agent);

const countByChat = remembered((items: readonly Item[]) => {
  const out: Record<string, number> = {};
  for (const i of items) if (i.kind !== "worktree") out[i.chatId] = (out[i.chatId] ?? 0) + 1;
  return out;
});

export const waitingIn = (s: State, chat: string) => countByChat(waiting(s))[chat] ?? 0;

export const within = (agent: string, root: string) => agent === root || agent.startsWith(`${root}.`);

/** What an agent and everything below it has used. */
export function used(a: Agent): { tokens: number; cost: number; known: boolean } {
  return { tokens: a.tokens + (a.childTokens ?? 0), cost: a.costMicros + (a.childCostMicros ?? 0), known: !a.unpriced };
}

/** What an agent may use, with what was given beyond its limits; 0: there is no limit. */
export function allowed(a: Agent): { tokens: number; cost: number } {
  const limit = (most = 0, extra = 0) => (most ? most + extra : 0);
  return { tokens: limit(a.maxTokens, a.extraTokens), cost: limit(a.maxCostMicros, a.extraCostMicros) };
}

/** How long it has been at work; an orchestrator at rest does not count on. */
export const elapsed = (a: Agent, now: number) => (a.endedAt || (shown(a.state).live ? now : a.updatedAt)) - a.createdAt;

/** The states in which time counts against the limit. */
const counts = new Set(["thinking", "acting", "retrying", "compacting", "accepting"]);

/** active is how long an agent has worked, waits left out: up to its last step on record, and since then if it is at work. */
export const active = (a: Agent, now: number) => a.activeMs + (counts.has(a.state) ? Math.max(0, now - a.updatedAt) : 0);

/** inTree orders ids as the tree has them: parents before children. */
export function inTree(a: string, b: string): number {
  const x = a.split("."),
    y = b.split(".");
  for (let i = 1; i < Math.min(x.length, y.length); i++) {
    const by = Number(x[i]) - Number(y[i]);
    if (by !== 0) return by;
  }
  return x.length - y.length;
}

const tasksByChat = remembered((tasks: Docs<Task>) => {
  const out = new Map<string, Task[]>();
  for (const t of Object.values(tasks)) {
    const list = out.get(t.chatId);
    if (list) list.push(t);
    else out.set(t.chatId, [t]);
  }
  for (const list of out.values()) list.sort((a, b) => inTree(a.id, b.id));
  return out;
});

const noTasks: readonly Task[] = [];
export const tasksOf = (s: State, chat: string): readonly Task[] => tasksByChat(s.tasks).get(chat) ?? noTasks;

export const textOf = (m: Message) => m.parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n\n");

/** A chat works while its orchestrator or anyone below does. */
export const isBusy = (state: string | undefined) => Boolean(state && shown(state).live);

const early: Record<string, string> = { max_iterations: "max_turns", budget: "budget", partial: "partial", interrupted: "interrupted" };

/** The state an agent is shown with: an orchestrator at rest is new, or shown as its last run ended. */
export function stateOf(a: Pick<Agent, "state" | "turns" | "recordedStatus" | "bailoutReason" | "parent">): string {
  if (a.parent || a.state !== "idle") return a.state;
  if (a.turns === 0) return "idle";
  if (a.recordedStatus === "failed") return early[a.bailoutReason ?? ""] ?? "failed";
  return a.recordedStatus === "cancelled" || a.recordedStatus === "timeout" ? a.recordedStatus : "completed";
}

/** The state a chat is shown with: what waits for the user first. */
export function chatState(s: State, chat: string): string {
  if (waitingIn(s, chat) > 0) return "awaiting_approval";
  const shownBy = s.agents[chat] ?? s.chats[chat];
  return shownBy ? stateOf(shownBy) : "idle";
}

export function byTurn(calls: Docs<ToolCall> | undefined): ToolCall[] {
  return Object.values(calls ?? {}).sort((a, b) => a.turn - b.turn || a.call - b.call);
}

/**
 * callsByReply finds the tool calls that a reply asked for. They are paired by the
 * provider's id, in order where a provider gives the same id again.
 */
export function callsByReply(messages: readonly Message[], calls: Docs<ToolCall> | undefined): Map<string, ToolCall[]> {
  const waiting = new Map<string, ToolCall[]>();
  for (const c of byTurn(calls)) waiting.set(c.callId, [...(waiting.get(c.callId) ?? []), c]);
  const out = new Map<string, ToolCall[]>();
  for (let i = messages.length - 1; i >= 0; i--) {
    const m = messages[i] as Message;
    if (m.kind !== "reply") continue;
    const found = m.parts.flatMap((p) => (p.type === "tool_call" ? (waiting.get(p.id)?.pop() ?? []) : []));
    if (found.length > 0) out.set(m.id, found);
  }
  return out;
}
