// A mock of the API for work on the looks of the page: it plays recordings of
// `cadre run --json`, one chat a file. The lines up to --from are there at
// once, the rest is played in the time it took. It writes nothing.
//
//   node dev/mock.mjs [--port 7790] [--from N] FILE...

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const files = [];
let port = 7790,
  from = Infinity;
for (let i = 2; i < process.argv.length; i++) {
  if (process.argv[i] === "--port") port = Number(process.argv[++i]);
  else if (process.argv[i] === "--from") from = Number(process.argv[++i]);
  else files.push(process.argv[i]);
}
const dist = fileURLToPath(new URL("../../internal/web/dist", import.meta.url));
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

// The policy that the real server sends with the page.
const policy = /const Policy = ([^]*?)\n\n/
  .exec(readFileSync(fileURLToPath(new URL("../../internal/web/web.go", import.meta.url)), "utf8"))[1]
  .replace(/"\s*\+\s*"|^"|"$/g, "");

const docs = new Map(); // "chat collection" -> Map of id -> data
const chats = new Map(); // chat -> lines still to be played
let seq = 0;

function put(line) {
  for (const d of line.docs ?? []) {
    const key = `${line.chat} ${d.collection}`;
    if (!docs.has(key)) docs.set(key, new Map());
    docs.get(key).set(d.id, d.data);
  }
  seq = Math.max(seq, line.seq ?? 0);
}

for (const file of files) {
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((l) => JSON.parse(l))
    .filter((l) => l.type !== "done" && l.type !== "suspended");
  lines
    .slice(0, from)
    .filter((l) => l.type !== "delta")
    .forEach(put);
  chats.set(lines[0].chat, lines.slice(from));
}

const list = (key) => [...(docs.get(key)?.values() ?? [])];
const rootOf = (chat) => list(`${chat} orchestrator`)[0];
const row = (chat) => ({
  ...list(`${chat} orch-chats`)[0],
  state: rootOf(chat).state,
  tokens: rootOf(chat).tokens,
  costMicros: rootOf(chat).costMicros,
  readSeq: 0,
});
const items = () => [...chats.keys()].flatMap((c) => list(`${c} inbox`)).filter((i) => i.status !== "hidden");
const page = (all) => ({ items: all });

const roles = ["main", "coder", "tester", "reviewer", "planner", "debugger", "researcher", "general"].map((name) => ({
  name,
  label: name[0].toUpperCase() + name.slice(1),
  description: `Works as ${name}.`,
  mode: "all",
  tools: ["Read", "Grep", "Glob", "Edit", "Bash"],
  delegates: name === "main" ? ["coder", "tester"] : [],
  maxTurns: 20,
  maxDurationMs: 300000,
  source: "",
}));

function answer(path) {
  const m = /^\/v1\/users\/me\/orch-chats\/([^/]+)(?:\/(.*))?$/.exec(path);
  if (!m) return outside(path);
  const [, chat, rest = ""] = m;
  if (!chats.has(chat)) return undefined;
  const own = /^sub-agents\/([^/]+)\/(.+)$/.exec(rest);
  const agent = own?.[1];
  const kind = own?.[2] ?? rest;
  const key = agent && agent !== chat ? `${chat} sub-agents/${agent}/${kind}` : `${chat} ${kind}`;
  if (rest === "") return { chat: row(chat), orchestrator: rootOf(chat), seq };
  if (rest === "tree") return { seq, agents: [rootOf(chat), ...list(`${chat} sub-agents`)], tokens: 0, costMicros: 0 };
  if (kind === "prompt")
    return {
      id: "p",
      text: "You write code for another agent, which will rely on it.",
      model: "offline",
      tools: [{ name: "Read", description: "Reads a file.", schema: { type: "object" } }],
    };
  if (kind === "log") return page(list(`${chat} messages`).map((x, i) => ({ seq: i, at: x.createdAt, type: x.kind })));
  return page(list(key).filter((x) => x.status !== "hidden"));
}

function outside(path) {
  if (path === "/v1/users/me")
    return { user: { id: "local", name: "local" }, scope: "admin", seq, waitingItems: 0, version: "mock", dir: "/home/you/project" };
  if (path === "/v1/users/me/orch-chats") return page([...chats.keys()].map(row));
  if (path === "/v1/users/me/inbox") return page(items());
  if (path === "/v1/roles") return page(roles);
  if (path === "/v1/models")
    return {
      choices: [{ name: "", model: "offline", reason: "no key is set" }],
      models: [
        {
          ref: "offline",
          provider: "offline",
          priced: true,
          inputMicros: 0,
          outputMicros: 0,
          images: false,
          reasoning: false,
          offline: true,
        },
      ],
    };
  if (path === "/v1/stats")
    return {
      by: "agent",
      items: [...chats.keys()].map((key) => ({
        key,
        calls: 3,
        failed: 0,
        inputTokens: 5000,
        outputTokens: 400,
        cacheReadTokens: 1000,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
        costMicros: 0,
        unpricedCalls: 0,
      })),
      total: {
        key: "",
        calls: 3,
        failed: 0,
        inputTokens: 5000,
        outputTokens: 400,
        cacheReadTokens: 1000,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
        costMicros: 0,
        unpricedCalls: 0,
      },
    };
  return undefined;
}

function feed(path, res) {
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  res.write(": hello\n\n");
  const chat = /orch-chats\/([^/]+)\/changes/.exec(path)?.[1];
  const lines = chat ? (chats.get(chat) ?? []) : [];
  const start = Date.parse(lines[0]?.at ?? 0);
  for (const line of lines) {
    setTimeout(
      () => {
        if (line.type === "delta") res.write(`event: delta\ndata: ${JSON.stringify(line)}\n\n`);
        else {
          put(line);
          res.write(`event: change\nid: ${line.seq}\ndata: ${JSON.stringify({ ...line, at: Date.now() })}\n\n`);
        }
      },
      Date.parse(line.at) - start,
    );
  }
  const beat = setInterval(() => res.write(": beat\n\n"), 10_000);
  res.on("close", () => clearInterval(beat));
}

const server = createServer((req, res) => {
  const path = new URL(req.url, "http://localhost").pathname;
  if (path.endsWith("/changes")) return feed(path, res);
  if (path.startsWith("/v1/")) {
    const body = req.method === "GET" ? answer(path) : {};
    res.writeHead(body ? 200 : 404, { "Content-Type": "application/json" });
    return res.end(JSON.stringify(body ?? { detail: "not found" }));
  }
  const file = join(dist, path);
  const found = extname(path) && existsSync(file) ? file : join(dist, "index.html");
  res.writeHead(200, { "Content-Type": types[extname(found)] ?? "application/octet-stream", "Content-Security-Policy": policy });
  createReadStream(found).pipe(res);
});
server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
