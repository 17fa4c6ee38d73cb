// The inbox: everything that waits for the user, of any agent at any depth,
// the oldest first. J and K move, A allows once, D denies.

import { Inbox } from "lucide-react";
import { ItemCard, ClosedLine } from "../agents/card";
import { api } from "../api/client";
import { waiting } from "../state/select";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Empty, Fold, Loading } from "../ui/kit";
import { Link } from "../ui/link";
import { Page } from "./page";

export function InboxPage() {
  const items = useStore((s) => waiting(s.data));
  const chats = useStore((s) => s.data.chats);
  const ready = useStore((s) => s.ready);
  const byChat = new Map<string, typeof items>();
  for (const i of items) byChat.set(i.chatId, [...(byChat.get(i.chatId) ?? []), i]);
  return (
    <Page title="Inbox" note={items.length > 0 ? "J and K move, A allows once, D denies." : ""}>
      {!ready && <Loading />}
      {ready && items.length === 0 && (
        <Empty icon={<Inbox size={28} />} title="Nothing waits for you">
          Approvals and questions of all agents, at any depth, come here.
        </Empty>
      )}
      <div className="flex flex-col gap-6">
        {[...byChat].map(([chat, list]) => (
          <section key={chat} aria-label={clean(chats[chat]?.title ?? chat)}>
            <h2 className="mb-2 truncate text-row font-medium">
              <Link to={`/chats/${chat}`} className="hover:underline">
                {clean(chats[chat]?.title ?? chat)}
              </Link>
            </h2>
            <div className="flex flex-col gap-3">
              {list.map((i) => (
                <ItemCard key={i.id} item={i} />
              ))}
            </div>
          </section>
        ))}
      </div>
      <Fold className="mt-8" head={<span className="text-small text-faint">Answered lately</span>}>
        {() => <Answered />}
      </Fold>
    </Page>
  );
}

function Answered() {
  const list = useLoad("answered", () => api.inbox({ all: true, limit: 50, order: "desc" }));
  if (list.loading) return <Loading rows={2} />;
  const closed = (list.value?.items ?? []).filter((i) => i.status === "closed");
  if (closed.length === 0) return <p className="px-5 py-2 text-small text-faint">{list.error || "Nothing was answered yet."}</p>;
  return (
    <div className="pl-4">
      {closed.map((i) => (
        <ClosedLine key={i.id} item={i} />
      ))}
    </div>
  );
}
