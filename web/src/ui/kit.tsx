// The small pieces of which everything is made: buttons, menus, empty places,
// things that can be folded.

import { Check, ChevronRight, Copy, X } from "lucide-react";
import { useEffect, useId, useRef, useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { createPortal } from "react-dom";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: "plain" | "primary" | "outline" | "danger"; small?: boolean };

const looks = {
  plain: "text-soft hover:bg-hover hover:text-text",
  primary: "bg-text text-canvas hover:opacity-85 disabled:opacity-35",
  outline: "border border-line text-text hover:bg-hover",
  danger: "border border-line text-red hover:bg-red-wash",
};

export function Button({ look = "plain", small, className = "", type = "button", ...rest }: ButtonProps) {
  const size = small ? "h-7 px-2 text-small" : "h-8 px-3 text-row";
  return (
    <button
      type={type}
      className={`inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors ${size} ${looks[look]} ${className}`}
      {...rest}
    />
  );
}

/** A button that is an icon; its label is read out and shown on hover. */
export function IconButton({ label, className = "", children, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-faint transition-colors hover:bg-hover hover:text-text disabled:opacity-40 ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => {});
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <IconButton label={done ? "Copied" : label} onClick={() => void copy()}>
      {done ? <Check size={14} className="text-green" /> : <Copy size={14} />}
    </IconButton>
  );
}

/** A line that opens to show more. Its content is made when it is first opened. */
export function Fold({
  head,
  children,
  open: initial = false,
  className = "",
}: {
  head: ReactNode;
  children: () => ReactNode;
  open?: boolean;
  className?: string;
}) {
  const [open, setOpen] = useState(initial);
  const id = useId();
  return (
    <div className={className}>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="flex w-full min-w-0 items-center gap-1.5 rounded-md py-1 pr-2 text-left text-soft hover:text-text"
      >
        <ChevronRight size={14} className={`shrink-0 text-faint transition-transform ${open ? "rotate-90" : ""}`} aria-hidden />
        {head}
      </button>
      <div id={id} hidden={!open}>
        {open && children()}
      </div>
    </div>
  );
}

export function Empty({ icon, title, children }: { icon?: ReactNode; title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center justify-center gap-2 px-6 py-16 text-center">
      {icon && <div className="text-faint">{icon}</div>}
      <p className="text-read font-medium">{title}</p>
      {children && <div className="max-w-sm text-row text-soft">{children}</div>}
    </div>
  );
}

export function Failure({ text, retry }: { text: string; retry?: () => void }) {
  return (
    <div role="alert" className="m-4 rounded-lg border border-line bg-red-wash p-4 text-row">
      <p className="text-text">{text}</p>
      {retry && (
        <Button look="outline" small className="mt-3" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Grey bars where something will be; they take the place of what is loaded. */
export function Loading({ rows = 4, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="breathes h-4 rounded bg-surface" style={{ width: `${90 - ((i * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

/** A dialogue over the page; Escape and a click beside it close it. */
export function Dialog({
  label,
  close,
  children,
  className = "",
}: {
  label: string;
  close: () => void;
  children: ReactNode;
  className?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    if (!box.current?.contains(document.activeElement)) box.current?.focus();
    return () => before?.focus();
  }, []);
  return createPortal(
    <div
      className="fixed inset-0 z-50 flex items-start justify-center bg-black/40 p-4 pt-[12vh]"
      onMouseDown={(e) => e.target === e.currentTarget && close()}
    >
      <div
        ref={box}
        role="dialog"
        aria-modal="true"
        aria-label={label}
        tabIndex={-1}
        className={`appears max-h-[76vh] w-full max-w-lg overflow-auto rounded-xl border border-line bg-canvas shadow-2xl outline-none ${className}`}
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            e.stopPropagation();
            close();
          }
          if (e.key === "Tab") keepInside(box.current, e);
        }}
      >
        {children}
      </div>
    </div>,
    document.body,
  );
}

function keepInside(box: HTMLElement | null, e: React.KeyboardEvent): void {
  const all = [...(box?.querySelectorAll<HTMLElement>("button:not(:disabled), a[href], input, textarea, select, [tabindex='0']") ?? [])];
  const first = all[0],
    last = all.at(-1);
  if (!first || !last) return;
  if (e.shiftKey && document.activeElement === first) {
    e.preventDefault();
    last.focus();
  } else if (!e.shiftKey && document.activeElement === last) {
    e.preventDefault();
    first.focus();
  }
}

export function DialogHead({ title, close }: { title: string; close: () => void }) {
  return (
    <div className="flex items-center justify-between border-b border-line px-4 py-2.5">
      <h2 className="text-read font-semibold">{title}</h2>
      <IconButton label="Close" onClick={close}>
        <X size={16} />
      </IconButton>
    </div>
  );
}

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  run: () => void;
  bad?: boolean;
  hint?: string;
  chosen?: boolean;
}

/** A button with a menu under (or over) it. */
export function Menu({
  label,
  button,
  items,
  up,
  className = "",
}: {
  label: string;
  button: ReactNode;
  items: MenuItem[];
  up?: boolean;
  className?: string;
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>("[role^=menuitem]")?.focus();
    const away = (e: MouseEvent) => root.current?.contains(e.target as Node) || setOpen(false);
    document.addEventListener("mousedown", away);
    return () => document.removeEventListener("mousedown", away);
  }, [open]);
  const move = (e: React.KeyboardEvent) => {
    const all = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      all[(at + (e.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]?.focus();
    } else if (e.key === "Escape") {
      e.stopPropagation();
      setOpen(false);
      root.current?.querySelector("button")?.focus();
    }
  };
  return (
    <div ref={root} className={`relative ${className}`} onKeyDown={open ? move : undefined}>
      <button
        type="button"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!open)}
        className="flex h-7 min-w-7 items-center justify-center gap-1 rounded-md px-1.5 text-soft hover:bg-hover hover:text-text"
      >
        {button}
      </button>
      {open && (
        <div
          role="menu"
          aria-label={label}
          className={`appears absolute z-40 max-h-80 min-w-48 max-w-[min(20rem,62vw)] overflow-auto rounded-lg border border-line bg-canvas p-1 shadow-lg ${up ? "bottom-9 left-0" : "top-9 right-0"}`}
        >
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role={item.chosen === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={item.chosen}
              onClick={() => {
                setOpen(false);
                item.run();
              }}
              className={`flex w-full items-center gap-2 rounded-md px-2 py-1.5 text-left hover:bg-hover focus:bg-hover ${item.bad ? "text-red" : "text-text"}`}
            >
              {item.icon}
              <span className="min-w-0 flex-1">
                <span className="block truncate">{item.label}</span>
                {item.hint && <span className="block truncate text-small text-faint">{item.hint}</span>}
              </span>
              {item.chosen && <Check size={14} aria-hidden />}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
