// Tabs: one is chosen, arrow keys move between them.

import type { ReactNode } from "react";

export interface Tab<T extends string> {
  name: T;
  label: ReactNode;
}

interface Props<T extends string> {
  label: string;
  tabs: readonly Tab<T>[];
  chosen: string;
  choose: (name: T) => void;
  className: string;
  tab: (chosen: boolean) => string;
}

export function Tabs<T extends string>({ label, tabs, chosen, choose, className, tab }: Props<T>) {
  const key = (e: React.KeyboardEvent<HTMLDivElement>) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    const at = tabs.findIndex((t) => t.name === chosen);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    e.preventDefault();
    choose(next.name);
    e.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div role="tablist" aria-label={label} className={className} onKeyDown={key}>
      {tabs.map((t) => (
        <button
          key={t.name}
          type="button"
          role="tab"
          aria-selected={t.name === chosen}
          tabIndex={t.name === chosen ? 0 : -1}
          onClick={() => choose(t.name)}
          className={tab(t.name === chosen)}
        >
          {t.label}
        </button>
      ))}
    </div>
  );
}
