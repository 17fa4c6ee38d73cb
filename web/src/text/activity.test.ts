// What agents do, in words.

import { describe, expect, it } from "vitest";
import type { Agent, Item, Task, ToolCall } from "../api/types";
import { activity, instruction, questions, resultsIn, use } from "./activity";

const agent = (over: Partial<Agent>): Agent => ({
  id: "c.1",
  userId: "u",
  chatId: "c",
  role: "coder",
  name: "coder",
  path: "main/coder",
  depth: 1,
  model: "m",
  state: "thinking",
  status: "active",
  recordedStatus: "running",
  turns: 1,
  activeMs: 0,
  tokens: 0,
  costMicros: 0,
  createdAt: 0,
  updatedAt: 1000,
  ...over,
});
const task = { instruction: "Write **it**.\nAll." } as Task;

describe("resultsIn", () => {
  it("reads how background tasks ended", () => {
    const told = {
      sub_agent_results: [
        { agent_id: "c.1", role: "coder", outcome: { success: { result: "x" } } },
        { agent_id: "c.2", role: "tester", outcome: { failure: { error: "no tests\nat all" } } },
        { agent_id: "c.3", role: "main", outcome: { failure: { error: "cancelled by ann", error_kind: "cancelled" } } },
      ],
    };
    expect(resultsIn(JSON.stringify(told))).toEqual([
      { agent: "c.1", role: "coder", ended: "done" },
      { agent: "c.2", role: "tester", ended: "failed: no tests" },
      { agent: "c.3", role: "main", ended: "cancelled" },
    ]);
    expect(resultsIn("They ended.")).toBeNull();
    expect(resultsIn('{"sub_agent_results":[{}]}')).toBeNull();
  });
});

describe("instruction", () => {
  it("says what a task asks for that is one use of a tool", () => {
    expect(instruction(task)).toBe("Write **it**.\nAll.");
    expect(instruction({ type: "tool", name: "tool:Bash", instruction: '{"command":"make test"}' } as Task)).toBe("running make test");
    expect(instruction({ type: "tool", name: "tool:Bash", instruction: '{"command":"make' } as Task)).toBe('{"command":"make');
  });
});

describe("activity", () => {
  it("says what is being said, else the task", () => {
    expect(activity({ agent: agent({}), task }, 1000)).toBe("Write it.");
    expect(
      activity(
        { agent: agent({}), task, stream: { call: "x", at: 0, parts: [{ kind: "text", name: "", text: "One.\nTwo", bytes: 8 }] } },
        1000,
      ),
    ).toBe("Two");
  });
  it("names the tools that run", () => {
    const calls = [
      { phase: "done", toolName: "LS", args: {} },
      { phase: "running", toolName: "Read", args: { path: "a.go" } },
      { phase: "started", toolName: "Bash", args: { command: "x" } },
    ] as ToolCall[];
    expect(activity({ agent: agent({ state: "acting" }), calls }, 1000)).toBe("reading a.go, and 1 more");
  });
  it("tells the last line that the first of them has printed", () => {
    const calls = [{ id: "b", phase: "started", toolName: "Bash", args: { command: `make ${"all ".repeat(20)}` } }] as ToolCall[];
    const printed = { b: { kind: "output", name: "Bash", text: "ok a\nok  b\n\n", bytes: 12, at: 30_000 } };
    const says = activity({ agent: agent({ state: "acting" }), calls, printed }, 31_000);
    expect(says).toMatch(/^running make all .*… · ok b$/);
    expect(says.length).toBeLessThan(60);
    expect(activity({ agent: agent({ state: "acting" }), calls, printed }, 50_000)).toMatch(/^no progress for 0:20 · running/);
  });
  it("says what it wants to do, not how that is shown", () => {
    const item = { action: "--- a/x.go\n+++ b/x.go", detail: { tool: "Edit", input: { file_path: "x.go" } } } as unknown as Item;
    expect(activity({ agent: agent({ state: "awaiting_approval" }), item }, 1000)).toBe("editing x.go");
  });
  it("counts the children that are done", () => {
    const children = [agent({ state: "completed", createdAt: 5 }), agent({ createdAt: 4 }), agent({ state: "completed", createdAt: 1 })];
    expect(activity({ agent: agent({ state: "awaiting_children" }), children }, 1000)).toBe("1 of 2 done");
  });
  it("says when it goes on, and why it waits", () => {
    expect(activity({ agent: agent({ state: "retrying", waitsFor: "rate_limit", waitsUntil: 9000 }) }, 1000)).toBe("in 8.0 s: rate limit");
  });
  it("tells of silence", () => {
    const stream = { call: "x", at: 20_000, parts: [{ kind: "text", name: "", text: "Two", bytes: 3 }] };
    expect(activity({ agent: agent({}), stream }, 21_000)).toBe("Two"); // it speaks
    expect(activity({ agent: agent({}), task }, 21_000)).toBe("no progress for 0:20 · Write it.");
    expect(activity({ agent: agent({ state: "awaiting_answer" }), task }, 21_000)).toBe("Write it.");
  });
  it("says how it ended", () => {
    expect(activity({ agent: agent({ state: "failed" }), task: { ...task, error: "no key", result: "half" } }, 0)).toBe(
      "no key · kept: half",
    );
    expect(activity({ agent: agent({ state: "completed" }), task: { ...task, result: "## Done\nx" } }, 0)).toBe("Done");
    expect(
      activity({ agent: agent({ state: "completed" }), task: { ...task, result: '{"result":"Five tests.","success":true}' } }, 0),
    ).toBe("Five tests.");
  });
});

it.each([
  ["Edit", { file_path: "x.go" }, "editing x.go"],
  ["spawn_agents", { tasks: [1, 2] }, "starting 2 sub-agents"],
  ["Other", { url: "https://a" }, "Other https://a"],
  ["Other", null, "Other"],
])("use %s", (tool, args, want) => expect(use(tool, args)).toBe(want));

it("reads questions in each form", () => {
  expect(questions("Which?")).toEqual([{ question: "Which?", options: [], multiple: false }]);
  expect(questions('{"question":"Q","options":["a",{"label":"b","description":"c"}]}')[0]?.options).toEqual([
    { label: "a", description: "" },
    { label: "b", description: "c" },
  ]);
  expect(questions('{"questions":[{"question":"A"},{"question":"B"}]}').map((q) => q.question)).toEqual(["A", "B"]);
  expect(questions("{}")[0]?.question).toBe("{}");
});
