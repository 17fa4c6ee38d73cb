// The reducer: what a change, a piece of a reply or a loaded list does to the
// state. Pure; the same input gives the same state in every window.

import type { Agent, Change, Chat, Delta, Document, Item, Message, ModelCall, Task, ToolCall } from "../api/types";
import type { Docs, State, Stream, StreamPart } from "./model";

/** apply takes in one committed change. */
export function apply(state: State, change: Change): State {
  let next = state;
  for (const doc of change.docs ?? []) next = put(next, change.chat, doc);
  if (change.agent) next = { ...next, progress: { ...next.progress, [change.agent]: change.at } };
  const replied = (change.docs ?? []).some((d) => d.collection === "messages" && (d.data as Message | undefined)?.kind === "reply");
  if (replied) next = { ...next, heard: { ...next.heard, [change.chat]: change.seq } };
  return next;
}

function put(state: State, chat: string, doc: Document): State {
  if (doc.deleted) return forget(state, doc);
  switch (doc.collection) {
    case "orch-chats":
      // What is false is not in the document.
      return { ...state, chats: { ...state.chats, [doc.id]: { ...state.chats[doc.id], archived: false, ...(doc.data as Chat) } } };
    case "read-marks":
      return markRead(state, doc.id, (doc.data as { readSeq: number }).readSeq);
    case "settings":
      return { ...state, settings: doc.data as unknown as Record<string, unknown> };
    case "orchestrator":
      return putOrchestrator(state, doc.data as Agent);
    case "sub-agents":
      return mergeAgents(state, [doc.data as Agent]);
    case "tasks":
      return mergeTasks(state, [doc.data as Task]);
    case "inbox":
      return mergeItems(state, [doc.data as Item]);
  }
  const { agent, kind } = ownerOf(chat, doc.collection);
  switch (kind) {
    case "messages":
      return mergeMessages(state, agent, [doc.data as Message]);
    case "tool-calls":
      return mergeToolCalls(state, agent, [doc.data as ToolCall]);
    case "model-calls":
      return mergeModelCalls(state, agent, [doc.data as ModelCall]);
  }
  return state;
}

/** A mark only moves on. */
function markRead(state: State, chat: string, seq: number): State {
  const held = state.chats[chat];
  if (!held || held.readSeq >= seq) return state;
  return { ...state, chats: { ...state.chats, [chat]: { ...held, readSeq: seq } } };
}

/** ownerOf reads "sub-agents/ID/messages", or "messages" of the orchestrator. */
function ownerOf(chat: string, collection: string): { agent: string; kind: string } {
  const parts = collection.split("/");
  if (parts.length === 3 && parts[0] === "sub-agents") return { agent: parts[1] ?? "", kind: parts[2] ?? "" };
  return { agent: chat, kind: collection };
}

/** forget drops a chat that was deleted, with everything in it. */
function forget(state: State, doc: Document): State {
  if (doc.collection !== "orch-chats") return state;
  const chat = doc.id;
  const within = (id: string) => id === chat || id.startsWith(`${chat}.`);
  const others = <T>(docs: Docs<T>): Docs<T> => Object.fromEntries(Object.entries(docs).filter(([id]) => !within(id)));
  return {
    ...state,
    chats: others(state.chats),
    items: Object.fromEntries(Object.entries(state.items).filter(([, i]) => i.chatId !== chat)),
    agents: others(state.agents),
    tasks: others(state.tasks),
    messages: others(state.messages),
    toolCalls: others(state.toolCalls),
    modelCalls: others(state.modelCalls),
    streams: others(state.streams),
    printed: others(state.printed),
    progress: others(state.progress),
    heard: others(state.heard),
  };
}

/** A chat is listed with what its orchestrator does and the tree has used. */
function putOrchestrator(state: State, agent: Agent): State {
  const next = mergeAgents(state, [agent]);
  const chat = next.chats[agent.chatId];
  if (!chat || next.agents[agent.id] !== agent) return next;
  const row: Chat = {
    ...chat,
    state: agent.state,
    recordedStatus: agent.recordedStatus,
    bailoutReason: agent.bailoutReason ?? "",
    liveChildren: agent.liveChildren ?? 0,
    turns: agent.turns,
    tokens: agent.tokens + (agent.childTokens ?? 0),
    costMicros: agent.costMicros + (agent.childCostMicros ?? 0),
    unpriced: agent.unpriced ?? false,
    updatedAt: Math.max(chat.updatedAt, agent.updatedAt),
  };
  return { ...next, chats: { ...next.chats, [chat.id]: row } };
}

/** merge puts documents in, unless what is there is newer. */
function merge<T extends { id: string }>(docs: Docs<T>, list: readonly T[], older: (given: T, held: T) => boolean): Docs<T> {
  let out: Record<string, T> | null = null;
  for (const doc of list) {
    const held = (out ?? docs)[doc.id];
    if (held && older(doc, held)) continue;
    out ??= { ...docs };
    out[doc.id] = doc;
  }
  return out ?? docs;
}

const staleByUpdate = (given: { updatedAt: number }, held: { updatedAt: number }) => given.updatedAt < held.updatedAt;

export function mergeChats(state: State, list: readonly Chat[]): State {
  return { ...state, chats: merge(state.chats, list, staleByUpdate) };
}

export function mergeAgents(state: State, list: readonly Agent[]): State {
  return { ...state, agents: merge(state.agents, list, staleByUpdate) };
}

export function mergeTasks(state: State, list: readonly Task[]): State {
  return { ...state, tasks: merge(state.tasks, list, staleByUpdate) };
}

export function mergeItems(state: State, list: readonly Item[]): State {
  const shown = list.filter((i) => i.status !== "hidden");
  return { ...state, items: merge(state.items, shown, (given, held) => held.status === "closed" && given.status !== "closed") };
}

const byPlace = (a: Message, b: Message) => place(a) - place(b) || a.createdAt - b.createdAt;
const place = (m: Message) => (m.pos < 0 ? Number.MAX_SAFE_INTEGER : m.pos);

/** Messages never change, but a queued one gets its place. */
export function mergeMessages(state: State, agent: string, list: readonly Message[]): State {
  const held = state.messages[agent] ?? [];
  const last = held.at(-1);
  const only = list[0];
  let next: Message[];
  if (list.length === 1 && only && last && byPlace(last, only) < 0 && !held.some((m) => m.id === only.id)) {
    next = [...held, only];
  } else {
    const byID = new Map(held.map((m) => [m.id, m]));
    for (const m of list) {
      const old = byID.get(m.id);
      if (!old || m.pos >= 0) byID.set(m.id, m);
    }
    next = [...byID.values()].sort(byPlace);
  }
  return { ...state, messages: { ...state.messages, [agent]: next } };
}

const phases = ["queued", "running", "started", "approval", "asking", "asked", "children", "done"];

export function mergeToolCalls(state: State, agent: string, list: readonly ToolCall[]): State {
  const older = (given: ToolCall, held: ToolCall) => phases.indexOf(given.phase) < phases.indexOf(held.phase) && held.phase === "done";
  const calls = merge(state.toolCalls[agent] ?? {}, list, older);
  const next = { ...state, toolCalls: { ...state.toolCalls, [agent]: calls } };
  const printed = state.printed[agent];
  if (!printed || !Object.keys(printed).some((id) => calls[id]?.phase === "done")) return next;
  const rest = Object.fromEntries(Object.entries(printed).filter(([id]) => calls[id]?.phase !== "done"));
  return { ...next, printed: { ...state.printed, [agent]: rest } };
}

/** The document of a call replaces what was shown of it on its way. */
export function mergeModelCalls(state: State, agent: string, list: readonly ModelCall[]): State {
  const calls = merge(state.modelCalls[agent] ?? {}, list, () => false);
  const next = { ...state, modelCalls: { ...state.modelCalls, [agent]: calls } };
  const stream = state.streams[agent];
  if (!stream || !list.some((c) => c.id === stream.call)) return next;
  const { [agent]: _over, ...streams } = state.streams;
  return { ...next, streams };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** How much of what a running tool prints is held, in characters; twice as much at times. */
const heldOutput = 50_000;

/** hear takes in a piece of a reply, or of what a tool prints. Offsets count bytes. */
export function hear(state: State, delta: Delta, now: number): State {
  if (delta.kind === "output") return print(state, delta, now);
  if (state.modelCalls[delta.agent]?.[delta.call]) return state;
  const held = state.streams[delta.agent];
  const stream: Stream = held?.call === delta.call ? held : { call: delta.call, parts: [], at: now };
  const parts = [...stream.parts];
  while (parts.length <= delta.part) parts.push({ kind: delta.kind, name: "", text: "", bytes: 0 });
  parts[delta.part] = extend(parts[delta.part] as StreamPart, delta);
  return { ...state, streams: { ...state.streams, [delta.agent]: { call: delta.call, parts, at: now } } };
}

function print(state: State, delta: Delta, now: number): State {
  if (state.toolCalls[delta.agent]?.[delta.call]?.phase === "done") return state;
  const held = state.printed[delta.agent] ?? {};
  const before = held[delta.call];
  const again = before && delta.offset < before.bytes; // all of it comes once more to who joins anew
  const part = extend(before && !again ? before : { kind: delta.kind, name: "", text: "", bytes: 0 }, delta);
  const text = part.text.length > 2 * heldOutput ? `… ${part.text.slice(-heldOutput)}` : part.text;
  return { ...state, printed: { ...state.printed, [delta.agent]: { ...held, [delta.call]: { ...part, text, at: now } } } };
}

function extend(part: StreamPart, delta: Delta): StreamPart {
  const piece = encoder.encode(delta.text).length;
  const base = { kind: delta.kind, name: delta.name || part.name };
  if (delta.offset === part.bytes) return { ...base, text: part.text + delta.text, bytes: part.bytes + piece };
  if (delta.offset + piece <= part.bytes) return part; // it was heard before
  if (delta.offset < part.bytes) {
    const kept = decoder.decode(encoder.encode(part.text).subarray(0, delta.offset));
    return { ...base, text: kept + delta.text, bytes: delta.offset + piece };
  }
  return { ...base, text: `… ${delta.text}`, bytes: delta.offset + piece }; // its beginning was forgotten
}
