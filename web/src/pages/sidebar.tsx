// The sidebar: the inbox, the chats with what they do, and under each chat its
// tasks.

import { Archive, ArchiveRestore, ChevronRight, Inbox, Pencil, Plus, Search, Settings, Trash2, Users, X } from "lucide-react";
import { memo, useEffect, useMemo, useState } from "react";
import type { Chat } from "../api/types";
import { archive, removeLater, rename } from "../state/act";
import { loadTasks, olderChats, reason, searchChats } from "../state/load";
import { chatState, tasksOf, waiting, waitingIn } from "../state/select";
import { notify, useStore } from "../state/store";
import { instruction } from "../text/activity";
import { clean, day, plain } from "../text/format";
import { shown } from "../text/states";
import { IconButton, Menu } from "../ui/kit";
import { Link } from "../ui/link";
import { agentLink, useRoute } from "../ui/route";
import { RoleIcon, StateIcon } from "../ui/signs";
import { Connection } from "./connection";

export function Sidebar({ close, find }: { close?: () => void; find: () => void }) {
  const route = useRoute();
  const chats = useStore((s) => s.data.chats);
  const count = useStore((s) => waiting(s.data).length);
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const groups = useMemo(() => grouped(Object.values(chats), search, archived), [chats, search, archived]);
  const more = useStore((s) => s.moreChats);
  useEffect(() => {
    const text = search.trim();
    if (!text) return;
    const timer = setTimeout(() => void searchChats(text).catch(() => {}), 250);
    return () => clearTimeout(timer);
  }, [search]);
  const stored = Object.values(chats).filter((c) => c.archived).length;
  return (
    <nav aria-label="Chats" className="flex h-full w-full flex-col bg-side">
      <div className="flex h-12 shrink-0 items-center gap-1 pr-2 pl-4">
        <Link to="/" className="flex flex-1 items-center gap-2 text-read font-semibold tracking-tight">
          <img src="/icon.svg" alt="" className="size-5" />
          Cadre
        </Link>
        <IconButton label="Find anything (Ctrl K)" onClick={find}>
          <Search size={15} />
        </IconButton>
        <Link
          to="/"
          aria-label="New chat"
          title="New chat (N)"
          className="inline-flex size-7 items-center justify-center rounded-md text-faint hover:bg-hover hover:text-text"
        >
          <Plus size={17} />
        </Link>
        {close && (
          <IconButton label="Close" onClick={close}>
            <X size={16} />
          </IconButton>
        )}
      </div>
      <div className="px-2">
        <Link
          to="/inbox"
          aria-current={route.page === "inbox" ? "page" : undefined}
          className={`flex h-8 items-center gap-2 rounded-md px-2 hover:bg-hover ${route.page === "inbox" ? "bg-hover" : ""}`}
        >
          <Inbox size={15} className="text-soft" aria-hidden />
          <span className="flex-1">Inbox</span>
          {count > 0 && (
            <span
              className="figures rounded-full bg-amber px-1.5 text-small leading-[18px] font-semibold text-canvas"
              aria-label={`${count} waiting`}
            >
              {count}
            </span>
          )}
        </Link>
        <label className="mt-1 flex h-8 items-center gap-2 rounded-md border border-line bg-canvas px-2 focus-within:border-strong">
          <Search size={14} className="text-faint" aria-hidden />
          <input
            value={search}
            onChange={(e) => setSearch(e.target.value)}
            aria-label="Search chats"
            placeholder="Search"
            className="min-w-0 flex-1 bg-transparent outline-none placeholder:text-faint"
          />
          {search && (
            <button type="button" aria-label="Clear the search" onClick={() => setSearch("")} className="text-faint">
              <X size={13} />
            </button>
          )}
        </label>
      </div>
      <div className="mt-2 min-h-0 flex-1 overflow-y-auto px-2 pb-2" tabIndex={-1}>
        {groups.map(([name, list]) => (
          <section key={name} aria-label={name}>
            <h2 className="px-2 pt-3 pb-1 text-small font-medium text-faint">{name}</h2>
            {list.map((c) => (
              <ChatLine key={c.id} chat={c} current={route.chat === c.id} />
            ))}
          </section>
        ))}
        {groups.length === 0 && (
          <p className="px-2 py-6 text-center text-faint">
            {search ? "No chat has this in its title." : archived ? "The archive is empty." : "Your chats will be listed here."}
          </p>
        )}
        {more && !search && !archived && (
          <button
            type="button"
            onClick={() => void olderChats().catch((err: unknown) => notify(reason(err), { bad: true }))}
            className="h-8 w-full rounded-md text-small text-faint hover:bg-hover hover:text-text"
          >
            Show older chats
          </button>
        )}
      </div>
      <div className="shrink-0 border-t border-line p-2">
        <Connection />
        {(stored > 0 || archived) && (
          <button
            type="button"
            aria-pressed={archived}
            onClick={() => setArchived(!archived)}
            className={`flex h-8 w-full items-center gap-2 rounded-md px-2 text-left text-soft hover:bg-hover ${archived ? "bg-hover" : ""}`}
          >
            <Archive size={15} aria-hidden />
            <span className="flex-1">Archive</span>
            <span className="figures text-small text-faint">{stored}</span>
          </button>
        )}
        <Link
          to="/roles"
          className={`flex h-8 items-center gap-2 rounded-md px-2 text-soft hover:bg-hover ${route.page === "roles" ? "bg-hover" : ""}`}
        >
          <Users size={15} aria-hidden />
          Roles
        </Link>
        <Link
          to="/settings"
          className={`flex h-8 items-center gap-2 rounded-md px-2 text-soft hover:bg-hover ${route.page === "settings" ? "bg-hover" : ""}`}
        >
          <Settings size={15} aria-hidden />
          Settings
        </Link>
      </div>
    </nav>
  );
}

function grouped(chats: Chat[], search: string, archived: boolean): [string, Chat[]][] {
  const wanted = search.trim().toLowerCase();
  const now = Date.now();
  const out = new Map<string, Chat[]>();
  const list = chats
    .filter((c) => c.status !== "deleting" && Boolean(c.archived) === archived && (!wanted || c.title.toLowerCase().includes(wanted)))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  for (const c of list) {
    const name = archived ? "Archive" : day(c.updatedAt, now);
    out.set(name, [...(out.get(name) ?? []), c]);
  }
  return [...out];
}

const ChatLine = memo(function ChatLine({ chat, current }: { chat: Chat; current: boolean }) {
  const state = useStore((s) => chatState(s.data, chat.id));
  const waits = useStore((s) => waitingIn(s.data, chat.id));
  const unread = useStore((s) => !current && Math.max(s.data.heard[chat.id] ?? 0, chat.repliedSeq ?? 0) > (chat.readSeq ?? 0));
  const [folded, setFolded] = useState<boolean | null>(null);
  const [editing, setEditing] = useState(false);
  const open = folded === null ? current : !folded;
  const toggle = () => {
    setFolded(open);
    if (!open) void loadTasks(chat.id).catch(() => {});
  };
  if (editing) {
    return (
      <input
        autoFocus
        aria-label="Title"
        defaultValue={chat.title}
        maxLength={200}
        className="h-8 w-full rounded-md border border-line bg-canvas px-2"
        onBlur={(e) => {
          setEditing(false);
          const t = e.target.value.trim();
          if (t && t !== chat.title) void rename(chat.id, t);
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter" || e.key === "Escape") {
            if (e.key === "Escape") e.currentTarget.value = chat.title;
            e.currentTarget.blur();
          }
        }}
      />
    );
  }
  return (
    <div>
      <div className={`group/chat flex h-8 items-center rounded-md pr-1 hover:bg-hover ${current ? "bg-hover" : ""}`}>
        <button
          type="button"
          aria-label={open ? "Hide the tasks" : "Show the tasks"}
          aria-expanded={open}
          onClick={toggle}
          className="flex h-full w-5 shrink-0 items-center justify-center rounded text-faint hover:text-text"
        >
          <ChevronRight size={12} className={`transition-transform ${open ? "rotate-90" : ""}`} />
        </button>
        <Link
          to={`/chats/${chat.id}`}
          aria-current={current ? "page" : undefined}
          className="flex h-full min-w-0 flex-1 items-center gap-2 rounded"
        >
          <StateIcon state={waits ? "awaiting_approval" : state} size={12} alone />
          <span className={`truncate ${unread ? "font-semibold" : ""}`} title={clean(chat.title)}>
            {clean(chat.title) || "New chat"}
          </span>
          {unread && <span className="size-1.5 shrink-0 rounded-full bg-accent" role="img" aria-label="unread" />}
        </Link>
        <span className="w-0 overflow-hidden opacity-0 group-focus-within/chat:w-7 group-focus-within/chat:overflow-visible group-focus-within/chat:opacity-100 group-hover/chat:w-7 group-hover/chat:overflow-visible group-hover/chat:opacity-100 [@media(hover:none)]:w-7 [@media(hover:none)]:overflow-visible [@media(hover:none)]:opacity-100">
          <Menu
            label={`More for ${clean(chat.title)}`}
            button={<span aria-hidden>···</span>}
            items={[
              { label: "Rename", icon: <Pencil size={14} />, run: () => setEditing(true) },
              chat.archived
                ? { label: "Take out of the archive", icon: <ArchiveRestore size={14} />, run: () => void archive(chat.id, false) }
                : { label: "Archive", icon: <Archive size={14} />, run: () => void archive(chat.id, true) },
              { label: "Delete", icon: <Trash2 size={14} />, bad: true, run: () => removeLater(chat.id) },
            ]}
          />
        </span>
      </div>
      {open && <Tasks chat={chat.id} />}
    </div>
  );
});

const most = 30;

function Tasks({ chat }: { chat: string }) {
  const tasks = useStore((s) => tasksOf(s.data, chat));
  const agents = useStore((s) => s.data.agents);
  const route = useRoute();
  if (tasks.length === 0) return null;
  const rank = (id: string) => (shown(agents[id]?.state ?? "").live ? 0 : shown(agents[id]?.state ?? "").bad ? 1 : 2);
  const list = tasks.length > most ? [...tasks].sort((a, b) => rank(a.id) - rank(b.id)).slice(0, most) : tasks;
  return (
    <ul aria-label="Tasks" className="mb-1">
      {list.map((t) => {
        const a = t.subAgentId ? agents[t.subAgentId] : undefined;
        const depth = Math.max(0, (a?.depth ?? 1) - 1);
        return (
          <li key={t.id}>
            <Link
              to={a ? (route.chat === chat ? `/chats/${chat}?panel=agent:${a.id}` : agentLink(chat, a.id)) : `/chats/${chat}`}
              className="flex h-7 items-center gap-1.5 rounded-md pr-2 text-small text-soft hover:bg-hover"
              style={{ paddingLeft: 24 + Math.min(depth, 4) * 12 }}
              title={clean(instruction(t))}
            >
              <StateIcon state={a?.state ?? (t.status === "success" ? "completed" : t.status)} size={12} alone />
              <RoleIcon role={a?.role ?? ""} size={12} className="text-faint" />
              <span className="shrink-0">{clean(a?.name ?? t.name)}</span>
              <span className="truncate text-faint">{plain(clean(instruction(t)))}</span>
            </Link>
          </li>
        );
      })}
      {tasks.length > list.length && <li className="py-1 pl-6 text-small text-faint">{tasks.length - list.length} more in the chat</li>}
    </ul>
  );
}
