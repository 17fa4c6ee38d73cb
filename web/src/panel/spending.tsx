// How the cost of a chat grew: a line over time, in money where prices are
// known, else in tokens.

import { useMemo } from "react";
import { loadTimeline } from "../state/load";
import { within } from "../state/select";
import { useStore } from "../state/store";
import { money, took, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";

const most = 60; // agents whose calls are loaded for it
const w = 600,
  h = 120;

export function Growth({ chat }: { chat: string }) {
  const agents = useStore((s) => s.data.agents);
  const ids = useMemo(() => Object.keys(agents).filter((id) => within(id, chat)), [agents, chat]);
  const few = ids.length <= most;
  useLoad(
    `growth ${chat} ${few ? ids.length : "many"}`,
    async () => void (few && (await Promise.all(ids.map((id) => loadTimeline(chat, id))))),
  );
  const calls = useStore((s) => s.data.modelCalls);
  const line = useMemo(() => {
    const all = ids.flatMap((id) => Object.values(calls[id] ?? {})).sort((a, b) => a.endedAt - b.endedAt);
    const priced = all.some((c) => c.costMicros > 0);
    let sum = 0;
    const points = all.map((c) => ({
      at: c.endedAt,
      sum: (sum += priced ? c.costMicros : (c.input ?? 0) + (c.output ?? 0) + (c.cache_read ?? 0) + (c.cache_write ?? 0)),
    }));
    return { points, priced, total: sum };
  }, [ids, calls]);
  if (!few || line.points.length < 2) return null;
  const first = line.points[0]?.at ?? 0;
  const span = Math.max(1, (line.points.at(-1)?.at ?? 0) - first);
  const x = (at: number) => ((at - first) / span) * w;
  const y = (sum: number) => h - (sum / Math.max(1, line.total)) * (h - 4);
  const path = line.points.map((p, i) => (i === 0 ? `M0 ${h} V${y(p.sum)}` : `H${x(p.at)} V${y(p.sum)}`)).join(" ");
  const write = (n: number) => (line.priced ? money(Math.round(n)) : `${tokens(Math.round(n))} tok`);
  return (
    <figure className="mt-5">
      <figcaption className="mb-2 text-small text-faint">{line.priced ? "Cost" : "Tokens"} over time</figcaption>
      <div className="flex gap-2">
        <div className="figures flex w-16 shrink-0 flex-col whitespace-nowrap justify-between text-right text-small text-faint">
          <span>{write(line.total)}</span>
          <span>{write(line.total / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${w} ${h}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`It grew to ${write(line.total)} in ${took(span)}`}
          className="h-30 min-w-0 flex-1 border-b border-l border-strong"
        >
          <line x1="0" x2={w} y1={h / 2} y2={h / 2} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
          <path d={`${path} H${w} V${h} Z`} fill="var(--accent)" opacity="0.12" />
          <path d={path} fill="none" stroke="var(--accent)" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
        </svg>
      </div>
      <div className="figures flex justify-between pt-1 pl-18 text-small text-faint">
        <span>0</span>
        <span>{took(span)}</span>
      </div>
    </figure>
  );
}
