// The inspector as a page of its own, which can be linked to.

import { ArrowLeft } from "lucide-react";
import { useEffect } from "react";
import { closeChat, openChat } from "../state/load";
import { useStore } from "../state/store";
import { Missing, ShowChats } from "../pages/page";
import { clean } from "../text/format";
import { Failure, Loading } from "../ui/kit";
import { Link } from "../ui/link";
import { Inspector } from "./inspector";

export default function AgentPage({ chat, agent }: { chat: string; agent: string }) {
  const opened = useStore((s) => s.opened[chat]);
  const title = useStore((s) => s.data.chats[chat]?.title ?? chat);
  const exists = useStore((s) => Boolean(s.data.agents[agent]));
  useEffect(() => {
    void openChat(chat);
    return closeChat;
  }, [chat]);
  if (opened === "missing") return <Missing what="There is no such chat" />;
  if (opened === "ready" && !exists) return <Missing what={`There is no agent ${clean(agent)} in this chat`} />;
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col" aria-label="Agent">
      <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-4">
        <ShowChats className="-ml-1" />
        <Link to={`/chats/${chat}?panel=agent:${agent}`} className="flex min-w-0 items-center gap-2 text-soft hover:text-text">
          <ArrowLeft size={15} aria-hidden />
          <span className="truncate">{clean(title)}</span>
        </Link>
      </header>
      <div className="mx-auto min-h-0 w-full max-w-5xl flex-1">
        {opened !== "ready" ? (
          opened && opened !== "loading" ? (
            <Failure text={opened} retry={() => void openChat(chat)} />
          ) : (
            <Loading />
          )
        ) : (
          <Inspector key={agent} chat={chat} agent={agent} full />
        )}
      </div>
    </main>
  );
}
