// The tools that the orchestrator itself has used between two messages.

import { memo } from "react";
import type { ToolCall } from "../api/types";
import { Printing, ToolCallCard, stateOfCall } from "../agents/toolcall";
import { use } from "../text/activity";
import { clean, count } from "../text/format";
import { Fold } from "../ui/kit";
import { StateIcon } from "../ui/signs";

export const Steps = memo(function Steps({ calls }: { calls: ToolCall[] }) {
  const running = calls.find((c) => c.phase !== "done");
  const failed = calls.filter((c) => c.status === "failed").length;
  const last = running ?? calls.at(-1);
  if (!last) return null;
  return (
    <Fold
      head={
        <span className="flex min-w-0 flex-1 items-center gap-1.5 text-row">
          <StateIcon state={stateOfCall(last)} size={13} alone />
          <span className="truncate">
            {running || calls.length === 1 ? clean(use(last.toolName, last.args)) : `used ${count(calls.length, "tool")}`}
          </span>
          {running && <Printing call={running} />}
          {failed > 0 && <span className="shrink-0 text-small text-red">{failed} failed</span>}
        </span>
      }
    >
      {() => (
        <div className="mt-1 flex flex-col gap-1.5 pl-5">
          {calls.map((c) => (
            <ToolCallCard key={c.id} call={c} />
          ))}
        </div>
      )}
    </Fold>
  );
});
