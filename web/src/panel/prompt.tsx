// What the agent's model is told before everything else: prompt and tools.

import { api } from "../api/client";
import { clean, count } from "../text/format";
import { useLoad } from "../ui/hooks";
import { CopyButton, Failure, Fold, Loading } from "../ui/kit";

export default function PromptView({ chat, agent }: { chat: string; agent: string }) {
  const { value, error, loading, again } = useLoad(`prompt ${agent}`, () => api.prompt(chat, agent));
  if (loading && !value) return <Loading rows={8} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  return (
    <div className="h-full overflow-y-auto p-4" tabIndex={0} role="region" aria-label="Prompt">
      <div className="flex items-center justify-between">
        <h3 className="text-small font-medium text-faint">System prompt · {value.text.length.toLocaleString("en")} characters</h3>
        <CopyButton text={value.text} />
      </div>
      <pre className="mt-1 rounded-md border border-line bg-surface p-3 font-mono text-[12.5px] leading-5 whitespace-pre-wrap [overflow-wrap:anywhere]">
        {clean(value.text)}
      </pre>
      <h3 className="mt-5 mb-1 text-small font-medium text-faint">{count(value.tools.length, "tool")}</h3>
      {value.tools.map((t) => (
        <Fold
          key={t.name}
          head={
            <span className="flex min-w-0 gap-2">
              <span className="font-mono text-text">{t.name}</span>
              <span className="truncate text-faint">{clean(t.description ?? "").split("\n")[0]}</span>
            </span>
          }
        >
          {() => (
            <div className="mb-2 ml-5 text-small">
              <p className="whitespace-pre-wrap text-soft">{clean(t.description ?? "")}</p>
              {t.schema !== undefined && (
                <pre className="mt-2 overflow-x-auto rounded-md bg-surface p-2 font-mono">{JSON.stringify(t.schema, null, 2)}</pre>
              )}
            </div>
          )}
        </Fold>
      ))}
    </div>
  );
}
