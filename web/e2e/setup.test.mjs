// What is configured, and what follows from it: providers that are tested,
// permissions, budgets, titles by the fast tier, forms of tool servers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { modelServer, shot, sound, World } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));
let world, vendor;

before(async () => {
  vendor = await modelServer("vendor");
  const config = {
    model: "house/house-1",
    tiers: { fast: "house/house-1" },
    providers: {
      house: {
        kind: "openai",
        base_url: `${vendor.base}/v1`,
        key: "k",
        models: { "house-1": { price: { input: 3, output: 15 }, window: "100k" } },
      },
      gone: { kind: "openai", base_url: "http://127.0.0.1:9/v1", key: "k", models: ["x"] },
    },
    permissions: { allow: ["mcp__forms__*"], deny: ["Read(secrets/**)"] },
    budget: { cost: 5 },
    mcpServers: { forms: { command: process.execPath, args: ["form.mjs"] } },
  };
  world = await World.start({
    files: {
      ".config/cadre/config.yaml": JSON.stringify(config),
      "work/form.mjs": readFileSync(join(here, "servers/form.mjs")), // a sandbox shows its working folder, wherever this one is
      "work/.cadre/agents/poet.md": "---\nname: poet\ndescription: Writes verse.\nfrobnicate: 3\n---\nYou write verse.\n",
    },
  });
});
after(async () => {
  await world?.stop();
  await vendor?.stop();
});

test("settings: providers are tested, permissions and budgets are real", async () => {
  const { tab, errors, context } = await world.window("/settings");
  const house = tab.getByRole("listitem").filter({ has: tab.getByRole("heading", { name: "house" }) });
  await house.getByRole("button", { name: "Test" }).click();
  await house.getByText("it answers").waitFor();
  const gone = tab.getByRole("listitem").filter({ has: tab.getByRole("heading", { name: "gone" }) });
  await gone.getByRole("button", { name: "Test" }).click();
  await gone.getByText("a call failed").waitFor();
  await tab.getByRole("region", { name: "Permissions" }).getByText("Read(secrets/**)").waitFor();
  await tab.getByRole("region", { name: "Budgets" }).getByText("$5.00 for each message").waitFor();
  await sound(tab, "settings");
  await shot(tab, "settings");
  await tab.getByRole("radio", { name: "Dark" }).click();
  assert.equal(await tab.locator("html").getAttribute("data-theme"), "dark");
  await tab.getByRole("radio", { name: "As the system" }).click();
  assert.equal(await tab.locator("html").getAttribute("data-theme"), "light");
  await tab.getByLabel("In chats I begin").fill("0.5");
  await tab.getByRole("button", { name: "Save" }).click();
  await tab.getByText("Saved.").waitFor();
  await tab.goto(`${world.base}/roles`);
  await tab.getByText("unknown key frobnicate").waitFor();
  await sound(tab, "roles with a warning");
  assert.deepEqual(errors, []);
  await context.close();
});

test("a form of a tool server, a price, a limit, and a title", async () => {
  const { tab, errors, context } = await world.window("/");
  await tab.getByRole("textbox", { name: "Message" }).fill("Book a place for the meeting of the whole department in town");
  await tab.keyboard.press("Enter");
  const card = tab.locator("[data-item]").filter({ hasText: "Which place shall be booked?" });
  await card.getByLabel("Name of the place").fill("Old Mill");
  await card.getByLabel("Size").selectOption({ label: "Middle" });
  await card.getByLabel("Seats").fill("12");
  await card.getByLabel("Open on Sundays").check();
  await sound(tab, "a form");
  await shot(tab, "form");
  await card.getByRole("button", { name: "Send" }).click();
  await tab.getByText('It is done: booked: {"name":"Old Mill"').waitFor();
  await tab.getByRole("heading", { level: 1, name: "Booking a place in town" }).waitFor();
  await tab.getByRole("navigation", { name: "Chats" }).getByText("Booking a place in town").waitFor();
  await tab.getByText(/\$0\.0\d+ of \$0\.50/).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Cost (C)" }).click();
  await tab.getByRole("meter", { name: "Budget" }).waitFor();
  await tab.getByText("Cost over time").waitFor();
  await sound(tab, "cost with prices");
  await shot(tab, "cost-priced");
  assert.deepEqual(errors, []);
  await context.close();
});

test("a rate limit is seen as what it is: a wait for the model", async () => {
  const id = await world.chat("", "Crowd the place");
  await world.rests(id);
  const { tab, errors, context } = await world.window(`/chats/${id}?panel=timeline`);
  const bar = (name) => tab.getByRole("region", { name: "Timeline" }).getByRole("button", { name }).first();
  for (const name of [/^failed call: .*429/, /^waits to retry/, /^waits for a model/]) await bar(name).waitFor();
  await shot(tab, "rate-limit");
  const calls = async (n) => (await world.api("GET", `users/me/orch-chats/${id}/sub-agents/${id}.${n}/model-calls`)).items;
  const late = (await calls(1)).some((c) => c.waitedMs >= 100) ? 1 : 2; // after the refusals one goes first
  await tab.goto(`${world.base}/chats/${id}/agents/${id}.${late}`);
  await tab.getByRole("tab", { name: "Model calls" }).click();
  await tab.getByText(/waited .* for its place/).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});
