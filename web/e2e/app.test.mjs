// The app on the real server: first run, the example, nested delegation, a
// question, approvals in two windows, stopping one, reload and server kill in
// mid-stream, the panels, and how the pages look.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { canServe, faults, launch, page, serve, shot } from "./harness.mjs";

const script = (name) => `scripted:${fileURLToPath(new URL(`scripts/${name}.yaml`, import.meta.url))}`;

describe("the app", { skip: canServe() ? false : "the binary cannot serve" }, () => {
  let browser, server;

  before(async () => {
    browser = await launch();
    server = await serve();
    mkdirSync(join(server.work, "internal"), { recursive: true });
    writeFileSync(join(server.work, "README.md"), "# Demo\n\nA small project.\n");
    writeFileSync(join(server.work, "internal/a.go"), "package internal\n");
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
    server?.clear();
  });

  /** enter opens a window that is signed in: by the one-time code, or with the cookies of one that is. */
  let cookies;
  async function enter(options = {}) {
    const opened = await page(browser, options);
    if (cookies) await opened.context.addCookies(cookies);
    await opened.tab.goto(cookies ? `${server.base}/` : server.entry);
    await opened.tab.getByLabel("Message").waitFor();
    cookies ??= await opened.context.cookies();
    return opened;
  }

  async function chat(tab, model, text) {
    const made = await tab.evaluate(
      async ([m, t]) =>
        (
          await fetch("/v1/users/me/orch-chats", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ model: m, text: t }),
          })
        ).json(),
      [model, text],
    );
    assert.ok(made.chat, JSON.stringify(made));
    await tab.goto(`${server.base}/chats/${made.chat.id}`);
    return made.chat.id;
  }

  test("first run: the example starts three sub-agents", async () => {
    const { tab, errors, context } = await enter();
    await tab.getByRole("heading", { name: "Welcome to Cadre" }).waitFor();
    assert.deepEqual(await faults(tab), []);
    await shot(tab, "first-run");
    await tab.getByRole("button", { name: "Run the example" }).click();
    await tab.getByText("3 tasks done").waitFor({ timeout: 30_000 });
    await tab.getByRole("status").filter({ hasText: "done" }).first().waitFor();
    assert.equal(await tab.getByRole("list", { name: "Agents" }).getByRole("listitem").count(), 3);
    await shot(tab, "example");
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("nested delegation, a question, an approval in two windows, the panels", async () => {
    const one = await enter();
    const id = await chat(one.tab, script("team"), "Add a check");
    const two = await enter();
    await two.tab.goto(`${server.base}/inbox`);

    await one.tab.getByText("Which identity provider is it?").first().waitFor({ timeout: 30_000 });
    await one.tab.getByText("touch tested.txt").first().waitFor({ timeout: 30_000 });
    await two.tab.getByText("touch tested.txt").first().waitFor();
    await two.tab.getByText("main ▸ coder ▸ tester").first().waitFor();
    assert.deepEqual(await faults(one.tab), []);
    assert.deepEqual(await faults(two.tab), []);
    await shot(one.tab, "waiting");
    await shot(two.tab, "inbox");

    await two.tab.getByRole("button", { name: "Allow once" }).click();
    await one.tab.getByRole("button", { name: "Allow once" }).waitFor({ state: "detached" });

    await one.tab.getByRole("button", { name: "Reply in the chat" }).click();
    await one.tab.getByLabel("Answer to main/researcher").fill("Keycloak, version 26");
    await one.tab.keyboard.press("Enter");
    await one.tab.getByText("All parts are in.").waitFor({ timeout: 30_000 });
    await two.tab.getByText("Nothing waits for you").waitFor();
    assert.equal(await one.tab.evaluate(() => "injected" in window), false, "what a model writes is not run");
    assert.equal(await one.tab.locator("img[src^='https']").count(), 0, "pictures of others are not loaded");

    await one.tab
      .getByRole("listitem")
      .getByRole("button", { name: /^coder, completed/ })
      .click();
    await one.tab.getByRole("tab", { name: "Model calls" }).click();
    await one.tab.getByRole("columnheader", { name: "Cache" }).waitFor();
    await one.tab.getByRole("tab", { name: "Prompt" }).click();
    await one.tab.getByText("System prompt").waitFor();
    await shot(one.tab, "inspector");
    for (const panel of ["steps", "timeline", "cost", "roles"]) {
      await one.tab.goto(`${server.base}/chats/${id}?panel=${panel}`);
      await one.tab.getByRole("region", { name: panel, exact: false }).first().waitFor();
      assert.deepEqual(await faults(one.tab), [], panel);
      await shot(one.tab, panel);
    }
    assert.deepEqual([...one.errors, ...two.errors], []);
    await one.context.close();
    await two.context.close();
  });

  test("one of three is stopped", async () => {
    const { tab, context } = await enter();
    await chat(tab, script("slow"), "Start three");
    const agents = tab.getByRole("list", { name: "Agents" });
    await agents.getByRole("listitem").nth(2).waitFor({ timeout: 30_000 });
    await tab.getByRole("button", { name: "Stop general-2" }).click();
    await agents.getByRole("button", { name: /^general-2, cancelled/ }).waitFor({ timeout: 30_000 });
    assert.equal(await agents.getByRole("button", { name: /^general(-3)?, thinking/ }).count(), 2);
    await tab.getByRole("button", { name: "Stop", exact: true }).click();
    await context.close();
  });

  test("reload and server kill in mid-stream", async () => {
    const { tab, context } = await enter();
    await chat(tab, script("slow"), "Tell me much");
    await tab.getByText("one two three").waitFor({ timeout: 30_000 });
    await tab.reload();
    await tab.getByText("Long answer: one two three").waitFor();
    await server.kill();
    await tab.getByText("Not connected").waitFor();
    const again = await serve({ data: server.home, dir: server.work, port: server.port });
    server = { ...again, entry: server.entry };
    await tab.getByText("The end.").waitFor({ timeout: 60_000 });
    await tab.getByText("Not connected").waitFor({ state: "detached" });
    assert.equal(await tab.getByText("Long answer: one two three").count(), 1, "it is shown once");
    await context.close();
  });

  test("pages look right in light, dark and at phone width", async () => {
    for (const [name, options] of [
      ["light", { colorScheme: "light" }],
      ["dark", { colorScheme: "dark" }],
      ["phone", { viewport: { width: 390, height: 844 }, isMobile: true }],
    ]) {
      const { tab, errors, context } = await enter(options);
      for (const path of ["/", "/inbox", "/roles", "/settings"]) {
        await tab.goto(server.base + path);
        await tab.getByRole("main").waitFor();
        assert.deepEqual(await faults(tab), [], `${name} ${path}`);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
        assert.equal(wide, false, `${name} ${path} is wider than the screen`);
        await shot(tab, `${name}${path.replace("/", "-")}`);
      }
      assert.deepEqual(errors, []);
      await context.close();
    }
  });
});
