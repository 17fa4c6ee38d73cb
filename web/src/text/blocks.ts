// Splits Markdown into blocks that can be rendered apart from each other, so
// that a reply on its way is not rendered anew for each word: all blocks but
// the last stay as they are.

const fence = /^ {0,3}(`{3,}|~{3,}|\$\$)/;
const item = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/;
const begun = /^ {0,3}(?:[-*+]|\d{1,9}[.)]?)$/; // of an item, while it is written
const definition = /^ {0,3}\[[^\]]+\]:\s/m;

export function blocks(text: string): string[] {
  if (definition.test(text)) return [text]; // a definition reaches across blocks
  const out: string[] = [];
  let lines: string[] = [];
  let closing = "";
  let blank = false;
  for (const line of text.split("\n")) {
    const begins = blank && closing === "" && line.trim() !== "" && !continues(lines, line);
    if (begins) {
      out.push(lines.join("\n"));
      lines = [];
    }
    lines.push(line);
    const mark = fence.exec(line)?.[1];
    if (closing !== "") {
      if (mark?.startsWith(closing)) closing = "";
    } else if (mark) {
      const once = mark === "$$" && line.trim().length > 2 && line.trim().endsWith("$$");
      closing = once ? "" : mark;
    }
    blank = closing === "" && line.trim() === "";
  }
  out.push(lines.join("\n"));
  return out.filter((b) => b.trim() !== "");
}

/** continues tells whether a line after a blank one belongs to the list before it. */
function continues(lines: readonly string[], line: string): boolean {
  const first = lines.find((l) => l.trim() !== "") ?? "";
  return item.test(first) && (item.test(line) || begun.test(line) || /^\s{2,}/.test(line));
}
