// The block of tasks under the message that caused them: how many are done,
// the tree of agents, what was changed, and what waits for the user.

import { ChevronDown, FilePen, GitFork, TriangleAlert } from "lucide-react";
import { memo, useMemo, useState } from "react";
import type { Agent } from "../api/types";
import { ClosedLine, ItemCard } from "../agents/card";
import { AgentTree } from "../agents/tree";
import { elapsed, used, within } from "../state/select";
import { useStore } from "../state/store";
import { clean, count, duration, money, took } from "../text/format";
import { shown } from "../text/states";
import { useNow } from "../ui/hooks";
import { Fold } from "../ui/kit";
import { showPanel } from "../ui/route";

export const TaskBlock = memo(function TaskBlock({ roots }: { roots: string[] }) {
  const agents = useStore((s) => s.data.agents);
  const [open, setOpen] = useState(true);
  const list = useMemo(() => roots.flatMap((id) => agents[id] ?? []), [agents, roots]);
  return (
    <section aria-label="Tasks" className="overflow-hidden rounded-lg border border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-9 w-full items-center gap-2 bg-side px-3 py-1.5 text-left text-row"
      >
        <GitFork size={14} className="shrink-0 text-faint" aria-hidden />
        <Progress list={list} />
        <ChevronDown size={15} className={`shrink-0 text-faint transition-transform ${open ? "" : "-rotate-90"}`} aria-hidden />
      </button>
      {open && (
        <div className="border-t border-line p-1.5">
          <AgentTree roots={roots} open={(id) => showPanel(`agent:${id}`)} />
          <Files roots={roots} />
        </div>
      )}
      <Waiting roots={roots} />
    </section>
  );
});

function Progress({ list }: { list: readonly Agent[] }) {
  const live = list.filter((a) => !shown(a.state).over);
  const bad = list.filter((a) => shown(a.state).bad).length;
  const now = useNow(live.length > 0);
  const done = list.length - live.length;
  const good = list.every((a) => a.state === "completed" || a.state === "superseded");
  const cancelled = list.filter((a) => a.state === "cancelled").length;
  const cost = list.reduce((n, a) => n + used(a).cost, 0);
  const known = list.every((a) => !a.unpriced);
  const longest = Math.max(0, ...list.map((a) => elapsed(a, now)));
  const turns = list.reduce((n, a) => n + a.turns, 0);
  return (
    <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2">
      <span className="shrink-0 font-medium">
        {live.length > 0 ? `${done} of ${count(list.length, "task")} done` : `${count(list.length, "task")} ${good ? "done" : "ended"}`}
      </span>
      {bad > 0 && (
        <span className="flex shrink-0 items-center gap-1 text-small font-medium text-red">
          <TriangleAlert size={13} aria-hidden />
          {bad} not completed
        </span>
      )}
      {cancelled > 0 && <span className="shrink-0 text-small text-faint">{cancelled} cancelled</span>}
      {live.length > 0 && list.length > 1 && (
        <span aria-hidden className="hidden h-1 max-w-28 flex-1 overflow-hidden rounded bg-line sm:block">
          <span className="block h-full rounded bg-blue transition-[width]" style={{ width: `${(done / list.length) * 100}%` }} />
        </span>
      )}
      <span className="hidden flex-1 sm:block" />
      <span className="figures ml-auto shrink-0 text-small text-faint">
        {live.length > 0 ? duration(longest) : `in ${took(longest)}, ${count(turns, "turn")}`} · {money(cost, known)}
      </span>
    </span>
  );
}

/** Which files were changed, by whom, as the record of tool calls has it. */
function Files({ roots }: { roots: string[] }) {
  const tasks = useStore((s) => s.data.tasks);
  const agents = useStore((s) => s.data.agents);
  const files = useMemo(() => {
    const out: { path: string; op: string; by: string }[] = [];
    for (const t of Object.values(tasks)) {
      if (!roots.some((r) => within(t.id, r))) continue;
      const by = agents[t.id]?.name ?? t.name;
      const add = (paths: string[] | undefined, op: string) => paths?.forEach((path) => out.push({ path, op, by }));
      add(t.metadata?.files_created, "created");
      add(t.metadata?.files_modified, "modified");
      add(t.metadata?.files_deleted, "deleted");
    }
    return out;
  }, [tasks, agents, roots]);
  if (files.length === 0) return null;
  return (
    <Fold
      className="mt-1 px-1"
      head={
        <span className="flex items-center gap-1.5 text-small">
          <FilePen size={13} className="text-faint" aria-hidden />
          {count(new Set(files.map((f) => f.path)).size, "file")} changed
        </span>
      }
    >
      {() => (
        <ul className="pb-1 pl-6 font-mono text-small">
          {files.map((f, i) => (
            <li key={i}>
              <span className="text-faint">{f.op}</span> {clean(f.path)} <span className="text-faint">by {clean(f.by)}</span>
            </li>
          ))}
        </ul>
      )}
    </Fold>
  );
}

function Waiting({ roots }: { roots: string[] }) {
  const items = useStore((s) => s.data.items);
  const mine = useMemo(
    () =>
      Object.values(items)
        .filter((i) => roots.some((r) => within(i.agentId, r)))
        .sort((a, b) => a.createdAt - b.createdAt),
    [items, roots],
  );
  const open = mine.filter((i) => i.status === "open");
  const closed = mine.filter((i) => i.status === "closed");
  if (mine.length === 0) return null;
  return (
    <div className="flex flex-col gap-2 border-t border-line p-2">
      {closed.length > 0 && closed.length <= 3 && closed.map((i) => <ClosedLine key={i.id} item={i} />)}
      {closed.length > 3 && (
        <Fold head={<span className="text-small">{closed.length} answered</span>}>
          {() => (
            <>
              {closed.map((i) => (
                <ClosedLine key={i.id} item={i} />
              ))}
            </>
          )}
        </Fold>
      )}
      {open.map((i) => (
        <ItemCard key={i.id} item={i} />
      ))}
    </div>
  );
}
