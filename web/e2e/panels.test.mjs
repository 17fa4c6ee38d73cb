// What can be looked at beside a chat: inspector, steps, timeline, cost, roles.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world, chat;
before(async () => {
  world = await World.start({
    files: { ".config/cadre/config.yaml": "permissions:\n  mode: edits\n  deny: [Read(secrets/**)]\nbudget: { cost: 5 }\n" },
  });
  chat = await world.chat(script("story"), "Write a note");
  await world.rests(chat);
});
after(() => world?.stop());

test("the inspector shows what an agent saw, said and did", async () => {
  const { tab, errors, context } = await world.window(`/chats/${chat}`);
  await tab.getByRole("button", { name: /^coder, completed/ }).click();
  const panel = tab.getByRole("complementary", { name: "Details" });
  await panel.getByRole("heading", { name: "coder" }).waitFor();
  await panel.getByText("Write the note and have it checked.").first().waitFor();
  await panel.getByRole("button", { name: /writing note\.txt/ }).click();
  await panel.getByRole("group", { name: "Changes" }).getByText("a first line").waitFor();
  await panel.getByText(/Write · write · turn 2 .* took \d/).waitFor();
  await panel.getByText("Output").waitFor();
  const link = panel.getByRole("link", { name: "caused by your message" });
  assert.match(await link.getAttribute("href"), new RegExp(`^/chats/${chat}\\?message=`));
  await shot(tab, "inspector");
  await panel.getByRole("tab", { name: "Model calls" }).click();
  await panel.getByRole("columnheader", { name: "Cache" }).waitFor();
  await panel.getByText("50%").first().waitFor();
  const calls = panel.getByRole("region", { name: "Model calls" });
  await calls.getByText("503").first().waitFor(); // a try that failed, and why
  const row = await calls.getByRole("row").last().innerText();
  assert.match(row, /\d+ m?s\s+\d+ m?s\s+(\$[\d.]+|unknown)$/, "the time to the first token, the whole time, the cost");
  await shot(tab, "model-calls");
  await sound(tab, "model calls");
  await panel.getByRole("tab", { name: "Prompt" }).click();
  await panel.getByText("Role: coder").waitFor();
  await panel
    .getByRole("button", { name: /^Write/ })
    .first()
    .waitFor();
  await panel.getByRole("tab", { name: "History" }).click();
  const events = panel.getByRole("list", { name: "Events" }).getByRole("listitem");
  await events.filter({ hasText: "model failed" }).getByText("retrying").waitFor();
  await events.filter({ hasText: "model replied" }).first().getByText("acting").waitFor();
  await events.last().getByText("completed").waitFor();
  await panel.getByRole("button", { name: /^tester, completed/ }).click();
  await panel.getByRole("heading", { name: "tester" }).waitFor();
  await panel.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "coder" }).click();
  await panel.getByRole("heading", { name: "coder" }).waitFor();
  await panel.getByRole("link", { name: "Open as a page" }).click();
  await tab.getByRole("heading", { level: 1, name: "coder" }).waitFor();
  await sound(tab, "the page of an agent");
  await shot(tab, "agent-page");
  assert.deepEqual(errors, []);
  await context.close();
});

test("steps, timeline, cost and roles", async () => {
  const { tab, errors, context } = await world.window(`/chats/${chat}?panel=steps`);
  await tab.getByRole("region", { name: "Steps" }).getByText("running true").waitFor();
  const steps = tab.getByRole("region", { name: "Steps" });
  const group = steps.getByRole("button", { name: /^completed researcher/ });
  await steps.getByText("searching for package").waitFor();
  await group.click();
  await steps.getByText("searching for package").waitFor({ state: "detached" });
  await group.click();
  await shot(tab, "steps");
  await sound(tab, "steps");
  await tab.getByRole("tab", { name: "Timeline" }).click();
  const timeline = tab.getByRole("region", { name: "Timeline" });
  await timeline.getByRole("button", { name: /^tool: writing note.txt/ }).waitFor();
  await timeline
    .getByRole("button", { name: /^failed call/ })
    .first()
    .waitFor();
  await timeline
    .getByRole("button", { name: /^waits to retry/ })
    .first()
    .waitFor();
  const before = (
    await timeline
      .getByRole("button", { name: /^waits for sub-agents/ })
      .first()
      .boundingBox()
  ).width;
  await tab.getByRole("button", { name: "Zoom in" }).click();
  const zoomed = (
    await timeline
      .getByRole("button", { name: /^waits for sub-agents/ })
      .first()
      .boundingBox()
  ).width;
  assert.ok(zoomed > before * 1.8, `zooming in makes bars wider: ${before} → ${zoomed}`);
  await tab.getByRole("button", { name: "Zoom out" }).click();
  // A bar that is clicked is told, and the keys go on from there.
  const line = tab.getByRole("status").filter({ has: tab.getByRole("button", { name: "Close" }) });
  await timeline.getByRole("button", { name: /^tool: writing note.txt/ }).click();
  await line.getByText(/^tool: writing note.txt/).waitFor();
  await timeline.focus();
  await tab.keyboard.press("ArrowRight");
  await line.getByText(/^model: /).waitFor();
  await tab.keyboard.press("ArrowLeft");
  await line.getByText(/^tool: writing note.txt/).waitFor();
  await tab.keyboard.press("Escape");
  await line.waitFor({ state: "detached" });
  await tab.keyboard.press("Enter");
  await line.getByRole("button", { name: "main" }).waitFor();
  await tab.keyboard.press("ArrowDown");
  await line.getByRole("button", { name: "main" }).waitFor({ state: "detached" });
  await line.waitFor();
  await shot(tab, "timeline");
  await sound(tab, "timeline");
  await tab.getByRole("tab", { name: "Cost" }).click();
  const cost = tab.getByRole("region", { name: "Cost" });
  await cost.getByRole("list", { name: "Cost by agent" }).getByText("main/coder/tester").waitFor();
  await cost.getByRole("tab", { name: "Role" }).click();
  await cost.getByRole("list", { name: "Cost by role" }).getByText("tester").waitFor();
  await cost.getByRole("tab", { name: "Model" }).click();
  await cost.getByRole("list", { name: "Cost by model" }).getByText("story").waitFor();
  await cost.getByRole("tab", { name: "Day" }).click();
  await cost
    .getByRole("list", { name: "Cost by day" })
    .getByText(/^\d{4}-\d{2}-\d{2}$/)
    .waitFor();
  await cost.getByRole("img", { name: /^It grew to .* in / }).waitFor();
  await shot(tab, "cost");
  await sound(tab, "cost");
  await tab.getByRole("tab", { name: "Roles" }).click();
  await tab.getByRole("heading", { name: "Task planner" }).waitFor();
  const coder = tab.getByRole("listitem").filter({ has: tab.getByRole("heading", { name: "Coder", exact: true }) });
  assert.match(
    await coder.innerText(),
    /coder[\s\S]*30 turns · 5 min[\s\S]*Writes and changes code[\s\S]*Model\s+default[\s\S]*Tools\s+Read[\s\S]*From\s+built-in/,
  );
  await shot(tab, "roles");
  await sound(tab, "roles");
  assert.deepEqual(errors, []);
  await context.close();
});

test("keys: find, help, panels, inbox", async () => {
  const { tab, errors, context } = await world.window(`/chats/${chat}`);
  await tab.getByText("The note is written.").waitFor();
  await tab.getByRole("heading", { level: 1 }).click();
  await tab.keyboard.press("?");
  await tab.getByRole("dialog", { name: "Keys" }).waitFor();
  await sound(tab, "help");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("t");
  await tab.getByRole("region", { name: "Timeline" }).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("region", { name: "Timeline" }).waitFor({ state: "detached" });
  await tab.keyboard.press("Control+k");
  await tab.getByRole("combobox").fill("tester");
  await sound(tab, "find");
  await tab.keyboard.press("Enter");
  await tab.getByRole("complementary", { name: "Details" }).getByRole("heading", { name: "tester" }).waitFor();
  await tab.keyboard.press("g");
  await tab.getByText("Nothing waits for you").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});
