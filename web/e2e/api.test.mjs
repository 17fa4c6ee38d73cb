// Every operation of the API, through the client that is made of its document,
// on the real server: each answer is held against the document, and an
// operation that is not used here is a failure.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import Ajv from "@redocly/ajv/dist/2020.js";
import createClient from "openapi-fetch";
import { script, World } from "./harness.mjs";

const document = JSON.parse(readFileSync(new URL("../../internal/api/openapi.json", import.meta.url), "utf8"));
const ajv = new Ajv.default({ strict: false, validateFormats: false });
ajv.addSchema(document, "api");

const methods = ["get", "post", "put", "patch", "delete"];
const unused = new Set();
for (const [path, at] of Object.entries(document.paths)) for (const m of methods) if (at[m]) unused.add(`${m.toUpperCase()} ${path}`);

const key = (text) => text.replaceAll("~", "~0").replaceAll("/", "~1");
const fits = (where, value) => {
  const validate = ajv.getSchema(`api#/${where.map(key).map(encodeURIComponent).join("/")}`);
  assert.ok(validate, `the document has no ${where.join(" ")}`);
  assert.ok(validate(value), `${where.join(" ")}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value).slice(0, 400)}`);
};

/** ask makes a request through the client and holds both sides against the document. */
async function ask(client, name, { params = {}, body, status = 200, stream } = {}) {
  const [method, path] = name.split(" ");
  unused.delete(name);
  const json = ["content", "application/json", "schema"];
  if (body) fits(["paths", path, method.toLowerCase(), "requestBody", ...json], body);
  const { data, error, response } = await client[method](path, { params, body, ...(stream ? { parseAs: "stream" } : {}) });
  assert.equal(response.status, status, `${name}: ${JSON.stringify(error)}`);
  if (error) fits(["paths", path, method.toLowerCase(), "responses", "default", "content", "application/problem+json", "schema"], error);
  else if (!stream && status !== 204 && /json/.test(response.headers.get("Content-Type") ?? ""))
    fits(["paths", path, method.toLowerCase(), "responses", String(status), ...json], data);
  return { data, response };
}

/** first reads the first line of a feed, and holds it against the document. */
async function first(client, name, params) {
  const stop = new AbortController();
  const { data } = await ask({ GET: (path, init) => client.GET(path, { ...init, signal: stop.signal }) }, name, {
    params: { ...params, query: { since: "0", format: "ndjson" } },
    stream: true,
  });
  let text = "";
  for await (const chunk of data) if ((text += new TextDecoder().decode(chunk)).includes("\n")) break;
  stop.abort();
  const change = JSON.parse(text.split("\n")[0]);
  fits(["paths", name.split(" ")[1], "get", "responses", "200", "content", "application/x-ndjson", "schema"], change);
  return change;
}

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

test("every operation, through the generated client", async () => {
  const as = (token) => createClient({ baseUrl: world.base, headers: { Authorization: `Bearer ${token}` } });
  const c = as(world.token);
  const user = { user: "me" };
  const me = { path: user };
  const root = "/v1/users/{user}";
  const chats = `${root}/orch-chats`;
  for (const name of ["healthz", "readyz"]) await ask(c, `GET /${name}`);
  await ask(c, "GET /metrics", { stream: true });
  for (const name of ["models", "policy", "providers", "roles", "stats", "audit", "tokens", "users"]) await ask(c, `GET /v1/${name}`);
  await ask(c, "POST /v1/providers/{provider}/test", { params: { path: { provider: "nobody" } }, status: 404 });
  await ask(c, "POST /v1/codes", { status: 201 });
  await ask(c, `GET ${root}`, { params: me });
  await ask(c, `PUT ${root}/settings`, { params: me, body: { theme: "dark" }, status: 204 });
  assert.deepEqual((await ask(c, `GET ${root}/settings`, { params: me })).data, { theme: "dark" });

  const other = (await ask(c, "POST /v1/users", { body: { name: "berta" }, status: 201 })).data;
  const token = (await ask(c, "POST /v1/tokens", { body: { user: other.id, scope: "write", name: "test" }, status: 201 })).data;
  await ask(as(token.secret), "GET /v1/users", { status: 403 });
  const login = await ask(createClient({ baseUrl: world.base }), "POST /v1/session", { body: { token: token.secret }, status: 204 });
  const cookie = login.response.headers.get("Set-Cookie").split(";")[0];
  const page = createClient({ baseUrl: world.base, headers: { Cookie: cookie, Origin: world.base } });
  assert.equal((await ask(page, `GET ${root}`, { params: me })).data.user.id, other.id);
  await ask(page, "DELETE /v1/session", { status: 204 });
  await ask(page, `GET ${root}`, { params: me, status: 401 });
  await ask(c, "DELETE /v1/tokens/{token}", { params: { path: { token: token.key.id } }, status: 204 });
  await ask(as(token.secret), `GET ${root}`, { params: me, status: 401 });
  await ask(c, "DELETE /v1/users/{name}", { params: { path: { name: "berta" } }, status: 204 });

  const made = (await ask(c, `POST ${chats}`, { params: me, body: { model: script("team"), text: "Add a check" }, status: 201 })).data;
  const chat = made.chat.id;
  const the = { path: { ...user, chat } };
  const in_ = `${chats}/{chat}`;
  await first(c, `GET ${root}/changes`, me);
  await first(c, `GET ${in_}/changes`, the);
  const waiting = async (kind) => {
    for (const end = Date.now() + 45_000; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
      const { items } = (await ask(c, `GET ${in_}/inbox`, { params: the })).data;
      const found = items.find((i) => i.kind === kind);
      if (found) return found;
    }
    assert.fail(`no ${kind} waits`);
  };
  const approval = await waiting("approval");
  const question = await waiting("question");
  await ask(c, `GET ${root}/inbox`, { params: me });
  await ask(c, `GET ${root}/agents`, { params: me });
  await ask(c, `GET ${in_}/inbox/{item}`, { params: { path: { ...the.path, item: approval.id } } });
  const answer = (item, body, status) =>
    ask(c, `POST ${in_}/inbox/{item}/answer`, { params: { path: { ...the.path, item } }, body, status });
  await answer(approval.id, { allow: true }, 200);
  await answer(approval.id, { allow: false }, 409);
  await answer(question.id, { text: "Keycloak" }, 200);
  await world.rests(chat);
  for (const name of ["run", "tree", "messages", "tasks", "sub-agents"]) await ask(c, `GET ${in_}/${name}`, { params: the });
  await ask(c, `GET ${in_}`, { params: the });
  await ask(c, `GET ${chats}`, { params: me });
  const agent = `${chat}.1`;
  const one = { path: { ...the.path, agent } };
  const of = `${in_}/sub-agents/{agent}`;
  await ask(c, `GET ${of}`, { params: one });
  for (const name of ["messages", "tool-calls", "model-calls", "prompt", "log"]) await ask(c, `GET ${of}/${name}`, { params: one });
  await ask(c, `GET ${in_}/tasks/{task}`, { params: { path: { ...the.path, task: agent } } });
  await ask(c, `GET ${in_}/artifacts/{artifact}`, { params: { path: { ...the.path, artifact: "none" } }, status: 404 });
  await ask(c, `PATCH ${in_}`, { params: the, body: { title: "Checked" } });
  await ask(c, `PUT ${in_}/read`, { params: the, body: { seq: 1 }, status: 204 });

  const slow = (await ask(c, `POST ${chats}`, { params: me, body: { model: script("slow"), text: "Start three" }, status: 201 })).data.chat
    .id;
  const its = { path: { ...user, chat: slow } };
  const sent = { id: `msg-${slow}`, text: "Still there?" };
  await ask(c, `POST ${in_}/messages`, { params: its, body: sent, status: 201 });
  await ask(c, `POST ${in_}/messages`, { params: its, body: sent, status: 200 });
  await ask(c, `DELETE ${in_}`, { params: its, status: 409 });
  for (const end = Date.now() + 45_000; ; await new Promise((done) => setTimeout(done, 50))) {
    if ((await ask(c, `GET ${in_}/sub-agents`, { params: its })).data.items.length >= 3) break;
    assert.ok(Date.now() < end, "three sub-agents start");
  }
  await ask(c, `POST ${of}/stop`, { params: { path: { ...its.path, agent: `${slow}.1` } }, status: 204 });
  await ask(c, `POST ${in_}/tasks/{task}/stop`, { params: { path: { ...its.path, task: `${slow}.2` } }, status: 204 });
  await ask(c, `POST ${in_}/stop`, { params: its, status: 204 });
  await world.rests(slow);
  const { items } = (await ask(c, `GET ${in_}/messages`, { params: the })).data;
  const mine = items.find((m) => m.kind === "user");
  await ask(c, `POST ${in_}/fork`, { params: the, body: { message: mine.id, text: "quick" }, status: 201 });
  await ask(c, `DELETE ${in_}`, { params: its, status: 204 });

  assert.deepEqual([...unused], [], "operations that were not used");
});
