// Pages on a desk and on a phone, in light and dark: axe finds nothing serious,
// nothing is wider than the screen; and what phones need besides.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world, chat;
before(async () => {
  world = await World.start({ files: { ".config/cadre/config.yaml": "permissions: { mode: edits }\nbudget: { cost: 5 }\n" } });
  chat = await world.chat(script("story"), "Write a note");
  await world.rests(chat);
});
after(() => world?.stop());

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

// What other tests look at on a desk is looked at here on a phone alone.
for (const [name, options] of [
  ["a desk", {}],
  ["a phone", phone],
])
  test(`pages are sound on ${name}`, async () => {
    const { tab, errors, context } = await world.window("/", options);
    const everywhere = {
      new: ["/", () => tab.getByRole("textbox", { name: "Message" })],
      chat: [`/chats/${chat}`, () => tab.getByText("The note is written.")],
      inbox: ["/inbox", () => tab.getByText("Nothing waits for you")],
      missing: ["/nowhere", () => tab.getByText("There is no such page")],
    };
    const small = {
      inspector: [`/chats/${chat}?panel=agent:${chat}.1`, () => tab.getByRole("tab", { name: "Model calls" })],
      timeline: [`/chats/${chat}?panel=timeline`, () => tab.getByRole("region", { name: "Timeline" })],
      agent: [`/chats/${chat}/agents/${chat}.1`, () => tab.getByRole("log")],
      roles: ["/roles", () => tab.getByRole("heading", { name: "Task planner" })],
      settings: ["/settings", () => tab.getByText("Mode edits")],
    };
    for (const [page, [path, there]] of Object.entries(options === phone ? { ...everywhere, ...small } : everywhere)) {
      await tab.goto(world.base + path);
      await there().first().waitFor();
      await sound(tab, `${page} on ${name}`);
      await shot(tab, `${page}-on-${name.replace(" ", "-")}`);
    }
    assert.deepEqual(errors, []);
    await context.close();
  });

test("a phone: the chats in a sheet, panels over the page, what waits and a lost connection seen without either", async () => {
  const { tab, context } = await world.window(`/chats/${chat}`, phone);
  await tab.getByText("The note is written.").waitFor();
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Cost" }).click();
  const panel = tab.getByRole("complementary", { name: "Details" });
  await panel.getByRole("region", { name: "Cost" }).waitFor();
  assert.equal((await panel.boundingBox()).width, 390);
  await sound(tab, "cost on a phone");
  await panel.getByRole("tab", { name: "Inspector" }).click();
  await panel.getByRole("tab", { name: "Model calls" }).click();
  await panel.getByRole("region", { name: "Model calls" }).waitFor();
  await shot(tab, "model-calls-on-a-phone");
  await panel.getByRole("button", { name: "Close the panel" }).click();

  const asks = await world.chat(script("asks"), "Ask me");
  const chats = tab.getByRole("button", { name: "Show the chats, 1 waiting" });
  await chats.click();
  await sound(tab, "the sheet of chats on a phone");
  await tab.getByRole("navigation", { name: "Chats" }).getByRole("link").filter({ hasText: "Ask me" }).click();
  await tab.getByRole("navigation", { name: "Chats" }).waitFor({ state: "detached" });
  await tab.getByRole("group", { name: "Which systems shall it run on?" }).waitFor();
  await sound(tab, "a question on a phone");
  await world.kill();
  await tab.getByText("Not connected").waitFor();
  await shot(tab, "not-connected-on-a-phone");
  await world.serve();
  await tab.getByText("Not connected").waitFor({ state: "detached" });
  await world.api("POST", `users/me/orch-chats/${asks}/stop`);
  await tab.getByText("You stopped it.").waitFor();
  await context.close();
});
