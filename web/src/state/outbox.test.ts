// The outbox outlives the page, with what is attached if there is room.

import { beforeEach, expect, it } from "vitest";
import { kept, pack, unpack } from "./outbox";
import type { Pending } from "./store";

const pending = (id: string, failed = ""): Pending => ({ id, chat: "k", text: `text of ${id}`, model: "", at: 1, failed });

function storage(room: number) {
  const held = new Map<string, string>();
  return {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > room) throw new Error("QuotaExceededError");
      held.set(key, value);
    },
    removeItem: (key: string) => void held.delete(key),
  };
}

beforeEach(() => kept.clear());

it("is taken once, with what is attached, and can be sent again", () => {
  const s = storage(10_000);
  kept.set("b", [{ name: "n.txt", mediaType: "text/plain", data: "AA==" }]);
  pack([pending("a", "no way"), pending("b")], s);
  kept.clear(); // the page is another one
  const taken = unpack(s);
  expect(taken.map((p) => [p.id, p.text])).toEqual([
    ["a", "text of a"],
    ["b", "text of b"],
  ]);
  expect(taken[0]?.failed).toBe("no way");
  expect(taken[1]?.failed).not.toBe(""); // or it would seem to be on its way
  expect(kept.get("b")?.[0]?.name).toBe("n.txt");
  expect(unpack(s)).toEqual([]);
});

it("keeps the words when what is attached is too large, and says so", () => {
  const s = storage(1000);
  kept.set("b", [{ name: "n.txt", mediaType: "text/plain", data: "A".repeat(2000) }]);
  pack([pending("a", "no way"), pending("b")], s);
  kept.clear();
  const taken = unpack(s);
  expect(taken.map((p) => p.text)).toEqual(["text of a", "text of b"]);
  expect(taken[0]?.failed).toBe("no way");
  expect(taken[1]?.failed).toMatch(/attach it again/);
});

it("survives a browser that keeps nothing, and what is no outbox", () => {
  const none = storage(0);
  pack([pending("a")], none);
  expect(unpack(none)).toEqual([]);
  const odd = storage(1000);
  odd.setItem("cadre-outbox", "{");
  expect(unpack(odd)).toEqual([]);
  odd.setItem("cadre-outbox", "{}");
  expect(unpack(odd)).toEqual([]);
});
