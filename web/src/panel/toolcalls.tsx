// The tool calls of one agent.

import { useMemo } from "react";
import { ToolCallCard } from "../agents/toolcall";
import { byTurn } from "../state/select";
import { useStore } from "../state/store";
import { count } from "../text/format";
import { Empty } from "../ui/kit";

export default function ToolCalls({ agent }: { agent: string }) {
  const calls = useStore((s) => s.data.toolCalls[agent]);
  const list = useMemo(() => byTurn(calls), [calls]);
  if (list.length === 0) return <Empty title="No tool was used">What the agent reads, runs and changes is listed here.</Empty>;
  const failed = list.filter((c) => c.status === "failed").length;
  return (
    <div className="flex h-full flex-col gap-1.5 overflow-y-auto p-4" tabIndex={0} role="region" aria-label="Tool calls">
      <p className="text-small text-faint">
        {count(list.length, "call")}
        {failed > 0 ? `, ${failed} failed` : ""}
      </p>
      {list.map((c) => (
        <ToolCallCard key={c.id} call={c} />
      ))}
    </div>
  );
}
