// Blocks of Markdown: joined they are the text, and what is done stays.

import { expect, it } from "vitest";
import { blocks } from "./blocks";

const sample = "# A\n\ntext\nmore\n\n- one\n\n- two\n\n  inner\n\n```go\na\n\nb\n```\n\n| a |\n|---|\n| 1 |\n\n$$\nx\n\ny\n$$\n\nend";

it("splits at blank lines, not inside fences, formulas and lists", () => {
  expect(blocks(sample)).toEqual([
    "# A\n",
    "text\nmore\n",
    "- one\n\n- two\n\n  inner\n",
    "```go\na\n\nb\n```\n",
    "| a |\n|---|\n| 1 |\n",
    "$$\nx\n\ny\n$$\n",
    "end",
  ]);
});

it("keeps all blocks but the last while a text grows", () => {
  let before: string[] = [];
  for (let n = 1; n <= sample.length; n++) {
    const now = blocks(sample.slice(0, n));
    const settled = before.slice(0, -1).map((b) => b.trimEnd());
    expect(now.slice(0, settled.length).map((b) => b.trimEnd())).toEqual(settled);
    before = now;
  }
});

it("does not split a text whose definitions reach across it", () => {
  expect(blocks("[a]\n\n[a]: https://example.com")).toHaveLength(1);
});

it("closes a fence only with its own mark", () => {
  expect(blocks("```\n~~~\n\nstill code\n```\n\nafter")).toEqual(["```\n~~~\n\nstill code\n```\n", "after"]);
});
