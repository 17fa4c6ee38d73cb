// Diffs as lines.

import { expect, it } from "vitest";
import { looksLikeDiff, parseDiff, patchOf } from "./diff";

it("numbers the lines, and takes no line of a hunk for a head", () => {
  const lines = parseDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ f\n a\n--- gone\n+++ come\n b\n");
  expect(lines.map((l) => [l.sign, l.text, l.before, l.after])).toEqual([
    ["@", "x", 0, 0],
    ["@", "@@ -3,3 +3,3 @@ f", 0, 0],
    [" ", "a", 3, 3],
    ["-", "-- gone", 4, 0],
    ["+", "++ come", 0, 4],
    [" ", "b", 5, 5],
  ]);
});

it("makes a patch of two texts that it can read", () => {
  const text = patchOf("x.go", "a\nb\n", "a\nc\n");
  expect(looksLikeDiff(text)).toBe(true);
  expect(
    parseDiff(text)
      .filter((l) => l.sign === "+" || l.sign === "-")
      .map((l) => l.sign + l.text),
  ).toEqual(["-b", "+c"]);
});
