// What all chats have cost, day by day.

import { api } from "../api/client";
import { count, money, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Failure, Loading } from "../ui/kit";

const shown = 30;
const day = 86_400_000;

/** The last days, those included on which nothing was spent. */
function lastDays(now: number): string[] {
  return Array.from({ length: shown }, (_, i) => new Date(now - (shown - 1 - i) * day).toISOString().slice(0, 10));
}

export function Spent() {
  const { value, error, loading, again } = useLoad("spent", () => api.stats({ by: "day" }));
  if (loading && !value) return <Loading rows={2} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  const { total } = value;
  const priced = total.costMicros > 0;
  const byDay = new Map(value.items.map((d) => [d.key, d]));
  const days = lastDays(Date.now()).map((key) => {
    const d = byDay.get(key);
    return {
      key,
      cost: d?.costMicros ?? 0,
      tokens: (d?.inputTokens ?? 0) + (d?.outputTokens ?? 0) + (d?.cacheReadTokens ?? 0) + (d?.cacheWriteTokens ?? 0),
    };
  });
  const size = (d: (typeof days)[number]) => (priced ? d.cost : d.tokens);
  const largest = Math.max(1, ...days.map(size));
  return (
    <>
      <p className="figures text-xl font-semibold">
        {money(total.costMicros)} <span className="text-row font-normal text-faint">{count(total.calls, "model call")}</span>
      </p>
      {total.unpricedCalls > 0 && (
        <p className="text-small text-faint">{count(total.unpricedCalls, "call")} of models without a known price are not in it.</p>
      )}
      <figure className="mt-3 max-w-xl">
        <figcaption className="figures mb-1 text-small text-faint">
          {priced ? "Cost" : "Tokens"} by day; most on one day: {priced ? money(largest) : tokens(largest)}
        </figcaption>
        <ul className="flex h-28 items-end gap-1 border-b border-strong" aria-label={priced ? "Cost by day" : "Tokens by day"}>
          {days.map((d) => (
            <li
              key={d.key}
              title={`${d.key}: ${money(d.cost)}, ${tokens(d.tokens)} tokens`}
              aria-label={`${d.key}: ${money(d.cost)}, ${tokens(d.tokens)} tokens`}
              className={`flex-1 rounded-t ${size(d) > 0 ? "bg-accent" : "bg-line"}`}
              style={{ height: size(d) > 0 ? `${Math.max(3, (size(d) / largest) * 100)}%` : "1px" }}
            />
          ))}
        </ul>
        <div className="figures flex justify-between pt-1 text-small text-faint">
          <span>{days[0]?.key}</span>
          <span>{days.at(-1)?.key}</span>
        </div>
      </figure>
    </>
  );
}
