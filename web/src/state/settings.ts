// What the user has set for themselves. The server keeps it, and the feed tells
// of it, so that it is the same in every window.

import { useEffect } from "react";
import { api } from "../api/client";
import type { State } from "./model";
import { flush, read, update, useStore } from "./store";

/** load asks once; what the feed told meanwhile is newer. */
async function load(): Promise<void> {
  if (read().data.settings) return;
  const settings = await api.settings();
  update((s) => (s.settings ? s : { ...s, settings }));
  flush();
}

/** What a message may cost in new chats, in millionths of a dollar; 0: no limit. */
function budgetOf({ settings }: State): number {
  const budget = Number(settings?.["budget"]);
  return Number.isFinite(budget) && budget > 0 ? budget : 0;
}

export async function budget(): Promise<number> {
  await load();
  return budgetOf(read().data);
}

export function useBudget(): number {
  useEffect(() => void load().catch(() => {}), []);
  return useStore((s) => budgetOf(s.data));
}

export async function saveBudget(micros: number): Promise<void> {
  await load();
  await api.putSettings({ ...read().data.settings, budget: micros });
}
