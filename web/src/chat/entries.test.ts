// What stands in a chat, in order.

import { expect, it } from "vitest";
import type { Agent, Message, Task, ToolCall } from "../api/types";
import { empty, type State } from "../state/model";
import { entries, nextReply } from "./entries";

const message = (id: string, pos: number, kind: string, parts: Message["parts"], over: Partial<Message> = {}): Message => ({
  id,
  agentId: "c",
  pos,
  role: kind === "user" ? "user" : "assistant",
  kind,
  parts,
  createdAt: pos,
  ...over,
});
const text = (t: string) => ({ type: "text" as const, text: t });
const asks = (id: string) => ({ type: "tool_call" as const, id, name: "x", input: {} });
const call = (turn: number, callId: string, kind: string) =>
  ({ id: `c-c${turn}.0`, turn, call: 0, callId, class: kind, toolName: "x", phase: "done", status: "success" }) as ToolCall;
const task = (id: string, turn: number) => ({ id, chatId: "c", parentAgentId: "c", subAgentId: id, turn, call: 0, createdAt: 1 }) as Task;
const quiet = { items: false, stream: false, working: false };

const state: State = {
  ...empty,
  agents: { "c.1": { id: "c.1", parent: "c", name: "coder" } as Agent },
  messages: {
    c: [
      message("u", 0, "user", [text("do it")]),
      message("r1", 1, "reply", [asks("a")]),
      message("t1", 2, "result", []),
      message("r2", 3, "reply", [text(" "), asks("b")]),
      message("r3", 4, "reply", [text("I hand it on."), asks("d")], { turn: 9 }),
      message("r4", 6, "reply", [text("Done.")]),
    ],
    "c.1": [message("d", 1, "user", [text("faster")], { agentId: "c.1", createdAt: 5 })],
  },
  toolCalls: { c: Object.fromEntries([call(1, "a", "read"), call(2, "b", "read"), call(3, "d", "delegate")].map((c) => [c.id, c])) },
  tasks: { "c.1": task("c.1", 3), "c.2": task("c.2", 3), "c.1.1": { ...task("c.1.1", 1), parentAgentId: "c.1" } },
};

it("puts tasks under the reply that started them, tools together, and what was told to an agent in its place", () => {
  const list = entries(state, "c", [], quiet).map((e) => {
    if (e.kind === "tasks") return `tasks ${e.roots.join(" ")}`;
    if (e.kind === "steps") return `steps ${e.calls.map((c) => c.callId).join(" ")}`;
    return e.kind === "user" ? `user ${e.key} ${e.to}`.trim() : `${e.kind} ${e.key}`;
  });
  expect(list).toEqual(["user u", "steps a b", "reply r3", "tasks c.1 c.2", "user d coder", "reply r4"]);
});

it("gives a reply on its way the place it will have", () => {
  expect(entries(state, "c", [], { ...quiet, stream: true }).at(-1)).toEqual({ kind: "stream", key: "c-m7" });
  expect(nextReply("c", [])).toBe("c-m0");
});

it("ends with what is being sent, of this chat alone", () => {
  const pending = { id: "p", chat: "c", text: "x", model: "", at: 1, failed: "" };
  expect(
    entries(state, "c", [pending, { ...pending, id: "q", chat: "z" }], quiet)
      .filter((e) => e.kind === "pending")
      .map((e) => e.key),
  ).toEqual(["p"]);
});

it("pairs calls whose provider gives the same id again, the newest with the newest", () => {
  const twice: State = {
    ...state,
    messages: { c: [message("r1", 0, "reply", [asks("same")]), message("r2", 1, "reply", [asks("same")])] },
    toolCalls: { c: { x: { ...call(1, "same", "delegate"), id: "x" }, y: { ...call(2, "same", "delegate"), id: "y" } } },
    tasks: { "c.1": task("c.1", 1), "c.2": task("c.2", 2) },
  };
  expect(entries(twice, "c", [], quiet)).toEqual([
    { kind: "tasks", key: "r1-tasks", roots: ["c.1"] },
    { kind: "tasks", key: "r2-tasks", roots: ["c.2"] },
  ]);
});
