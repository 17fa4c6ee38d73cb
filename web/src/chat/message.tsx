// Messages as they stand in a chat: the user's, the orchestrator's, notes of
// the system, and a reply on its way.

import { Brain, Info, Link2, Pencil, RotateCcw, X } from "lucide-react";
import { memo, useState } from "react";
import type { Message, Part } from "../api/types";
import { discard, fork, post } from "../state/act";
import { textOf } from "../state/select";
import { notify, useStore, type Pending } from "../state/store";
import { resultsIn } from "../text/activity";
import { ago, clean, exact, firstLine, plain } from "../text/format";
import { useNow } from "../ui/hooks";
import { Button, CopyButton, Fold, IconButton } from "../ui/kit";
import { Prose } from "../ui/markdown";

export const UserMessage = memo(function UserMessage({ message, chat, to }: { message: Message; chat: string; to: string }) {
  const [editing, setEditing] = useState(false);
  const text = textOf(message);
  const queued = message.pos < 0;
  if (editing)
    return (
      <Edit
        text={text}
        cancel={() => setEditing(false)}
        save={(t) => {
          setEditing(false);
          void fork(chat, message.id, t);
        }}
      />
    );
  return (
    <div className="group/msg flex flex-col items-end" id={message.id}>
      <div className="max-w-[85%] rounded-2xl bg-surface px-4 py-2.5">
        {to && <p className="text-small font-medium text-accent">to {to}</p>}
        <Pictures parts={message.parts} />
        <p className="text-read whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      </div>
      <div className="-mb-2 flex h-7 items-center gap-0.5 text-small text-faint">
        {queued && <span className="px-1">queued: it is read when the running step is done</span>}
        <span className="flex items-center opacity-0 transition-opacity group-focus-within/msg:opacity-100 group-hover/msg:opacity-100 [@media(hover:none)]:opacity-100">
          <When at={message.createdAt} />
          <CopyButton text={text} />
          <IconButton label="Copy the link to this message" onClick={() => copyLink(chat, message.id)}>
            <Link2 size={14} />
          </IconButton>
          {!to && (
            <IconButton label="Edit in a new chat" onClick={() => setEditing(true)}>
              <Pencil size={13} />
            </IconButton>
          )}
        </span>
      </div>
    </div>
  );
});

function copyLink(chat: string, message: string): void {
  void navigator.clipboard
    .writeText(`${location.origin}/chats/${chat}?message=${encodeURIComponent(message)}`)
    .then(() => notify("Link copied."));
}

function When({ at }: { at: number }) {
  const now = useNow(false);
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)} className="px-1">
      {ago(at, Math.max(now, Date.now()))}
    </time>
  );
}

function Edit({ text, save, cancel }: { text: string; save: (text: string) => void; cancel: () => void }) {
  const [value, setValue] = useState(text);
  return (
    <form
      className="rounded-2xl border border-line bg-surface p-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (value.trim()) save(value);
      }}
    >
      <textarea
        autoFocus
        aria-label="The message"
        value={value}
        onChange={(e) => setValue(e.target.value)}
        onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), cancel())}
        className="field-sizing-content max-h-96 min-h-16 w-full resize-none bg-transparent text-read outline-none"
      />
      <div className="mt-2 flex items-center gap-2">
        <span className="flex-1 text-small text-faint">This chat stays as it is; a new one begins here.</span>
        <Button small onClick={cancel}>
          Cancel
        </Button>
        <Button small look="primary" type="submit">
          Fork and send
        </Button>
      </div>
    </form>
  );
}

export function Pictures({ parts }: { parts: readonly Part[] }) {
  const images = parts.flatMap((p) => (p.type === "image" && /^image\/(png|jpeg|gif|webp)$/.test(p.media_type) ? [p] : []));
  if (images.length === 0) return null;
  return (
    <div className="mb-2 flex flex-wrap gap-2">
      {images.map((p, i) => (
        <img key={i} alt="Attached picture" src={`data:${p.media_type};base64,${p.data}`} className="max-h-64 rounded-lg" />
      ))}
    </div>
  );
}

export function Thinking({ text, live = false }: { text: string; live?: boolean }) {
  return (
    <Fold
      className="mb-2"
      head={
        <span className="flex min-w-0 items-center gap-1.5 text-row">
          <Brain size={14} className={`shrink-0 text-faint ${live ? "breathes" : ""}`} aria-hidden />
          <span className="shrink-0">{live ? "Thinking" : "Thought"}</span>
          <span className="truncate text-faint">{plain(firstLine(text))}</span>
        </span>
      }
    >
      {() => (
        <div className="mt-1 ml-1.5 border-l-2 border-line pl-4 text-soft">
          <Prose text={text} dense />
        </div>
      )}
    </Fold>
  );
}

export const Reply = memo(function Reply({ message, dense = false }: { message: Message; dense?: boolean }) {
  const text = textOf(message);
  return (
    <div className="group/msg" id={message.id}>
      {message.parts.map((p, i) => {
        if (p.type === "thinking") return p.text ? <Thinking key={i} text={p.text} /> : null;
        if (p.type === "text") return <Prose key={i} text={p.text} dense={dense} />;
        return null;
      })}
      <Pictures parts={message.parts} />
      {text && !dense && (
        <div className="-mb-3 -ml-1.5 flex h-7 [@media(hover:none)]:-mb-1 items-center text-small text-faint opacity-0 transition-opacity group-focus-within/msg:opacity-100 group-hover/msg:opacity-100 [@media(hover:none)]:opacity-100">
          <CopyButton text={text} />
          <When at={message.createdAt} />
        </div>
      )}
    </div>
  );
});

const noteHeads: Record<string, string> = {
  results: "Results of background tasks",
  summary: "Earlier messages were summarised for the model",
  note: "Note to the agent",
};

export function Note({ message }: { message: Message }) {
  const text = textOf(message);
  const agents = useStore((s) => s.data.agents);
  const results = message.kind === "results" ? resultsIn(text) : null;
  const line = results?.map((r) => `${clean(agents[r.agent]?.name ?? r.role)} ${r.ended}`).join(", ") ?? firstLine(text);
  return (
    <Fold
      head={
        <span className="flex min-w-0 items-center gap-1.5 text-small text-faint">
          <Info size={13} className="shrink-0" aria-hidden />
          <span className="shrink-0">{noteHeads[message.kind] ?? message.kind}</span>
          <span className="truncate">{line}</span>
        </span>
      }
    >
      {() => (
        <pre className="max-h-80 overflow-auto rounded-md bg-surface p-3 font-mono text-small whitespace-pre-wrap [overflow-wrap:anywhere]">
          {results ? JSON.stringify(JSON.parse(text), null, 2) : text}
        </pre>
      )}
    </Fold>
  );
}

/** A reply on its way. What is above it never moves. */
export function StreamingReply({ agent, dense = false }: { agent: string; dense?: boolean }) {
  const stream = useStore((s) => s.data.streams[agent]);
  if (!stream) return null;
  return (
    <div aria-live="off">
      {stream.parts.map((p, i) => {
        const last = i === stream.parts.length - 1;
        if (p.kind === "thinking") return <Thinking key={i} text={p.text} live={last} />;
        if (p.kind === "text") return <Prose key={i} text={p.text} dense={dense} />;
        return last ? (
          <p key={i} className="mt-2 text-row text-faint">
            <span className="breathes">preparing {p.name}</span>
          </p>
        ) : null;
      })}
    </div>
  );
}

export function PendingMessage({ pending }: { pending: Pending }) {
  return (
    <div className="flex flex-col items-end">
      <div className={`max-w-[85%] rounded-2xl bg-surface px-4 py-2.5 ${pending.failed ? "" : "opacity-60"}`}>
        <p className="text-read whitespace-pre-wrap [overflow-wrap:anywhere]">{pending.text}</p>
      </div>
      {pending.failed ? (
        <div role="alert" className="mt-1 flex max-w-[85%] items-center gap-1 text-small text-red">
          <span>Not sent. {pending.failed}</span>
          <IconButton label="Send again" onClick={() => void post(pending.id)}>
            <RotateCcw size={13} />
          </IconButton>
          <IconButton label="Discard" onClick={() => discard(pending.id)}>
            <X size={13} />
          </IconButton>
        </div>
      ) : (
        <p className="mt-1 text-small text-faint">sending</p>
      )}
    </div>
  );
}
