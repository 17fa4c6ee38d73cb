// A chat with 10,000 messages and a tree with 1,000 agents: it opens within a
// second after the data is there, draws only what is seen, and scrolls.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { faults, launch, mock, page } from "./harness.mjs";

const at = Date.UTC(2026, 0, 1);
const agent = (id, parent, name, state) => ({
  id,
  chatId: "big",
  parent,
  role: parent ? "general" : "main",
  name,
  path: parent ? `main/${name}` : "main",
  depth: parent ? 1 : 0,
  model: "offline",
  state,
  status: "active",
  recordedStatus: "running",
  turns: 3,
  activeMs: 100,
  tokens: 1200,
  costMicros: 1234,
  createdAt: at,
  updatedAt: at + 5000,
  endedAt: state === "completed" || state === "failed" ? at + 4000 : 0,
});

/** recording is a chat as `cadre run --json` would have written it. */
function recording(messages, agents) {
  const docs = [
    {
      collection: "orch-chats",
      id: "big",
      data: { id: "big", userId: "u", title: "Large", role: "main", model: "offline", dir: "/x", createdAt: at, updatedAt: at },
    },
    { collection: "orchestrator", id: "big", data: agent("big", undefined, "main", "awaiting_children") },
    {
      collection: "tool-calls",
      id: "big-c1.0",
      data: {
        id: "big-c1.0",
        subAgentId: "big",
        turn: 1,
        call: 0,
        callId: "last",
        toolName: "spawn_agents",
        class: "delegate",
        args: {},
        phase: "children",
        status: "pending",
        createdAt: at,
      },
    },
  ];
  for (let n = 0; n < messages; n++) {
    const user = n % 2 === 0;
    const parts = [
      { type: "text", text: user ? `Question ${n}?` : `Answer **${n}**.\n\n- one\n- two\n\n\`\`\`go\nfunc f${n}() {}\n\`\`\`` },
    ];
    if (n === messages - 1) parts.push({ type: "tool_call", id: "last", name: "spawn_agents", input: {} });
    docs.push({
      collection: "messages",
      id: `m${n}`,
      data: {
        id: `m${n}`,
        agentId: "big",
        pos: n,
        role: user ? "user" : "assistant",
        kind: user ? "user" : "reply",
        parts,
        createdAt: at + n,
      },
    });
  }
  for (let n = 1; n <= agents; n++) {
    const id = `big.${n}`;
    docs.push({
      collection: "sub-agents",
      id,
      data: agent(id, "big", `general-${n}`, n % 10 < 6 ? "completed" : n % 10 === 6 ? "failed" : "thinking"),
    });
    docs.push({
      collection: "tasks",
      id,
      data: {
        id,
        chatId: "big",
        parentAgentId: "big",
        number: n,
        type: "agent",
        name: "agent:general",
        instruction: `Part ${n}`,
        subAgentId: id,
        turn: 1,
        call: 0,
        status: "running",
        createdAt: at,
        updatedAt: at,
      },
    });
  }
  return JSON.stringify({ seq: 1, at: new Date(at).toISOString(), type: "created", chat: "big", agent: "big", docs });
}

let browser, server, dir;

before(async () => {
  dir = mkdtempSync(join(tmpdir(), "cadre-large-"));
  writeFileSync(join(dir, "big.jsonl"), recording(10_000, 1000));
  server = await mock(join(dir, "big.jsonl"));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test("opens in a second, draws what is seen, scrolls", async () => {
  const { tab, errors } = await page(browser);
  let loaded = 0;
  tab.on("requestfinished", (r) => {
    if (r.url().includes("/v1/") && !r.url().includes("changes")) loaded = Date.now();
  });
  await tab.goto(`${server.base}/chats/big`);
  await tab.getByText("Answer 9999").waitFor();
  const took = Date.now() - loaded;
  assert.ok(took < 1000, `it took ${took} ms after the data was there`);
  await tab.getByText("1,000 tasks done").waitFor();
  assert.ok((await tab.locator("[data-entry]").count()) < 60, "only what is seen is drawn");
  assert.ok((await tab.locator("[aria-label=Agents] [role=listitem]").count()) < 60, "only seen agents are drawn");

  const frames = await tab.evaluate(async () => {
    const box = document.querySelector("[data-scroll]");
    let slowest = 0,
      last = performance.now();
    for (let i = 0; i < 60; i++) {
      box.scrollTop -= 400;
      await new Promise(requestAnimationFrame);
      slowest = Math.max(slowest, performance.now() - last);
      last = performance.now();
    }
    return slowest;
  });
  assert.ok(frames < 500, `the slowest frame took ${frames} ms`);
  assert.deepEqual(await faults(tab), []);
  assert.deepEqual(errors, []);
});
