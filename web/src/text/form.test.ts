// Forms of tool servers: what is read, and what is answered.

import { describe, expect, it } from "vitest";
import { filled, readAsked } from "./form";

const action = JSON.stringify({
  question: "Who?",
  schema: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", title: "Your name" },
      mail: { type: "string", format: "email" },
      age: { type: "integer" },
      ok: { type: "boolean", default: true },
      size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Middle"] },
      tier: { type: "string", oneOf: [{ const: "a", title: "First" }] },
      tags: { type: "array", items: { anyOf: [{ const: "x", title: "Ex" }, { const: "y" }] } },
    },
  },
});

describe("readAsked", () => {
  it("reads each kind of field", () => {
    const { question, fields } = readAsked(action);
    expect(question).toBe("Who?");
    expect(fields?.map((f) => [f.name, f.kind, f.input, f.required])).toEqual([
      ["name", "text", "text", true],
      ["mail", "text", "email", false],
      ["age", "number", "text", false],
      ["ok", "yes-no", "text", false],
      ["size", "one", "text", false],
      ["tier", "one", "text", false],
      ["tags", "several", "text", false],
    ]);
    expect(fields?.[4]?.choices).toEqual([
      { value: "s", label: "Small" },
      { value: "m", label: "Middle" },
    ]);
    expect(fields?.[6]?.choices).toEqual([
      { value: "x", label: "Ex" },
      { value: "y", label: "y" },
    ]);
  });
  it("takes a text for what it is, and an address as one", () => {
    expect(readAsked("plain")).toEqual({ question: "plain", url: "", fields: null });
    expect(readAsked('{"question":"Open","url":"https://a.example/x"}')).toEqual({
      question: "Open",
      url: "https://a.example/x",
      fields: null,
    });
  });
});

describe("filled", () => {
  it("answers with typed values and leaves out what is open", () => {
    const fields = readAsked(action).fields ?? [];
    expect(JSON.parse(filled(fields, { name: "Ann", age: "7", tags: ["x"] }))).toEqual({ name: "Ann", age: 7, ok: true, tags: ["x"] });
    expect(JSON.parse(filled(fields, { name: "Ann", ok: false, size: "m" }))).toEqual({ name: "Ann", ok: false, size: "m" });
  });
});
