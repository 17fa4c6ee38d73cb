// Providers of models: which can be used, where their keys come from, whether
// they answer; and what the tiers stand for.

import { CircleCheck, CircleX, KeyRound, LoaderCircle, Server } from "lucide-react";
import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { Finding, Model, Provider } from "../api/types";
import { reason } from "../state/load";
import { useStore } from "../state/store";
import { clean, count, money, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Button, Failure, Fold, Loading } from "../ui/kit";

export function Tiers() {
  const { value, error, loading, again } = useLoad("models", api.models);
  if (loading && !value) return <Loading rows={3} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  return (
    <dl className="grid gap-x-6 gap-y-1 sm:grid-cols-[auto_1fr]">
      {value.choices.map((c) => (
        <div key={c.name} className="contents">
          <dt className="text-faint not-first:mt-1 sm:not-first:mt-0">{c.name || "used if none is named"}</dt>
          <dd>
            <span className="font-mono">{clean(c.model)}</span>
            {c.reason && <span className="text-faint"> · {clean(c.reason)}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Providers() {
  const { value, error, loading, again } = useLoad("providers", api.providers);
  const models = useLoad("models", api.models);
  const byProvider = useMemo(() => {
    const out = new Map<string, Model[]>();
    for (const m of models.value?.models ?? []) out.set(m.provider, [...(out.get(m.provider) ?? []), m]);
    return out;
  }, [models.value]);
  if (loading && !value) return <Loading rows={4} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  const ready = value.items.filter((p) => p.ready);
  const others = value.items.filter((p) => !p.ready);
  return (
    <>
      {ready.length === 0 && (
        <p className="mb-2 text-soft">
          No provider has a key here, so the offline model answers. Set one of the variables below and start cadre serve again.
        </p>
      )}
      <ul className="flex flex-col gap-2">
        {ready.map((p) => (
          <ProviderRow key={p.name} provider={p} models={byProvider.get(p.name) ?? []} />
        ))}
      </ul>
      {others.length > 0 && (
        <Fold
          className="mt-2"
          open={ready.length === 0}
          head={<span className="text-row text-soft">{count(others.length, "provider")} without a key or not running</span>}
        >
          {() => (
            <ul className="mt-1 grid gap-x-6 gap-y-1 pl-5 sm:grid-cols-2">
              {others.map((p) => (
                <li key={p.name} className="grid min-w-0 grid-cols-[80px_1fr] items-baseline gap-2 text-small">
                  <span className="truncate font-medium">{clean(p.name)}</span>
                  <span className="min-w-0 text-faint [overflow-wrap:anywhere]">{clean(p.missing ?? "")}</span>
                </li>
              ))}
            </ul>
          )}
        </Fold>
      )}
    </>
  );
}

function ProviderRow({ provider: p, models }: { provider: Provider; models: Model[] }) {
  const admin = useStore((s) => s.data.me?.scope === "admin");
  const [test, setTest] = useState<Finding | "running" | null>(null);
  const run = async () => {
    setTest("running");
    setTest(await api.testProvider(p.name).catch((err: unknown) => ({ ok: false, text: reason(err) })));
  };
  return (
    <li className="rounded-lg border border-line p-3">
      <div className="flex items-center gap-2">
        {p.keyFrom ? <KeyRound size={15} className="text-faint" aria-hidden /> : <Server size={15} className="text-faint" aria-hidden />}
        <h3 className="font-semibold">{clean(p.name)}</h3>
        <span className="flex-1 text-small text-faint">{count(p.models, "model")}</span>
        {admin && (
          <Button look="outline" small disabled={test === "running"} onClick={() => void run()}>
            {test === "running" && <LoaderCircle size={12} className="animate-spin" aria-hidden />}
            Test
          </Button>
        )}
      </div>
      <p className="mt-1 text-small [overflow-wrap:anywhere] text-faint">
        {p.keyFrom ? `Key from ${clean(p.keyFrom)}` : p.local ? "On this machine, no key needed" : "No key needed"}
        {p.baseUrl && (
          <>
            {" · "}
            <span className="font-mono">{clean(p.baseUrl)}</span>
          </>
        )}
      </p>
      <div role="status">
        {test && test !== "running" && (
          <p className="mt-2 flex items-start gap-1.5 text-small">
            {test.ok ? (
              <CircleCheck size={14} className="mt-px shrink-0 text-green" aria-label="It works:" />
            ) : (
              <CircleX size={14} className="mt-px shrink-0 text-red" aria-label="It does not work:" />
            )}
            <span>
              {clean(test.text)}
              {test.hint && <span className="block text-faint">{clean(test.hint)}</span>}
            </span>
          </p>
        )}
      </div>
      {models.length > 0 && (
        <Fold className="mt-1" head={<span className="text-small">Models and prices</span>}>
          {() => <Prices models={models} />}
        </Fold>
      )}
    </li>
  );
}

function Prices({ models }: { models: Model[] }) {
  return (
    <div className="max-h-80 overflow-auto" tabIndex={0} role="group" aria-label="Models and prices">
      <table className="figures w-full text-left text-small">
        <thead className="text-faint">
          <tr className="[&>th]:py-1 [&>th]:pr-3 [&>th]:font-medium">
            <th scope="col">Model</th>
            <th scope="col" className="text-right">
              Window
            </th>
            <th scope="col" className="text-right">
              In, per million
            </th>
            <th scope="col" className="text-right">
              Out
            </th>
          </tr>
        </thead>
        <tbody>
          {models.map((m) => (
            <tr key={m.ref} className="border-t border-line [&>td]:py-1 [&>td]:pr-3">
              <td className="font-mono">{clean(m.ref)}</td>
              <td className="text-right">{m.window ? tokens(m.window) : "–"}</td>
              <td className="text-right">{m.priced ? money(m.inputMicros) : "unknown"}</td>
              <td className="text-right">{m.priced ? money(m.outputMicros) : "unknown"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
