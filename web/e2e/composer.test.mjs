// What a person does at the keyboard: attachments, completion, drafts, messages
// sent while the orchestrator is busy, searching, and approvals for longer than
// once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, World } from "./harness.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

const picture = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

test("attachments go along, and show", async () => {
  const id = await world.chat(script("talks"), "Hello");
  await world.rests(id);
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  await tab.locator("input[type=file]").setInputFiles([
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("remember the milk") },
    { name: "dot.png", mimeType: "image/png", buffer: picture },
  ]);
  await tab.getByRole("list", { name: "Attachments" }).getByRole("listitem").nth(1).waitFor();
  await tab.getByRole("textbox", { name: "Message" }).fill("Look at these");
  await shot(tab, "attachments");
  await tab.keyboard.press("Enter");
  await tab.locator("[data-entry=user]").filter({ hasText: "Look at these" }).getByRole("img").waitFor();
  await world.rests(id);
  const { items } = await world.api("GET", `users/me/orch-chats/${id}/messages`);
  const sent = items.find((m) => JSON.stringify(m.parts).includes("Look at these"));
  assert.match(JSON.stringify(sent.parts), /remember the milk/);
  assert.ok(sent.parts.some((p) => p.type === "image"));
  assert.deepEqual(errors, []);
  await context.close();
});

test("agents and commands are completed, a draft survives a reload, a search finds", async () => {
  const id = await world.chat(script("slow"), "Start all three at once");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  await tab.getByRole("list", { name: "Agents" }).getByRole("listitem").nth(2).waitFor();
  const box = tab.getByRole("textbox", { name: "Message" });
  await box.fill("@general-");
  await tab.getByRole("listbox", { name: "Suggestions" }).getByText("general-2").waitFor();
  await shot(tab, "completion");
  await tab.keyboard.press("Enter");
  assert.match(await box.inputValue(), /^@general-\d $/);
  await box.fill("/ti");
  await tab.getByRole("listbox", { name: "Suggestions" }).getByText("/timeline").waitFor();
  await tab.keyboard.press("Tab");
  await tab.getByRole("region", { name: "Timeline" }).waitFor();
  assert.equal(await box.inputValue(), "");
  await tab.getByRole("button", { name: "Close the panel" }).click();
  await box.fill("not yet sent");
  await tab.reload();
  await tab.waitForFunction(() => [...document.querySelectorAll("textarea")].some((t) => t.value === "not yet sent"));
  const chats = tab.getByRole("navigation", { name: "Chats" });
  await tab.getByLabel("Search chats").fill("all three");
  await chats.getByText("Start all three at once").waitFor();
  await tab.getByLabel("Search chats").fill("nothing of the kind");
  await chats.getByText("Start all three at once").waitFor({ state: "detached" });
  assert.deepEqual(errors, []);
  await context.close();
  await world.api("POST", `users/me/orch-chats/${id}/stop`);
});

test("a chat begins with the role and the model that were picked", async () => {
  const { tab, errors, context } = await world.window("/");
  await tab.getByRole("button", { name: "Role of the orchestrator" }).click();
  await tab.getByRole("menuitemradio", { name: /^General/ }).click();
  await tab.getByRole("button", { name: "Model", exact: true }).click();
  await tab.getByRole("combobox").fill("offline");
  await tab.getByRole("option", { name: /^offline/ }).click();
  await tab.getByRole("textbox", { name: "Message" }).fill("Count the files in this folder");
  await tab.getByRole("button", { name: "Send" }).click();
  await tab.getByText(/There are \d+ files/).waitFor();
  const { chat } = await world.api("GET", `users/me/${new URL(tab.url()).pathname.replace("/chats/", "orch-chats/")}`);
  assert.deepEqual([chat.role, chat.model], ["general", "offline"]);
  assert.deepEqual(errors, []);
  await context.close();
});

test("messages sent meanwhile are queued, and read in their order", async () => {
  const id = await world.chat(script("talks"), "Answer slowly");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  await tab.getByText("Slow answer").waitFor();
  const box = tab.getByRole("textbox", { name: "Message" });
  await box.fill("and this");
  await tab.keyboard.press("Enter");
  await tab.locator("[data-entry=user]").filter({ hasText: "and this" }).getByText("queued").waitFor();
  await tab.getByText("That was it.").waitFor();
  assert.equal(await tab.getByText("queued: it is read").count(), 0);
  assert.deepEqual(errors, []);
  await context.close();
});

test("what is allowed for the chat does not ask again", async () => {
  const id = await world.chat(script("talks"), "run it");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  const card = tab.locator("[data-item]").filter({ hasText: "touch one.txt" });
  await card.getByRole("button", { name: "this chat" }).click();
  await world.rests(id);
  const box = tab.getByRole("textbox", { name: "Message" });
  await box.fill("again");
  await tab.keyboard.press("Enter");
  await tab.getByText("That was it.").nth(1).waitFor();
  const { items } = await world.api("GET", `users/me/orch-chats/${id}/inbox?all=true`);
  assert.equal(items.length, 1);
  assert.equal(items[0].scope, "chat");
  assert.deepEqual(errors, []);
  await context.close();
});
