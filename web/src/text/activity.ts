// What an agent does now, in the user's words.

import { approvalOf, type Agent, type Item, type Task, type ToolCall } from "../api/types";
import type { Docs, Printed, Stream } from "../state/model";
import { count, duration, firstLine, lastLine, oneLine, plain, took } from "./format";
import { shown } from "./states";

/** How long an agent may make no progress before it is told. */
const quiet = 15_000;

export interface Doing {
  agent: Agent;
  task?: Task | undefined;
  calls?: readonly ToolCall[] | undefined;
  stream?: Stream | undefined;
  printed?: Docs<Printed> | undefined;
  item?: Item | undefined;
  children?: readonly Agent[] | undefined;
  progress?: number | undefined;
}

export function activity(d: Doing, now: number): string {
  if (shown(d.agent.state).over) return ending(d);
  const text = doing(d, now);
  const said = [d.stream, ...Object.values(d.printed ?? {})].map((x) => x?.at ?? 0);
  const since = now - Math.max(d.progress ?? 0, d.agent.updatedAt, ...said);
  if (since >= quiet && stalls.has(d.agent.state)) return `no progress for ${duration(since)}${text ? ` · ${text}` : ""}`;
  return text;
}

const stalls = new Set(["thinking", "acting", "compacting", "accepting", "cancelling", "settling"]);

/** What came of it: the first line of the result, or why there is none. */
function ending({ agent, task }: Doing): string {
  if (agent.state === "completed") return plain(firstLine(result(task?.result || agent.summary || "")));
  const why = firstLine(task?.error || agent.error || "");
  const kept = task?.result ? `kept: ${plain(firstLine(result(task.result)))}` : "";
  return [why, kept].filter(Boolean).join(" · ");
}

const failed = (f: { error?: string; error_kind?: string } | undefined) =>
  f && (f.error_kind === "cancelled" ? "cancelled" : `failed: ${firstLine(f.error ?? "")}`);

/** resultsIn reads how tasks ended from the message that tells an agent of it; null: it cannot be read. */
export function resultsIn(text: string): { agent: string; role: string; ended: string }[] | null {
  interface Told {
    agent_id: string;
    role: string;
    outcome: { failure?: { error?: string; error_kind?: string } };
  }
  try {
    const { sub_agent_results: list } = JSON.parse(text) as { sub_agent_results: Told[] };
    return list.map((r) => ({
      agent: r.agent_id,
      role: r.role,
      ended: failed(r.outcome.failure) || "done",
    }));
  } catch {
    return null;
  }
}

/** result is what a result says: a submitted object says it in one of its fields. */
export function result(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const said = body["summary"] ?? body["result"] ?? body["answer"];
    return typeof said === "string" ? said : text;
  } catch {
    return text;
  }
}

function doing(d: Doing, now: number): string {
  const task = plain(firstLine(d.task ? instruction(d.task) : ""));
  switch (d.agent.state) {
    case "thinking":
      return saying(d.stream) || task;
    case "acting":
      return acting(d.calls, d.printed) || task;
    case "retrying":
      return `${waits(d.agent, now) || "now"}${d.agent.waitsFor ? `: ${d.agent.waitsFor.replaceAll("_", " ")}` : ""}`;
    case "queued":
      return ["for its turn at the model", waits(d.agent, now), task].filter(Boolean).join(" · ");
    case "awaiting_children":
      return awaiting(d.children ?? []);
    case "awaiting_approval":
      return asking(d.item) || acting(d.calls) || task;
    case "awaiting_answer":
      return d.item
        ? questions(d.item.action)
            .map((q) => q.question)
            .join(" ")
        : acting(d.calls) || task;
    case "awaiting_budget":
      return "more budget to go on";
    case "settling":
      return "what it leaves in its worktree";
    case "accepting":
      return "the result against its acceptance command";
    case "compacting":
      return "the conversation, which no longer fits the model";
    case "cancelling":
      return (d.agent.liveChildren ?? 0) > 0 ? `waiting for ${count(d.agent.liveChildren ?? 0, "sub-agent")} to end` : task;
    case "idle":
      return "";
  }
  return task;
}

/** instruction is what a task asks for, in words. */
export function instruction(task: Task): string {
  if (task.type !== "tool") return task.instruction;
  try {
    return use(task.name.replace(/^tool:/, ""), JSON.parse(task.instruction));
  } catch {
    return task.instruction; // it was cut
  }
}

/** What it wants to do, in the words in which it will be told that it does it. */
function asking(item: Item | undefined): string {
  const wanted = item && approvalOf(item);
  return wanted ? use(wanted.tool, wanted.input) : firstLine(item?.action ?? "");
}

function saying(stream: Stream | undefined): string {
  const part = stream?.parts.at(-1);
  if (!part) return "";
  if (part.kind === "tool_call") return `preparing ${part.name}`;
  return plain(lastLine(part.text.slice(-400))).slice(-160);
}

const open = new Set(["running", "started", "approval", "asking", "asked", "paused"]);

/** How many characters a use of a tool has before what it prints. */
const beforePrinted = 40;

function acting(calls: readonly ToolCall[] = [], printed: Docs<Printed> = {}): string {
  const running = calls.filter((c) => open.has(c.phase));
  const first = running[0];
  if (!first) return "";
  const last = printing(printed[first.id]);
  const what = use(first.toolName, first.args);
  const short = last && what.length > beforePrinted ? `${what.slice(0, beforePrinted - 1)}…` : what;
  return short + (running.length > 1 ? `, and ${running.length - 1} more` : "") + (last ? ` · ${last}` : "");
}

/** printing is the last line that a running tool has printed. */
export const printing = (printed: Printed | undefined) => (printed ? oneLine(lastLine(printed.text.slice(-400))).slice(0, 160) : "");

function waits(agent: Agent, now: number): string {
  const ms = (agent.waitsUntil ?? 0) - now;
  return ms > 500 ? `in ${took(Math.ceil(ms / 1000) * 1000)}` : "";
}

function awaiting(children: readonly Agent[]): string {
  const live = children.filter((c) => !shown(c.state).over);
  if (live.length === 0) return "for its sub-agents";
  const oldest = Math.min(...live.map((c) => c.createdAt));
  const of = children.filter((c) => c.createdAt >= oldest).length;
  return `${of - live.length} of ${of} done`;
}

/** use says what a call of a tool does. */
export function use(tool: string, args: unknown): string {
  const input = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
  const text = (key: string) => (typeof input[key] === "string" ? oneLine(input[key]) : "");
  const path = text("path") || text("file_path");
  switch (tool) {
    case "Read":
      return `reading ${path || "a file"}`;
    case "LS":
      return `listing ${path || "."}`;
    case "Write":
      return `writing ${path || "a file"}`;
    case "Edit":
    case "MultiEdit":
      return `editing ${path || "a file"}`;
    case "Glob":
      return `finding ${text("pattern") || "files"}`;
    case "Grep":
      return `searching for ${text("pattern") || "text"}`;
    case "Bash":
      return `running ${text("command")}`;
    case "spawn_agents":
      return `starting ${count(Array.isArray(input["tasks"]) ? input["tasks"].length : 0, "sub-agent")}`;
    case "delegate_to_agent":
      return `delegating to ${text("role") || text("agent") || "a sub-agent"}`;
    case "keyword_search":
    case "CodeSearch":
      return `searching for ${text("query") || text("pattern") || text("task") || "code"}`;
    case "web_fetch":
      return `fetching ${text("url")}`;
    case "web_search":
      return `searching the web for ${text("query")}`;
    case "read_image":
      return `looking at ${path || "a picture"}`;
    case "todo":
      return "keeping its list of what to do";
    case "think":
      return "thinking it over";
    case "BashOutput":
      return "reading what a command printed";
    case "KillBash":
      return "ending a command";
    case "continue_agent":
      return `giving ${text("agent") || "a sub-agent"} more to do`;
    case "message_agent":
      return `telling ${text("agent") || "a sub-agent"}`;
    case "reply_to_agent":
      return `answering ${text("agent") || "a sub-agent"}`;
    case "stop_agent":
      return `stopping ${text("agent") || "a sub-agent"}`;
    case "check_agent":
    case "list_agents":
      return "looking how its sub-agents are";
    case "read_artifact":
      return "reading a stored result";
    case "submit_result":
      return "submitting its result";
    case "submit_error":
      return `giving up: ${text("error")}`;
    case "ask_user":
      return text("question") || "asking a question";
  }
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  if (server && name) return `${server}: ${name.replaceAll("_", " ")}`;
  for (const key of ["command", "path", "file_path", "url", "query", "pattern"]) if (text(key)) return `${tool} ${text(key)}`;
  return tool;
}

export interface Question {
  question: string;
  options: { label: string; description: string }[];
  multiple: boolean;
}

interface RawQuestion {
  question?: string;
  options?: (string | { label?: string; description?: string })[];
  multiple?: boolean;
  multiSelect?: boolean;
}

/** questions reads what an agent asks; a plain text is one question. */
export function questions(action: string): Question[] {
  let raw: unknown;
  try {
    raw = JSON.parse(action);
  } catch {
    return [{ question: clipped(action), options: [], multiple: false }];
  }
  const body = raw as RawQuestion & { questions?: RawQuestion[] };
  const list = Array.isArray(body?.questions) ? body.questions : body?.question ? [body] : [];
  if (list.length === 0) return [{ question: clipped(action), options: [], multiple: false }];
  return list.map((q) => ({
    question: clipped(q.question ?? ""),
    multiple: Boolean(q.multiple ?? q.multiSelect),
    options: (q.options ?? []).map((o) =>
      typeof o === "string" ? { label: o, description: "" } : { label: o.label ?? "", description: o.description ?? "" },
    ),
  }));
}

const clipped = (text: string) => text.trim();
