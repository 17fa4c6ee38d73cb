// What stands in a chat, in order: messages, the tools that were used between
// them, and the tasks under the message that caused them.

import type { Item, Message, Task, ToolCall } from "../api/types";
import type { State } from "../state/model";
import { callsByReply, tasksOf, within } from "../state/select";
import type { Pending } from "../state/store";

export type Entry =
  | { kind: "user"; key: string; message: Message; to: string }
  | { kind: "reply"; key: string; message: Message }
  | { kind: "note"; key: string; message: Message }
  | { kind: "steps"; key: string; calls: ToolCall[] }
  | { kind: "tasks"; key: string; roots: string[] }
  | { kind: "answered"; key: string; items: Item[] }
  | { kind: "own-items"; key: string }
  | { kind: "stream"; key: string }
  | { kind: "pending"; key: string; pending: Pending }
  | { kind: "working"; key: string };

function says(m: Message): boolean {
  return m.parts.some(
    (p) => (p.type === "text" && p.text.trim() !== "") || (p.type === "thinking" && (p.text ?? "") !== "") || p.type === "image",
  );
}

/** rootsByTurn groups the orchestrator's tasks by the turn that asked for them. */
function rootsByTurn(tasks: readonly Task[], chat: string): Map<number, string[]> {
  const out = new Map<number, string[]>();
  for (const t of tasks) {
    if (t.parentAgentId !== chat || !t.subAgentId) continue;
    out.set(t.turn, [...(out.get(t.turn) ?? []), t.subAgentId]);
  }
  return out;
}

/** told are the messages that went to a sub-agent by its name. */
function told(data: State, chat: string): Message[] {
  return Object.entries(data.messages).flatMap(([agent, list]) =>
    agent !== chat && within(agent, chat) ? list.filter((m) => m.kind === "user") : [],
  );
}

/** What stands at the end of a chat beside its messages. */
export interface Ending {
  items: boolean;
  stream: boolean;
  working: boolean;
}

/** entries puts a chat together from its documents. */
export function entries(data: State, chat: string, outbox: readonly Pending[], ending: Ending): Entry[] {
  const out: Entry[] = [];
  const roots = rootsByTurn(tasksOf(data, chat), chat);
  const messages = data.messages[chat] ?? [];
  const calls = callsByReply(messages, data.toolCalls[chat]);
  const closed = Object.values(data.items).filter((i) => i.agentId === chat && i.status === "closed");
  const direct = told(data, chat).sort((a, b) => a.createdAt - b.createdAt);
  for (const m of messages) {
    while (direct[0] && direct[0].createdAt < m.createdAt) pushUser(out, data, direct.shift() as Message);
    if (m.kind === "user") pushUser(out, data, m);
    else if (m.kind === "reply") {
      const made = calls.get(m.id) ?? [];
      pushReply(out, m, made, roots);
      const items = closed.filter((i) => made.some((c) => c.turn === i.turn && c.call === i.call));
      if (items.length > 0) out.push({ kind: "answered", key: `${m.id}-answered`, items });
    } else if (m.kind === "note" || m.kind === "results" || m.kind === "summary") out.push({ kind: "note", key: m.id, message: m });
  }
  for (const m of direct) pushUser(out, data, m);
  if (ending.items) out.push({ kind: "own-items", key: "own-items" });
  if (ending.stream) out.push({ kind: "stream", key: nextReply(chat, messages) });
  if (ending.working) out.push({ kind: "working", key: "working" });
  for (const p of outbox) if (p.chat === chat) out.push({ kind: "pending", key: p.id, pending: p });
  return out;
}

/** nextReply is the id that the reply on its way will have, so that it keeps its place and size when it is done. */
export function nextReply(agent: string, messages: readonly Message[]): string {
  const last = messages.findLast((m) => m.pos >= 0);
  return `${agent}-m${(last?.pos ?? -1) + 1}`;
}

function pushUser(out: Entry[], data: State, m: Message): void {
  const to = data.agents[m.agentId];
  out.push({ kind: "user", key: m.id, message: m, to: to?.parent ? to.name : "" });
}

function pushReply(out: Entry[], m: Message, calls: ToolCall[], roots: Map<number, string[]>): void {
  if (says(m)) out.push({ kind: "reply", key: m.id, message: m });
  const used = calls.filter((c) => c.class !== "delegate");
  if (used.length > 0) {
    const last = out.at(-1);
    if (last?.kind === "steps") out[out.length - 1] = { ...last, calls: [...last.calls, ...used] };
    else out.push({ kind: "steps", key: `${m.id}-steps`, calls: used });
  }
  for (const turn of new Set(calls.map((c) => c.turn))) {
    const started = roots.get(turn);
    if (started) out.push({ kind: "tasks", key: `${m.id}-tasks`, roots: started });
    roots.delete(turn);
  }
}
