// The kinds of agent there are: what each is for, may use and may spend.

import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import type { Role } from "../api/types";
import { clean, count, took } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Empty, Failure, Loading } from "../ui/kit";
import { RoleIcon } from "../ui/signs";

export function RoleList() {
  const { value, error, loading, again } = useLoad("roles", api.roles);
  if (loading && !value) return <Loading rows={6} />;
  if (error || !value) return <Failure text={error} retry={again} />;
  if (value.items.length === 0) return <Empty title="There are no roles" />;
  const orchestrators = value.items.filter((r) => r.delegates.length > 0);
  const others = value.items.filter((r) => r.delegates.length === 0);
  return (
    <div className="flex flex-col gap-5">
      <Group title="Can hand work on" roles={orchestrators} />
      <Group title="Work on their own" roles={others} />
    </div>
  );
}

function Group({ title, roles }: { title: string; roles: Role[] }) {
  if (roles.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 className="mb-2 text-small font-medium text-faint">{title}</h2>
      <ul className="flex flex-col gap-2">
        {roles.map((r) => (
          <RoleCard key={r.name} role={r} />
        ))}
      </ul>
    </section>
  );
}

/** Tools with which agents deal with each other and the user; nearly every role has them. */
const between = /_agents?$|^(ask_user|read_artifact|run_in_background|submit_result|submit_error)$/;

function ToolNames({ names }: { names: readonly string[] }) {
  const [all, setAll] = useState(false);
  const own = names.filter((n) => !between.test(n));
  const others = names.length - own.length;
  if (names.length === 0) return <>none</>;
  return (
    <>
      <span className="font-mono [overflow-wrap:anywhere]">{(all ? names : own).join(", ")}</span>{" "}
      {others > 0 && !all && (
        <button type="button" onClick={() => setAll(true)} className="text-faint underline underline-offset-2 hover:text-text">
          and {others} to delegate, ask and report
        </button>
      )}
    </>
  );
}

function RoleCard({ role }: { role: Role }) {
  return (
    <li className="rounded-lg border border-line p-3">
      <div className="flex items-center gap-2">
        <RoleIcon role={role.name} size={16} />
        <h3 className="font-semibold">{clean(role.label || role.name)}</h3>
        {role.label && role.label !== role.name && <span className="font-mono text-small text-faint">{role.name}</span>}
        <span className="flex-1" />
        <span className="figures text-small text-faint">
          {role.maxTurns ? count(role.maxTurns, "turn") : "no turn limit"}
          {role.maxDurationMs ? ` · ${took(role.maxDurationMs)}` : ""}
        </span>
      </div>
      <p className="mt-1 text-soft">{clean(role.description)}</p>
      <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-small">
        <dt className="text-faint">Model</dt>
        <dd>{clean(role.model || "as whoever starts it")}</dd>
        <dt className="text-faint">Tools</dt>
        <dd>{role.allTools ? "all" : <ToolNames names={role.tools} />}</dd>
        {role.delegates.length > 0 && (
          <>
            <dt className="text-faint">Delegates to</dt>
            <dd>{role.delegates.join(", ")}</dd>
          </>
        )}
        <dt className="text-faint">From</dt>
        <dd className="truncate font-mono" title={role.source}>
          {clean(role.source || "built in")}
        </dd>
      </dl>
      {role.warnings?.map((w) => (
        <p key={w} className="mt-2 flex gap-1.5 text-small text-amber">
          <TriangleAlert size={13} className="mt-0.5 shrink-0" aria-hidden />
          {clean(w)}
        </p>
      ))}
    </li>
  );
}
