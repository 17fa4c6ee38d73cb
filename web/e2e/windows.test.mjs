// Two windows of two browsers agree at once: what was read, what was set, what
// was renamed, archived and deleted; and which model answers from now on.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, World } from "./harness.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

const lineOf = (tab, title) => tab.getByRole("navigation", { name: "Chats" }).getByRole("link").filter({ hasText: title });

test("what is read in one window is read in the other", async () => {
  const one = await world.window("/");
  const two = await world.window("/");
  await one.tab.getByRole("textbox", { name: "Message" }).waitFor();
  await two.tab.getByRole("textbox", { name: "Message" }).waitFor();
  const id = await world.chat(script("talks"), "Hello", { title: "Read me" });
  for (const { tab } of [one, two]) await lineOf(tab, "Read me").getByRole("img", { name: "unread" }).waitFor();
  await lineOf(one.tab, "Read me").click();
  await one.tab.getByText("That was it.").waitFor();
  await lineOf(two.tab, "Read me").getByRole("img", { name: "unread" }).waitFor({ state: "detached" });
  // What comes while it is open is read as well, in both.
  await world.api("POST", `users/me/orch-chats/${id}/messages`, { text: "And now?" });
  await one.tab.getByText("That was it.").nth(1).waitFor();
  await world.rests(id);
  await one.tab.goto(`${world.base}/inbox`);
  await lineOf(one.tab, "Read me").waitFor();
  await one.tab.waitForFunction(() => !document.querySelector("[aria-label=unread]"));
  await two.tab.waitForFunction(() => !document.querySelector("[aria-label=unread]"));
  // What comes afterwards is not.
  await world.api("POST", `users/me/orch-chats/${id}/messages`, { text: "Once more" });
  for (const { tab } of [one, two]) await lineOf(tab, "Read me").getByRole("img", { name: "unread" }).waitFor();
  assert.deepEqual([...one.errors, ...two.errors], []);
  await one.context.close();
  await two.context.close();
});

test("what is set, renamed, archived and deleted in one window is so in the other", async () => {
  const id = await world.chat(script("talks"), "Hello", { title: "Old name" });
  await world.rests(id);
  const one = await world.window("/settings");
  const two = await world.window("/settings");
  await two.tab.getByLabel("In chats I begin").waitFor();
  await one.tab.getByLabel("In chats I begin").fill("0.75");
  await one.tab.getByRole("button", { name: "Save" }).click();
  await two.tab.waitForFunction(() => document.querySelector("#own-budget")?.value === "0.75");

  await two.tab.goto(`${world.base}/chats/${id}`);
  await two.tab.getByText("That was it.").waitFor();
  await one.tab.goto(`${world.base}/chats/${id}`);
  await one.tab.getByRole("heading", { level: 1, name: "Old name" }).dblclick();
  await one.tab.getByLabel("Title").fill("New name");
  await one.tab.keyboard.press("Enter");
  await two.tab.getByRole("heading", { level: 1, name: "New name" }).waitFor();
  await lineOf(two.tab, "New name").waitFor();

  await one.tab.getByRole("button", { name: "More", exact: true }).click();
  await one.tab.getByRole("menuitem", { name: "Archive" }).click();
  await lineOf(two.tab, "New name").waitFor({ state: "detached" });
  await two.tab.getByRole("button", { name: /^Archive/ }).click();
  await lineOf(two.tab, "New name").waitFor();

  await world.api("DELETE", `users/me/orch-chats/${id}`);
  for (const { tab } of [one, two]) {
    await tab.getByText("There is no such chat").waitFor();
    await lineOf(tab, "New name").waitFor({ state: "detached" });
  }
  await one.context.close();
  await two.context.close();
});

test("the model of a chat is chosen for its next message, its role stays", async () => {
  const id = await world.chat(script("talks"), "Hello");
  await world.rests(id);
  const one = await world.window(`/chats/${id}`);
  const two = await world.window(`/chats/${id}`);
  await one.tab.getByText("That was it.").waitFor();
  const picker = (tab) => tab.getByRole("button", { name: "Model", exact: true });
  await picker(two.tab).getByText("script talks.yaml").waitFor();
  await one.tab.getByTitle("The role of the orchestrator, chosen when the chat began").getByText("main").waitFor();
  await picker(one.tab).click();
  await one.tab.getByRole("combobox", { name: "Search: Model" }).fill("offline");
  await one.tab.keyboard.press("Enter");
  await one.tab.getByText("from your next message on").waitFor();
  assert.equal(
    (await world.api("GET", `users/me/orch-chats/${id}`)).chat.model.includes("talks"),
    true,
    "nothing changes before it is sent",
  );
  await one.tab.getByRole("textbox", { name: "Message" }).fill("Count the files in this folder");
  await one.tab.keyboard.press("Enter");
  await one.tab.getByText(/There are \d+ files/).waitFor();
  await one.tab.getByText("from your next message on").waitFor({ state: "detached" });
  for (const { tab } of [one, two]) {
    await picker(tab).getByText("offline").waitFor();
    await tab.getByText("offline model", { exact: true }).waitFor();
  }
  assert.equal((await world.api("GET", `users/me/orch-chats/${id}`)).chat.model, "offline");
  assert.deepEqual([...one.errors, ...two.errors], []);
  await one.context.close();
  await two.context.close();
});
