// Numbers and texts as people read them.

import { describe, expect, it } from "vitest";
import { ago, clean, count, duration, firstLine, lasted, money, plain, sentence, took, tokens } from "./format";

describe("format", () => {
  it.each([
    [0, "0:00"],
    [42_000, "0:42"],
    [723_000, "12:03"],
    [3_723_000, "1:02:03"],
    [-5, "0:00"],
  ])("duration %d", (ms, want) => expect(duration(ms)).toBe(want));
  it.each([
    [140, "140 ms"],
    [45_000, "45 s"],
    [723_000, "12:03"],
  ])("lasted %d", (ms, want) => expect(lasted(ms)).toBe(want));
  it.each([
    ["there is no chat", "There is no chat."],
    ["cadre serve is not running", "cadre serve is not running."],
    ["`cadre open` does it", "`cadre open` does it."],
    ["It is so.", "It is so."],
  ])("sentence %s", (said, want) => expect(sentence(said)).toBe(want));
  it.each([
    [140, "140 ms"],
    [2400, "2.4 s"],
    [45_000, "45 s"],
    [59_600, "1 min"],
    [185_000, "3 min 5 s"],
    [7_200_000, "2 h"],
    [5_400_000, "1 h 30 min"],
  ])("took %d", (ms, want) => expect(took(ms)).toBe(want));
  it.each([
    [950, "950"],
    [12_345, "12.3k"],
    [99_960, "100k"],
    [4_100_000, "4.1M"],
  ])("tokens %d", (n, want) => expect(tokens(n)).toBe(want));
  it.each([
    [0, true, "$0.00"],
    [60_000, true, "$0.06"],
    [10_000, true, "$0.01"],
    [1234, true, "$0.0012"],
    [5, true, "$0.000005"],
    [0, false, "unknown"],
    [20_000, false, "$0.02 + unknown"],
  ])("money %d %s", (n, known, want) => expect(money(n, known)).toBe(want));
  it.each([
    [10_000, "just now"],
    [120_000, "2 min ago"],
    [7_200_000, "2 h ago"],
    [3 * 86_400_000, "3 d ago"],
  ])("ago %d", (ms, want) => expect(ago(1e12 - ms, 1e12)).toBe(want));
  it("counts", () => expect([count(1, "agent"), count(1200, "agent")]).toEqual(["1 agent", "1,200 agents"]));
  it("leaves out what could make a text look like another", () =>
    expect(clean("rm \u202etxt.exe\u0007\u2066 -rf\n\tx")).toBe("rm txt.exe -rf\n\tx"));
  it("takes signs of Markdown out, but not of code", () => expect(plain("## **2** files match `**/*`")).toBe("2 files match **/*"));
  it("finds the first line that says something", () => expect(firstLine("\n  \n a  b \nc")).toBe("a b"));
});
