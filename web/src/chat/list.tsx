// The messages of a chat. Only what is seen is drawn; the view follows what
// comes only while the user is at the end, and never moves what is read.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, MessageSquare } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { AgentRow } from "../agents/row";
import { ClosedLine, ItemCard } from "../agents/card";
import { olderMessages } from "../state/load";
import { waiting } from "../state/select";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { shown } from "../text/states";
import { Empty } from "../ui/kit";
import { showPanel, useRoute } from "../ui/route";
import { entries, type Entry } from "./entries";
import { Note, PendingMessage, Reply, StreamingReply, UserMessage } from "./message";
import { Steps } from "./steps";
import { TaskBlock } from "./taskblock";

const nearEnd = 80;

export function MessageList({ chat }: { chat: string }) {
  const data = useStore((s) => s.data);
  const outbox = useStore((s) => s.outbox);
  const older = useStore((s) => s.older[chat]);
  const { message } = useRoute();
  const state = data.agents[chat]?.state ?? "idle";
  const stream = Boolean(data.streams[chat]);
  const items = waiting(data).some((i) => i.agentId === chat);
  const working = // what it waits for the user for stands in its card
    (Boolean(shown(state).live) && !(items && shown(state).person) && state !== "awaiting_children" && !(stream && state === "thinking")) ||
    Boolean(data.agents[chat]?.error);
  const list = useMemo(
    () => entries(data, chat, outbox, { items, stream, working }),
    // What replies on their way say, and what agents do, does not change what stands in the list.
    [data.messages, data.tasks, data.items, data.toolCalls[chat], chat, outbox, items, stream, working],
  );
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  const rows = useVirtualizer({
    count: list.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => guess(list[i] as Entry),
    getItemKey: (i) => (list[i] as Entry).key,
    overscan: 6,
    paddingStart: 24,
    paddingEnd: 16,
  });
  const total = rows.getTotalSize();
  const first = list[0]?.key;
  const before = useRef({ first, total });

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const prepended = before.current.first !== first && list.some((e) => e.key === before.current.first);
    if (prepended) el.scrollTop += total - before.current.total;
    else if (follows.current) el.scrollTop = el.scrollHeight;
    before.current = { first, total };
  }, [total, first, list]);

  useEffect(() => {
    const at = message ? list.findIndex((e) => e.key === message) : -1;
    if (at < 0) return;
    follows.current = false;
    rows.scrollToIndex(at, { align: "start" });
  }, [message, list.length > 0]);

  const onScroll = () => {
    const el = box.current;
    if (!el) return;
    const end = el.scrollHeight - el.scrollTop - el.clientHeight < nearEnd;
    follows.current = end;
    setAtEnd(end);
    if (el.scrollTop < 600 && older) void olderMessages(chat);
  };

  if (list.length === 0)
    return (
      <div className="flex min-h-0 flex-1 items-center justify-center">
        <Empty icon={<MessageSquare size={28} />} title="Nothing was said yet">
          Describe what shall be done. What the orchestrator hands to others is shown here, too.
        </Empty>
      </div>
    );
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={onScroll}
        className="h-full overflow-y-auto [overflow-anchor:none]"
        role="log"
        aria-label="Conversation"
        tabIndex={0}
        data-scroll
      >
        <div className="relative mx-auto w-full max-w-[792px]" style={{ height: total }}>
          {rows.getVirtualItems().map((v) => (
            <div
              key={v.key}
              data-index={v.index}
              data-entry={(list[v.index] as Entry).kind}
              ref={rows.measureElement}
              className="absolute inset-x-0 top-0 px-4 pb-4"
              style={{ transform: `translateY(${v.start}px)` }}
            >
              <Row entry={list[v.index] as Entry} chat={chat} />
            </div>
          ))}
        </div>
      </div>
      {!atEnd && (
        <button
          type="button"
          onClick={() => {
            follows.current = true;
            box.current?.scrollTo({ top: box.current.scrollHeight });
          }}
          className="appears absolute bottom-3 left-1/2 flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line bg-canvas px-3 text-small shadow-md hover:bg-hover"
        >
          <ArrowDown size={14} aria-hidden />
          To the newest
        </button>
      )}
    </div>
  );
}

function guess(e: Entry): number {
  switch (e.kind) {
    case "tasks":
      return 60 + 32 * Math.min(e.roots.length, 14);
    case "reply":
      return 140;
    case "user":
      return 90;
    case "stream":
    case "working":
    case "own-items":
      return 16;
    default:
      return 44;
  }
}

function Row({ entry, chat }: { entry: Entry; chat: string }) {
  switch (entry.kind) {
    case "user":
      return <UserMessage message={entry.message} chat={chat} to={entry.to} />;
    case "reply":
      return <Reply message={entry.message} />;
    case "note":
      return <Note message={entry.message} />;
    case "steps":
      return <Steps calls={entry.calls} />;
    case "tasks":
      return <TaskBlock roots={entry.roots} />;
    case "answered":
      return (
        <div className="-my-2 flex flex-col">
          {entry.items.map((i) => (
            <ClosedLine key={i.id} item={i} />
          ))}
        </div>
      );
    case "own-items":
      return <OwnItems chat={chat} />;
    case "stream":
      return <StreamingReply agent={chat} />;
    case "working":
      return <Working chat={chat} />;
    case "pending":
      return <PendingMessage pending={entry.pending} />;
  }
}

/** What the orchestrator itself waits for. */
function OwnItems({ chat }: { chat: string }) {
  const items = useStore((s) => s.data.items);
  const mine = useMemo(() => Object.values(items).filter((i) => i.agentId === chat && i.status === "open"), [items, chat]);
  return (
    <div className="flex flex-col gap-2">
      {mine.map((i) => (
        <ItemCard key={i.id} item={i} />
      ))}
    </div>
  );
}

function Working({ chat }: { chat: string }) {
  const state = useStore((s) => s.data.agents[chat]?.state ?? "idle");
  const error = useStore((s) => s.data.agents[chat]?.error ?? "");
  const stopped = useStore((s) => s.data.agents[chat]?.recordedStatus === "cancelled");
  if (shown(state).live)
    return (
      <div className="-mx-1">
        <AgentRow id={chat} open={(id) => showPanel(`agent:${id}`)} />
      </div>
    );
  if (stopped) return <p className="text-row text-faint">You stopped it. What was done is kept; write to go on.</p>;
  return (
    <p role="alert" className="rounded-lg bg-red-wash px-3 py-2 text-row">
      It ended early: {clean(error)}. What was done is kept; write to go on.
    </p>
  );
}
