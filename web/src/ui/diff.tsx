// Diffs: side by side where there is room, else unified.

import { createTwoFilesPatch } from "diff";
import { useMemo } from "react";
import { useWidth } from "./hooks";

interface DiffLine {
  sign: " " | "+" | "-" | "@";
  text: string;
  before: number;
  after: number;
}

export const looksLikeDiff = (text: string) => /^(diff --git |--- )/m.test(text) && /^@@/m.test(text);

export function patchOf(path: string, before: string, after: string): string {
  return createTwoFilesPatch(path, path, before, after, "", "", { context: 3 });
}

export function parseDiff(text: string): DiffLine[] {
  const out: DiffLine[] = [];
  let before = 0,
    after = 0,
    gone = 0,
    come = 0; // where the hunk is, and what is left of it
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk && gone <= 0 && come <= 0) {
      [before, gone, after, come] = [Number(hunk[1]), Number(hunk[2] ?? 1), Number(hunk[3]), Number(hunk[4] ?? 1)];
      out.push({ sign: "@", text: line, before: 0, after: 0 });
    } else if (gone > 0 || come > 0) {
      const sign = line.startsWith("+") ? "+" : line.startsWith("-") ? "-" : " ";
      if (line.startsWith("\\")) continue;
      if (sign !== "+") gone--;
      if (sign !== "-") come--;
      out.push({ sign, text: line.slice(1), before: sign === "+" ? 0 : before++, after: sign === "-" ? 0 : after++ });
    } else if (line.startsWith("+++ ")) {
      out.push({ sign: "@", text: line.slice(4).replace(/^b\//, "").trim(), before: 0, after: 0 });
    } else if (line.trim() !== "" && !/^(diff --git |index |Index: |--- |={5,}|\\)/.test(line)) {
      out.push({ sign: "@", text: line, before: 0, after: 0 });
    }
  }
  return out;
}

const shade = { "+": "bg-green-wash", "-": "bg-red-wash", " ": "", "@": "bg-surface text-faint" };
const words = { "+": "added", "-": "removed", " ": "", "@": "" };

export function DiffText({ text }: { text: string }) {
  const lines = useMemo(() => parseDiff(text), [text]);
  const [box, width] = useWidth<HTMLDivElement>();
  return (
    <div
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Changes"
      className="max-h-96 overflow-auto rounded-md border border-line bg-canvas font-mono text-[12.5px] leading-5"
    >
      {width >= 760 ? <Split lines={lines} /> : <Unified lines={lines} />}
    </div>
  );
}

function Unified({ lines }: { lines: DiffLine[] }) {
  return (
    <div className="min-w-max">
      {lines.map((l, i) => (
        <div key={i} className={`flex ${shade[l.sign]}`}>
          <LineNumber n={l.before} />
          <LineNumber n={l.after} />
          <Sign sign={l.sign} />
          <span className="flex-1 pr-3 whitespace-pre">{l.text || " "}</span>
        </div>
      ))}
    </div>
  );
}

function Split({ lines }: { lines: DiffLine[] }) {
  return (
    <div>
      {pair(lines).map(([a, b], i) =>
        a?.sign === "@" ? (
          <div key={i} className={`px-3 ${shade["@"]}`}>
            {a.text}
          </div>
        ) : (
          <div key={i} className="grid grid-cols-2 divide-x divide-line">
            <Half line={a} n={a?.before ?? 0} />
            <Half line={b} n={b?.after ?? 0} />
          </div>
        ),
      )}
    </div>
  );
}

function Half({ line, n }: { line: DiffLine | undefined; n: number }) {
  return (
    <div className={`flex min-w-0 ${line ? shade[line.sign] : "bg-surface"}`}>
      <LineNumber n={n} />
      <Sign sign={line?.sign ?? " "} />
      <span className="min-w-0 flex-1 pr-2 whitespace-pre-wrap [overflow-wrap:anywhere]">{line?.text}</span>
    </div>
  );
}

/** pair puts removed lines beside the added ones that follow them. */
function pair(lines: DiffLine[]): [DiffLine | undefined, DiffLine | undefined][] {
  const out: [DiffLine | undefined, DiffLine | undefined][] = [];
  let gone: DiffLine[] = [],
    come: DiffLine[] = [];
  const settle = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++) out.push([gone[i], come[i]]);
    gone = [];
    come = [];
  };
  for (const l of lines) {
    if (l.sign === "-") {
      if (come.length) settle();
      gone.push(l);
    } else if (l.sign === "+") come.push(l);
    else {
      settle();
      out.push([l, l]);
    }
  }
  settle();
  return out;
}

const LineNumber = ({ n }: { n: number }) => (
  <span aria-hidden className="figures w-10 shrink-0 pr-2 text-right text-faint select-none">
    {n || ""}
  </span>
);

function Sign({ sign }: { sign: DiffLine["sign"] }) {
  const tone = sign === "+" ? "text-green" : sign === "-" ? "text-red" : "text-faint";
  return (
    <span className={`w-4 shrink-0 select-none ${tone}`}>
      <span aria-hidden>{sign === "@" ? " " : sign}</span>
      {words[sign] && <span className="sr-only">{words[sign]} </span>}
    </span>
  );
}
