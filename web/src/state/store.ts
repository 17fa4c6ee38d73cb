// The one store of the page: the documents, the state of the connection, and
// what this window alone knows (what it is sending, notices).

import { create } from "zustand";
import type { Link } from "./feed";
import { empty, type State } from "./model";

/** A message on its way to the server. */
export interface Pending {
  id: string;
  chat: string;
  text: string;
  /** What shall answer from it on; empty: as before. */
  model: string;
  at: number;
  failed: string;
}

export interface Notice {
  id: number;
  text: string;
  bad?: boolean;
  action?: { label: string; run: () => void };
}

export interface Store {
  data: State;
  link: Link;
  retryAt: number;
  /** Why the page cannot be shown at all. */
  broken: string;
  /** Nobody is signed in here. */
  stranger: boolean;
  ready: boolean;
  /** Chats whose snapshot is here, or why it is not. */
  opened: Readonly<Record<string, "loading" | "ready" | string>>;
  /** Where older messages of a chat begin; absent if all are here. */
  older: Readonly<Record<string, string>>;
  /** Where older chats begin; empty if all are here. */
  moreChats: string;
  outbox: readonly Pending[];
  notices: readonly Notice[];
  /** The inbox item that the composer answers. */
  replying: string;
}

export const useStore = create<Store>(() => ({
  data: empty,
  link: "connecting",
  retryAt: 0,
  broken: "",
  stranger: false,
  ready: false,
  opened: {},
  older: {},
  moreChats: "",
  outbox: [],
  notices: [],
  replying: "",
}));

export const read = () => useStore.getState();
export const write = useStore.setState;

let queue: ((state: State) => State)[] = [];

/** update changes the documents; what comes within a frame is applied at once. */
export function update(step: (state: State) => State): void {
  queue.push(step);
  if (queue.length > 1) return;
  if (document.hidden) setTimeout(flush, 60);
  else requestAnimationFrame(flush);
}

/** flush applies what waits. */
export function flush(): void {
  const steps = queue;
  queue = [];
  write((s) => {
    const data = steps.reduce((state, step) => step(state), s.data);
    const arrived = s.outbox.filter((p) => !isHere(data, p));
    return { data, outbox: arrived.length === s.outbox.length ? s.outbox : arrived };
  });
}

function isHere(data: State, p: Pending): boolean {
  return Object.entries(data.messages).some(
    ([agent, list]) => (agent === p.chat || agent.startsWith(`${p.chat}.`)) && list.some((m) => m.id === p.id),
  );
}

let number = 0;

/** notify shows a line for a while. */
export function notify(text: string, rest: Omit<Notice, "id" | "text"> = {}): void {
  const id = ++number;
  write((s) => ({ notices: [...s.notices, { id, text, ...rest }] }));
  setTimeout(() => dismiss(id), rest.action ? 8000 : 5000);
}

export function dismiss(id: number): void {
  write((s) => ({ notices: s.notices.filter((n) => n.id !== id) }));
}
