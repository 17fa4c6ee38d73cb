// The row of an agent, everywhere the same: state, role, name, what it does
// now, and what it took so far.

import { ChevronRight, Square } from "lucide-react";
import { memo } from "react";
import { stopAgent, stopChat } from "../state/act";
import { allowed, childrenOf, elapsed, family, itemOf, used } from "../state/select";
import { useStore } from "../state/store";
import { activity } from "../text/activity";
import { clean, count, duration, exact, lasted, money, tokens } from "../text/format";
import { shown } from "../text/states";
import { useNow } from "../ui/hooks";
import { RoleIcon, StateIcon, tones } from "../ui/signs";

export const rowHeight = 32;

interface Props {
  id: string;
  depth?: number;
  open?: (id: string) => void;
  fold?: { folded: boolean; toggle: () => void } | undefined;
  chosen?: boolean;
}

/** useActivity is what an agent does now, kept current. */
export function useActivity(id: string): string {
  const agent = useStore((s) => s.data.agents[id]);
  const task = useStore((s) => s.data.tasks[id]);
  const calls = useStore((s) => s.data.toolCalls[id]);
  const stream = useStore((s) => s.data.streams[id]);
  const printed = useStore((s) => s.data.printed[id]);
  const item = useStore((s) => itemOf(s.data, id));
  const children = useStore((s) => childrenOf(family(s.data.agents), id));
  const progress = useStore((s) => s.data.progress[id]);
  const now = useNow(Boolean(agent && shown(agent.state).live));
  if (!agent) return "";
  return activity({ agent, task, calls: calls && Object.values(calls), stream, printed, item, children, progress }, now);
}

export const AgentRow = memo(function AgentRow({ id, depth = 0, open, fold, chosen }: Props) {
  const agent = useStore((s) => s.data.agents[id]);
  const text = useActivity(id);
  const live = Boolean(agent && shown(agent.state).live);
  const now = useNow(live);
  if (!agent) return null;
  const state = shown(agent.state);
  const sum = used(agent);
  const stop = () => void (agent.parent ? stopAgent(agent.chatId, id) : stopChat(agent.chatId));
  return (
    <div
      className={`group/row @container relative flex items-center gap-1.5 rounded-md pr-1 hover:bg-hover ${chosen ? "bg-hover" : ""}`}
      style={{ height: rowHeight, paddingLeft: depth * 18 + 4 }}
    >
      {Array.from({ length: depth }, (_, i) => (
        <span key={i} aria-hidden className="absolute inset-y-0 border-l border-line" style={{ left: i * 18 + 14 }} />
      ))}
      {fold ? (
        <button
          type="button"
          aria-label={fold.folded ? `Show the sub-agents of ${clean(agent.name)}` : `Hide the sub-agents of ${clean(agent.name)}`}
          aria-expanded={!fold.folded}
          onClick={fold.toggle}
          className="relative z-10 flex size-5 shrink-0 items-center justify-center rounded text-faint hover:text-text"
        >
          <ChevronRight size={14} className={`transition-transform ${fold.folded ? "" : "rotate-90"}`} />
        </button>
      ) : (
        <span className="w-5 shrink-0" />
      )}
      <button
        type="button"
        onClick={() => open?.(id)}
        className="relative flex h-full min-w-0 flex-1 items-center gap-2 rounded text-left"
        aria-label={`${clean(agent.name)}, ${state.word}${text ? `: ${text}` : ""}`}
      >
        <StateIcon state={agent.state} />
        <RoleIcon role={agent.role} />
        <span className="shrink-0 font-medium">{clean(agent.name)}</span>
        {(state.person || state.bad || agent.state === "retrying" || agent.state === "cancelling") && (
          <span className={`shrink-0 text-small font-medium ${tones[state.tone]}`}>{state.word}</span>
        )}
        <span className={`min-w-0 flex-1 truncate ${state.bad ? "text-text" : "text-soft"}`} title={text}>
          {text}
        </span>
        <span className="figures flex shrink-0 items-center gap-3 text-small text-faint">
          {sum.tokens > 0 && (
            <span className="hidden @xl:inline" title="Tokens, sub-agents included">
              {tokens(sum.tokens)} tok
            </span>
          )}
          <span className="hidden @lg:inline">{count(agent.turns, "turn")}</span>
          <span
            className="hidden @md:inline"
            title={`Cost, sub-agents included${allowed(agent).cost ? `; limit ${money(allowed(agent).cost)}` : ""}`}
          >
            {money(sum.cost, sum.known)}
          </span>
          <span title={`Since ${exact(agent.createdAt)}`}>{(live ? duration : lasted)(elapsed(agent, now))}</span>
        </span>
      </button>
      {live ? (
        <button
          type="button"
          aria-label={`Stop ${clean(agent.name)}`}
          title={`Stop ${clean(agent.name)} and its sub-agents; what is done is kept`}
          onClick={stop}
          className="flex size-6 shrink-0 items-center justify-center rounded text-faint hover:bg-red-wash hover:text-red"
        >
          <Square size={11} fill="currentColor" />
        </button>
      ) : (
        <span className="w-6 shrink-0" />
      )}
    </div>
  );
});
