// An agent's conversation: messages, thinking and tool calls with their
// results in place. Only what is seen is drawn.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef } from "react";
import { ToolCallCard } from "../agents/toolcall";
import type { Message, Part, ToolCall } from "../api/types";
import { nextReply } from "../chat/entries";
import { Note, Pictures, Reply, StreamingReply } from "../chat/message";
import { callsByReply, textOf } from "../state/select";
import { useStore } from "../state/store";
import { Empty, Loading } from "../ui/kit";
import { Prose } from "../ui/markdown";

type Piece =
  { key: string; kind: "message"; message: Message } | { key: string; kind: "call"; call: ToolCall } | { key: string; kind: "stream" };

const none: readonly Message[] = [];

export function Conversation({ agent, loading }: { agent: string; loading: boolean }) {
  const messages = useStore((s) => s.data.messages[agent] ?? none);
  const calls = useStore((s) => s.data.toolCalls[agent]);
  const pieces = useMemo(() => {
    const asked = callsByReply(messages, calls);
    const out: Piece[] = [];
    for (const m of messages) {
      if (m.kind === "result") continue; // stands in its call
      if (m.kind !== "reply" || m.parts.some(visible)) out.push({ key: m.id, kind: "message", message: m });
      if (m.kind === "reply") for (const call of asked.get(m.id) ?? []) out.push({ key: call.id, kind: "call", call });
    }
    out.push({ key: nextReply(agent, messages), kind: "stream" });
    return out;
  }, [messages, calls, agent]);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const rows = useVirtualizer({
    count: pieces.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (pieces[i]?.kind === "call" ? 42 : 90),
    getItemKey: (i) => (pieces[i] as Piece).key,
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 24,
  });
  const total = rows.getTotalSize();
  useLayoutEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [total]);
  if (messages.length === 0) return loading ? <Loading /> : <Empty title="Nothing was said yet" />;
  return (
    <div
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Conversation of the agent"
      className="h-full overflow-y-auto"
      onScroll={(e) => {
        const el = e.currentTarget;
        follows.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60;
      }}
    >
      <div className="relative" style={{ height: total }}>
        {rows.getVirtualItems().map((v) => (
          <div
            key={v.key}
            data-index={v.index}
            ref={rows.measureElement}
            className="absolute inset-x-0 top-0 px-4 py-1"
            style={{ transform: `translateY(${v.start}px)` }}
          >
            <PieceRow piece={pieces[v.index] as Piece} agent={agent} />
          </div>
        ))}
      </div>
    </div>
  );
}

const visible = (p: Part) =>
  (p.type === "text" && p.text.trim() !== "") || (p.type === "thinking" && Boolean(p.text)) || p.type === "image";

function PieceRow({ piece, agent }: { piece: Piece; agent: string }) {
  if (piece.kind === "stream") return <StreamingReply agent={agent} dense />;
  if (piece.kind === "call") return <ToolCallCard call={piece.call} />;
  const m = piece.message;
  if (m.kind === "reply") return <Reply message={m} dense />;
  if (m.kind === "task" || m.kind === "user") {
    return (
      <div className="my-1 rounded-lg bg-surface px-3 py-2" id={m.id}>
        <p className="mb-1 text-small font-medium text-faint">
          {m.kind === "task" ? "Task" : "You"}
          {m.pos < 0 ? " (queued)" : ""}
        </p>
        <Pictures parts={m.parts} />
        <Prose text={textOf(m)} dense />
      </div>
    );
  }
  return <Note message={m} />;
}
