// Agents at work: first run, nested delegation, questions and approvals in
// several windows, stopping one of three, reload and a killed server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

test("first run: the address signs in, the example starts three sub-agents", async () => {
  const context = await world.browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const { tab, errors } = await world.tab(context, new URL(world.entry).pathname + new URL(world.entry).search);
  await tab.getByRole("heading", { name: "Welcome to Cadre" }).waitFor();
  assert.equal(new URL(tab.url()).search, "", "the code is taken out of the address");
  await sound(tab, "first run");
  await shot(tab, "first-run");
  await tab.getByRole("button", { name: "Run the example" }).click();
  await tab.getByText("3 tasks done").waitFor();
  await tab.getByRole("status").filter({ hasText: "done" }).first().waitFor();
  assert.equal(await tab.getByRole("list", { name: "Agents" }).getByRole("listitem").count(), 3);
  await tab.getByText("offline model", { exact: true }).waitFor();
  assert.equal(await tab.getByRole("navigation", { name: "Chats" }).getByRole("list", { name: "Tasks" }).getByRole("listitem").count(), 3);
  await shot(tab, "example");
  assert.deepEqual(errors, []);
  await context.close();
  const stranger = await world.browser.newContext({ reducedMotion: "reduce" });
  const used = await world.tab(stranger, new URL(world.entry).pathname + new URL(world.entry).search);
  await used.tab.getByRole("heading", { name: "Sign in to Cadre" }).waitFor();
  await sound(used.tab, "signing in");
  await shot(used.tab, "sign-in");
  await used.tab.getByLabel("Or use a token").fill("wrong");
  await used.tab.keyboard.press("Enter");
  await used.tab.getByRole("alert").waitFor();
  await used.tab.getByLabel("Or use a token").fill(world.token);
  await used.tab.keyboard.press("Enter");
  await used.tab.getByRole("navigation", { name: "Chats" }).waitFor();
  await stranger.close();
});

test("nested delegation, a question answered from the chat, approvals at depth 2 in two windows", async () => {
  const id = await world.chat(script("team"), "Add a check");
  const one = await world.window(`/chats/${id}`);
  const two = await world.window("/inbox");
  const third = await world.tab(one.context, "/inbox"); // the same browser: it shares the feed

  const card = (tab) => tab.locator("[data-item]").filter({ hasText: "touch tested.txt" });
  await card(one.tab).waitFor();
  await card(two.tab).getByRole("heading", { name: "main ▸ coder ▸ tester needs your approval" }).waitFor();
  await card(third.tab).waitFor();
  await two.tab.getByText("Which identity provider is it?").waitFor();
  await one.tab.getByRole("button", { name: /^tester, needs approval/ }).waitFor();
  await sound(one.tab, "a chat that waits");
  await sound(two.tab, "the inbox");
  await shot(one.tab, "waiting");
  await shot(two.tab, "inbox");

  const inspector = await world.tab(two.context, `/chats/${id}/agents/${id}.2`);
  const banner = inspector.tab.locator("[data-kind=question]").filter({ hasText: "Which identity provider is it?" });
  await banner.waitFor();
  const lanes = await world.tab(two.context, `/chats/${id}?panel=timeline`);
  const waits = lanes.tab.getByRole("region", { name: "Timeline" }).getByRole("button", { name: /^waits for you: (question|approval)/ });
  await waits.nth(1).waitFor();
  await lanes.tab.close();

  await card(two.tab).getByRole("button", { name: "Allow once" }).click();
  await card(one.tab).waitFor({ state: "detached" });
  await card(third.tab).waitFor({ state: "detached" });

  await one.tab.getByRole("button", { name: "Reply in the chat" }).click();
  await one.tab.getByLabel("Answer to main/researcher").fill("Keycloak, version 26");
  await one.tab.keyboard.press("Enter");
  await banner.waitFor({ state: "detached" });
  await one.tab.getByText("All parts are in.").waitFor();
  await one.tab.getByText("answered by you: Keycloak, version 26").waitFor();
  await two.tab.getByText("Nothing waits for you").waitFor();
  await third.tab.getByText("Nothing waits for you").waitFor();

  assert.equal(await one.tab.evaluate(() => "injected" in window), false, "what a model writes is not run");
  assert.equal(await one.tab.locator("img[src^='http']:not([src^='http://127'])").count(), 0, "pictures of others are not loaded");
  assert.equal(
    await one.tab.locator("[role=log] button:has-text('Approve everything')").count(),
    0,
    "what a model writes is no part of the page",
  );
  assert.deepEqual([...one.errors, ...two.errors, ...third.errors, ...inspector.errors, ...lanes.errors], []);
  await one.context.close();
  await two.context.close();
});

test("a question with several answers, and a denial with its reason", async () => {
  const id = await world.chat(script("asks"), "Ask me");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  await tab.getByRole("button", { name: "Linux" }).click();
  await tab.getByRole("button", { name: "macOS" }).click();
  await shot(tab, "several");
  await tab.getByRole("button", { name: "Send", exact: true }).first().click();
  const card = tab.locator("[data-item]").filter({ hasText: "rm -rf build" });
  await card.waitFor();
  await tab.getByRole("heading", { level: 1 }).click(); // away from the composer
  await tab.keyboard.press("d");
  await card.getByLabel("Why it is denied").fill("keep it");
  await tab.keyboard.press("Enter");
  await tab.getByText("Systems: Linux, macOS").waitFor();
  await tab.getByText("denied by you").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("one of three is stopped, the others go on", async () => {
  const id = await world.chat(script("slow"), "Start three");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  const agents = tab.getByRole("list", { name: "Agents" });
  await agents.getByRole("listitem").nth(2).waitFor();
  await agents.getByRole("button", { name: /^general-3, thinking/ }).click();
  const panel = tab.getByRole("complementary", { name: "Details" });
  await panel.getByRole("log").getByText("Working").waitFor(); // what it says is seen while it says it
  await panel.getByRole("button", { name: "Close the panel" }).click();
  await tab.getByRole("button", { name: "Stop general-2" }).click();
  await agents.getByRole("button", { name: /^general-2, cancelled/ }).waitFor();
  assert.equal(await agents.getByRole("button", { name: /^general(-3)?, thinking/ }).count(), 2);
  await tab.getByText("1 of 3 tasks done").waitFor();
  await shot(tab, "stopped");
  await tab.getByRole("button", { name: "Stop", exact: true }).click();
  await agents.getByRole("button", { name: /^general-3, cancelled/ }).waitFor();
  await tab.getByText("3 tasks ended").waitFor();
  await tab.getByText("You stopped it.").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("reload and server kill in mid-stream lose nothing and show nothing twice", async () => {
  const id = await world.chat(script("slow"), "Tell me much");
  const { tab, context } = await world.window(`/chats/${id}`);
  await tab.getByText("one two three").waitFor();
  const mine = tab.locator("[data-entry=user]");
  const top = (await mine.boundingBox()).y;
  await tab.getByText("five six").waitFor();
  assert.equal((await mine.boundingBox()).y, top, "what is above a reply on its way does not move");
  await tab.reload();
  await tab.getByText("Long answer: one two three").waitFor();
  await world.kill();
  await tab.getByText("Not connected").waitFor();
  await tab.getByRole("textbox", { name: "Message" }).fill("Still there?");
  await tab.keyboard.press("Enter");
  await tab.getByText("Not sent.").waitFor();
  await world.serve();
  await tab.getByText("The end.").waitFor();
  await tab.getByText("Not connected").waitFor({ state: "detached" });
  assert.equal(await tab.getByText("Long answer: one two three").count(), 1, "it is shown once");
  await tab.getByRole("button", { name: "Send again" }).click();
  await tab.getByText("I am still here.").waitFor();
  assert.equal(await tab.getByText("Still there?").count(), 1);
  await context.close();
});

test("a message is edited into a fork, a chat renamed, archived and taken back", async () => {
  const id = await world.chat(script("slow"), "Are you there? quick");
  await world.rests(id);
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  await tab.getByText("I am still here.").waitFor();
  await tab.getByRole("button", { name: "Edit in a new chat" }).click();
  await tab.getByLabel("The message").fill("quick, once more");
  await tab.getByRole("button", { name: "Fork and send" }).click();
  await tab.waitForURL((u) => !u.pathname.endsWith(id));
  await tab.getByText("quick, once more").first().waitFor();
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Rename" }).click();
  await tab.getByLabel("Title").fill("Another name");
  await tab.keyboard.press("Enter");
  await tab.getByRole("navigation", { name: "Chats" }).getByText("Another name").waitFor();
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Archive" }).click();
  await tab.getByRole("button", { name: "Undo" }).click();
  await tab.getByText("Moved to the archive.").waitFor({ state: "detached" });
  await tab.getByRole("navigation", { name: "Chats" }).getByText("Another name").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});
