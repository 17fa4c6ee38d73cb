// When something is not there: a chat, an agent, the roles, the server. The
// page says what happened and how to go on.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world, chat;
before(async () => {
  world = await World.start();
  chat = await world.chat(script("talks"), "Hello");
  await world.rests(chat);
});
after(() => world?.stop());

test("addresses that lead nowhere", async () => {
  const { tab, context } = await world.window("/chats/zzzz");
  await tab.getByText("There is no such chat").waitFor();
  assert.equal(await tab.getByRole("textbox", { name: "Message" }).count(), 0, "nothing can be sent to it");
  await sound(tab, "no such chat");
  await tab.goto(`${world.base}/chats/${chat}/agents/${chat}.99`);
  await tab.getByText(`There is no agent ${chat}.99 in this chat`).waitFor();
  await tab.goto(`${world.base}/chats/${chat}?panel=agent:${chat}.99`);
  await tab.getByRole("complementary", { name: "Details" }).getByText("There is no agent").waitFor();
  await tab.getByRole("button", { name: "Close the panel" }).click();
  await tab.getByText("That was it.").waitFor();
  await context.close();
});

test("a list that cannot be loaded is tried again, an empty one says so", async () => {
  const { tab, context } = await world.window("/inbox");
  await tab.getByText("Nothing waits for you").waitFor();
  let answer = { status: 500, json: { status: 500, detail: "the disk is gone", hint: "look for it" } };
  await tab.route("**/v1/roles", (r) => r.fulfill(answer));
  await tab.getByRole("link", { name: "Roles" }).click();
  await tab.getByRole("alert").getByText("The disk is gone. Look for it.").waitFor();
  await sound(tab, "a list that failed");
  answer = { json: { items: [] } };
  await tab.getByRole("button", { name: "Try again" }).click();
  await tab.getByText("There are no roles").waitFor();
  await tab.unroute("**/v1/roles");
  await tab.reload();
  await tab.getByRole("heading", { name: "Task planner" }).waitFor();
  await tab.route(`**/v1/users/me/orch-chats/${chat}`, (r) => r.fulfill({ status: 500, json: { status: 500, detail: "not now" } }));
  await tab.goto(`${world.base}/chats/${chat}`);
  await tab.getByRole("alert").getByText("Not now.").waitFor();
  await tab.unroute(`**/v1/users/me/orch-chats/${chat}`);
  await tab.getByRole("button", { name: "Try again" }).click();
  await tab.getByText("That was it.").waitFor();
  await context.close();
});

test("a page whose server is away when it opens goes on by itself", async () => {
  const { tab, context } = await world.window("/");
  await tab.route("**/v1/**", (r) => r.abort());
  await tab.goto(`${world.base}/chats/${chat}`);
  await tab.getByRole("alert").getByText("The server cannot be reached.").waitFor();
  await sound(tab, "no server");
  await shot(tab, "no-server");
  await tab.unroute("**/v1/**");
  await tab.getByText("That was it.").waitFor();
  await context.close();
});

test("who is signed out is told so", async () => {
  const { tab, context } = await world.window(`/chats/${chat}`);
  await tab.getByText("That was it.").waitFor();
  const answer = await context.request.delete(`${world.base}/v1/session`, { headers: { Origin: world.base } });
  assert.equal(answer.status(), 204);
  await tab.getByText("Not signed in any more").first().waitFor();
  await tab.reload();
  await tab.getByRole("heading", { name: "Sign in to Cadre" }).waitFor();
  await context.close();
});
