// What a tool server asks for: a text, an address to open, or a form that is
// described by a flat JSON Schema, as the Model Context Protocol has it.

export interface Choice {
  value: string;
  label: string;
}

export interface Field {
  name: string;
  label: string;
  hint: string;
  kind: "text" | "number" | "yes-no" | "one" | "several";
  /** The input of a text: text, email, url, date, datetime-local. */
  input: string;
  choices: Choice[];
  required: boolean;
  initial: string | boolean | string[];
  whole: boolean;
}

export interface Asked {
  question: string;
  url: string;
  /** null: there is no form. */
  fields: Field[] | null;
}

interface Schema {
  type?: string;
  title?: string;
  description?: string;
  format?: string;
  enum?: unknown[];
  enumNames?: unknown[];
  oneOf?: Titled[];
  anyOf?: Titled[];
  items?: Schema;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: unknown[];
}
interface Titled {
  const?: unknown;
  title?: unknown;
}

const inputs: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** readAsked reads the action of an elicitation. */
export function readAsked(action: string): Asked {
  try {
    const raw = JSON.parse(action) as { question?: string; url?: string; schema?: Schema };
    const properties = raw.schema?.properties;
    const required = new Set(raw.schema?.required ?? []);
    return {
      question: String(raw.question ?? ""),
      url: typeof raw.url === "string" ? raw.url : "",
      fields: properties ? Object.entries(properties).map(([name, s]) => field(name, s, required.has(name))) : null,
    };
  } catch {
    return { question: action, url: "", fields: null };
  }
}

function choicesOf(s: Schema): Choice[] {
  if (Array.isArray(s.enum)) return s.enum.map((v, i) => ({ value: String(v), label: String(s.enumNames?.[i] ?? v) }));
  return (s.oneOf ?? s.anyOf ?? [])
    .filter((c) => c.const !== undefined)
    .map((c) => ({ value: String(c.const), label: String(c.title ?? c.const) }));
}

function field(name: string, s: Schema, required: boolean): Field {
  const base = { name, label: s.title || name, hint: s.description ?? "", required, input: "text", choices: [] as Choice[], whole: false };
  const given = s.default === undefined ? "" : String(s.default);
  if (s.type === "array")
    return { ...base, kind: "several", choices: choicesOf(s.items ?? {}), initial: Array.isArray(s.default) ? s.default.map(String) : [] };
  if (s.type === "boolean") return { ...base, kind: "yes-no", initial: s.default === true };
  if (s.type === "number" || s.type === "integer") return { ...base, kind: "number", whole: s.type === "integer", initial: given };
  const choices = choicesOf(s);
  if (choices.length > 0) return { ...base, kind: "one", choices, initial: given };
  return { ...base, kind: "text", input: inputs[s.format ?? ""] ?? "text", initial: given };
}

export type Values = Record<string, string | boolean | string[]>;

/** filled is the answer to a form; what was left open and is not required is not in it. */
export function filled(fields: readonly Field[], values: Values): string {
  const out: Record<string, unknown> = {};
  for (const f of fields) {
    const v = values[f.name] ?? f.initial;
    if (f.kind === "yes-no") out[f.name] = v === true;
    else if (f.kind === "several") {
      if (f.required || (v as string[]).length > 0) out[f.name] = v;
    } else if (v === "" || typeof v !== "string") continue;
    else if (f.kind === "number") out[f.name] = Number(v);
    else out[f.name] = f.input === "datetime-local" ? new Date(v).toISOString() : v;
  }
  return JSON.stringify(out);
}
