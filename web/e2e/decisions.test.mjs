// What is decided in the inbox: whether a sub-agent gets more budget, and what
// becomes of the work that agents leave in worktrees. Each button does what it
// says, seen over the API and on the disk.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { modelServer, script, shot, sound, World } from "./harness.mjs";

const cardOf = (tab, kind, path) => tab.locator(`[data-kind=${kind}]`).filter({ has: tab.getByRole("heading", { name: path }) });

/** spending is a world with a priced model, in which a sub-agent has used up its budget. */
async function spending(t) {
  const vendor = await modelServer("spends");
  t.after(() => vendor.stop());
  const config = {
    model: "house/house-1",
    tiers: { fast: "house/house-1", default: "house/house-1", smart: "house/house-1" },
    providers: {
      house: {
        kind: "openai",
        base_url: `${vendor.base}/v1`,
        key: "k",
        models: { "house-1": { max_output: 1000, price: { input: 10, output: 10 } } },
      },
    },
  };
  const world = await World.start({ files: { ".config/cadre/config.yaml": JSON.stringify(config) } });
  t.after(() => world.stop());
  const id = await world.chat("", "Have it looked at", { title: "Looking", limits: { costMicros: 1_000_000 } });
  const { tab, errors } = await world.window("/inbox");
  const card = cardOf(tab, "budget", "main ▸ reviewer has used up its budget");
  await card.waitFor();
  const child = () => world.api("GET", `users/me/orch-chats/${id}/sub-agents/${id}.1`);
  const closed = async () =>
    (await world.api("GET", `users/me/orch-chats/${id}/inbox?all=true`)).items.map((i) => [i.kind, i.status, i.how]);
  return { world, id, tab, errors, card, child, closed };
}

test("a sub-agent that has used up its budget is given as much again", async (t) => {
  const { world, id, tab, errors, card, child, closed } = await spending(t);
  await card.getByText("It has used $0.4000, and what is left of $0.5000 may not suffice for the next turn.").waitFor();
  await sound(tab, "a spent budget");
  await shot(tab, "budget");
  const { state, maxCostMicros, costMicros } = await child();
  assert.deepEqual([state, maxCostMicros, costMicros], ["awaiting_budget", 500_000, 400_000]);
  await card.getByRole("button", { name: "Give as much again" }).click();
  await card.waitFor({ state: "detached" });
  await tab.getByText("main/reviewer goes on.").waitFor();
  await world.rests(id);
  const now = await child();
  assert.deepEqual(
    [now.state, now.costMicros, now.maxCostMicros, now.extraCostMicros],
    ["completed", 600_000, 500_000, 500_000],
    "it went on, beyond what it was given first",
  );
  assert.deepEqual(await closed(), [["budget", "closed", "allowed"]]);
  await tab.goto(`${world.base}/chats/${id}`);
  await tab.getByText(/It says .*all of it/).waitFor();
  await tab.goto(`${world.base}/chats/${id}?panel=agent:${id}.1`);
  await tab.getByText("$0.60 of $1.00").waitFor();
  assert.deepEqual(errors, []);
});

test("a sub-agent that gets no more ends with what there is", async (t) => {
  const { world, id, tab, errors, card, child, closed } = await spending(t);
  await card.getByRole("button", { name: "End with what there is" }).waitFor();
  await tab.keyboard.press("d");
  await card.waitFor({ state: "detached" });
  await tab.getByText("main/reviewer ends with what it has.").waitFor();
  await world.rests(id);
  const now = await child();
  assert.deepEqual([now.state, now.costMicros], ["budget", 400_000], "no further call was paid for");
  assert.deepEqual(await closed(), [["budget", "closed", "denied"]]);
  await tab.goto(`${world.base}/chats/${id}`);
  await tab.getByText(/It says .*so good/).waitFor();
  assert.deepEqual(errors, []);
});

/** colours is a world in which two agents have left work in worktrees: one wrote red, one blue. */
async function colours(t) {
  const world = await World.start({
    files: { "work/colour.txt": "white\n", ".config/cadre/config.yaml": "permissions: { mode: edits }\n" },
  });
  t.after(() => world.stop());
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: world.work, encoding: "utf8" });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "begin");
  const id = await world.chat(script("colours"), "Colour it", { title: "Colours" });
  const { tab, errors } = await world.window("/inbox");
  const left = "left changes in its worktree";
  const red = cardOf(tab, "worktree", `main ▸ general ${left}`);
  const blue = cardOf(tab, "worktree", `main ▸ general-2 ${left}`);
  await red.waitFor();
  await blue.waitFor();
  const file = (name) => (existsSync(join(world.work, name)) ? readFileSync(join(world.work, name), "utf8") : null);
  const how = async () =>
    (await world.api("GET", `users/me/orch-chats/${id}/inbox?all=true`)).items.map((i) => [i.agentId, i.status, i.how ?? ""]).sort();
  const trees = () => git("worktree", "list").trim().split("\n").length - 1;
  assert.equal(trees(), 2);
  assert.equal(file("colour.txt"), "white\n", "nothing is changed before it is decided");
  return { id, tab, errors, red, blue, file, how, trees, git };
}

test("work in a worktree is taken; what conflicts changes nothing until it is merged", async (t) => {
  const { id, tab, errors, red, blue, file, how, trees } = await colours(t);
  await red.getByRole("group", { name: "Changes" }).getByText("white").waitFor();
  await sound(tab, "work in worktrees");
  await shot(tab, "worktrees");
  await red.getByRole("button", { name: "Take the changes" }).click();
  await red.waitFor({ state: "detached" });
  await tab.getByText(/2 files changed/).waitFor();
  assert.deepEqual([file("colour.txt"), file("red.txt"), file("blue.txt"), trees()], ["red\n", "all red\n", null, 1]);

  await blue.getByRole("button", { name: "Take the changes" }).click();
  await tab.getByText(/The answer was not taken: .*conflicts.*colour\.txt/).waitFor();
  assert.deepEqual([file("colour.txt"), file("blue.txt"), trees()], ["red\n", null, 1], "a conflict changes nothing");
  assert.deepEqual((await how())[1], [`${id}.2`, "open", ""]);

  await blue.getByRole("button", { name: "Take, mark conflicts" }).click();
  await blue.waitFor({ state: "detached" });
  await tab.getByText("Nothing waits for you").waitFor();
  assert.match(file("colour.txt"), /^<<<<<<<[^]*red\n[^]*=======\n[^]*blue\n[^]*>>>>>>>/);
  assert.deepEqual([file("blue.txt"), trees()], ["all blue\n", 0]);
  assert.deepEqual(await how(), [
    [`${id}.1`, "closed", "accepted"],
    [`${id}.2`, "closed", "merged"],
  ]);
  assert.equal(errors.length, 1, `only the conflict was refused: ${errors}`);
  assert.match(errors[0], /^409 /);
});

test("work in a worktree is kept as a branch, or discarded", async (t) => {
  const { id, tab, errors, red, blue, file, how, trees, git } = await colours(t);
  await red.getByRole("button", { name: "Keep as a branch" }).click();
  await red.waitFor({ state: "detached" });
  const told = await tab.getByText(/^Kept on branch|^kept on branch/).textContent();
  const branch = /kept on branch (\S+)/i.exec(told)[1];
  assert.equal(git("show", `${branch}:colour.txt`) + git("show", `${branch}:red.txt`), "red\nall red\n");
  assert.equal(trees(), 1, "the branch needs no worktree");

  await blue.getByRole("button", { name: "Discard" }).click();
  await blue.waitFor({ state: "detached" });
  await tab.getByText("Nothing waits for you").waitFor();
  const patch = /the patch is kept in (\S+)/.exec(await tab.getByText(/the patch is kept in/).textContent())[1];
  assert.match(readFileSync(patch, "utf8"), /^\+blue$/m, "what is discarded can be had again");
  assert.deepEqual([file("colour.txt"), file("red.txt"), file("blue.txt"), trees()], ["white\n", null, null, 0]);
  assert.equal(git("status", "--porcelain"), "");
  assert.deepEqual(await how(), [
    [`${id}.1`, "closed", "kept"],
    [`${id}.2`, "closed", "discarded"],
  ]);
  assert.deepEqual(errors, []);
});
