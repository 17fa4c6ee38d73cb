// A use of a tool as a card: what it does, how it went, and when opened its
// input, output, changes and timing.

import {
  Bot,
  Brain,
  CircleHelp,
  FileText,
  FolderTree,
  Globe,
  Image,
  ListTodo,
  Pencil,
  Search,
  Terminal,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import { memo, useLayoutEffect, useRef, useState } from "react";
import type { ToolCall } from "../api/types";
import { useStore } from "../state/store";
import { printing, use } from "../text/activity";
import { clean, exact, took } from "../text/format";
import { DiffText, looksLikeDiff, patchOf } from "../ui/diff";
import { useNow } from "../ui/hooks";
import { Button, CopyButton, Fold } from "../ui/kit";
import { StateIcon } from "../ui/signs";

const icons: Record<string, LucideIcon> = {
  Read: FileText,
  LS: FolderTree,
  Glob: Search,
  Grep: Search,
  Bash: Terminal,
  Edit: Pencil,
  MultiEdit: Pencil,
  Write: Pencil,
  Patch: Pencil,
  web_fetch: Globe,
  web_search: Globe,
  keyword_search: Search,
  todo: ListTodo,
  think: Brain,
  ask_user: CircleHelp,
  read_image: Image,
  continue_agent: Bot,
  message_agent: Bot,
  check_agent: Bot,
  list_agents: Bot,
  stop_agent: Bot,
  spawn_agents: Bot,
  delegate_to_agent: Bot,
};

export function stateOfCall(c: ToolCall): string {
  if (c.phase === "done") return c.status === "failed" ? "failed" : "completed";
  if (c.phase === "approval") return "awaiting_approval";
  if (c.phase === "asking" || c.phase === "asked") return "awaiting_answer";
  if (c.phase === "children") return "awaiting_children";
  return c.phase === "queued" ? "queued" : "acting";
}

export const ToolCallCard = memo(function ToolCallCard({ call, open = false }: { call: ToolCall; open?: boolean }) {
  const Icon = icons[call.toolName] ?? (call.class === "delegate" ? Bot : Wrench);
  const live = call.phase !== "done";
  const now = useNow(live);
  const began = call.startedAt || call.createdAt;
  return (
    <Fold
      open={open}
      className="rounded-md border border-line px-1.5"
      head={
        <span className="flex min-w-0 flex-1 items-center gap-2 text-row">
          <StateIcon state={stateOfCall(call)} size={13} alone />
          <Icon size={14} className="shrink-0 text-faint" aria-hidden />
          <span className="min-w-0 truncate" title={clean(use(call.toolName, call.args))}>
            {clean(use(call.toolName, call.args))}
          </span>
          {live && <Printing call={call} />}
          <span className="figures ml-auto shrink-0 text-small text-faint">{took((call.endedAt || now) - began)}</span>
        </span>
      }
    >
      {() => <CallDetail call={call} />}
    </Fold>
  );
});

/** The last line that a call has printed which runs. */
export function Printing({ call }: { call: ToolCall }) {
  const last = printing(usePrinted(call));
  return last ? <span className="min-w-1/3 flex-1 truncate font-mono text-small text-faint">{last}</span> : null;
}

/** usePrinted is what a call that runs has printed so far. */
const usePrinted = (call: ToolCall) => useStore((s) => s.data.printed[call.subAgentId]?.[call.id]);

export function CallDetail({ call }: { call: ToolCall }) {
  const began = call.startedAt || call.createdAt;
  const printed = usePrinted(call);
  return (
    <div className="flex flex-col gap-3 px-2 pt-1 pb-3">
      <CallInput call={call} />
      {printed && <LiveOutput text={printed.text} />}
      {call.error && <Text title="Error" text={call.error} bad />}
      {call.result !== undefined && call.result !== "" && call.result !== call.error && (
        <Text title={call.status === "failed" ? "What it answered" : "Output"} text={call.result} />
      )}
      {call.record?.files?.length ? (
        <div>
          <h4 className="mb-1 text-small font-medium text-faint">Files</h4>
          <ul className="font-mono text-small">
            {call.record.files.map((f) => (
              <li key={f.path}>
                <span className="text-faint">{f.op}</span> {clean(f.path)}
              </li>
            ))}
          </ul>
        </div>
      ) : null}
      <p className="figures text-small text-faint">
        {call.toolName} · {call.class} · turn {call.turn} · <span title={exact(began)}>{new Date(began).toLocaleTimeString("en-GB")}</span>
        {call.startedAt && call.startedAt - call.createdAt > 50 ? ` · waited ${took(call.startedAt - call.createdAt)}` : ""}
        {call.endedAt ? ` · took ${took(call.endedAt - began)}` : ""}
        {call.record?.exit !== undefined ? ` · exit ${call.record.exit}` : ""}
      </p>
    </div>
  );
}

function CallInput({ call }: { call: ToolCall }) {
  const args = (typeof call.args === "object" && call.args !== null ? call.args : {}) as Record<string, unknown>;
  const text = (key: string) => (typeof args[key] === "string" ? args[key] : undefined);
  const path = text("path") ?? text("file_path") ?? "";
  const before = text("old_string") ?? text("old"),
    after = text("new_string") ?? text("new");
  if (before !== undefined && after !== undefined)
    return (
      <Section title={path}>
        <DiffText text={patchOf(path, before, after)} />
      </Section>
    );
  const content = text("content");
  if (content !== undefined)
    return (
      <Section title={path}>
        <DiffText text={patchOf(path, "", content)} />
      </Section>
    );
  const patch = text("patch") ?? text("diff");
  if (patch !== undefined && looksLikeDiff(patch))
    return (
      <Section title="Patch">
        <DiffText text={patch} />
      </Section>
    );
  const command = text("command");
  if (command !== undefined) return <Text title="Command" text={command} />;
  return <Text title="Input" text={JSON.stringify(call.args ?? {}, null, 2)} />;
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div>
      <h4 className="mb-1 font-mono text-small text-faint">{clean(title)}</h4>
      {children}
    </div>
  );
}

const boxed =
  "max-h-96 overflow-auto rounded-md border border-line px-3 py-2 font-mono text-[12.5px] leading-5 whitespace-pre-wrap [overflow-wrap:anywhere]";

/** What a tool prints while it runs. It follows the end until somebody scrolls up. */
function LiveOutput({ text }: { text: string }) {
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <div>
      <div className="flex items-center justify-between">
        <h4 className="text-small font-medium text-faint">Output so far</h4>
        <CopyButton text={text} />
      </div>
      <pre
        ref={box}
        tabIndex={0}
        onScroll={({ currentTarget: el }) => (follows.current = el.scrollHeight - el.scrollTop - el.clientHeight < 24)}
        className={`${boxed} bg-surface`}
      >
        {clean(text)}
      </pre>
    </div>
  );
}

const long = 4000;

export function Text({ title, text, bad = false }: { title: string; text: string; bad?: boolean }) {
  const [all, setAll] = useState(false);
  if (looksLikeDiff(text))
    return (
      <Section title={title}>
        <DiffText text={clean(text)} />
      </Section>
    );
  const shown = all || text.length <= long ? text : text.slice(0, long);
  return (
    <div>
      <div className="flex items-center justify-between">
        <h4 className="text-small font-medium text-faint">{title}</h4>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} className={`${boxed} ${bad ? "bg-red-wash" : "bg-surface"}`}>
        {clean(shown)}
      </pre>
      {shown.length < text.length && (
        <Button small className="mt-1" onClick={() => setAll(true)}>
          Show all {text.length.toLocaleString("en")} characters
        </Button>
      )}
    </div>
  );
}
