// The model calls of one agent: tokens, cache, cost, time to the first token.

import { useMemo } from "react";
import type { ModelCall } from "../api/types";
import { useStore } from "../state/store";
import { clean, count, exact, modelName, money, took, tokens } from "../text/format";
import { Empty } from "../ui/kit";
import { StateIcon } from "../ui/signs";

const prompt = (c: ModelCall) => (c.input ?? 0) + (c.cache_read ?? 0) + (c.cache_write ?? 0);

export default function ModelCalls({ agent }: { agent: string }) {
  const calls = useStore((s) => s.data.modelCalls[agent]);
  const list = useMemo(() => Object.values(calls ?? {}).sort((a, b) => a.startedAt - b.startedAt || a.turn - b.turn), [calls]);
  if (list.length === 0)
    return <Empty title="No model was asked yet">Each request with its tokens, cache hits, cost and timing is listed here.</Empty>;
  const sum = (pick: (c: ModelCall) => number) => list.reduce((n, c) => n + pick(c), 0);
  const read = sum(prompt),
    cached = sum((c) => c.cache_read ?? 0);
  const same = list.every((c) => c.model === list[0]?.model && c.status !== "side");
  return (
    <div className="h-full overflow-auto p-4" tabIndex={0} role="region" aria-label="Model calls">
      <p className="mb-2 text-small text-faint">
        {count(list.length, "call")}
        {same ? ` of ${modelName(list[0]?.model ?? "")}` : ""} · {tokens(read)} read, {read ? Math.round((cached / read) * 100) : 0}% from
        the cache · {tokens(sum((c) => c.output ?? 0))} written ·{" "}
        {money(
          sum((c) => c.costMicros),
          list.every((c) => c.priced),
        )}
      </p>
      <table className="figures w-full text-left text-small whitespace-nowrap">
        <thead className="text-faint">
          <tr className="[&>th]:py-1.5 [&>th]:pr-3 [&>th]:font-medium [&>th:last-child]:pr-0">
            <th>Turn</th>
            <th className={same ? "hidden" : ""}>Model</th>
            <th className="text-right">Read</th>
            <th className="text-right">Cache</th>
            <th className="text-right">Written</th>
            <th className="text-right" title="Time to the first token">
              First token
            </th>
            <th className="text-right">Took</th>
            <th className="text-right">Cost</th>
          </tr>
        </thead>
        <tbody>
          {list.map((c) => (
            <CallRow key={c.id} call={c} same={same} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const longWait = 100;

/** What is worth a line of its own: that it had to wait, or that another model answered than was asked. */
function remarks(c: ModelCall): string {
  const waited = (c.waitedMs ?? 0) >= longWait ? `waited ${took(c.waitedMs ?? 0)} for its place` : "";
  const other = c.responseModel && !c.model.endsWith(c.responseModel) && !c.model.includes(":") ? `${clean(c.responseModel)} answered` : "";
  return [waited, other].filter(Boolean).join(", ");
}

function CallRow({ call: c, same }: { call: ModelCall; same: boolean }) {
  const ok = c.status === "replied" || c.status === "side";
  const read = prompt(c);
  return (
    <>
      <tr
        className="border-t border-line align-top [&>td]:py-1.5 [&>td]:pr-3 [&>td:last-child]:pr-0"
        title={`${c.requestType}, ${exact(c.startedAt)}${c.requestId ? `, ${c.requestId}` : ""}`}
      >
        <td className="whitespace-nowrap">
          <span className="inline-flex items-center gap-1">
            <StateIcon state={ok ? "completed" : "failed"} size={12} alone />
            {c.turn}
            {c.try > 1 ? `.${c.try}` : ""}
          </span>
        </td>
        <td className={same ? "hidden" : "max-w-32 truncate"}>
          {modelName(c.model)}
          {c.status === "side" ? " (side)" : ""}
        </td>
        <td className="text-right">{tokens(read)}</td>
        <td className="text-right">{read ? `${Math.round(((c.cache_read ?? 0) / read) * 100)}%` : "–"}</td>
        <td className="text-right" title={c.reasoning ? `${tokens(c.reasoning)} of it reasoning` : ""}>
          {tokens(c.output ?? 0)}
        </td>
        <td className="text-right">{c.firstTokenAt ? took(c.firstTokenAt - c.startedAt) : "–"}</td>
        <td className="text-right">{took(c.endedAt - c.startedAt)}</td>
        <td className="text-right">{money(c.costMicros, c.priced)}</td>
      </tr>
      {remarks(c) && (
        <tr>
          <td colSpan={8} className="pb-2 whitespace-normal text-faint">
            {remarks(c)}
          </td>
        </tr>
      )}
      {c.error && (
        <tr>
          <td colSpan={8} className="pb-2 whitespace-normal text-red">
            {clean(c.error)}
          </td>
        </tr>
      )}
    </>
  );
}
