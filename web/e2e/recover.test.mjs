// A page whose place in the feed is gone: a chat was deleted while it was away,
// or a copy of the database was put back. It begins anew by itself, shows what
// is there now, and loses nothing that its user has written.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { command, script, World } from "./harness.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

const lineOf = (tab, title) => tab.getByRole("navigation", { name: "Chats" }).getByRole("link").filter({ hasText: title });
const composer = (tab) => tab.getByRole("textbox", { name: "Message" });
const mine = (tab, text) => tab.locator("[data-entry=user]").filter({ hasText: text });

/** refusals collects the feeds that were refused with 410, in every window of a browser. */
function refusals(context) {
  const urls = [];
  context.on("response", (r) => r.status() === 410 && urls.push(r.url()));
  return urls;
}

/** away cuts the feeds of a browser off, as a closed lid does, until what it returns is called. */
async function away(context, tab) {
  await context.route(/\/changes\?/, (r) => r.abort());
  await world.kill(); // a feed that is open is not routed any more
  await world.serve();
  await tab.getByText("Not connected").waitFor();
  return () => context.unroute(/\/changes\?/);
}

test("chats were deleted and made while two windows were away: both show what is there now", async () => {
  const stays = await world.chat(script("talks"), "Hello", { title: "It stays" });
  const goes = await world.chat(script("talks"), "Hello", { title: "It goes" });
  await world.rests(stays);
  await world.rests(goes);
  const one = await world.window(`/chats/${stays}`);
  const refused = refusals(one.context);
  const two = await world.tab(one.context, `/chats/${goes}`); // it hears of the feed through the other window
  for (const { tab } of [one, two]) await lineOf(tab, "It goes").waitFor();
  await two.tab.getByText("That was it.").waitFor();

  const back = await away(one.context, one.tab);
  await world.api("DELETE", `users/me/orch-chats/${goes}`);
  await world.api("PATCH", `users/me/orch-chats/${stays}`, { title: "Another title" });
  await world.chat(script("talks"), "Hello", { title: "It is new" });
  await composer(one.tab).fill("half a thought");
  assert.equal(await lineOf(one.tab, "It goes").count(), 1, "it does not know yet");
  await back();

  for (const { tab } of [one, two]) {
    await lineOf(tab, "It is new").waitFor();
    await lineOf(tab, "Another title").waitFor();
    await lineOf(tab, "It goes").waitFor({ state: "detached" });
    await tab.getByText("Not connected").waitFor({ state: "detached" });
  }
  assert.notEqual(refused.length, 0, "the feed was refused, or this shows nothing");
  await two.tab.getByText("There is no such chat").waitFor();
  assert.equal(await composer(one.tab).inputValue(), "half a thought");
  await composer(one.tab).press("Enter");
  await mine(one.tab, "half a thought").waitFor();
  await one.tab.getByText("That was it.").nth(1).waitFor(); // it follows again
  await one.context.close();
});

test("what could not be sent before the page began anew can still be sent", async () => {
  const stays = await world.chat(script("talks"), "Hello", { title: "To be told" });
  const goes = await world.chat(script("talks"), "Hello", { title: "To be deleted" });
  await world.rests(stays);
  await world.rests(goes);
  const { tab, context } = await world.window(`/chats/${stays}`);
  const refused = refusals(context);
  await tab.getByText("That was it.").waitFor();
  const back = await away(context, tab);
  await context.route("**/messages", (r) => (r.request().method() === "POST" ? r.abort() : r.fallback()));
  await composer(tab).fill("Do not lose me");
  await tab.locator("input[type=file]").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Nor this.") });
  await tab.getByRole("list", { name: "Attachments" }).getByRole("listitem").waitFor();
  await composer(tab).press("Enter");
  await tab.getByText("Not sent.").waitFor();
  await world.api("DELETE", `users/me/orch-chats/${goes}`);
  await back();
  await lineOf(tab, "To be deleted").waitFor({ state: "detached" });
  assert.notEqual(refused.length, 0);
  await context.unroute("**/messages");
  await tab.getByRole("button", { name: "Send again" }).click();
  await tab.getByText("That was it.").nth(1).waitFor();
  assert.equal(await mine(tab, "Do not lose me").count(), 1);
  const { items } = await world.api("GET", `users/me/orch-chats/${stays}/messages`);
  const arrived = items.map((m) => JSON.stringify(m)).filter((m) => m.includes("Do not lose me"));
  assert.equal(arrived.length, 1, "it arrived once");
  assert.match(arrived[0], /notes\.txt/, "with what was attached");
  await context.close();
});

test("a copy of the database was put back: nothing of what it replaced is shown", async () => {
  const old = await world.chat(script("talks"), "Hello", { title: "Of the copy" });
  await world.rests(old);
  const { tab, context } = await world.window(`/chats/${old}`);
  const refused = refusals(context);
  await tab.getByText("That was it.").waitFor();
  const copy = join(world.home, "copy.db");
  await command(world, "db", "backup", copy);

  await world.api("POST", `users/me/orch-chats/${old}/messages`, { text: "Said after the copy" });
  const later = await world.chat(script("talks"), "Hello", { title: "After the copy" });
  await world.rests(old);
  await world.rests(later);
  await mine(tab, "Said after the copy").waitFor();
  await lineOf(tab, "After the copy").waitFor();
  const second = await world.tab(context, `/chats/${later}`);
  await second.tab.getByText("That was it.").waitFor();

  await world.kill();
  await tab.getByText("Not connected").waitFor();
  await command(world, "db", "restore", copy);
  await world.serve();

  await mine(tab, "Said after the copy").waitFor({ state: "detached" });
  await lineOf(tab, "After the copy").waitFor({ state: "detached" });
  await mine(tab, "Hello").waitFor();
  await second.tab.getByText("There is no such chat").waitFor();
  assert.notEqual(refused.length, 0);
  await world.api("POST", `users/me/orch-chats/${old}/messages`, { text: "Said after it was put back" });
  await mine(tab, "Said after it was put back").waitFor();
  await tab.getByText("That was it.").nth(1).waitFor();
  assert.equal(await tab.getByText("That was it.").count(), 2, "each reply is shown once");
  await context.close();
});
