// The tree of agents as rows: indented by depth, long runs of siblings that
// ended well grouped, failures always visible.

import type { Agent } from "../api/types";
import { childrenOf, type Family } from "../state/select";
import { shown } from "../text/states";

export type Line =
  | { kind: "agent"; id: string; depth: number; children: number }
  | { kind: "group"; id: string; depth: number; agents: readonly Agent[]; state: string };

/** From this many siblings of one outcome on they are one row. */
const crowd = 6;

export function flatten(
  f: Family,
  roots: readonly Agent[],
  folded: ReadonlySet<string>,
  opened: ReadonlySet<string>,
  depth = 0,
  out: Line[] = [],
): Line[] {
  const groups = new Map<string, Agent[]>();
  for (const a of roots) {
    const s = shown(a.state);
    if (s.over && !s.bad) groups.set(a.state, [...(groups.get(a.state) ?? []), a]);
  }
  const told = new Set<string>();
  for (const a of roots) {
    const group = groups.get(a.state);
    const parent = a.parent ?? "";
    const id = `${parent}:${a.state}`;
    if (group && group.length >= crowd && roots.length > crowd) {
      if (!told.has(a.state)) out.push({ kind: "group", id, depth, agents: group, state: a.state });
      told.add(a.state);
      if (!opened.has(id)) continue;
    }
    const children = childrenOf(f, a.id);
    out.push({ kind: "agent", id: a.id, depth, children: children.length });
    if (children.length > 0 && !folded.has(a.id)) flatten(f, children, folded, opened, depth + 1, out);
  }
  return out;
}
