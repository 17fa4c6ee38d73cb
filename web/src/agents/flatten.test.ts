// The tree as rows.

import { expect, it } from "vitest";
import type { Agent } from "../api/types";
import { family } from "../state/select";
import { flatten } from "./flatten";

const agent = (id: string, state: string) => ({ id, parent: id.slice(0, id.lastIndexOf(".")), state }) as Agent;
const none = new Set<string>();

function rows(list: Agent[], folded = none, opened = none) {
  const f = family(Object.fromEntries(list.map((a) => [a.id, a])));
  return flatten(f, f.byParent.get("c") ?? [], folded, opened).map((l) =>
    l.kind === "agent" ? `${" ".repeat(l.depth)}${l.id}` : `${l.agents.length} ${l.state}`,
  );
}

it("indents children under their parents, in order of number", () => {
  expect(rows([agent("c.10", "thinking"), agent("c.2", "thinking"), agent("c.2.1", "thinking")])).toEqual(["c.2", " c.2.1", "c.10"]);
});

it("hides what is folded", () => {
  expect(rows([agent("c.1", "thinking"), agent("c.1.1", "failed")], new Set(["c.1"]))).toEqual(["c.1"]);
});

it("groups many that ended well, and always shows failures", () => {
  const many = Array.from({ length: 8 }, (_, i) => agent(`c.${i + 1}`, i === 3 ? "failed" : "completed"));
  expect(rows(many)).toEqual(["7 completed", "c.4"]);
  expect(rows(many, none, new Set(["c:completed"]))).toHaveLength(9);
});

it("does not group failures, however many", () => {
  expect(rows(Array.from({ length: 8 }, (_, i) => agent(`c.${i + 1}`, "failed")))).toHaveLength(8);
});
