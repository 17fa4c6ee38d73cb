// What stands in a chat and in the sidebar: Markdown, code, formulas, thinking,
// tasks with their facts; and that what models write stays text.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world, text, story;
before(async () => {
  world = await World.start({ files: { ".config/cadre/config.yaml": "permissions: { mode: edits }\n" } });
  text = await world.chat(script("text"), "Show me all");
  story = await world.chat(script("story"), "Write a note");
  await world.rests(text);
  await world.rests(story);
});
after(() => world?.stop());

test("Markdown: headings, lists, tables, code with colours and numbers, formulas, copying, thinking", async () => {
  const { tab, errors, context } = await world.window(`/chats/${text}`);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const log = tab.getByRole("log");
  await log.getByRole("heading", { name: "What there is" }).waitFor();
  await log.getByRole("cell", { name: "a" }).waitFor();
  await log.locator("math").nth(1).waitFor();
  assert.equal(await log.locator("math[display=block]").count(), 1, "a formula on a line of its own stands apart");
  const code = log.getByRole("group", { name: "Code, go" });
  await code.locator(".hl-keyword").first().waitFor();
  const colour = (selector) =>
    code
      .locator(selector)
      .first()
      .evaluate((e) => getComputedStyle(e).color);
  assert.notEqual(await colour(".hl-keyword"), await colour("pre"));
  const numbers = await code.evaluate((e) => [...e.firstElementChild.children].map((n) => n.getBoundingClientRect().height));
  assert.deepEqual(numbers, Array(13).fill(20), "each number of a line stands beside its line");
  assert.equal(await code.evaluate((e) => /[\u202a-\u202e]/.test(e.textContent)), false, "code is shown in its order");
  const apart = await log.locator(".prose").evaluate((e) => {
    const [list, next] = [e.querySelector("ul"), e.querySelector("ol")].map((l) => l.getBoundingClientRect());
    return next.top - list.bottom;
  });
  assert.ok(apart >= 8, `lists stand apart: ${apart}`);
  await sound(tab, "Markdown");

  await log.getByRole("button", { name: "Copy code" }).click();
  assert.match(await tab.evaluate(() => navigator.clipboard.readText()), /^package main\n[\s\S]*const last = 14$/);
  await log.getByRole("button", { name: "Copy", exact: true }).last().click();
  assert.match(await tab.evaluate(() => navigator.clipboard.readText()), /^## What there is/);

  const thought = log.getByRole("button", { name: /Thought/ });
  assert.equal(await log.getByText("then the rest.", { exact: false }).locator("visible=true").count(), 1, "its first line");
  await thought.click();
  await log.locator("strong", { hasText: "plan" }).waitFor();
  await thought.click();
  await log.locator("strong", { hasText: "plan" }).waitFor({ state: "detached" });
  assert.deepEqual(errors, []);
  await context.close();
});

test("what a model writes runs nothing, loads nothing and looks like nothing else", async () => {
  const { tab, errors, context } = await world.window("/");
  const strange = [];
  tab.on("request", (r) => r.url().startsWith(world.base) || r.url().startsWith("data:") || strange.push(r.url()));
  await tab.goto(`${world.base}/chats/${text}`);
  await tab.getByText("at other.invalid, not loaded").waitFor();
  const log = tab.getByRole("log");
  assert.equal(await log.locator("script, iframe, style, form, input, [role=dialog], [onerror], img, [style*=fixed]").count(), 0);
  assert.equal(await log.getByRole("button", { name: "Sign in" }).count(), 0);
  assert.equal(await log.locator("a[href^=javascript], a[href^=data]").count(), 0);
  const out = log.getByRole("link", { name: "out" });
  assert.match(await out.getAttribute("rel"), /noopener.*noreferrer/);
  assert.equal(await tab.evaluate(() => "injected" in window), false);
  assert.deepEqual(strange, [], "nothing is asked of other servers");
  assert.deepEqual(errors, []);
  await context.close();
});

test("a task block tells who did what, how long, for how much, and folds", async () => {
  const { tab, errors, context } = await world.window(`/chats/${story}`);
  const block = tab.getByRole("region", { name: "Tasks" });
  const head = block.getByRole("button", { name: /2 tasks done.*in [\d.]+ m?s, \d+ turns/ });
  await head.waitFor();
  const coder = block.getByRole("button", { name: /^coder, completed: note\.txt is there/ });
  assert.match(await coder.innerText(), /coder[\s\S]*tok[\s\S]*\d turns[\s\S]*(\$[\d.]+|unknown)[\s\S]*\d m?s/);
  await coder.locator("svg").nth(1).waitFor(); // the icons of its state and of its role
  await block.getByRole("button", { name: /^tester, completed/ }).waitFor();
  await block.getByRole("button", { name: "Hide the sub-agents of coder" }).click();
  await block.getByRole("button", { name: /^tester, completed/ }).waitFor({ state: "detached" });
  await block.getByRole("button", { name: "Show the sub-agents of coder" }).click();
  await block.getByRole("button", { name: "1 file changed" }).click();
  await block.getByText("created note.txt by coder").waitFor();
  await shot(tab, "task-block");
  await head.click();
  await coder.waitFor({ state: "detached" });
  await head.click();
  await coder.waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("the sidebar shows states of chats and of their tasks, and what waits", async () => {
  const { tab, errors, context } = await world.window(`/chats/${story}`);
  const chats = tab.getByRole("navigation", { name: "Chats" });
  const line = chats.getByRole("link").filter({ hasText: "Write a note" });
  await line.getByRole("img", { name: "completed" }).waitFor();
  const tasks = chats.getByRole("list", { name: "Tasks" }).getByRole("listitem");
  await tasks.nth(2).waitFor();
  for (const task of await tasks.all()) assert.equal(await task.getByRole("img", { name: "completed" }).count(), 1);
  await tasks.filter({ hasText: "tester" }).getByRole("link").click();
  await tab.getByRole("complementary", { name: "Details" }).getByRole("heading", { name: "tester" }).waitFor();
  const asks = await world.chat(script("asks"), "Ask me");
  await chats.getByLabel("1 waiting").waitFor();
  await chats.getByRole("link").filter({ hasText: "Ask me" }).getByRole("img", { name: "needs approval" }).waitFor();
  assert.match(await tab.title(), /^\(1\)/, "the title of the window tells it, too");
  await tab.waitForFunction(() => document.querySelector("link[rel=icon]").href.endsWith("icon-waiting.svg"));
  await world.api("POST", `users/me/orch-chats/${asks}/stop`);
  await chats.getByLabel("1 waiting").waitFor({ state: "detached" });
  assert.deepEqual(errors, []);
  await context.close();
});

test("each stop of the Tab key is seen, and nothing moves for those who do not want it", async () => {
  const { tab, errors, context } = await world.window(`/chats/${story}`);
  await tab.getByText("The note is written.").waitFor();
  await tab.getByRole("heading", { level: 1 }).click();
  const stops = new Set();
  for (let n = 0; n < 45; n++) {
    await tab.keyboard.press("Tab");
    const { name, seen } = await tab.evaluate(() => {
      const e = document.activeElement;
      const field = /^(INPUT|TEXTAREA)$/.test(e.tagName); // its frame shows it
      const name = e.getAttribute("aria-label") ?? e.innerText.slice(0, 40);
      return { name: `${e.tagName} ${name}`, seen: field || e === document.body || getComputedStyle(e).outlineStyle === "solid" };
    });
    assert.ok(seen, `the focus on ${name} is not seen`);
    stops.add(name);
  }
  assert.ok(stops.size > 30, `only ${stops.size} stops: ${[...stops].join(", ")}`);
  await context.close();
  const slow = await world.chat(script("slow"), "Start three");
  const moving = async (reducedMotion) => {
    const { tab, context } = await world.window(`/chats/${slow}`, { reducedMotion });
    await tab.getByRole("list", { name: "Agents" }).getByRole("listitem").nth(2).waitFor();
    const count = await tab.evaluate(() => document.getAnimations().length);
    await context.close();
    return count;
  };
  assert.ok((await moving("no-preference")) > 0, "what is at work breathes");
  assert.equal(await moving("reduce"), 0);
  await world.api("POST", `users/me/orch-chats/${slow}/stop`);
  assert.deepEqual(errors, []);
});
