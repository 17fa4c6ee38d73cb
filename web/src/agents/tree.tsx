// A tree of agents. A long one scrolls in a window of its own, and only the
// rows that are seen are drawn.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import type { Agent } from "../api/types";
import { family, used } from "../state/select";
import { useStore } from "../state/store";
import { money, tokens } from "../text/format";
import { shown } from "../text/states";
import { StateIcon } from "../ui/signs";
import { flatten, type Line } from "./flatten";
import { AgentRow, rowHeight } from "./row";

const most = 14; // rows before the tree scrolls

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

export function AgentTree({
  roots,
  open,
  chosen = "",
  tall = false,
}: {
  roots: readonly string[];
  open: (id: string) => void;
  chosen?: string;
  tall?: boolean;
}) {
  const agents = useStore((s) => s.data.agents);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const lines = useMemo(() => {
    const list = roots.flatMap((id) => agents[id] ?? []);
    return flatten(family(agents), list, folded, opened);
  }, [agents, roots, folded, opened]);

  const draw = (line: Line) =>
    line.kind === "group" ? (
      <GroupRow line={line} open={opened.has(line.id)} toggle={() => setOpened(toggled(opened, line.id))} />
    ) : (
      <AgentRow
        id={line.id}
        depth={line.depth}
        open={open}
        chosen={line.id === chosen}
        fold={line.children > 0 ? { folded: folded.has(line.id), toggle: () => setFolded(toggled(folded, line.id)) } : undefined}
      />
    );
  const id = (line: Line) => `${line.kind}-${line.id}`;
  if (!tall && lines.length <= most) {
    return (
      <div role="list" aria-label="Agents">
        {lines.map((line) => (
          <div role="listitem" key={id(line)} className="appears">
            {draw(line)}
          </div>
        ))}
      </div>
    );
  }
  return <Long lines={lines} draw={draw} id={id} tall={tall} />;
}

function Long({
  lines,
  draw,
  id,
  tall,
}: {
  lines: Line[];
  draw: (line: Line) => React.ReactNode;
  id: (line: Line) => string;
  tall: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (i) => id(lines[i] as Line),
    overscan: 8,
  });
  return (
    <div
      ref={box}
      className="overflow-y-auto"
      style={{ height: tall ? "100%" : most * rowHeight }}
      tabIndex={0}
      role="list"
      aria-label="Agents"
    >
      <div className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((v) => (
          <div
            role="listitem"
            key={v.key}
            className="absolute inset-x-0"
            style={{ transform: `translateY(${v.start}px)`, height: rowHeight }}
          >
            {draw(lines[v.index] as Line)}
          </div>
        ))}
      </div>
    </div>
  );
}

function GroupRow({ line, open, toggle }: { line: Extract<Line, { kind: "group" }>; open: boolean; toggle: () => void }) {
  const sum = (pick: (a: Agent) => number) => line.agents.reduce((n, a) => n + pick(a), 0);
  const known = line.agents.every((a) => !a.unpriced);
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={toggle}
      className="flex w-full items-center gap-2 rounded-md pr-8 text-left text-soft hover:bg-hover"
      style={{ height: rowHeight, paddingLeft: line.depth * 18 + 7 }}
    >
      <ChevronRight size={14} className={`text-faint transition-transform ${open ? "rotate-90" : ""}`} aria-hidden />
      <StateIcon state={line.state} />
      <span className="flex-1">
        {line.agents.length.toLocaleString("en")} {shown(line.state).word}
      </span>
      <span className="figures flex gap-3 text-small text-faint">
        <span>{tokens(sum((a) => used(a).tokens))} tok</span>
        <span>
          {money(
            sum((a) => used(a).cost),
            known,
          )}
        </span>
      </span>
    </button>
  );
}
