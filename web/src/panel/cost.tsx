// What a chat cost: by agent, role and model, over days, and against limits.

import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { Spending } from "../api/types";
import { allowed, used, within } from "../state/select";
import { useStore } from "../state/store";
import { clean, count, money, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Empty, Failure, Loading } from "../ui/kit";
import { showPanel } from "../ui/route";
import { Tabs, type Tab } from "../ui/tabs";
import { Growth } from "./spending";

type Grouping = "agent" | "role" | "model" | "day";

const groups: readonly Tab<Grouping>[] = [
  { name: "agent", label: "Agent" },
  { name: "role", label: "Role" },
  { name: "model", label: "Model" },
  { name: "day", label: "Day" },
];

export default function CostPanel({ chat }: { chat: string }) {
  const [by, setBy] = useState<Grouping>("agent");
  const root = useStore((s) => s.data.agents[chat]);
  const turns = root?.turns ?? 0;
  const { value, error, loading, again } = useLoad(`cost ${chat} ${by} ${turns} ${root?.liveChildren ?? 0}`, () => api.stats({ chat, by }));
  if (!root) return <Loading />;
  const sum = used(root);
  return (
    <div className="h-full overflow-y-auto p-4" tabIndex={0} role="region" aria-label="Cost">
      <div className="flex flex-wrap items-end gap-x-8 gap-y-2">
        <Figure label="Spent on this chat" value={money(sum.cost, sum.known)} />
        <Figure label="Tokens" value={tokens(sum.tokens)} />
        {value && (
          <Figure label="Model calls" value={`${value.total.calls}${value.total.failed ? `, ${value.total.failed} failed` : ""}`} />
        )}
        {value && value.total.inputTokens + value.total.cacheReadTokens > 0 && (
          <Figure
            label="From the cache"
            value={`${Math.round((value.total.cacheReadTokens / (value.total.inputTokens + value.total.cacheReadTokens + value.total.cacheWriteTokens)) * 100)}%`}
          />
        )}
      </div>
      {allowed(root).cost ? (
        <Budget chat={chat} limit={allowed(root).cost} />
      ) : (
        <p className="mt-3 text-small text-faint">No limit in money is set for this chat.</p>
      )}
      <Growth chat={chat} />
      <Tabs
        label="Grouped by"
        tabs={groups}
        chosen={by}
        choose={setBy}
        className="mt-5 inline-flex rounded-md border border-line p-0.5"
        tab={(chosen) => `h-7 rounded px-3 text-small ${chosen ? "bg-hover font-medium" : "text-faint"}`}
      />
      {error && <Failure text={error} retry={again} />}
      {loading && !value && <Loading />}
      {value && (value.items.length === 0 ? <Empty title="Nothing was spent yet" /> : <Bars items={value.items} by={by} chat={chat} />)}
    </div>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <p className="text-small text-faint">{label}</p>
      <p className="figures text-xl font-semibold tracking-tight">{value}</p>
    </div>
  );
}

/** The limit is for each message: what was spent since the last one is held against it. */
function Budget({ chat, limit }: { chat: string; limit: number }) {
  const since = useStore((s) => s.data.messages[chat]?.findLast((m) => m.kind === "user" && m.pos >= 0)?.createdAt ?? 0);
  const calls = useStore((s) => s.data.modelCalls);
  const spent = useMemo(
    () =>
      Object.entries(calls)
        .filter(([agent]) => within(agent, chat))
        .flatMap(([, list]) => Object.values(list))
        .reduce((sum, c) => (c.startedAt >= since ? sum + c.costMicros : sum), 0),
    [calls, chat, since],
  );
  const share = Math.min(1, spent / limit);
  return (
    <div className="mt-3">
      <div
        role="meter"
        aria-label="Budget"
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-2 overflow-hidden rounded bg-surface"
      >
        <div
          className={`h-full rounded ${share > 0.9 ? "bg-red" : share > 0.7 ? "bg-amber" : "bg-blue"}`}
          style={{ width: `${share * 100}%` }}
        />
      </div>
      <p className="mt-1 text-small text-faint">
        {money(spent)} of {money(limit)} for your last message
      </p>
    </div>
  );
}

const all = (s: Spending) => s.inputTokens + s.outputTokens + s.cacheReadTokens + s.cacheWriteTokens;

/** Bars by cost where it is known, else by tokens. */
function Bars({ items, by, chat }: { items: Spending[]; by: string; chat: string }) {
  const agents = useStore((s) => s.data.agents);
  const priced = items.some((s) => s.costMicros > 0);
  const size = (s: Spending) => (priced ? s.costMicros : all(s));
  const largest = Math.max(...items.map(size), 1);
  const list = useMemo(
    () => (by === "day" ? [...items].sort((a, b) => a.key.localeCompare(b.key)) : [...items].sort((a, b) => size(b) - size(a))),
    [items, by],
  );
  return (
    <ul className="mt-3 flex flex-col gap-2" aria-label={`Cost by ${by}`}>
      {list.slice(0, 100).map((s) => {
        const agent = by === "agent" ? agents[s.key] : undefined;
        const limit = agent && allowed(agent).cost ? ` of ${money(allowed(agent).cost)}` : "";
        return (
          <li key={s.key}>
            <div className="flex items-baseline gap-2">
              {agent && within(agent.id, chat) ? (
                <button type="button" onClick={() => showPanel(`agent:${agent.id}`)} className="truncate hover:underline">
                  {clean(agent.path)}
                </button>
              ) : (
                <span className="truncate">{clean(s.key) || "unnamed"}</span>
              )}
              <span className="flex-1" />
              <span className="figures text-small whitespace-nowrap text-faint">
                {count(s.calls, "call")} · {tokens(all(s))} tok
              </span>
              <span className="figures min-w-20 text-right whitespace-nowrap">
                {money(s.costMicros, s.unpricedCalls === 0)}
                {limit}
              </span>
            </div>
            <div aria-hidden className="mt-1 h-1.5 rounded bg-surface">
              <div className="h-full rounded bg-accent" style={{ width: `${(size(s) / largest) * 100}%` }} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}
