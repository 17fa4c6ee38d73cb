// What each kind of inbox item shows, and the ways to answer it.

import { Check, MessageSquareReply } from "lucide-react";
import { useState } from "react";
import { approvalOf, type Answer, type Item } from "../api/types";
import { useStore, write } from "../state/store";
import { questions, type Question } from "../text/activity";
import { clean } from "../text/format";
import { DiffText, looksLikeDiff } from "../ui/diff";
import { Button } from "../ui/kit";
import { currentRoute, go } from "../ui/route";

export interface BodyProps {
  item: Item;
  give: (a: Answer) => Promise<void>;
  busy: boolean;
}

const scopes: [string, string][] = [
  ["agent", "this agent"],
  ["role", "this role"],
  ["subtree", "this agent and below"],
  ["chat", "this chat"],
];

/** Why it has to ask: a rule, or the mode. */
function because(why: string): string {
  const mode = /^preset (.+)$/.exec(why)?.[1];
  return mode ? `It asks because the permission mode is “${clean(mode)}”.` : `It asks because of ${clean(why)}.`;
}

export function ApprovalBody({ item, give, busy }: BodyProps) {
  const [denying, setDenying] = useState(false);
  const [why, setWhy] = useState("");
  const detail = approvalOf(item);
  const home = useStore((s) => s.data.chats[item.chatId]?.dir);
  const action = clean(item.action);
  return (
    <>
      {detail?.tool && (
        <p className="mb-1.5 text-small text-soft">
          {detail.tool}
          {detail.dir &&
            (detail.dir === home ? (
              <span title={clean(detail.dir)}> in the chat's folder</span>
            ) : (
              <>
                {" "}
                in <span className="font-mono">{clean(detail.dir)}</span>
              </>
            ))}
          {detail.action?.hosts?.length ? ` · ${detail.action.hosts.join(", ")}` : ""}
        </p>
      )}
      {looksLikeDiff(action) ? (
        <DiffText text={action} />
      ) : (
        <pre
          tabIndex={0}
          className="max-h-72 overflow-auto rounded-md border border-line bg-canvas px-3 py-2 font-mono text-[13px] leading-5 whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {action}
        </pre>
      )}
      {item.reason && <p className="mt-2 text-row text-soft">“{clean(item.reason)}”</p>}
      {detail?.why && <p className="mt-2 text-small text-faint">{because(detail.why)}</p>}
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <Button look="primary" small disabled={busy} data-allow onClick={() => void give({ allow: true, scope: "once" })}>
          <Check size={13} />
          Allow once
        </Button>
        {!denying && (
          <Button look="danger" small disabled={busy} data-deny className="bg-canvas" onClick={() => setDenying(true)}>
            Deny…
          </Button>
        )}
      </div>
      {denying && (
        <form
          className="mt-2 flex gap-2"
          onSubmit={(e) => {
            e.preventDefault();
            void give({ allow: false, reason: why });
          }}
        >
          <input
            autoFocus
            value={why}
            onChange={(e) => setWhy(e.target.value)}
            onKeyDown={(e) => e.key === "Escape" && setDenying(false)}
            aria-label="Why it is denied"
            placeholder="Why, or what to do instead"
            className="h-8 min-w-0 flex-1 rounded-md border border-line bg-canvas px-2.5"
          />
          <Button look="danger" type="submit" disabled={busy} className="bg-canvas">
            Deny
          </Button>
        </form>
      )}
      {detail?.allows && detail.allows.length > 0 && <Longer allows={detail.allows} give={give} busy={busy} />}
    </>
  );
}

/** An answer that counts from now on: for what, and for whom. */
function Longer({ allows, give, busy }: Pick<BodyProps, "give" | "busy"> & { allows: string[] }) {
  const rules = clean(allows.join(", "));
  const exactly = allows.length === 1 && /^\w+\(=/.test(rules);
  return (
    <div role="group" aria-label="Allow from now on" className="mt-3 border-t border-line pt-2 text-small text-soft">
      <p className="line-clamp-2" title={rules}>
        Or allow {exactly ? "exactly this command" : <code className="font-mono [overflow-wrap:anywhere] text-text">{rules}</code>} from now
        on, for
      </p>
      <div className="mt-1.5 flex flex-wrap gap-1.5">
        {scopes.map(([scope, words]) => (
          <Button key={scope} look="outline" small disabled={busy} className="bg-canvas" onClick={() => void give({ allow: true, scope })}>
            {words}
          </Button>
        ))}
      </div>
    </div>
  );
}

/** The answer to several questions, each with what was chosen or written. */
const together = (asked: readonly Question[], chosen: Readonly<Record<number, string[]>>) =>
  asked.length === 1 ? (chosen[0] ?? []).join(", ") : asked.map((q, n) => `${q.question} ${(chosen[n] ?? []).join(", ")}`).join("\n");

export function QuestionBody({ item, give, busy }: BodyProps) {
  const asked = questions(item.action);
  const [chosen, setChosen] = useState<Record<number, string[]>>({});
  const reply = () => {
    write({ replying: item.id });
    if (currentRoute().page !== "chat") go(`/chats/${item.chatId}`);
    document.querySelector<HTMLTextAreaElement>("[data-composer]")?.focus();
  };
  const offered = asked.some((q) => q.options.length > 0);
  const atOnce = asked.length === 1 && !asked[0]?.multiple;
  const choose = (n: number, q: Question, label: string) => {
    if (atOnce) void give({ text: label });
    else setChosen({ ...chosen, [n]: toggled(chosen[n] ?? [], label, q.multiple) });
  };
  const complete = asked.every((q, n) => q.options.length === 0 || (chosen[n]?.length ?? 0) > 0);
  return (
    <>
      {asked.map((q, n) => (
        <Asked key={n} q={q} chosen={chosen[n] ?? []} busy={busy} choose={(label) => choose(n, q, label)} />
      ))}
      <div className="mt-3 flex flex-wrap gap-2">
        {offered && !atOnce && (
          <Button look="primary" small disabled={busy || !complete} onClick={() => void give({ text: together(asked, chosen) })}>
            Send
          </Button>
        )}
        <Button look={offered ? "outline" : "primary"} small disabled={busy} className={offered ? "bg-canvas" : ""} onClick={reply}>
          <MessageSquareReply size={13} />
          Reply in the chat
        </Button>
        <span className="flex-1" />
        <Button look="plain" small disabled={busy} onClick={() => void give({ decline: true })}>
          Decline to answer
        </Button>
      </div>
    </>
  );
}

function toggled(list: string[], label: string, multiple: boolean): string[] {
  if (!multiple) return [label];
  return list.includes(label) ? list.filter((l) => l !== label) : [...list, label];
}

function Asked({ q, chosen, choose, busy }: { q: Question; chosen: string[]; choose: (label: string) => void; busy: boolean }) {
  return (
    <div className="not-first:mt-3" role="group" aria-label={clean(q.question)}>
      <p className="text-read whitespace-pre-wrap">{clean(q.question)}</p>
      {q.multiple && q.options.length > 0 && <p className="text-small text-faint">Choose any number.</p>}
      {q.options.length > 0 && (
        <div className="mt-2 flex flex-wrap gap-2">
          {q.options.map((o) => (
            <button
              key={o.label}
              type="button"
              disabled={busy}
              aria-pressed={chosen.includes(o.label)}
              onClick={() => choose(o.label)}
              className={`flex items-start gap-1.5 rounded-md border bg-canvas px-3 py-1.5 text-left hover:border-strong ${chosen.includes(o.label) ? "border-accent" : "border-line"}`}
            >
              {chosen.includes(o.label) && <Check size={14} className="mt-0.5 text-accent" aria-hidden />}
              <span>
                <span className="font-medium">{clean(o.label)}</span>
                {o.description && <span className="block text-small text-faint">{clean(o.description)}</span>}
              </span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function BudgetBody({ item, give, busy }: BodyProps) {
  return (
    <>
      <p className="text-row">
        It has used {clean(item.action)}
        {item.reason && `, and ${clean(item.reason)}`}.
      </p>
      <div className="mt-3 flex gap-2">
        <Button look="primary" small disabled={busy} data-allow onClick={() => void give({ allow: true })}>
          Give as much again
        </Button>
        <Button look="outline" small disabled={busy} data-deny className="bg-canvas" onClick={() => void give({ allow: false })}>
          End with what there is
        </Button>
      </div>
    </>
  );
}

export function WorktreeBody({ item, give, busy }: BodyProps) {
  const ways: [string, string][] = [
    ["accept", "Take the changes"],
    ["merge", "Take, mark conflicts"],
    ["keep", "Keep as a branch"],
    ["discard", "Discard"],
  ];
  return (
    <>
      {looksLikeDiff(item.action) ? (
        <DiffText text={clean(item.action)} />
      ) : (
        <pre
          tabIndex={0}
          className="max-h-72 overflow-auto rounded-md border border-line bg-canvas px-3 py-2 font-mono text-[13px] leading-5 whitespace-pre-wrap"
        >
          {clean(item.action)}
        </pre>
      )}
      <div className="mt-3 flex flex-wrap gap-2">
        {ways.map(([how, words], i) => (
          <Button
            key={how}
            look={i === 0 ? "primary" : how === "discard" ? "danger" : "outline"}
            small
            disabled={busy}
            className={i === 0 ? "" : "bg-canvas"}
            onClick={() => void give({ how })}
          >
            {words}
          </Button>
        ))}
      </div>
    </>
  );
}
