// The reducer: documents, pieces of replies, what is deleted.

import { describe, expect, it } from "vitest";
import type { Agent, Change, Delta, Item, Message, ToolCall } from "../api/types";
import { empty, type State } from "./model";
import { apply, hear, mergeAgents, mergeItems, mergeMessages, mergeToolCalls } from "./reduce";

const agent = (over: Partial<Agent> = {}): Agent => ({
  id: "c",
  userId: "u",
  chatId: "c",
  role: "main",
  name: "main",
  path: "main",
  depth: 0,
  model: "m",
  state: "thinking",
  status: "active",
  recordedStatus: "running",
  turns: 1,
  activeMs: 0,
  tokens: 10,
  costMicros: 5,
  createdAt: 1,
  updatedAt: 1,
  ...over,
});
const message = (id: string, pos: number, over: Partial<Message> = {}): Message => ({
  id,
  agentId: "c",
  pos,
  role: "assistant",
  kind: "reply",
  parts: [{ type: "text", text: id }],
  createdAt: pos,
  ...over,
});
const change = (seq: number, docs: Change["docs"], over: Partial<Change> = {}): Change => ({
  event: "change",
  prev: seq - 1,
  seq,
  at: seq * 100,
  type: "x",
  chat: "c",
  agent: "c",
  docs: docs ?? [],
  ...over,
});
const delta = (over: Partial<Delta>): Delta => ({
  event: "delta",
  turn: 1,
  try: 1,
  chat: "c",
  agent: "c",
  call: "c-t1.1",
  kind: "text",
  part: 0,
  offset: 0,
  text: "",
  ...over,
});
const chat = { id: "c", userId: "u", title: "T", role: "main", model: "", dir: "", createdAt: 1, updatedAt: 1 };
const text = (s: State, part = 0) => s.streams["c"]?.parts[part]?.text;

describe("apply", () => {
  it("puts documents into their collections", () => {
    const s = apply(
      empty,
      change(1, [
        { collection: "orch-chats", id: "c", data: chat },
        { collection: "orchestrator", id: "c", data: agent() },
        { collection: "sub-agents", id: "c.1", data: agent({ id: "c.1", parent: "c" }) },
        { collection: "messages", id: "m0", data: message("m0", 0) },
        { collection: "sub-agents/c.1/messages", id: "n0", data: message("n0", 0, { agentId: "c.1" }) },
      ]),
    );
    expect(s.agents["c.1"]?.parent).toBe("c");
    expect(s.messages["c"]?.map((m) => m.id)).toEqual(["m0"]);
    expect(s.messages["c.1"]?.map((m) => m.id)).toEqual(["n0"]);
    expect(s.heard["c"]).toBe(1);
    expect(s.progress["c"]).toBe(100);
  });

  it("lists a chat with what its orchestrator does and the tree has used", () => {
    let s = apply(empty, change(1, [{ collection: "orch-chats", id: "c", data: chat }]));
    s = apply(
      s,
      change(2, [
        {
          collection: "orchestrator",
          id: "c",
          data: agent({ state: "awaiting_children", childTokens: 7, childCostMicros: 2, updatedAt: 9 }),
        },
      ]),
    );
    expect(s.chats["c"]).toMatchObject({ title: "T", state: "awaiting_children", tokens: 17, costMicros: 7, updatedAt: 9 });
  });

  it("is the same whether a change comes once or twice", () => {
    const c = change(1, [
      { collection: "orch-chats", id: "c", data: chat },
      { collection: "messages", id: "m0", data: message("m0", 0) },
    ]);
    const once = apply(empty, c);
    expect(apply(once, c)).toEqual(once);
  });

  it("does not touch the state it was given", () => {
    const before = structuredClone(empty);
    apply(empty, change(1, [{ collection: "messages", id: "m0", data: message("m0", 0) }]));
    expect(empty).toEqual(before);
  });

  it("takes marks of what was read, which only move on, and settings", () => {
    let s = apply(empty, change(1, [{ collection: "orch-chats", id: "c", data: chat }]));
    const mark = (seq: number, readSeq: number) =>
      (s = apply(s, change(seq, [{ collection: "read-marks", id: "c", data: { chatId: "c", readSeq } as never }], { agent: "" })));
    expect(mark(2, 7).chats["c"]?.readSeq).toBe(7);
    expect(mark(3, 4).chats["c"]?.readSeq).toBe(7);
    expect(mark(4, 9).chats["c"]?.readSeq).toBe(9);
    s = apply(s, change(5, [{ collection: "settings", id: "u", data: { budget: 5 } as never }], { chat: "", agent: "" }));
    expect(s.settings).toEqual({ budget: 5 });
  });
  it("takes a chat out of the archive", () => {
    let s = apply(empty, change(1, [{ collection: "orch-chats", id: "c", data: { ...chat, archived: true } }]));
    expect(s.chats["c"]?.archived).toBe(true);
    s = apply(s, change(2, [{ collection: "orch-chats", id: "c", data: chat }]));
    expect(s.chats["c"]?.archived).toBe(false);
  });

  it("forgets a deleted chat with everything in it, and nothing else", () => {
    let s = mergeAgents(empty, [agent(), agent({ id: "c.1" }), agent({ id: "cx", chatId: "cx" })]);
    s = mergeMessages(mergeMessages(s, "c.1", [message("a", 0)]), "cx", [message("b", 0)]);
    s = mergeItems(s, [{ id: "i", chatId: "c", agentId: "c.1", status: "open" } as Item]);
    s = apply(s, change(5, [{ collection: "orch-chats", id: "c", data: null, deleted: true }], { agent: "" }));
    expect(Object.keys(s.agents)).toEqual(["cx"]);
    expect(Object.keys(s.messages)).toEqual(["cx"]);
    expect(s.items).toEqual({});
  });
});

describe("messages", () => {
  it("are sorted by place, queued ones last, and get their place", () => {
    let s = mergeMessages(empty, "c", [message("q", -1, { kind: "user", createdAt: 5 }), message("m1", 1), message("m0", 0)]);
    expect(s.messages["c"]?.map((m) => m.id)).toEqual(["m0", "m1", "q"]);
    s = mergeMessages(s, "c", [message("q", 2, { kind: "user" })]);
    s = mergeMessages(s, "c", [message("m3", 3)]);
    expect(s.messages["c"]?.map((m) => [m.id, m.pos])).toEqual([
      ["m0", 0],
      ["m1", 1],
      ["q", 2],
      ["m3", 3],
    ]);
  });

  it("do not lose their place to an older list", () => {
    let s = mergeMessages(empty, "c", [message("q", 2)]);
    s = mergeMessages(s, "c", [message("q", -1)]);
    expect(s.messages["c"]?.[0]?.pos).toBe(2);
  });
});

describe("older documents", () => {
  it("do not replace newer ones", () => {
    let s = mergeAgents(empty, [agent({ state: "completed", updatedAt: 9 })]);
    s = mergeAgents(s, [agent({ state: "thinking", updatedAt: 3 })]);
    expect(s.agents["c"]?.state).toBe("completed");
    const item = { id: "i", chatId: "c", agentId: "c", status: "closed" } as Item;
    s = mergeItems(mergeItems(s, [item]), [{ ...item, status: "open" }]);
    expect(s.items["i"]?.status).toBe("closed");
    const call = { id: "t", phase: "done" } as ToolCall;
    s = mergeToolCalls(mergeToolCalls(s, "c", [call]), "c", [{ ...call, phase: "running" }]);
    expect(s.toolCalls["c"]?.["t"]?.phase).toBe("done");
  });

  it("hidden items are not shown", () => {
    expect(mergeItems(empty, [{ id: "i", status: "hidden" } as Item]).items).toEqual({});
  });
});

describe("hear", () => {
  it("joins pieces by offset, in bytes", () => {
    let s = hear(empty, delta({ text: "Grüße" }), 1000);
    s = hear(s, delta({ offset: 7, text: " an alle" }), 1000);
    expect(text(s)).toBe("Grüße an alle");
  });

  it("takes a piece that was heard before once", () => {
    let s = hear(empty, delta({ text: "abcdef" }), 1000);
    s = hear(s, delta({ offset: 2, text: "cd" }), 1000);
    expect(text(s)).toBe("abcdef");
    s = hear(s, delta({ offset: 0, text: "abcdefgh" }), 1000);
    expect(text(s)).toBe("abcdefgh");
    s = hear(s, delta({ offset: 6, text: "ghij" }), 1000);
    expect(text(s)).toBe("abcdefghij");
  });

  it("marks a beginning that was forgotten", () => {
    expect(text(hear(empty, delta({ offset: 900, text: "end" }), 1000))).toBe("… end");
  });

  it("begins anew with another call, and keeps parts apart", () => {
    let s = hear(empty, delta({ kind: "thinking", text: "hm" }), 1000);
    s = hear(s, delta({ part: 1, text: "so" }), 1000);
    expect([text(s, 0), text(s, 1)]).toEqual(["hm", "so"]);
    s = hear(s, delta({ call: "c-t1.2", text: "again" }), 1000);
    expect([text(s, 0), text(s, 1)]).toEqual(["again", undefined]);
  });

  it("is void once the call is over, also for what comes late", () => {
    let s = hear(empty, delta({ text: "half" }), 1000);
    s = apply(s, change(2, [{ collection: "model-calls", id: "c-t1.1", data: { id: "c-t1.1" } }]));
    expect(s.streams).toEqual({});
    s = hear(s, delta({ offset: 4, text: "late" }), 1000);
    expect(s.streams).toEqual({});
  });

  it("keeps what another call says", () => {
    let s = hear(empty, delta({ call: "c-t2.1", text: "on" }), 1000);
    s = apply(s, change(2, [{ collection: "model-calls", id: "c-t1.1", data: { id: "c-t1.1" } }]));
    expect(text(s)).toBe("on");
  });

  it("keeps what tools print apart from replies, until they are done", () => {
    const out = (over: Partial<Delta>) => delta({ kind: "output", call: "c-c1.0", name: "Bash", ...over });
    let s = hear(empty, delta({ text: "reply" }), 1000);
    s = hear(s, out({ text: "one\n" }), 2000);
    s = hear(s, out({ call: "c-c1.1", text: "other" }), 2000);
    s = hear(s, out({ offset: 4, text: "two\n" }), 3000);
    expect(text(s)).toBe("reply");
    expect(s.printed["c"]?.["c-c1.0"]).toMatchObject({ text: "one\ntwo\n", at: 3000 });
    s = hear(s, out({ text: "one\ntwo\nthree\n" }), 4000); // joined anew
    expect(s.printed["c"]?.["c-c1.0"]?.text).toBe("one\ntwo\nthree\n");
    s = mergeToolCalls(s, "c", [{ id: "c-c1.0", phase: "done" } as ToolCall]);
    expect(Object.keys(s.printed["c"] ?? {})).toEqual(["c-c1.1"]);
    s = hear(s, out({ offset: 14, text: "late" }), 5000);
    expect(Object.keys(s.printed["c"] ?? {})).toEqual(["c-c1.1"]);
  });

  it("holds the end of what is printed without end", () => {
    let s = empty;
    for (let i = 0; i < 400; i++)
      s = hear(s, delta({ kind: "output", call: "c-c1.0", offset: i * 1000, text: `${"x".repeat(990)} ${i}`.padEnd(1000) }), 1000);
    const held = s.printed["c"]?.["c-c1.0"];
    expect(held?.text.length).toBeLessThan(101_100);
    expect(held?.text.startsWith("… ")).toBe(true);
    expect(held?.text.trimEnd().endsWith("399")).toBe(true);
  });
});
