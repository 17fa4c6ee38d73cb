// What agents may do unasked, and what they may spend: as configured, and what
// the user wants for new chats.

import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Policy } from "../api/types";
import { saveBudget, useBudget } from "../state/settings";
import { clean, count, money, took, tokens } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Button, Failure, Loading } from "../ui/kit";

const modes: Record<string, string> = {
  "read-only": "Nothing may be changed.",
  ask: "Reading is free; everything else asks.",
  edits: "Files in the folder may be changed; commands and the network ask.",
  trusted: "Everything is allowed but what a rule denies.",
};

export function PolicyView() {
  const { value, error, loading, again } = useLoad("policy", api.policy);
  if (loading && !value) return <Loading rows={3} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  return (
    <>
      <p>
        Mode <b className="font-semibold">{clean(value.mode)}</b>
        <span className="text-soft">: {modes[value.mode] ?? ""}</span>
      </p>
      <p className="mt-1 text-soft">
        An approval that nobody answers counts as denied after {took(value.approvalMs)}; an agent goes on without an answer to its question
        after {took(value.questionMs)}.
      </p>
      {value.rules.length > 0 && <Rules policy={value} />}
      {value.warnings.map((w) => (
        <p key={w} className="mt-2 rounded-md bg-amber-wash px-2 py-1 text-small">
          {clean(w)}
        </p>
      ))}
      <p className="mt-3 text-small text-faint">
        {value.files.length > 0 ? (
          <>
            From <span className="font-mono [overflow-wrap:anywhere]">{value.files.map(clean).join(", ")}</span>. A change counts when cadre
            serve starts again.
          </>
        ) : (
          <>
            No configuration file was found: these are the defaults. Write <span className="font-mono">permissions:</span> into{" "}
            <span className="font-mono">~/.config/cadre/config.yaml</span> to change them.
          </>
        )}
      </p>
    </>
  );
}

function Rules({ policy }: { policy: Policy }) {
  return (
    <table className="mt-3 w-full text-left text-small">
      <thead className="text-faint">
        <tr className="[&>th]:py-1 [&>th]:pr-3 [&>th]:font-medium">
          <th scope="col">Rule</th>
          <th scope="col">For</th>
          <th scope="col">From</th>
        </tr>
      </thead>
      <tbody>
        {policy.rules.map((r, i) => (
          <tr key={i} className="border-t border-line [&>td]:py-1 [&>td]:pr-3">
            <td className={r.effect === "deny" ? "text-red" : r.effect === "allow" ? "text-green" : "text-amber"}>{r.effect}</td>
            <td className="font-mono [overflow-wrap:anywhere]">{clean(r.what)}</td>
            <td className="text-faint [overflow-wrap:anywhere]">{clean(r.source ?? "")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Budgets() {
  const { value, error, loading, again } = useLoad("policy", api.policy);
  if (loading && !value) return <Loading rows={3} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  const said = [
    value.budget.costMicros ? money(value.budget.costMicros) : "",
    value.budget.tokens ? `${tokens(value.budget.tokens)} tokens` : "",
  ].filter(Boolean);
  return (
    <>
      <p>
        {said.length > 0
          ? `The configuration allows ${said.join(" and ")} for each message.`
          : "The configuration sets no limit in money or tokens."}{" "}
        <span className="text-soft">
          A chat may have {count(value.maxAgents, "agent")}, {value.maxDepth} deep
          {value.parallel ? `, ${value.parallel} of them at work at the same time` : ""}. Who runs out of budget asks, and has{" "}
          {took(value.budgetMs)} to be given more.
        </span>
      </p>
      <OwnBudget />
    </>
  );
}

/** What the user wants a message to cost at most, in chats they begin from now on. */
function OwnBudget() {
  const saved = useBudget();
  const [text, setText] = useState("");
  const [state, setState] = useState("");
  useEffect(() => setText(saved ? String(saved / 1e6) : ""), [saved]);
  const wanted = text.trim() === "" ? 0 : Math.round(Number(text.replace(",", ".")) * 1e6);
  const bad = !Number.isFinite(wanted) || wanted < 0;
  return (
    <form
      className="mt-3 flex flex-wrap items-center gap-2"
      onSubmit={(e) => {
        e.preventDefault();
        if (bad) return;
        saveBudget(wanted).then(
          () => setState("Saved."),
          () => setState("It was not saved; try again."),
        );
      }}
    >
      <label htmlFor="own-budget" className="w-full sm:w-auto">
        In chats I begin, a message may cost at most
      </label>
      <span className="flex items-center gap-1.5">
        $
        <input
          id="own-budget"
          inputMode="decimal"
          value={text}
          placeholder="no limit"
          aria-invalid={bad}
          onChange={(e) => {
            setText(e.target.value);
            setState("");
          }}
          className={`figures h-8 w-24 rounded-md border bg-canvas px-2 ${bad ? "border-red" : "border-line"}`}
        />
      </span>
      <Button look="outline" type="submit" disabled={bad || wanted === saved}>
        Save
      </Button>
      <span role="status" className="text-small text-faint">
        {bad ? "Write an amount such as 0.50." : state}
      </span>
    </form>
  );
}
