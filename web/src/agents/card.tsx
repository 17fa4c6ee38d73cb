// What waits for a person: approvals, questions, budgets, worktrees. The same
// card in the chat, in the inspector and in the inbox.

import { CircleDollarSign, CircleHelp, FolderGit2, Hand } from "lucide-react";
import { useId, useState } from "react";
import { approvalOf, type Answer, type Item } from "../api/types";
import { answer } from "../state/act";
import { useStore } from "../state/store";
import { questions, use } from "../text/activity";
import { ago, clean, exact, took } from "../text/format";
import { useNow } from "../ui/hooks";
import { Link } from "../ui/link";
import { agentLink } from "../ui/route";
import { RoleIcon } from "../ui/signs";
import { ElicitationBody } from "./form";
import { ApprovalBody, BudgetBody, QuestionBody, WorktreeBody } from "./answers";

const heads: Record<string, string> = {
  approval: "needs your approval",
  question: "asks you",
  elicitation: "asks you",
  budget: "has used up its budget",
  worktree: "left changes in its worktree",
};

export function ItemIcon({ kind }: { kind: string }) {
  const Icon = kind === "budget" ? CircleDollarSign : kind === "worktree" ? FolderGit2 : kind === "approval" ? Hand : CircleHelp;
  return <Icon size={15} className="shrink-0 text-amber" aria-hidden />;
}

export function ItemCard({ item }: { item: Item }) {
  const [busy, setBusy] = useState(false);
  const give = async (body: Answer) => {
    setBusy(true);
    await answer(item, body);
    setBusy(false);
  };
  const title = useId();
  return (
    <section
      aria-labelledby={title}
      data-item={item.id}
      data-kind={item.kind}
      className="appears rounded-lg border border-line bg-amber-wash"
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1 px-3 pt-2.5">
        <ItemIcon kind={item.kind} />
        <h2 id={title} className="text-row font-semibold">
          <Path path={item.path} /> <span className="font-medium">{heads[item.kind] ?? "waits for you"}</span>
        </h2>
        <span className="flex-1" />
        <Link
          to={agentLink(item.chatId, item.agentId)}
          className="text-small text-faint underline-offset-2 hover:text-text hover:underline"
        >
          inspect
        </Link>
      </header>
      <div className="px-3 pt-2 pb-3">
        {item.kind === "approval" && <ApprovalBody item={item} give={give} busy={busy} />}
        {item.kind === "question" && <QuestionBody item={item} give={give} busy={busy} />}
        {item.kind === "elicitation" && <ElicitationBody item={item} give={give} busy={busy} />}
        {item.kind === "budget" && <BudgetBody item={item} give={give} busy={busy} />}
        {item.kind === "worktree" && <WorktreeBody item={item} give={give} busy={busy} />}
        <Deadline item={item} />
      </div>
    </section>
  );
}

/** The agent's place in the tree, in names. */
function Path({ path }: { path: string }) {
  const names = clean(path).split("/");
  return (
    <span>
      {names.map((name, i) => (
        <span key={i}>
          {i > 0 && <span className="text-faint"> ▸ </span>}
          <span className={i === names.length - 1 ? "" : "text-soft"}>{name}</span>
        </span>
      ))}
    </span>
  );
}

function Deadline({ item }: { item: Item }) {
  const now = useNow(Boolean(item.deadline));
  const left = (item.deadline ?? 0) - now;
  return (
    <p className="mt-2 text-small text-faint">
      Asked <span title={exact(item.createdAt)}>{ago(item.createdAt, now)}</span>.{" "}
      {item.deadline ? (
        <span title={exact(item.deadline)}>
          {left > 0 ? `Without an answer in ${took(Math.round(left / 1000) * 1000)}: ${item.default || "deny"}.` : "Its time is over."}
        </span>
      ) : item.default ? (
        `Without an answer: ${item.default}.`
      ) : null}
    </p>
  );
}

/** What was answered, by whom, in one line. */
export function ClosedLine({ item }: { item: Item }) {
  const approval = approvalOf(item);
  const me = useStore((s) => s.data.me?.user.name ?? "");
  const what =
    item.kind === "question" || item.kind === "elicitation"
      ? questions(item.action)
          .map((q) => q.question)
          .join(" ")
      : approval
        ? use(approval.tool, approval.input)
        : item.action;
  return (
    <div className="flex min-w-0 items-center gap-2 px-1 py-1 text-small text-faint">
      <RoleIcon role={item.role} size={13} className="text-faint" />
      <span className="min-w-16 flex-1 truncate" title={clean(item.action)}>
        {clean(item.path.slice(item.path.lastIndexOf("/") + 1))}: {clean(what)}
      </span>
      <span className="max-w-[65%] shrink-0 truncate font-medium text-soft" title={outcome(item, me)}>
        {outcome(item, me)}
      </span>
    </div>
  );
}

/** A filled form reads as its fields. */
function answerText(item: Item): string {
  const text = clean(item.answer ?? "");
  if (item.kind !== "elicitation" || !text.startsWith("{")) return text;
  try {
    return Object.entries(JSON.parse(text) as Record<string, unknown>)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(", ");
  } catch {
    return text;
  }
}

function outcome(item: Item, me: string): string {
  if (item.how === "answered_for_user") return `answered in your name by the orchestrator: ${answerText(item)}`;
  const by = item.by ? ` by ${item.by === me ? "you" : clean(item.by)}` : "";
  const how = (item.how ?? "closed").replaceAll("_", " ");
  const scope = item.scope && item.scope !== "once" && how.startsWith("allow") ? ` for the ${item.scope}` : "";
  const text = item.answer ? `: ${answerText(item)}` : "";
  return `${how}${scope}${by}${text}`;
}
