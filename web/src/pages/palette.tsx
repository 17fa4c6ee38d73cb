// Find anything: chats, agents of the open chat, pages.

import { CornerDownLeft, Inbox, MessageSquare, Plus, Settings, Users } from "lucide-react";
import { useId, useMemo, useState, type ReactNode } from "react";
import { within } from "../state/select";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { Dialog } from "../ui/kit";
import { currentRoute, go } from "../ui/route";
import { RoleIcon } from "../ui/signs";

interface Find {
  key: string;
  text: string;
  hint: string;
  icon: ReactNode;
  to: string;
}

const pages: Find[] = [
  { key: "new", text: "New chat", hint: "", icon: <Plus size={15} />, to: "/" },
  { key: "inbox", text: "Inbox", hint: "what waits for you", icon: <Inbox size={15} />, to: "/inbox" },
  { key: "roles", text: "Roles", hint: "kinds of agent", icon: <Users size={15} />, to: "/roles" },
  { key: "settings", text: "Settings", hint: "", icon: <Settings size={15} />, to: "/settings" },
];

export default function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const chats = useStore((s) => s.data.chats);
  const agents = useStore((s) => s.data.agents);
  const list = useId();
  const found = useMemo(() => {
    const { chat } = currentRoute();
    const own = Object.values(agents).filter((a) => chat && within(a.id, chat));
    const all: Find[] = [
      ...Object.values(chats)
        .sort((a, b) => b.updatedAt - a.updatedAt)
        .map((c) => ({
          key: c.id,
          text: clean(c.title),
          hint: c.archived ? "archive" : "",
          icon: <MessageSquare size={15} />,
          to: `/chats/${c.id}`,
        })),
      ...own.map((a) => ({
        key: a.id,
        text: clean(a.name),
        hint: clean(a.path),
        icon: <RoleIcon role={a.role} size={15} />,
        to: `/chats/${chat}?panel=agent:${a.id}`,
      })),
      ...pages,
    ];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter((f) => words.every((w) => `${f.text} ${f.hint}`.toLowerCase().includes(w))).slice(0, 12);
  }, [text, chats, agents]);
  const follow = (f: Find | undefined) => {
    if (!f) return;
    close();
    go(f.to);
  };
  return (
    <Dialog label="Find" close={close}>
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={`${list}-${at}`}
        aria-label="Find a chat, an agent or a page"
        placeholder="Find a chat, an agent or a page"
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown" || e.key === "ArrowUp") {
            e.preventDefault();
            setAt((at + (e.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length));
          } else if (e.key === "Enter") follow(found[at]);
        }}
        className="h-12 w-full border-b border-line bg-transparent px-4 text-read outline-none placeholder:text-faint"
      />
      <ul id={list} role="listbox" aria-label="Found" className="p-1.5">
        {found.map((f, i) => (
          <li
            key={f.key}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === at}
            onMouseDown={(e) => {
              e.preventDefault();
              follow(f);
            }}
            onMouseEnter={() => setAt(i)}
            className={`flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 ${i === at ? "bg-hover" : ""}`}
          >
            <span className="text-faint">{f.icon}</span>
            <span className="truncate">{f.text}</span>
            <span className="truncate text-small text-faint">{f.hint}</span>
            {i === at && <CornerDownLeft size={13} className="ml-auto text-faint" aria-hidden />}
          </li>
        ))}
        {found.length === 0 && <li className="px-3 py-4 text-center text-faint">Nothing found.</li>}
      </ul>
    </Dialog>
  );
}
