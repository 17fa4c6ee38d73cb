// Markdown with formulas, loaded when the first one is seen. They are written
// as MathML, which browsers draw without fonts or styles of ours.

import Markdown from "react-markdown";
import katex from "rehype-katex";
import math from "remark-math";
import { components, plugins } from "./markdown";

export default function WithMath({ text }: { text: string }) {
  const marked = text
    .replace(/\\\[([\s\S]+?)\\\]/g, "\n$$$$\n$1\n$$$$\n")
    .replace(/\\\((.+?)\\\)/g, "$$$1$$")
    .replace(/^[ \t]*\$\$([^$\n]+)\$\$[ \t]*$/gm, "$$$$\n$1\n$$$$"); // a formula that has a line for itself stands apart
  return (
    <Markdown
      remarkPlugins={[...(plugins ?? []), math]}
      rehypePlugins={[[katex, { output: "mathml", throwOnError: false, trust: false, maxSize: 20, maxExpand: 200 }]]}
      components={components}
    >
      {marked}
    </Markdown>
  );
}
