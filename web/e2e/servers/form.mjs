// A tool server (MCP over standard input and output) with one tool that asks
// its user to fill in a form.

import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const schema = {
  type: "object",
  required: ["name", "size"],
  properties: {
    name: { type: "string", title: "Name of the place", minLength: 2 },
    size: { type: "string", title: "Size", enum: ["s", "m"], enumNames: ["Small", "Middle"] },
    seats: { type: "integer", title: "Seats", description: "How many people fit in" },
    open: { type: "boolean", title: "Open on Sundays" },
  },
};
let call; // the request of the tool that waits for the form

const answers = {
  initialize: (m) => ({
    protocolVersion: m.params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "forms", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [{ name: "book", description: "Books a place.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }],
  }),
};

createInterface({ input: process.stdin }).on("line", (text) => {
  const m = JSON.parse(text);
  if (m.method === "tools/call") {
    call = m.id;
    say({ id: "form", method: "elicitation/create", params: { message: "Which place shall be booked?", requestedSchema: schema } });
  } else if (m.id === "form") {
    const said = m.result?.action === "accept" ? JSON.stringify(m.result.content) : m.result?.action;
    say({ id: call, result: { content: [{ type: "text", text: `booked: ${said}` }] } });
  } else if (m.id !== undefined && answers[m.method]) say({ id: m.id, result: answers[m.method](m) });
  else if (m.id !== undefined) say({ id: m.id, error: { code: -32601, message: "unknown" } });
});
