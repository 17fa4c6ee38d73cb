// Settings: how the page looks, which models can be used, what agents may do
// and spend, what was spent.

import { Monitor, Moon, Sun } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { Link } from "../ui/link";
import { setNotices, wantsNotices } from "../ui/signals";
import { setTheme, useTheme, type Theme } from "../ui/theme";
import { Page } from "./page";
import { Budgets, PolicyView } from "./policy";
import { Providers, Tiers } from "./providers";
import { Spent } from "./spent";

export default function SettingsPage() {
  const me = useStore((s) => s.data.me);
  return (
    <Page title="Settings">
      <div className="flex flex-col gap-8">
        <Section title="Look">
          <ThemeChoice />
          <NoticeChoice />
        </Section>
        <Section title="Providers">
          <Providers />
        </Section>
        <Section title="Models">
          <Tiers />
        </Section>
        <Section title="Permissions">
          <PolicyView />
        </Section>
        <Section title="Budgets">
          <Budgets />
        </Section>
        <Section title="Spent, all chats">
          <Spent />
        </Section>
        <Section title="Roles">
          <p className="text-soft">
            <Link to="/roles" className="text-accent underline underline-offset-2">
              All roles
            </Link>{" "}
            with their tools, limits and files. Add your own as <span className="font-mono">.cadre/agents/NAME.md</span>.
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
