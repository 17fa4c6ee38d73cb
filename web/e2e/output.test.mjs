// What a command prints while it runs: told in a line where its agent is, and
// whole when its call is opened.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { script, shot, sound, World } from "./harness.mjs";

let world;
before(
  async () => (world = await World.start({ files: { ".config/cadre/config.yaml": JSON.stringify({ permissions: { mode: "trusted" } }) } })),
);
after(() => world?.stop());

test("what a command prints is shown while it runs, also to who comes late", async () => {
  const id = await world.chat(script("prints"), "Build it");
  const { tab, context, errors } = await world.window(`/chats/${id}`);
  await tab
    .getByRole("button", { name: /^general, acting: running echo compiled 1 .*· compiled 2 of 3$/ })
    .first()
    .waitFor();
  const late = await world.tab(context, `/chats/${id}/agents/${id}.1`);
  const call = late.tab.getByRole("button", { name: /running echo compiled 1 .*compiled 2 of 3/ }).last();
  await call.click();
  await late.tab.getByText("Output so far").waitFor();
  await late.tab.getByText("compiled 1 of 3\ncompiled 2 of 3", { exact: false }).last().waitFor();
  await sound(late.tab, "a command that prints");
  await shot(late.tab, "prints");
  assert.equal(await tab.getByText("preparing Bash").count(), 0, "nothing is being prepared");

  writeFileSync(join(world.work, "one.txt"), "");
  await late.tab.getByText("Output so far").waitFor({ state: "detached" });
  await late.tab.getByText("compiled 3 of 3").last().waitFor();

  const steps = tab.getByRole("button", { name: /running echo linked 1 .*linked 1 of 2/ }).first();
  await steps.waitFor();
  await shot(tab, "prints-chat");
  assert.equal(await tab.getByText("preparing Bash").count(), 0, "nothing is being prepared");
  writeFileSync(join(world.work, "two.txt"), "");
  await tab.getByText("It is built.").waitFor();
  await world.rests(id);
  assert.deepEqual([...errors, ...late.errors], []);
});

test("tasks in the background stand under the message that caused them, in words", async () => {
  const id = await world.chat(script("behind"), "Build it behind");
  const { tab, errors } = await world.window(`/chats/${id}`);
  await tab.getByText("It runs.").waitFor();
  const task = tab
    .getByRole("list", { name: "Agents" })
    .getByRole("button", { name: /^Bash-1, acting: running echo built 1; .*· built 1$/ });
  await task.waitFor();
  const entry = tab.getByRole("navigation", { name: "Chats" }).getByRole("list", { name: "Tasks" }).getByRole("listitem");
  assert.match(await entry.first().innerText(), /running echo built 1/);
  await tab.getByRole("button", { name: "Stop Bash-1" }).click();
  await tab.getByRole("button", { name: "Results of background tasks Bash-1 cancelled" }).waitFor();
  await shot(tab, "behind");
  await world.rests(id);
  assert.deepEqual(errors, []);
});
