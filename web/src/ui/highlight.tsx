// Highlighted code, loaded when the first block of code is seen. The tree of
// the highlighter becomes elements; no HTML is ever put in as text.

import { common, createLowlight } from "lowlight";
import { memo, type ReactNode } from "react";

const lowlight = createLowlight(common);

interface Node {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Node[];
}

function draw(nodes: Node[]): ReactNode {
  return nodes.map((n, i) => {
    if (n.type === "text") return n.value;
    const names = Array.isArray(n.properties?.className)
      ? n.properties.className.map((c) => String(c).replace("hljs-", "hl-")).join(" ")
      : "";
    return (
      <span key={i} className={names}>
        {draw(n.children ?? [])}
      </span>
    );
  });
}

const longest = 60_000;

export default memo(function Highlighted({ code, language }: { code: string; language: string }) {
  if (code.length > longest || !lowlight.registered(language)) return <code>{code}</code>;
  return <code>{draw(lowlight.highlight(language, code).children as Node[])}</code>;
});
