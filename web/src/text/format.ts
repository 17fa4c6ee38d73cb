// Numbers, times and texts as people read them.

/** duration writes a time that has passed: 0:42, 12:03, 1:02:03. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number) => String(n).padStart(2, "0");
  if (s >= 3600) return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** took writes how long a thing took: 140 ms, 2.4 s, 45 s, 3 min 5 s. */
export function took(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  const min = Math.round(s / 60);
  return min % 60 ? `${Math.floor(min / 60)} h ${min % 60} min` : `${min / 60} h`;
}

/** lasted writes in a few characters how long a thing took: 140 ms, 45 s, 12:03. */
export const lasted = (ms: number) => (ms < 60_000 ? took(ms) : duration(ms));

/** tokens writes a number of tokens in a few characters: 950, 12.3k, 4.1M. */
export function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 99_950) return `${(n / 1e3).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1e3)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

/** money writes millionths of a dollar: to the cent from one cent on, below with two digits that count. */
export function money(micros: number, known = true): string {
  if (!known) return micros > 0 ? `${money(micros)} + unknown` : "unknown";
  const dollars = micros / 1e6;
  if (micros === 0 || micros >= 10_000) return `$${dollars.toFixed(2)}`;
  const digits = Math.min(1 - Math.floor(Math.log10(dollars)), 6);
  return `$${dollars.toFixed(digits).replace(/0+$/, "")}`;
}

export const count = (n: number, noun: string, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;

/** ago writes how long ago a time is; the exact one belongs in a title. */
export function ago(at: number, now: number): string {
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 45) return "just now";
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
  if (s < 86_400) return `${Math.round(s / 3600)} h ago`;
  if (s < 7 * 86_400) return `${Math.round(s / 86_400)} d ago`;
  return new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

export const exact = (at: number) => new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** day names the group a chat is listed in. */
export function day(at: number, now: number): string {
  const start = new Date(now);
  start.setHours(0, 0, 0, 0);
  if (at >= start.getTime()) return "Today";
  if (at >= start.getTime() - 86_400_000) return "Yesterday";
  if (at >= start.getTime() - 6 * 86_400_000) return "This week";
  return "Earlier";
}

// Characters that move the cursor or reorder what stands around them, with
// which a text could show something else than it says.
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** clean leaves out what could make a text look like another one. */
export const clean = (text: string) => text.replace(unsafe, "");

/** sentence makes one of what a program says in passing; names of commands stay as they are. */
export function sentence(text: string): string {
  const said = text.trim();
  const begun = /^(?!cadre\b)[a-z]+[ ,]/.test(said) ? said[0]?.toUpperCase() + said.slice(1) : said;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export const oneLine = (text: string) => clean(text).replace(/\s+/g, " ").trim();

export function firstLine(text: string): string {
  return oneLine(text.split("\n").find((line) => line.trim() !== "") ?? "");
}

export function lastLine(text: string): string {
  const trimmed = text.trimEnd();
  return oneLine(trimmed.slice(trimmed.lastIndexOf("\n") + 1));
}

/** modelName writes a model; a script is named by its file. */
export function modelName(model: string): string {
  if (model === "offline") return "offline (fixed rules)";
  return clean(model.startsWith("scripted:") ? `script ${model.slice(model.lastIndexOf("/") + 1).replace("scripted:", "")}` : model);
}

/** plain takes the signs of Markdown out of a line; what is code stays as it is. */
export const plain = (text: string) =>
  text
    .replace(/`([^`]*)`|\*\*|__|`/g, (_, code: string | undefined) => code ?? "")
    .replace(/^#+\s*/, "")
    .replace(/^[-*]\s+/, "");
