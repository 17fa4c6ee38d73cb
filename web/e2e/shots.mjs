// Takes the pictures of the README: the real app at work, with scripted models.

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { modelServer, World } from "./harness.mjs";

const to = join(dirname(fileURLToPath(import.meta.url)), "../../docs/screenshots");
mkdirSync(to, { recursive: true });

const vendor = await modelServer("demo");
const config = {
  model: "acme/large",
  providers: {
    acme: {
      kind: "openai",
      base_url: `${vendor.base}/v1`,
      key: "k",
      models: { large: { window: "200k", price: { input: 3, output: 15, cache_read: 0.3 } } },
    },
  },
  permissions: { mode: "edits" },
  budget: { cost: 2 },
};
const world = await World.start({
  files: {
    ".config/cadre/config.yaml": JSON.stringify(config),
    "work/internal/api/server.go": "package api\n\n// Serve answers requests.\nfunc Serve() error {\n\treturn nil\n}\n",
    "work/internal/api/routes.go": "package api\n",
  },
});

try {
  const size = { viewport: { width: 1280, height: 800 } };
  const take = async (tab, name) => {
    await tab.mouse.move(640, 4);
    await tab.evaluate(() => document.activeElement?.blur());
    await tab.screenshot({ path: join(to, `${name}.png`), animations: "disabled" });
    console.log(`docs/screenshots/${name}.png`);
  };

  for (const [title, text] of [
    ["Flaky test in the scheduler", "quick"],
    ["Release notes for 1.4", "quick"],
  ])
    await world.rests(await world.chat("", text, { title }));
  const id = await world.chat("", "Add authentication to the API, and tell me what clients send today.", {
    title: "Authentication for the API",
  });

  const light = await world.window(`/chats/${id}`, { ...size, colorScheme: "light" });
  await light.tab.getByText("Which identity provider").first().waitFor();
  await light.tab.locator("[data-kind=approval]").waitFor();
  await take(light.tab, "waiting");
  await light.tab.locator("[data-kind=approval]").getByRole("button", { name: "Allow once" }).click();
  await light.tab.getByRole("button", { name: "Keycloak" }).click();
  await light.tab.getByText("Every route but the login").waitFor();
  await world.rests(id);

  await light.tab.goto(`${world.base}/chats/${id}?panel=agent:${id}.1`);
  await light.tab.getByRole("button", { name: /editing internal/ }).click();
  await light.tab.getByRole("group", { name: "Changes" }).waitFor();
  await take(light.tab, "inspector");

  const dark = await world.window(`/chats/${id}?panel=timeline`, { ...size, colorScheme: "dark" });
  await dark.tab
    .getByRole("region", { name: "Timeline" })
    .getByRole("button", { name: /^waits for you/ })
    .first()
    .waitFor();
  await take(dark.tab, "timeline");
  await dark.tab.goto(`${world.base}/chats/${id}?panel=cost`);
  await dark.tab.getByText("Cost over time").waitFor();
  await take(dark.tab, "cost");

  const phone = await world.window(`/chats/${id}`, {
    viewport: { width: 390, height: 780 },
    isMobile: true,
    hasTouch: true,
    colorScheme: "light",
  });
  await phone.tab.locator(".hl-keyword").first().waitFor();
  await take(phone.tab, "phone");
} finally {
  await world.stop();
  await vendor.stop();
}
