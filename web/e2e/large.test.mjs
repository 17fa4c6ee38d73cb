// A chat with 10,000 messages and a tree of 1,000 agents on the real server:
// they open at once, draw only what is seen, and scroll.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

const messages = 10_000;
let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

/** slowest scrolls a box up and returns how long the slowest frame took. */
const slowest = (tab, selector) =>
  tab.evaluate(async (selector) => {
    const box = document.querySelector(selector);
    let slowest = 0,
      last = performance.now();
    for (let i = 0; i < 60; i++) {
      box.scrollTop -= 400;
      await new Promise(requestAnimationFrame);
      slowest = Math.max(slowest, performance.now() - last);
      last = performance.now();
    }
    return Math.round(slowest);
  }, selector);

/** drawn measures in the page how long it takes from the last answer of the server until a text is seen. */
async function drawn(tab, url, text) {
  await tab.addInitScript((text) => {
    const done = () => {
      if (!document.body?.innerText.includes(text)) return requestAnimationFrame(done);
      const loaded = performance.getEntriesByType("resource").filter((e) => e.name.includes("/v1/") && !e.name.includes("/changes"));
      window.took = performance.now() - Math.max(...loaded.map((e) => e.responseEnd));
    };
    requestAnimationFrame(done);
  }, text);
  await tab.goto(url);
  await tab.waitForFunction(() => window.took !== undefined);
  return Math.round(await tab.evaluate(() => window.took));
}

test("10,000 messages", async (t) => {
  const id = await world.chat(script("large"), "hold");
  // Requests of one key are limited: many keys are as good as many clients.
  const keys = await Promise.all(Array.from({ length: 30 }, () => world.api("POST", "tokens", { scope: "write" }).then((k) => k.secret)));
  const share = Math.ceil((messages - 100) / keys.length);
  await Promise.all(
    keys.map(async (key, k) => {
      for (let n = 0; n < share; n++)
        await world.api("POST", `users/me/orch-chats/${id}/messages`, { text: `Note ${k * share + n} with **some** text` }, key);
    }),
  );
  await world.api("POST", `users/me/orch-chats/${id}/stop`);
  await world.api("POST", `users/me/orch-chats/${id}/messages`, { text: "release" });
  await world.rests(id);
  for (let n = 0; n < 40; n++) {
    await world.api("POST", `users/me/orch-chats/${id}/messages`, { text: `Question ${n}` });
    await world.rests(id);
  }
  const { tab, errors, context } = await world.window();
  const took = await drawn(tab, `${world.base}/chats/${id}`, "Answer to Question 39");
  t.diagnostic(`drawn ${took} ms after the data was there`);
  assert.ok(took < 5000, `it took ${took} ms`);
  assert.ok((await tab.locator("[data-entry]").count()) < 60, "only what is seen is drawn");
  const frame = await slowest(tab, "[data-scroll]");
  t.diagnostic(`the slowest of 60 frames took ${frame} ms`);
  assert.ok(frame < 2000, `the slowest frame took ${frame} ms`);
  // To the beginning, page by page.
  await tab.waitForFunction(() => {
    const box = document.querySelector("[data-scroll]");
    box.scrollTop = 0;
    return [...document.querySelectorAll("[data-entry=user]")].some((e) => e.textContent.trim().startsWith("hold"));
  });
  assert.ok((await tab.locator("[data-entry]").count()) < 60, "only what is seen is drawn");
  await tab.getByRole("button", { name: "To the newest" }).click();
  await tab.getByText("Answer to Question 39").waitFor();
  await sound(tab, "10,000 messages");
  assert.deepEqual(errors, []);
  await context.close();
});

test("1,000 agents", async (t) => {
  const id = await world.chat(script("large"), "thousand");
  await world.rests(id);
  const { tab, errors, context } = await world.window();
  const took = await drawn(tab, `${world.base}/chats/${id}`, "1,000 tasks done");
  t.diagnostic(`drawn ${took} ms after the data was there`);
  assert.ok(took < 5000, `it took ${took} ms`);
  const tree = tab.getByRole("list", { name: "Agents" });
  await tree
    .getByRole("button", { name: /completed/ })
    .first()
    .click(); // all that have completed are one line
  assert.ok((await tree.getByRole("listitem").count()) < 60, "only seen agents are drawn");
  await tab.goto(`${world.base}/chats/${id}?panel=timeline`);
  await tab
    .getByRole("region", { name: "Timeline" })
    .getByRole("button", { name: /^model: / })
    .first()
    .waitFor();
  await shot(tab, "thousand");
  await tab.getByRole("tab", { name: "Steps" }).click();
  await tab.getByRole("region", { name: "Steps" }).getByText("starting 1,000 sub-agents").waitFor();
  await tab.getByRole("tab", { name: "Cost" }).click();
  await tab.getByRole("list", { name: "Cost by agent" }).waitFor();
  await sound(tab, "1,000 agents");
  assert.deepEqual(errors, []);
  await context.close();
});
