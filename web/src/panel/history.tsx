// What happened to the agent, event by event, and what it was doing from then
// on.

import { all, api } from "../api/client";
import { useStore } from "../state/store";
import { exact, took } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Failure, Loading } from "../ui/kit";
import { StateBadge } from "../ui/signs";

export default function History({ chat, agent }: { chat: string; agent: string }) {
  const turns = useStore((s) => `${s.data.agents[agent]?.turns} ${s.data.agents[agent]?.state}`);
  const { value, error, loading, again } = useLoad(`log ${agent} ${turns}`, () => all((q) => api.log(chat, agent, q)));
  if (loading && !value) return <Loading rows={8} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  const start = value[0]?.at ?? 0;
  let state = "";
  return (
    <ol className="h-full overflow-y-auto p-4" tabIndex={0} aria-label="Events">
      {value.map((e, i) => {
        const next = e.state && e.state !== state ? e.state : "";
        state = e.state || state;
        return (
          <li
            key={`${e.seq}-${i}`}
            className="relative flex items-baseline gap-3 border-l border-line py-1 pl-4 before:absolute before:top-2.5 before:-left-[3.5px] before:size-1.5 before:rounded-full before:bg-strong"
          >
            <span className="min-w-0 flex-1">
              {e.type.replaceAll("_", " ")}
              {e.verdict && <span className="ml-2 text-small text-amber">{e.verdict}: it changed nothing</span>}
            </span>
            {next && <StateBadge state={next} />}
            <time className="figures min-w-20 shrink-0 text-right text-small text-faint" title={exact(e.at)}>
              {i === 0 ? new Date(e.at).toLocaleTimeString("en-GB") : `+${took(e.at - start)}`}
            </time>
          </li>
        );
      })}
    </ol>
  );
}
