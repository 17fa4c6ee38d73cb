// Approvals: what they show, and that an answer reaches exactly as far as the
// button says that gave it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

const cardOf = (tab, path) =>
  tab.locator("[data-kind=approval]").filter({ has: tab.getByRole("heading", { name: `${path} needs your approval`, exact: true }) });

/** tabTo moves the focus by the Tab key alone until it is on a button. */
async function tabTo(tab, button) {
  for (let n = 0; n < 80; n++) {
    await tab.keyboard.press("Tab");
    if (await button.evaluate((b) => b === document.activeElement)) return;
  }
  assert.fail("the Tab key does not lead to the button");
}

// Who asks about the same command once the first agent's call was allowed for
// longer: its own second call never does.
const reach = {
  agent: { button: "this agent", asks: ["main ▸ coder ▸ tester", "main ▸ coder-2", "main ▸ tester-2"] },
  role: { button: "this role", asks: ["main ▸ coder ▸ tester", "main ▸ tester-2"], by: "keyboard" },
  subtree: { button: "this agent and below", asks: ["main ▸ coder-2", "main ▸ tester-2"] },
};

for (const [scope, { button, asks, by = "mouse" }] of Object.entries(reach))
  test(`allowed for the ${scope}, by ${by}: who else does the same is asked about it, nobody else`, async () => {
    const id = await world.chat(script("scopes"), "Go on");
    const { tab, errors, context } = await world.window(`/chats/${id}`);
    const first = cardOf(tab, "main ▸ coder");
    await first.getByText("Bash(touch *)").waitFor(); // what would be allowed is said
    const choice = first.getByRole("button", { name: button, exact: true });
    if (by === "keyboard") {
      await tab.getByRole("heading", { level: 1 }).click();
      await tabTo(tab, choice);
      await shot(tab, "focus");
      await tab.keyboard.press("Enter");
    } else await choice.click();
    for (const path of asks) await cardOf(tab, path).getByRole("button", { name: "Allow once" }).click();
    await tab.getByText("All have run.").waitFor();
    await tab.getByText(`allowed for the ${scope} by you`).waitFor();
    const { items } = await world.api("GET", `users/me/orch-chats/${id}/inbox?all=true`);
    assert.deepEqual(
      items.map((i) => [i.path.replaceAll("/", " ▸ "), i.scope]),
      [["main ▸ coder", scope], ...asks.map((path) => [path, "once"])],
    );
    assert.deepEqual(errors, []);
    await context.close();
  });

test("a change of a file, an address and a command are shown as they are", async () => {
  const id = await world.chat(script("shows"), "Go on");
  const { tab, errors, context } = await world.window(`/chats/${id}`);
  const card = tab.locator("[data-kind=approval]");
  const changes = card.getByRole("group", { name: "Changes" });
  await changes.getByText("A small project.").waitFor();
  await changes.getByText("A large project.").waitFor();
  await card.getByText("Edit(./README.md)").waitFor();
  await card.getByText(/Without an answer in .*: deny/).waitFor();
  await sound(tab, "an approval of a change");
  await shot(tab, "approval-diff");
  await card.getByRole("button", { name: "Deny…" }).click();
  await card.getByLabel("Why it is denied").fill("it is small");
  await tab.keyboard.press("Enter");
  await card.getByText("GET https://example.com/notes?page=2").waitFor();
  await card.getByText("web_fetch(example.com)").waitFor();
  await shot(tab, "approval-address");
  await card.getByRole("button", { name: "Deny…" }).click();
  await tab.keyboard.press("Enter");
  await card.getByText("rm -rf build && touch done").waitFor();
  await card.getByText("“make room”").waitFor();
  await card.getByText("Or allow exactly this command from now on").waitFor();
  await tab.getByRole("heading", { level: 1 }).click();
  await tab.keyboard.press("a");
  await tab.getByText("That is all.").waitFor();
  const { items } = await world.api("GET", `users/me/orch-chats/${id}/inbox?all=true`);
  assert.deepEqual(
    items.map((i) => i.how),
    ["denied", "denied", "allowed"],
  );
  const calls = (await world.api("GET", `users/me/orch-chats/${id}/sub-agents/${id}/tool-calls`)).items;
  assert.match(JSON.stringify(calls.find((c) => c.toolName === "Edit")), /it is small/, "the agent is told why");
  assert.deepEqual(errors, []);
  await context.close();
});
