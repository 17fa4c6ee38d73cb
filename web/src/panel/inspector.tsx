// The inspector: one agent's whole story, read-only and live. What it was
// asked, saw, said and did, what it cost, and why it stopped.

import { Maximize2, Square } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { ItemCard } from "../agents/card";
import { AgentRow, useActivity } from "../agents/row";
import type { Agent } from "../api/types";
import { stopAgent, stopChat } from "../state/act";
import { loadAgent } from "../state/load";
import { active, allowed, childrenOf, elapsed, family, used } from "../state/select";
import { useStore } from "../state/store";
import { clean, count, duration, exact, lasted, modelName, money, took, tokens } from "../text/format";
import { shown } from "../text/states";
import { useLoad, useNow } from "../ui/hooks";
import { Button, Failure, Fold, Loading } from "../ui/kit";
import { Link } from "../ui/link";
import { agentLink, go } from "../ui/route";
import { RoleIcon, StateBadge } from "../ui/signs";
import { Tabs, type Tab } from "../ui/tabs";
import { Conversation } from "./conversation";

const ModelCalls = lazy(() => import("./modelcalls"));
const ToolCalls = lazy(() => import("./toolcalls"));
const PromptView = lazy(() => import("./prompt"));
const History = lazy(() => import("./history"));

type View = "talk" | "tools" | "models" | "prompt" | "history";

const tabs: readonly Tab<View>[] = [
  { name: "talk", label: "Conversation" },
  { name: "tools", label: "Tools" },
  { name: "models", label: "Model calls" },
  { name: "prompt", label: "Prompt" },
  { name: "history", label: "History" },
];

export function Inspector({ chat, agent, full = false }: { chat: string; agent: string; full?: boolean }) {
  const doc = useStore((s) => s.data.agents[agent]);
  const loaded = useLoad(`${chat}/${agent}`, () => loadAgent(chat, agent));
  const [tab, setTab] = useState<View>("talk");
  const opened = useStore((s) => s.opened[chat] === "ready");
  if (!doc) return opened ? <Failure text={`There is no agent ${clean(agent)} in this chat.`} /> : <Loading />;
  return (
    <div className="flex h-full flex-col">
      <Head agent={doc} full={full} />
      <Tabs
        label="What to look at"
        tabs={tabs}
        chosen={tab}
        choose={setTab}
        className="flex shrink-0 overflow-x-auto border-b border-line px-2 [scrollbar-width:none] sm:gap-1 sm:px-3"
        tab={(chosen) =>
          `h-9 shrink-0 border-b-2 px-2 text-row ${chosen ? "border-text font-medium" : "border-transparent text-faint hover:text-text"}`
        }
      />
      <div className="min-h-0 flex-1">
        {loaded.error && <Failure text={loaded.error} retry={loaded.again} />}
        <Suspense fallback={<Loading />}>
          {tab === "talk" && <Conversation agent={agent} loading={loaded.loading} />}
          {tab === "tools" && <ToolCalls agent={agent} />}
          {tab === "models" && <ModelCalls agent={agent} />}
          {tab === "prompt" && <PromptView chat={chat} agent={agent} />}
          {tab === "history" && <History chat={chat} agent={agent} />}
        </Suspense>
      </div>
    </div>
  );
}

function Head({ agent, full }: { agent: Agent; full: boolean }) {
  const Heading = full ? "h1" : "h2";
  const live = Boolean(shown(agent.state).live);
  const text = useActivity(agent.id);
  const items = useStore((s) => s.data.items);
  const open = useMemo(() => Object.values(items).filter((i) => i.agentId === agent.id && i.status === "open"), [items, agent.id]);
  const children = useStore((s) => childrenOf(family(s.data.agents), agent.id));
  const task = useStore((s) => s.data.tasks[agent.id]);
  return (
    <div className="max-h-[55%] shrink-0 overflow-y-auto border-b border-line px-4 py-3">
      <Crumbs agent={agent} full={full} />
      <div className="mt-2 flex items-center gap-2">
        <RoleIcon role={agent.role} size={18} />
        <Heading className="text-base font-semibold">{clean(agent.name)}</Heading>
        <StateBadge state={agent.state} />
        <span className="flex-1" />
        {live && (
          <Button small look="outline" onClick={() => void (agent.parent ? stopAgent(agent.chatId, agent.id) : stopChat(agent.chatId))}>
            <Square size={10} fill="currentColor" />
            Stop
          </Button>
        )}
        {!full && (
          <Link
            to={agentLink(agent.chatId, agent.id)}
            aria-label="Open as a page"
            title="Open as a page"
            className="flex size-7 items-center justify-center rounded-md text-faint hover:bg-hover hover:text-text"
          >
            <Maximize2 size={14} />
          </Link>
        )}
      </div>
      {text && <p className="mt-1 line-clamp-2 text-soft">{text}</p>}
      <Facts agent={agent} />
      {task?.metadata?.unverified?.length ? (
        <p className="mt-2 rounded-md bg-amber-wash px-2 py-1 text-small">
          Not borne out by the record: {task.metadata.unverified.map(clean).join("; ")}
        </p>
      ) : null}
      {open.length > 0 && (
        <div className="mt-3 flex flex-col gap-2">
          {open.map((i) => (
            <ItemCard key={i.id} item={i} />
          ))}
        </div>
      )}
      {children.length > 0 && (
        <Fold
          className="mt-2"
          open={children.length <= 3}
          head={<span className="text-small font-medium">{count(children.length, "sub-agent")}</span>}
        >
          {() => (
            <div className="max-h-56 overflow-y-auto">
              {children.slice(0, 100).map((c) => (
                <ChildRow key={c.id} agent={c} full={full} />
              ))}
            </div>
          )}
        </Fold>
      )}
    </div>
  );
}

function ChildRow({ agent, full }: { agent: Agent; full: boolean }) {
  const to = full ? agentLink(agent.chatId, agent.id) : `/chats/${agent.chatId}?panel=agent:${agent.id}`;
  return <AgentRow id={agent.id} open={() => go(to)} />;
}

/** The way up: each name leads to that agent. */
function Crumbs({ agent, full }: { agent: Agent; full: boolean }) {
  const names = clean(agent.path).split("/");
  const ids = agent.id.split(".").map((_, i, all) => all.slice(0, i + 1).join("."));
  const to = (id: string) => (full ? agentLink(agent.chatId, id) : `/chats/${agent.chatId}?panel=agent:${id}`);
  return (
    <nav aria-label="Path" className="flex flex-wrap items-center gap-1 font-mono text-small text-faint">
      {names.map((name, i) => (
        <span key={i} className="flex items-center gap-1">
          {i > 0 && <span aria-hidden>▸</span>}
          {i < names.length - 1 ? (
            <Link to={to(ids[i] ?? agent.chatId)} className="hover:text-text hover:underline">
              {name}
            </Link>
          ) : (
            <span className="text-soft">{name}</span>
          )}
        </span>
      ))}
      {agent.triggerMessageId && (
        <Link
          to={`/chats/${agent.chatId}?message=${encodeURIComponent(agent.triggerMessageId)}`}
          className="ml-2 font-sans underline-offset-2 hover:text-text hover:underline"
        >
          caused by your message
        </Link>
      )}
    </nav>
  );
}

function Facts({ agent }: { agent: Agent }) {
  const live = Boolean(shown(agent.state).live);
  const now = useNow(live);
  const sum = used(agent);
  const of = (limit: number | undefined, write: (n: number) => string) => (limit ? ` of ${write(limit)}` : "");
  const facts: [string, string, string][] = [
    ["Elapsed", (live ? duration : lasted)(elapsed(agent, now)), `since ${exact(agent.createdAt)}`],
    ["Active", took(active(agent, now)) + of(agent.maxDurationMs, took), "model, tools and retries; waits do not count"],
    ["Turns", `${agent.turns}${of(agent.maxTurns, String)}`, ""],
    ["Tokens", tokens(sum.tokens) + of(allowed(agent).tokens, tokens), agent.childTokens ? `${tokens(agent.tokens)} its own` : ""],
    [
      "Cost",
      money(sum.cost, sum.known) + of(allowed(agent).cost, money),
      agent.childCostMicros ? `${money(agent.costMicros)} its own` : "",
    ],
    ["Model", modelName(agent.model) || "none", ""],
  ];
  return (
    <dl className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-small">
      {facts.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt className="inline text-faint">{name} </dt>
          <dd className="figures inline text-text">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
