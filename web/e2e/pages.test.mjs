// Every page, on a desk and on a phone, in light and dark: axe finds nothing
// serious, nothing is wider than the screen; and what phones need besides.

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

for (const [name, options] of [
  ["a desk", {}],
  ["a phone", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
])
  test(`every page is sound on ${name}`, async () => {
    const { tab, errors, context } = await world.window("/", options);
    const pages = {
      new: ["/", () => tab.getByRole("textbox", { name: "Message" })],
      chat: [`/chats/${chat}`, () => tab.getByText("The note is written.")],
      inspector: [`/chats/${chat}?panel=agent:${chat}.1`, () => tab.getByRole("tab", { name: "Model calls" })],
      timeline: [`/chats/${chat}?panel=timeline`, () => tab.getByRole("region", { name: "Timeline" })],
      agent: [`/chats/${chat}/agents/${chat}.1`, () => tab.getByRole("log")],
      inbox: ["/inbox", () => tab.getByText("Nothing waits for you")],
      roles: ["/roles", () => tab.getByRole("heading", { name: "Task planner" })],
      settings: ["/settings", () => tab.getByText("Mode edits")],
      missing: ["/nowhere", () => tab.getByText("There is no such page")],
    };
    for (const [page, [path, there]] of Object.entries(pages)) {
      await tab.goto(world.base + path);
      await there().first().waitFor();
      await sound(tab, `${page} on ${name}`);
      await shot(tab, `${page}-on-${name.replace(" ", "-")}`);
    }
    assert.deepEqual(errors, []);
    await context.close();
  });
