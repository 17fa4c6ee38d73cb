// What the user has set for themselves. The server keeps it, so that it is the
// same in every browser.

import { useSyncExternalStore } from "react";
import { api } from "../api/client";

interface Settings {
  /** What a message may cost in new chats, in millionths of a dollar; 0: no limit. */
  budget: number;
}

let held: Settings | null = null;
let rest: Record<string, unknown> = {};
const listeners = new Set<() => void>();

function listen(on: () => void): () => void {
  listeners.add(on);
  if (!held) void load().catch(() => {});
  return () => listeners.delete(on);
}

async function load(): Promise<Settings> {
  rest = await api.settings();
  const budget = Number(rest["budget"]);
  held = { budget: Number.isFinite(budget) && budget > 0 ? budget : 0 };
  listeners.forEach((on) => on());
  return held;
}

/** budget is what a message may cost in a new chat. */
export const budget = async (): Promise<number> => (held ?? (await load())).budget;

export const useBudget = (): number => useSyncExternalStore(listen, () => held?.budget ?? 0);

export async function saveBudget(micros: number): Promise<void> {
  await load(); // another window may have saved something else
  await api.putSettings({ ...rest, budget: micros });
  await load();
}
