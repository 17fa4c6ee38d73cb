// What the browser tests share: the system's Chromium, the real server on a
// folder of its own, windows that are signed in, and what axe finds in them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import axePackage from "@axe-core/playwright";
import { chromium } from "playwright-core";

const AxeBuilder = axePackage.default ?? axePackage;
const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.CADRE_BIN ?? join(here, "../../bin/cadre");
const quiet = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** How long anything may take on a machine that is busy with other tests. */
export const patience = Number(process.env.CADRE_PATIENCE ?? 45_000);

export const launch = () =>
  chromium.launch({ executablePath: process.env.CADRE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...quiet] });

/** script names a scripted model of this folder. */
export const script = (name) => `scripted:${join(here, "scripts", `${name}.yaml`)}`;

/** line resolves with what the first match finds in what a process prints. */
function line(child, pattern) {
  return new Promise((done, fail) => {
    let text = "";
    const on = (chunk) => {
      text += chunk;
      const found = pattern.exec(text);
      if (found) done(found);
    };
    child.stdout.on("data", on);
    child.stderr.on("data", on);
    child.on("exit", (code) => fail(new Error(`it ended with ${code}: ${text}`)));
  });
}

const ended = (child) => child.exitCode !== null || child.signalCode !== null;

function end(child, signal) {
  return new Promise((done) => {
    if (ended(child)) return done();
    child.on("exit", () => done());
    child.kill(signal);
  });
}

/** modelServer plays a script as a vendor's HTTP interface. */
export async function modelServer(name) {
  const child = spawn(binary, ["dev", "model-server", join(here, "scripts", `${name}.yaml`)]);
  const [, base] = await line(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  return { base, stop: () => end(child, "SIGTERM") };
}

/** command runs the command line on the data folder of a world, and resolves when it has worked. */
export async function command(world, ...args) {
  const child = spawn(binary, [...args, "--data", join(world.home, "data")], { cwd: world.work, env: world.environment() });
  let text = "";
  for (const out of [child.stdout, child.stderr]) out.on("data", (chunk) => (text += chunk));
  const code = await new Promise((done) => child.on("close", done));
  assert.equal(code, 0, `cadre ${args.join(" ")}: ${text}`);
}

/**
 * World is a server on a data folder of its own, which outlives it: it can be
 * killed and started again. files are put into the folder its agents work in.
 */
export class World {
  static async start({ files = {}, env = {} } = {}) {
    const w = new World();
    w.home = mkdtempSync(join(tmpdir(), "cadre-e2e-"));
    w.work = join(w.home, "work");
    w.env = env;
    for (const [name, body] of Object.entries({
      "work/README.md": "# Demo\n\nA small project.\n",
      "work/internal/a.go": "package internal\n",
      ...files,
    })) {
      mkdirSync(dirname(join(w.home, name)), { recursive: true });
      writeFileSync(join(w.home, name), body);
    }
    w.browser = await launch();
    await w.serve(0);
    return w;
  }

  environment = () => ({ PATH: process.env.PATH, HOME: this.home, TMPDIR: tmpdir(), NO_COLOR: "1", CADRE_LOCAL: "off", ...this.env });

  /** serve starts the server, at its old address if it had one. */
  async serve(port = this.port) {
    this.child = spawn(binary, ["serve", "--addr", `127.0.0.1:${port}`, "--data", join(this.home, "data")], {
      cwd: this.work,
      env: this.environment(),
    });
    [, this.entry] = await line(this.child, /Open (http:\/\/127\.0\.0\.1:\d+\/\S*)/);
    this.base = new URL(this.entry).origin;
    this.port = Number(new URL(this.entry).port);
    this.token = readFileSync(join(this.home, "data/token"), "utf8").trim();
  }

  /** kill ends the server without a chance to say goodbye. */
  kill = () => end(this.child, "SIGKILL");

  async stop() {
    await this.browser?.close();
    await end(this.child, "SIGTERM");
    rmSync(this.home, { recursive: true, force: true });
  }

  /** api asks the server as a program would. */
  async api(method, path, body, token = this.token) {
    const answer = await fetch(`${this.base}/v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** chat begins a chat with a scripted model and returns its id. */
  async chat(model, text, rest = {}) {
    const made = await this.api("POST", "users/me/orch-chats", { model, text, ...rest });
    return made.chat.id;
  }

  /** rests waits until nothing of a chat is at work. */
  async rests(chat) {
    const until = Date.now() + patience;
    for (;;) {
      const { orchestrator: a } = await this.api("GET", `users/me/orch-chats/${chat}`);
      if (a.state === "idle" && !a.liveChildren) return;
      assert.ok(Date.now() < until, `chat ${chat} does not come to rest: ${a.state}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  /** window opens a browser window that is signed in; what goes wrong in it is collected. */
  async window(path = "/", options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(patience);
    const answer = await context.request.post(`${this.base}/v1/session`, { data: { token: this.token } });
    assert.ok(answer.ok(), `signing in: ${answer.status()}`);
    return { context, ...(await this.tab(context, path)) };
  }

  /** tab opens one more window of the same browser. */
  async tab(context, path) {
    const tab = await context.newPage();
    const errors = [];
    tab.on("pageerror", (e) => errors.push(String(e)));
    tab.on("console", (m) => m.type() === "error" && /Content Security Policy|Uncaught/.test(m.text()) && errors.push(m.text()));
    tab.on("response", (r) => r.status() >= 400 && r.status() !== 503 && errors.push(`${r.status()} ${r.url()}`));
    await tab.goto(this.base + path);
    return { tab, errors };
  }
}

/** sound asserts that axe finds nothing serious in a window, in light and dark, and that it is not wider than the screen. */
export async function sound(tab, where) {
  for (const theme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme: theme });
    await tab.waitForFunction((theme) => document.documentElement.dataset.theme === theme, theme);
    const found = await new AxeBuilder({ page: tab })
      .setLegacyMode()
      .options({ resultTypes: ["violations"] })
      .analyze();
    const faults = found.violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`);
    assert.deepEqual(faults, [], `${where}, ${theme}`);
    if (theme === "dark") await shot(tab, `${where.replaceAll(/\W+/g, "-")}-dark`);
  }
  await tab.emulateMedia({ colorScheme: "light" });
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where} is ${wide} pixels wider than the screen`);
}

/** shot keeps a picture for whoever wants to look. */
export async function shot(tab, name) {
  mkdirSync(join(here, "shots"), { recursive: true });
  await tab.screenshot({ path: join(here, "shots", `${name}.png`) });
}
