// The timeline of a chat: agents as lanes; model calls, tools, waits and
// failures as bars over time. It can be zoomed; only seen lanes are drawn. A
// bar that is picked, by a click or with the keys, is told in a line.

import { useVirtualizer } from "@tanstack/react-virtual";
import { X, ZoomIn, ZoomOut } from "lucide-react";
import { memo, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { Agent, Item, ModelCall } from "../api/types";
import { use } from "../text/activity";
import { loadTimeline } from "../state/load";
import { inTree, stateOf, within } from "../state/select";
import type { State } from "../state/model";
import { read, useStore } from "../state/store";
import { clean, modelName, took } from "../text/format";
import { shown } from "../text/states";
import { useLoad, useNow, useWidth } from "../ui/hooks";
import { Empty, IconButton } from "../ui/kit";
import { showPanel } from "../ui/route";
import { RoleIcon, StateIcon } from "../ui/signs";

interface Bar {
  key: string;
  from: number;
  to: number;
  kind: keyof typeof looks;
  title: string;
}

const looks = {
  model: { word: "model", className: "bg-blue h-3" },
  tool: { word: "tool", className: "bg-green h-3" },
  wait: { word: "waits for you", className: "border border-amber bg-amber-wash h-3" },
  queue: { word: "waits for a model", className: "border border-strong bg-hover h-2" },
  retry: { word: "waits to retry", className: "border border-dashed border-amber h-2" },
  children: { word: "waits for sub-agents", className: "bg-strong h-1" },
  failed: { word: "failed call", className: "bg-red h-3" },
};

const lane = 30;

/** The bar that is told. */
interface Picked {
  agent: string;
  key: string;
}

/**
 * What a key does in the timeline, if anything: Enter picks the first bar and
 * opens the agent of a picked one, arrows move, Escape lets go.
 */
function keyed(
  key: string,
  list: readonly Agent[],
  picked: Picked | null,
  bars: (a: Agent) => Bar[],
  pick: (lane: number, bar: Bar) => void,
  drop: () => void,
): boolean {
  const lanes = list.map((a, i) => [i, a] as const);
  const lane = list.findIndex((a) => a.id === picked?.agent);
  const own = list[lane] ? bars(list[lane]) : [];
  const at = own.findIndex((b) => b.key === picked?.key);
  const now = own[at];
  if (!now) {
    const first = key === "Enter" && lanes.map(([i, a]) => [i, bars(a)[0]] as const).find(([, b]) => b);
    if (first && first[1]) pick(first[0], first[1]);
    return Boolean(first);
  }
  const beside = (among: typeof lanes) => {
    const next = among.map(([i, a]) => [i, bars(a)] as const).find(([, b]) => b.length > 0);
    if (next)
      pick(
        next[0],
        next[1].reduce((a, b) => (Math.abs(b.from - now.from) < Math.abs(a.from - now.from) ? b : a)),
      );
  };
  switch (key) {
    case "Enter":
      showPanel(`agent:${picked?.agent}`);
      return true;
    case "Escape":
      drop();
      return true;
    case "ArrowLeft":
    case "ArrowRight":
      pick(lane, own[at + (key === "ArrowLeft" ? -1 : 1)] ?? now);
      return true;
    case "ArrowUp":
      beside(lanes.slice(0, lane).reverse());
      return true;
    case "ArrowDown":
      beside(lanes.slice(lane + 1));
      return true;
  }
  return false;
}

export default function Timeline({ chat }: { chat: string }) {
  const agents = useStore((s) => s.data.agents);
  const list = useMemo(
    () =>
      Object.values(agents)
        .filter((a) => within(a.id, chat))
        .sort((a, b) => inTree(a.id, b.id)),
    [agents, chat],
  );
  const live = list.some((a) => shown(a.state).live);
  const now = useNow(live);
  const [zoom, setZoom] = useState(1);
  const [picked, setPicked] = useState<Picked | null>(null);
  const [measure, width] = useWidth<HTMLDivElement>();
  const box = useRef<HTMLDivElement>(null);
  const names = width < 480 ? 112 : 150;
  const rows = useVirtualizer({ count: list.length, getScrollElement: () => box.current, estimateSize: () => lane, overscan: 6 });
  const from = Math.min(...list.map((a) => a.createdAt));
  const until = live ? now : Math.max(...list.map((a) => a.endedAt || a.updatedAt));
  if (list.length === 0) return <Empty title="Nothing happened yet">Who did what when is drawn here.</Empty>;
  const span = Math.max(until - from, 1);
  const room = Math.max(width - names - 24, 120) * zoom;
  const x = (at: number) => ((at - from) / span) * room;
  const bars = (a: Agent) => barsOf(a, doingsOf(read().data, a.id), until);
  const pick = (lane: number, bar: Bar) => {
    setPicked({ agent: (list[lane] as Agent).id, key: bar.key });
    rows.scrollToIndex(lane);
    const view = box.current;
    const left = x(bar.from);
    if (view && (left < view.scrollLeft || left > view.scrollLeft + view.clientWidth - names - 40))
      view.scrollLeft = Math.max(0, left - 80);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.ctrlKey || e.metaKey || e.altKey) return;
    if (keyed(e.key, list, picked, bars, pick, () => setPicked(null))) e.preventDefault();
  };
  const told = picked && agents[picked.agent];
  const bar = told && bars(told).find((b) => b.key === picked.key);
  return (
    <div ref={measure} className="flex h-full flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-3 py-2 text-small text-soft">
        {Object.values(looks).map((l) => (
          <span key={l.word} className="flex items-center gap-1.5">
            <span aria-hidden className={`w-4 rounded-sm ${l.className}`} />
            {l.word}
          </span>
        ))}
        <span className="flex-1" />
        <span className="flex items-center">
          <IconButton label="Zoom out" disabled={zoom <= 1} onClick={() => setZoom(Math.max(1, zoom / 2))}>
            <ZoomOut size={15} />
          </IconButton>
          <span className="figures w-10 text-center">{zoom}×</span>
          <IconButton label="Zoom in" disabled={zoom >= 256} onClick={() => setZoom(zoom * 2)}>
            <ZoomIn size={15} />
          </IconButton>
        </span>
      </div>
      {told && bar && (
        <div role="status" className="flex shrink-0 items-center gap-3 border-b border-line bg-surface px-3 py-1 text-small">
          <span aria-hidden className={`w-4 shrink-0 rounded-sm ${looks[bar.kind].className}`} />
          <span className="line-clamp-3 min-w-0 flex-1 break-words" title={clean(bar.title)}>
            {looks[bar.kind].word}: {clean(bar.title)}
          </span>
          <span className="figures shrink-0 text-soft">
            {took(bar.to - bar.from)}, from {took(Math.max(0, bar.from - from))} on
          </span>
          <button type="button" onClick={() => showPanel(`agent:${told.id}`)} className="max-w-40 truncate hover:underline">
            {clean(told.name)}
          </button>
          <IconButton label="Close" onClick={() => setPicked(null)}>
            <X size={14} />
          </IconButton>
        </div>
      )}
      <div
        ref={box}
        className="min-h-0 flex-1 overflow-auto"
        onKeyDown={onKey}
        tabIndex={0}
        role="region"
        aria-label="Timeline"
        onWheel={(e) => {
          if (e.ctrlKey) setZoom(Math.min(256, Math.max(1, e.deltaY < 0 ? zoom * 2 : zoom / 2)));
        }}
      >
        <Scale span={span} room={room} names={names} />
        <div className="relative" style={{ height: rows.getTotalSize(), width: names + room + 24 }}>
          {rows.getVirtualItems().map((v) => {
            const a = list[v.index] as Agent;
            return (
              <div
                key={a.id}
                className="absolute inset-x-0 flex border-b border-line/60 hover:bg-hover"
                style={{ height: lane, transform: `translateY(${v.start}px)` }}
              >
                <button
                  type="button"
                  onClick={() => showPanel(`agent:${a.id}`)}
                  className="sticky left-0 z-10 flex shrink-0 items-center gap-1.5 border-r border-line bg-canvas text-left text-small"
                  style={{ width: names, paddingLeft: 8 + Math.min(a.depth, 5) * (names < 150 ? 6 : 10) }}
                >
                  <StateIcon state={stateOf(a)} size={12} alone />
                  <RoleIcon role={a.role} size={12} />
                  <span className="truncate">{clean(a.name)}</span>
                </button>
                <Lane agent={a} x={x} until={until} picked={picked?.agent === a.id ? picked.key : ""} pick={setPicked} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const rounds = [
  10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3, 7200e3, 21600e3, 86400e3,
];

/** Marks at round times, at least 80 pixels apart. */
function Scale({ span, room, names }: { span: number; room: number; names: number }) {
  const step = rounds.find((r) => (r / span) * room >= 80) ?? span;
  const marks = Math.min(2000, Math.floor(span / step) + 1);
  return (
    <div
      aria-hidden
      className="sticky top-0 z-20 flex h-7 border-b border-line bg-canvas text-small text-faint"
      style={{ width: names + room + 24 }}
    >
      <span className="sticky left-0 z-10 shrink-0 border-r border-line bg-canvas" style={{ width: names }} />
      <span className="relative flex-1">
        {Array.from({ length: marks }, (_, i) => (
          <span
            key={i}
            className="figures absolute inset-y-0 border-l border-line pt-1 pl-1 whitespace-nowrap"
            style={{ left: ((i * step) / span) * room }}
          >
            {i === 0 ? "0" : (i * step * room) / span < room - 24 ? took(i * step) : ""}
          </span>
        ))}
      </span>
    </div>
  );
}

/** States in which a model is being asked: the record of the call comes with its end. */
const atModel = new Set(["thinking", "compacting"]);

const answered = (c: ModelCall) => c.status === "replied" || c.status === "side";

/** What is known of what an agent did. */
interface Doings {
  tools: State["toolCalls"][string] | undefined;
  models: State["modelCalls"][string] | undefined;
  items: State["items"];
}

const doingsOf = ({ toolCalls, modelCalls, items }: State, agent: string): Doings => ({
  tools: toolCalls[agent],
  models: modelCalls[agent],
  items,
});

/** What an agent has done until now, in the order in which it began. */
function barsOf(agent: Agent, { tools, models, items }: Doings, until: number): Bar[] {
  const out: Bar[] = [];
  for (const c of Object.values(tools ?? {})) {
    const waits = c.class === "delegate";
    out.push({
      key: c.id,
      from: c.startedAt || c.createdAt,
      to: c.endedAt || until,
      kind: waits ? "children" : c.status === "failed" ? "failed" : "tool",
      title: use(c.toolName, c.args),
    });
  }
  const tries = Object.values(models ?? {}).sort((a, b) => a.startedAt - b.startedAt);
  for (const [i, c] of tries.entries()) {
    if (!answered(c)) {
      const next = tries.slice(i + 1).find((t) => t.turn === c.turn && t.try > c.try);
      const to = next?.startedAt ?? (agent.state === "retrying" ? until : 0);
      if (to > c.endedAt) out.push({ key: `${c.id} retry`, from: c.endedAt, to, kind: "retry", title: c.errorKind ?? "" });
    }
    const asked = c.startedAt - (c.waitedMs ?? 0);
    if (asked < c.startedAt) out.push({ key: `${c.id} queue`, from: asked, to: c.startedAt, kind: "queue", title: modelName(c.model) });
    out.push({
      key: c.id,
      from: c.startedAt,
      to: c.endedAt,
      kind: answered(c) ? "model" : "failed",
      title: `${modelName(c.model)}${c.error ? `: ${c.error}` : ""}`,
    });
  }
  if (agent.state === "queued")
    out.push({ key: "now", from: agent.updatedAt, to: until, kind: "queue", title: agent.waitsFor?.replaceAll("_", " ") ?? "" });
  if (atModel.has(agent.state))
    out.push({ key: "now", from: agent.updatedAt, to: until, kind: "model", title: `${modelName(agent.model)}, on its way` });
  for (const i of Object.values<Item>(items))
    if (i.agentId === agent.id) out.push({ key: i.id, from: i.createdAt, to: i.closedAt || until, kind: "wait", title: i.kind });
  return out.sort((a, b) => a.from - b.from || a.to - b.to);
}

interface LaneProps {
  agent: Agent;
  x: (at: number) => number;
  until: number;
  picked: string;
  pick: (p: Picked) => void;
}

const Lane = memo(function Lane({ agent, x, until, picked, pick }: LaneProps) {
  useLoad(`timeline ${agent.id}`, () => loadTimeline(agent.chatId, agent.id));
  const tools = useStore((s) => s.data.toolCalls[agent.id]);
  const models = useStore((s) => s.data.modelCalls[agent.id]);
  const items = useStore((s) => s.data.items);
  // The shortest last, and so on top: it would be hidden by its neighbours.
  const bars = useMemo(
    () => barsOf(agent, { tools, models, items }, until).sort((a, b) => b.to - b.from - (a.to - a.from)),
    [tools, models, items, agent, until],
  );
  const end = agent.endedAt || (shown(agent.state).live ? until : agent.updatedAt);
  return (
    <span className="relative block flex-1">
      <span
        aria-hidden
        className="absolute top-1/2 h-px bg-line"
        style={{ left: x(agent.createdAt), width: Math.max(1, x(end) - x(agent.createdAt)) }}
      />
      {bars.map((b) => (
        <button
          key={b.key}
          type="button"
          tabIndex={-1}
          aria-label={`${looks[b.kind].word}: ${clean(b.title)}, ${took(b.to - b.from)}`}
          aria-pressed={b.key === picked}
          title={`${looks[b.kind].word} · ${clean(b.title)} · ${took(b.to - b.from)}`}
          onClick={() => pick({ agent: agent.id, key: b.key })}
          className={`absolute top-1/2 -translate-y-1/2 rounded-sm ${looks[b.kind].className} ${b.key === picked ? "ring-2 ring-text" : ""}`}
          style={{ left: x(b.from), width: Math.max(2, x(b.to) - x(b.from)) }}
        />
      ))}
    </span>
  );
});
