// A choice out of many: a button that opens a list with a field to search it.

import { Check } from "lucide-react";
import { useEffect, useId, useMemo, useRef, useState, type ReactNode } from "react";

export interface Option {
  value: string;
  label: string;
  hint: string;
}

const most = 50; // options drawn at a time; searching finds the others

export function Picker({
  label,
  button,
  options,
  chosen,
  choose,
}: {
  label: string;
  button: ReactNode;
  options: readonly Option[];
  chosen: string;
  choose: (value: string) => void;
}) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  const list = useId();
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return options.filter((o) => words.every((w) => `${o.label} ${o.hint}`.toLowerCase().includes(w)));
  }, [options, text]);
  useEffect(() => {
    if (!open) return;
    const away = (e: MouseEvent) => root.current?.contains(e.target as Node) || setOpen(false);
    document.addEventListener("mousedown", away);
    return () => document.removeEventListener("mousedown", away);
  }, [open]);
  const close = () => {
    setOpen(false);
    setText("");
    setAt(0);
    root.current?.querySelector("button")?.focus();
  };
  const pick = (o: Option | undefined) => {
    if (o) choose(o.value);
    close();
  };
  const key = (e: React.KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      const next = Math.min(Math.max(at + (e.key === "ArrowDown" ? 1 : -1), 0), Math.min(found.length, most) - 1);
      setAt(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (e.key === "Enter") {
      e.preventDefault();
      pick(found[at]);
    } else if (e.key === "Escape") {
      e.stopPropagation();
      close();
    }
  };
  return (
    <div ref={root} className="relative min-w-0">
      <button
        type="button"
        aria-haspopup="listbox"
        aria-expanded={open}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!open)}
        className="flex h-7 min-w-7 max-w-full items-center gap-1 rounded-md px-1.5 text-soft hover:bg-hover hover:text-text"
      >
        {button}
      </button>
      {open && (
        <div className="appears absolute bottom-9 left-0 z-40 w-80 max-w-[70vw] overflow-hidden rounded-lg border border-line bg-canvas shadow-lg">
          <input
            autoFocus
            role="combobox"
            aria-expanded="true"
            aria-controls={list}
            aria-activedescendant={found.length > 0 ? `${list}-${at}` : undefined}
            aria-label={`Search: ${label}`}
            placeholder="Search"
            value={text}
            onChange={(e) => {
              setText(e.target.value);
              setAt(0);
            }}
            onKeyDown={key}
            className="h-9 w-full border-b border-line bg-canvas px-3 outline-none placeholder:text-faint"
          />
          <ul id={list} role="listbox" aria-label={label} className="max-h-72 overflow-y-auto p-1">
            {found.slice(0, most).map((o, i) => (
              <li
                key={o.value}
                id={`${list}-${i}`}
                role="option"
                aria-selected={o.value === chosen}
                onMouseDown={(e) => {
                  e.preventDefault();
                  pick(o);
                }}
                onMouseMove={() => setAt(i)}
                className={`flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 ${i === at ? "bg-hover" : ""}`}
              >
                <span className="min-w-0 flex-1">
                  <span className="block truncate">{o.label}</span>
                  {o.hint && <span className="block truncate text-small text-faint">{o.hint}</span>}
                </span>
                {o.value === chosen && <Check size={14} aria-hidden />}
              </li>
            ))}
          </ul>
          {found.length === 0 && <p className="px-3 pb-3 text-faint">Nothing has this name.</p>}
          {found.length > most && (
            <p className="border-t border-line px-3 py-1.5 text-small text-faint">{found.length - most} more; search for them.</p>
          )}
        </div>
      )}
    </div>
  );
}
