// Settings: how the page looks, which models can be used, what was spent.

import { Monitor, Moon, Sun } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { api } from "../api/client";
import { useStore } from "../state/store";
import { clean, money, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Failure, Fold, Loading } from "../ui/kit";
import { Link } from "../ui/link";
import { setNotices, wantsNotices } from "../ui/signals";
import { setTheme, useTheme, type Theme } from "../ui/theme";
import { Page } from "./page";

export default function SettingsPage() {
  const me = useStore((s) => s.data.me);
  return (
    <Page title="Settings">
      <div className="flex flex-col gap-8">
        <Section title="Look">
          <ThemeChoice />
          <NoticeChoice />
        </Section>
        <Section title="Models and providers">
          <ModelsView />
        </Section>
        <Section title="Spent, all chats">
          <Spent />
        </Section>
        <Section title="Roles, permissions, budgets">
          <p className="text-soft">
            Roles are files: see{" "}
            <Link to="/roles" className="text-accent underline underline-offset-2">
              Roles
            </Link>
            . What agents may do unasked, and how much they may spend, is set in the configuration file;{" "}
            <code className="font-mono">cadre doctor</code> shows where it is and what holds.
          </p>
        </Section>
        <Section title="About">
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-row">
            <dt className="text-faint">Version</dt>
            <dd>{me?.version || "dev"}</dd>
            <dt className="text-faint">User</dt>
            <dd>
              {clean(me?.user.name ?? "")} ({me?.scope})
            </dd>
            <dt className="text-faint">Folder</dt>
            <dd className="font-mono">{clean(me?.dir ?? "")}</dd>
          </dl>
        </Section>
      </div>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className="mb-3 border-b border-line pb-1.5 text-read font-medium">{title}</h2>
      {children}
    </section>
  );
}

const themes: [Theme, string, typeof Sun][] = [
  ["system", "As the system", Monitor],
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
];

function ThemeChoice() {
  const chosen = useTheme();
  return (
    <div role="radiogroup" aria-label="Theme" className="inline-flex rounded-lg border border-line p-0.5">
      {themes.map(([name, label, Icon]) => (
        <button
          key={name}
          type="button"
          role="radio"
          aria-checked={chosen === name}
          onClick={() => setTheme(name)}
          className={`flex h-8 items-center gap-1.5 rounded-md px-3 ${chosen === name ? "bg-hover font-medium" : "text-soft"}`}
        >
          <Icon size={14} aria-hidden />
          {label}
        </button>
      ))}
    </div>
  );
}

function NoticeChoice() {
  const [on, setOn] = useState(wantsNotices);
  return (
    <label className="mt-3 flex cursor-pointer items-center gap-2">
      <input
        type="checkbox"
        checked={on}
        onChange={(e) => void setNotices(e.target.checked).then(setOn)}
        className="size-4 accent-[var(--accent)]"
      />
      Tell me on the desktop when something waits for me
    </label>
  );
}

function ModelsView() {
  const { value, error, loading, again } = useLoad("models", api.models);
  const providers = useMemo(() => {
    const out = new Map<string, typeof models>();
    const models = value?.models ?? [];
    for (const m of models) out.set(m.provider, [...(out.get(m.provider) ?? []), m]);
    return [...out];
  }, [value]);
  if (loading && !value) return <Loading />;
  if (error || !value) return <Failure text={error} retry={again} />;
  return (
    <>
      <dl className="mb-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {value.choices.map((c) => (
          <div key={c.name} className="contents">
            <dt className="text-faint">{c.name || "used if none is named"}</dt>
            <dd>
              <span className="font-mono">{clean(c.model)}</span>
              {c.reason && <span className="text-faint"> · {clean(c.reason)}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {providers.map(([name, models]) => (
        <Fold
          key={name}
          head={
            <span className="text-row">
              <b className="font-medium text-text">{clean(name)}</b>{" "}
              <span className="text-faint">
                {models.length} {models.length === 1 ? "model" : "models"}
              </span>
            </span>
          }
        >
          {() => (
            <table className="figures mb-3 ml-5 w-[calc(100%-20px)] text-left text-small">
              <thead className="text-faint">
                <tr className="[&>th]:py-1 [&>th]:pr-3 [&>th]:font-medium">
                  <th>Model</th>
                  <th className="text-right">Window</th>
                  <th className="text-right">In, per million</th>
                  <th className="text-right">Out</th>
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
          )}
        </Fold>
      ))}
    </>
  );
}

function Spent() {
  const { value, error, loading, again } = useLoad("spent", () => api.stats({ by: "day" }));
  if (loading && !value) return <Loading rows={2} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  const days = [...value.items].sort((a, b) => a.key.localeCompare(b.key)).slice(-30);
  const size = (d: (typeof days)[number]) => (value.total.costMicros > 0 ? d.costMicros : d.inputTokens + d.outputTokens);
  const largest = Math.max(1, ...days.map(size));
  return (
    <>
      <p className="figures text-xl font-semibold">
        {money(value.total.costMicros, value.total.unpricedCalls === 0)}{" "}
        <span className="text-row font-normal text-faint">{value.total.calls.toLocaleString("en")} model calls</span>
      </p>
      {days.length > 0 && (
        <figure className="mt-3 max-w-xl">
          <figcaption className="figures mb-1 text-small text-faint">
            Most on a day: {value.total.costMicros > 0 ? money(largest) : `${tokens(largest)} tokens`}
          </figcaption>
          <ul
            className="flex h-28 border-b border-strong items-end gap-1"
            aria-label={value.total.costMicros > 0 ? "Cost by day" : "Tokens by day"}
          >
            {days.map((d) => (
              <li
                key={d.key}
                title={`${d.key}: ${money(d.costMicros)}, ${tokens(d.inputTokens + d.outputTokens)} tokens`}
                aria-label={`${d.key}: ${money(d.costMicros)}`}
                className="max-w-10 flex-1 rounded-t bg-accent"
                style={{ height: `${Math.max(3, (size(d) / largest) * 100)}%` }}
              />
            ))}
          </ul>
          <div className="figures flex justify-between pt-1 text-small text-faint">
            <span>{days[0]?.key}</span>
            {days.length > 1 && <span>{days.at(-1)?.key}</span>}
          </div>
        </figure>
      )}
    </>
  );
}
