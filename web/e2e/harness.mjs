// What the browser tests share: the system's Chromium, the real server on a
// data folder of its own, and the mock server.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axePackage from "@axe-core/playwright";
import { chromium } from "playwright-core";

const AxeBuilder = axePackage.default ?? axePackage;
const web = fileURLToPath(new URL("..", import.meta.url));
export const binary = process.env.CADRE_BIN ?? join(web, "../bin/cadre");

/** The system's Chromium; where it is missing the Debian package is installed. */
function browserPath() {
  const known = [process.env.CADRE_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = known.find((p) => p && existsSync(p));
  if (found) return found;
  execFileSync("apt-get", ["install", "-y", "chromium"], { stdio: "ignore" });
  return "/usr/bin/chromium";
}

export const launch = () => chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox", "--disable-gpu"] });

/** Whether the binary can serve; the tests on the real server need it. */
export function canServe() {
  try {
    return execFileSync(binary, ["serve", "--help"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).includes("--addr");
  } catch {
    return false;
  }
}

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

/** serve starts the real server. Its folder outlives it, so that it can be started again. */
export async function serve({ data, dir, port = 0, args = [] } = {}) {
  const home = data ?? mkdtempSync(join(tmpdir(), "cadre-e2e-"));
  const work = dir ?? join(home, "work");
  mkdirSync(work, { recursive: true });
  const child = spawn(binary, ["serve", "--addr", `127.0.0.1:${port}`, "--data", join(home, "data"), ...args], {
    cwd: work,
    env: { ...process.env, HOME: home, NO_COLOR: "1" },
  });
  const [, entry] = await line(child, /(http:\/\/127\.0\.0\.1:\d+\/\S*)/);
  const base = new URL(entry).origin;
  const kill = (signal) =>
    new Promise((done) => {
      if (child.exitCode !== null || child.signalCode !== null) return done();
      child.on("exit", () => done());
      child.kill(signal);
    });
  return {
    entry,
    base,
    home,
    work,
    port: Number(new URL(entry).port),
    kill: () => kill("SIGKILL"),
    stop: () => kill("SIGTERM"),
    clear: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** mock starts the server that plays recordings. */
export async function mock(...args) {
  const child = spawn(process.execPath, [join(web, "dev/mock.mjs"), "--port", "0", ...args]);
  const [, base] = await line(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  return { base, stop: () => child.kill() };
}

/** page opens a window; what goes wrong in it is collected. */
export async function page(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  const tab = await context.newPage();
  const errors = [];
  tab.on("pageerror", (e) => errors.push(String(e)));
  tab.on("console", (m) => m.type() === "error" && /Content Security Policy|Uncaught/.test(m.text()) && errors.push(m.text()));
  return { context, tab, errors };
}

/** faults are the serious and critical issues that axe finds. */
export async function faults(tab) {
  const found = await new AxeBuilder({ page: tab }).analyze();
  return found.violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
}

export async function shot(tab, name) {
  const dir = join(web, "e2e/shots");
  mkdirSync(dir, { recursive: true });
  await tab.screenshot({ path: join(dir, `${name}.png`) });
}
