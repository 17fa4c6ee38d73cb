// All tool calls of a chat, grouped by the agent that made them.

import { useMemo } from "react";
import type { Agent } from "../api/types";
import { ToolCallCard } from "../agents/toolcall";
import { loadSteps } from "../state/load";
import { byTurn, elapsed, inTree, stateOf, within } from "../state/select";
import { useStore } from "../state/store";
import { clean, count, took } from "../text/format";
import { shown } from "../text/states";
import { useLoad, useNow } from "../ui/hooks";
import { Empty, Failure, Fold, Loading } from "../ui/kit";
import { RoleIcon, StateIcon } from "../ui/signs";

export default function StepsPanel({ chat }: { chat: string }) {
  const agents = useStore((s) => s.data.agents);
  const list = useMemo(
    () =>
      Object.values(agents)
        .filter((a) => within(a.id, chat))
        .sort((a, b) => inTree(a.id, b.id)),
    [agents, chat],
  );
  if (list.length === 0) return <Empty title="No steps yet">Each tool that an agent uses is shown here.</Empty>;
  return (
    <div className="h-full overflow-y-auto p-3" tabIndex={0} role="region" aria-label="Steps">
      {list.slice(0, 400).map((a) => (
        <Group key={a.id} agent={a} open={!a.parent || list.length <= 6 || Boolean(shown(a.state).live)} />
      ))}
      {list.length > 400 && <p className="p-3 text-faint">{count(list.length - 400, "more agent")}: open them in the inspector.</p>}
    </div>
  );
}

function Group({ agent, open }: { agent: Agent; open: boolean }) {
  const now = useNow(Boolean(shown(agent.state).live));
  return (
    <Fold
      open={open}
      className="mb-1"
      head={
        <span className="flex min-w-0 flex-1 items-center gap-2" style={{ paddingLeft: Math.min(agent.depth, 6) * 12 }}>
          <StateIcon state={stateOf(agent)} size={13} alone />
          <RoleIcon role={agent.role} />
          <span className="truncate font-medium text-text">{clean(agent.name)}</span>
          <span className="flex-1" />
          <span className="figures text-small text-faint">{took(elapsed(agent, now))}</span>
        </span>
      }
    >
      {() => <Calls agent={agent} />}
    </Fold>
  );
}

function Calls({ agent }: { agent: Agent }) {
  const calls = useStore((s) => s.data.toolCalls[agent.id]);
  const load = useLoad(`steps ${agent.id}`, () => loadSteps(agent.chatId, agent.id));
  const list = useMemo(() => byTurn(calls), [calls]);
  if (load.error) return <Failure text={load.error} retry={load.again} />;
  if (list.length === 0) return load.loading ? <Loading rows={1} /> : <p className="py-1 pl-6 text-small text-faint">No tool was used.</p>;
  return (
    <div className="mb-2 flex flex-col gap-1.5" style={{ paddingLeft: 18 + Math.min(agent.depth, 6) * 12 }}>
      {list.map((c) => (
        <ToolCallCard key={c.id} call={c} />
      ))}
    </div>
  );
}
