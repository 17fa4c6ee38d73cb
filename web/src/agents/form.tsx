// What a tool server asks in the middle of a call: a form, an address to open,
// or a yes. It is shown as the server's words, never as those of the page.

import { ExternalLink } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { clean } from "../text/format";
import { filled, readAsked, type Field, type Values } from "../text/form";
import { Button } from "../ui/kit";
import type { BodyProps } from "./answers";

export function ElicitationBody({ item, give, busy }: BodyProps) {
  const asked = useMemo(() => readAsked(item.action), [item.action]);
  const [values, setValues] = useState<Values>({});
  const fields = asked.fields ?? [];
  const answer = asked.url ? "opened" : asked.fields ? filled(fields, values) : "yes";
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void give({ text: answer });
      }}
    >
      {item.reason && <p className="mb-1 text-small text-faint">The tool server {clean(item.reason)} asks:</p>}
      <p className="text-read whitespace-pre-wrap">{clean(asked.question)}</p>
      {asked.url && <Visit url={asked.url} />}
      {fields.length > 0 && (
        <div className="mt-3 grid gap-3">
          {fields.map((f) => (
            <Input key={f.name} field={f} value={values[f.name] ?? f.initial} change={(v) => setValues({ ...values, [f.name]: v })} />
          ))}
        </div>
      )}
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <Button look="primary" small type="submit" disabled={busy}>
          {asked.url ? "I have done it" : asked.fields ? "Send" : "Yes"}
        </Button>
        <Button look="outline" small disabled={busy} className="bg-canvas" onClick={() => void give({ decline: true })}>
          Decline
        </Button>
        <span className="text-small text-faint">Your answer goes to this server. Give it no passwords.</span>
      </div>
    </form>
  );
}

/** The whole address is shown, so that nobody is led elsewhere than they think. */
function Visit({ url }: { url: string }) {
  let host = "";
  try {
    host = new URL(url).host;
  } catch {
    return <p className="mt-2 font-mono text-small">{clean(url)}</p>;
  }
  return (
    <p className="mt-2">
      <a
        href={url}
        target="_blank"
        rel="noopener noreferrer nofollow"
        className="inline-flex items-center gap-1.5 rounded-md border border-line bg-canvas px-2.5 py-1 font-medium hover:border-strong"
      >
        <ExternalLink size={13} aria-hidden />
        Open {clean(host)}
      </a>
      <span className="mt-1 block font-mono text-small [overflow-wrap:anywhere] text-soft">{clean(url)}</span>
    </p>
  );
}

const box = "h-8 w-full rounded-md border border-line bg-canvas px-2.5";

function Input({
  field: f,
  value,
  change,
}: {
  field: Field;
  value: string | boolean | string[];
  change: (v: string | boolean | string[]) => void;
}) {
  const id = useId();
  const hint = f.hint ? <span className="block text-small text-faint">{clean(f.hint)}</span> : null;
  const label = (
    <>
      <span className="font-medium">{clean(f.label)}</span>
      {f.required && <span className="text-faint"> (needed)</span>}
    </>
  );
  if (f.kind === "yes-no")
    return (
      <label className="flex items-start gap-2">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(e) => change(e.target.checked)}
          className="mt-0.5 size-4 accent-[var(--accent)]"
        />
        <span>
          {label}
          {hint}
        </span>
      </label>
    );
  if (f.kind === "several") {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint}
        <div className="mt-1 flex flex-wrap gap-x-4 gap-y-1">
          {f.choices.map((c) => (
            <label key={c.value} className="flex items-center gap-1.5">
              <input
                type="checkbox"
                checked={chosen.includes(c.value)}
                onChange={(e) => change(e.target.checked ? [...chosen, c.value] : chosen.filter((v) => v !== c.value))}
                className="size-4 accent-[var(--accent)]"
              />
              {clean(c.label)}
            </label>
          ))}
        </div>
      </fieldset>
    );
  }
  return (
    <label htmlFor={id} className="block">
      {label}
      {hint}
      {f.kind === "one" ? (
        <select id={id} required={f.required} value={String(value)} onChange={(e) => change(e.target.value)} className={`mt-1 ${box}`}>
          <option value="" disabled={f.required}>
            {f.required ? "Choose…" : "–"}
          </option>
          {f.choices.map((c) => (
            <option key={c.value} value={c.value}>
              {clean(c.label)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={f.kind === "number" ? "number" : f.input}
          step={f.kind === "number" ? (f.whole ? 1 : "any") : undefined}
          required={f.required}
          autoComplete="off"
          value={String(value)}
          onChange={(e) => change(e.target.value)}
          className={`mt-1 ${box}`}
        />
      )}
    </label>
  );
}
