// The page of a chat: its head, its messages, the composer.

import { Archive, ArchiveRestore, ChartGantt, CircleDollarSign, Ellipsis, ListTree, PanelRight, Pencil, Trash2, Users } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import { archive, removeLater, rename, send, stopChat } from "../state/act";
import { closeChat, openChat } from "../state/load";
import { allowed, chatState, isBusy, waitingIn, within } from "../state/select";
import { read, useStore } from "../state/store";
import { clean, count, modelName, money } from "../text/format";
import { shown } from "../text/states";
import { useVisible } from "../ui/hooks";
import { Missing, ShowChats } from "../pages/page";
import { Failure, IconButton, Loading, Menu } from "../ui/kit";
import { currentRoute, go, showPanel, useRoute } from "../ui/route";
import { StateIcon, tones } from "../ui/signs";
import { Composer } from "./composer";
import { MessageList } from "./list";
import { ModelPicker } from "./modelpicker";
import type { Suggestion } from "./complete";

export function ChatPage({ chat }: { chat: string }) {
  const opened = useStore((s) => s.opened[chat]);
  const deleted = useStore((s) => s.opened[chat] === "ready" && !s.data.chats[chat]);
  useEffect(() => {
    void openChat(chat);
    return closeChat;
  }, [chat]);
  useReadMark(chat);
  if (opened === "missing" || deleted)
    return <Missing what="There is no such chat">It may have been deleted, or it belongs to somebody else.</Missing>;
  const broken = opened && opened !== "loading" && opened !== "ready" ? opened : "";
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col" aria-label="Chat">
      <ChatHead chat={chat} />
      {opened === "ready" ? (
        <MessageList key={chat} chat={chat} />
      ) : broken ? (
        <div className="mx-auto w-full max-w-[792px] flex-1">
          <Failure text={broken} retry={() => void openChat(chat)} />
        </div>
      ) : (
        <div className="mx-auto w-full max-w-[760px] flex-1">
          <Loading rows={7} />
        </div>
      )}
      {!broken && (
        <div className="mx-auto w-full max-w-[792px] px-4 pb-4">
          <ChatComposer key={chat} chat={chat} />
        </div>
      )}
    </main>
  );
}

/** The chat counts as read up to what was heard of it while it is seen; the feed tells it to every window. */
function useReadMark(chat: string): void {
  const seen = useVisible();
  const heard = useStore((s) => Math.max(s.data.heard[chat] ?? 0, s.data.chats[chat]?.repliedSeq ?? 0));
  const mark = useStore((s) => s.data.chats[chat]?.readSeq ?? 0);
  useEffect(() => {
    if (heard > mark && seen) void api.markRead(chat, heard).catch(() => {});
  }, [chat, heard, mark, seen]);
}

function ChatHead({ chat }: { chat: string }) {
  const doc = useStore((s) => s.data.chats[chat]);
  const { panel } = useRoute();
  const [editing, setEditing] = useState(false);
  if (!doc)
    return (
      <header className="flex h-12 shrink-0 items-center border-b border-line px-3">
        <ShowChats />
      </header>
    );
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-3">
      <ShowChats />
      {editing ? (
        <input
          autoFocus
          aria-label="Title"
          defaultValue={doc.title}
          maxLength={200}
          className="h-8 min-w-0 flex-1 rounded-md border border-line bg-canvas px-2 text-read font-medium"
          onBlur={(e) => {
            setEditing(false);
            const t = e.target.value.trim();
            if (t && t !== doc.title) void rename(chat, t);
          }}
          onKeyDown={(e) => {
            if (e.key === "Enter") e.currentTarget.blur();
            if (e.key === "Escape") {
              e.stopPropagation();
              e.currentTarget.value = doc.title;
              e.currentTarget.blur();
            }
          }}
        />
      ) : (
        <h1 className="min-w-0 flex-1 truncate text-read font-medium" title={clean(doc.title)} onDoubleClick={() => setEditing(true)}>
          {clean(doc.title) || "New chat"}
        </h1>
      )}
      <Standing chat={chat} />
      <span className={panel ? "hidden" : "hidden items-center sm:flex"}>
        <IconButton label="Steps (S)" onClick={() => togglePanel("steps")}>
          <ListTree size={16} />
        </IconButton>
        <IconButton label="Timeline (T)" onClick={() => togglePanel("timeline")}>
          <ChartGantt size={16} />
        </IconButton>
        <IconButton label="Cost (C)" onClick={() => togglePanel("cost")}>
          <CircleDollarSign size={16} />
        </IconButton>
        <IconButton label="Inspector (I)" onClick={() => togglePanel(`agent:${chat}`)}>
          <PanelRight size={16} />
        </IconButton>
      </span>
      <Menu
        label="More"
        button={<Ellipsis size={16} />}
        items={[
          { label: "Rename", icon: <Pencil size={14} />, run: () => setEditing(true) },
          { label: "Inspector", icon: <PanelRight size={14} />, run: () => togglePanel(`agent:${chat}`) },
          { label: "Steps", icon: <ListTree size={14} />, run: () => togglePanel("steps") },
          { label: "Timeline", icon: <ChartGantt size={14} />, run: () => togglePanel("timeline") },
          { label: "Cost", icon: <CircleDollarSign size={14} />, run: () => togglePanel("cost") },
          { label: "Roles", icon: <Users size={14} />, run: () => togglePanel("roles") },
          doc.archived
            ? { label: "Take out of the archive", icon: <ArchiveRestore size={14} />, run: () => void archive(chat, false) }
            : { label: "Archive", icon: <Archive size={14} />, run: () => void archive(chat, true) },
          { label: "Delete", icon: <Trash2 size={14} />, bad: true, run: () => removeLater(chat) },
        ]}
      />
    </header>
  );
}

export function togglePanel(panel: string): void {
  showPanel(currentRoute().panel === panel ? "" : panel);
}

/** What the chat does, who waits, and what it cost. */
function Standing({ chat }: { chat: string }) {
  const state = useStore((s) => chatState(s.data, chat));
  const waits = useStore((s) => waitingIn(s.data, chat));
  const working = useStore(
    (s) =>
      Object.values(s.data.agents).filter((a) => within(a.id, chat) && a.parent && shown(a.state).live && !shown(a.state).person).length,
  );
  const doc = useStore((s) => s.data.chats[chat]);
  const root = useStore((s) => s.data.agents[chat]);
  const look = shown(state);
  const text =
    waits > 0
      ? `${waits} waiting for you`
      : working > 0
        ? `${working} working`
        : look.live
          ? look.word
          : state === "completed"
            ? "done"
            : look.word;
  const offline = (root?.model ?? doc?.model) === "offline";
  const asked = useStore((s) => s.data.messages[chat]?.filter((m) => m.kind === "user").length ?? 0);
  const most = root && allowed(root).cost ? money(allowed(root).cost) : "";
  const limit = most && (asked > 1 ? ` · limit ${most} a message` : ` of ${most}`);
  return (
    <span className="flex shrink-0 items-center gap-3 text-small">
      {offline && (
        <span
          title="Fixed rules answer here, not a language model"
          className="hidden rounded border border-line px-1.5 text-faint sm:inline"
        >
          offline model
        </span>
      )}
      <span role="status" className={`flex items-center gap-1.5 font-medium ${tones[waits ? "amber" : look.tone]}`}>
        <StateIcon state={waits ? "awaiting_approval" : state} size={13} />
        {text}
      </span>
      <span className="figures hidden text-faint sm:inline" title={`${count(doc?.turns ?? 0, "turn")}`}>
        {money(doc?.costMicros ?? 0, !doc?.unpriced)}
        {limit}
      </span>
    </span>
  );
}

function ChatComposer({ chat }: { chat: string }) {
  const agents = useStore((s) => s.data.agents);
  const busy = useStore(
    (s) => isBusy(s.data.agents[chat]?.state ?? s.data.chats[chat]?.state) || (s.data.agents[chat]?.liveChildren ?? 0) > 0,
  );
  const model = useStore((s) => s.data.agents[chat]?.model ?? s.data.chats[chat]?.model ?? "");
  const role = useStore((s) => s.data.chats[chat]?.role ?? "");
  const [choice, setChoice] = useState("");
  const suggestions = useMemo<Suggestion[]>(() => {
    const named = Object.values(agents).filter((a) => a.parent && within(a.id, chat) && !shown(a.state).over);
    return [...named.map((a) => ({ label: `@${a.name}`, hint: a.role, insert: `@${a.name}` })), ...commands(chat)];
  }, [agents, chat]);
  return (
    <Composer
      draftKey={chat}
      placeholder={busy ? "Message… queued while it works" : "Message…"}
      suggestions={suggestions}
      send={(text, files) => {
        // A message to another agent does not choose the orchestrator's model: the choice waits for the next one.
        const chosen = text.startsWith("@") ? "" : choice;
        send(chat, text, files, chosen);
        if (chosen) setChoice("");
      }}
      stop={busy ? () => void stopChat(chat) : undefined}
      autoFocus
    >
      <span className="shrink-0 px-1 text-small text-faint" title="The role of the orchestrator, chosen when the chat began">
        {role}
      </span>
      <ModelPicker usual={model} stays={{ label: modelName(model) || "As before", hint: "as before" }} chosen={choice} choose={setChoice} />
      {choice && <span className="truncate text-small text-accent">from your next message on</span>}
    </Composer>
  );
}

function commands(chat: string): Suggestion[] {
  const command = (label: string, hint: string, run: () => void): Suggestion => ({ label, hint, insert: label, run });
  return [
    command("/stop", "stop all agents of this chat", () => void stopChat(chat)),
    command("/new", "begin a new chat", () => go("/")),
    command("/inspector", "look at the orchestrator", () => showPanel(`agent:${chat}`)),
    command("/steps", "the tools that were used", () => showPanel("steps")),
    command("/timeline", "who did what when", () => showPanel("timeline")),
    command("/cost", "what it cost", () => showPanel("cost")),
    command("/roles", "the kinds of agent there are", () => showPanel("roles")),
    command("/inbox", "what waits for you", () => go("/inbox")),
    command("/archive", "put this chat away", () => void archive(chat, !read().data.chats[chat]?.archived)),
  ];
}
