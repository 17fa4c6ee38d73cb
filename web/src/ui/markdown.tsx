// Markdown from models: rendered block by block, each only when it changes.
// No raw HTML, no script; pictures of other servers are not loaded unasked.

import { ImageOff } from "lucide-react";
import { lazy, memo, Suspense, useMemo, type ComponentProps, type ReactNode } from "react";
import Markdown, { type Components } from "react-markdown";
import gfm from "remark-gfm";
import { blocks } from "../text/blocks";
import { clean } from "../text/format";
import { CopyButton } from "./kit";

const Highlighted = lazy(() => import("./highlight"));
const WithMath = lazy(() => import("./math"));

/** A picture of another server would tell that server who looks at it: it is only linked to. */
function Picture({ src = "", alt = "" }: { src?: string | undefined; alt?: string | undefined }) {
  let host = "";
  try {
    host = new URL(src).host;
  } catch {
    return <em>{alt}</em>;
  }
  return (
    <a href={src} target="_blank" rel="noopener noreferrer nofollow" title={src}>
      <ImageOff size={14} aria-hidden className="mr-1 inline" />
      {alt || "picture"} (at {host}, not loaded)
    </a>
  );
}

export function CodeBlock({ code: given, language }: { code: string; language: string }) {
  const code = clean(given);
  const lines = code.split("\n");
  const plain = <code>{code}</code>;
  return (
    <div className="my-3 overflow-hidden rounded-lg border border-line first:mt-0 last:mb-0">
      <div className="flex h-8 items-center justify-between border-b border-line bg-surface pr-1 pl-3 text-small text-faint">
        <span>{language || "text"}</span>
        <CopyButton text={code} label="Copy code" />
      </div>
      <div
        className="flex overflow-x-auto bg-canvas font-mono text-[13px] leading-5"
        tabIndex={0}
        role="group"
        aria-label={`Code, ${language || "text"}`}
      >
        {lines.length > 12 && (
          <div aria-hidden className="figures shrink-0 border-r border-line px-2 py-3 text-right whitespace-nowrap text-faint select-none">
            {lines.map((_, i) => (
              <div key={i}>{i + 1}</div>
            ))}
          </div>
        )}
        <pre className="flex-1 px-3 py-3">
          {language ? (
            <Suspense fallback={plain}>
              <Highlighted code={code} language={language} />
            </Suspense>
          ) : (
            plain
          )}
        </pre>
      </div>
    </div>
  );
}

function textOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  return "";
}

export const components: Components = {
  pre({ children }) {
    const child = (Array.isArray(children) ? children[0] : children) as
      { props?: { className?: string; children?: ReactNode } } | undefined;
    const language = /language-([\w+#.-]+)/.exec(child?.props?.className ?? "")?.[1] ?? "";
    return <CodeBlock code={textOf(child?.props?.children).replace(/\n$/, "")} language={language} />;
  },
  table: ({ children }) => (
    <div className="scrolls" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
        {children}
      </a>
    ) : (
      <>{children}</>
    ),
  img: ({ src, alt }: ComponentProps<"img">) => <Picture src={typeof src === "string" ? src : ""} alt={alt} />,
  input: ({ checked }) => (
    <input type="checkbox" checked={checked ?? false} readOnly disabled aria-label={checked ? "done" : "open"} className="mr-2" />
  ),
};

export const plugins: NonNullable<ComponentProps<typeof Markdown>["remarkPlugins"]> = [gfm];

const maths = /\$\$|\$[^\s$](?:[^$\n]*[^\s$])?\$(?!\d)|\\\(|\\\[/;

const Block = memo(function Block({ text }: { text: string }) {
  const simple = (
    <Markdown remarkPlugins={plugins} components={components}>
      {text}
    </Markdown>
  );
  if (!maths.test(text)) return <div className="block">{simple}</div>;
  return (
    <div className="block">
      <Suspense fallback={simple}>
        <WithMath text={text} />
      </Suspense>
    </div>
  );
});

export const Prose = memo(function Prose({ text, dense = false }: { text: string; dense?: boolean }) {
  const parts = useMemo(() => blocks(text), [text]);
  return (
    <div className={`prose ${dense ? "dense" : ""}`}>
      {parts.map((part, i) => (
        <Block key={i} text={part} />
      ))}
    </div>
  );
});
