// Routing by the address: /chats/ID, /chats/ID/agents/AGENT, /inbox, /roles,
// /settings, and ?panel= for what stands beside it.

import { useSyncExternalStore } from "react";

export interface Route {
  page: "new" | "chat" | "agent" | "inbox" | "roles" | "settings" | "missing";
  chat: string;
  agent: string;
  /** What the right panel shows: agent:ID, steps, timeline, cost, roles. */
  panel: string;
  message: string;
}

export function parse(path: string, search: string): Route {
  const query = new URLSearchParams(search);
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const base: Route = { page: "missing", chat: "", agent: "", panel: query.get("panel") ?? "", message: query.get("message") ?? "" };
  const [first, chat = "", third, agent = ""] = parts;
  if (!first) return { ...base, page: "new" };
  if (first === "chats" && parts.length === 2) return { ...base, page: "chat", chat };
  if (first === "chats" && third === "agents" && parts.length === 4) return { ...base, page: "agent", chat, agent };
  if (parts.length === 1 && (first === "inbox" || first === "roles" || first === "settings")) return { ...base, page: first };
  return base;
}

const listeners = new Set<() => void>();
let href = "";
let route: Route = parse("/", "");

function current(): Route {
  const now = location.pathname + location.search;
  if (now !== href) {
    href = now;
    route = parse(location.pathname, location.search);
  }
  return route;
}

function listen(on: () => void): () => void {
  listeners.add(on);
  window.addEventListener("popstate", on);
  return () => {
    listeners.delete(on);
    window.removeEventListener("popstate", on);
  };
}

export const useRoute = () => useSyncExternalStore(listen, current);
export const currentRoute = current;

export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  listeners.forEach((on) => on());
}

/** showPanel opens a panel beside the page; an empty name closes it. */
export function showPanel(panel: string): void {
  go(panel ? `${location.pathname}?panel=${encodeURIComponent(panel)}` : location.pathname);
}

export const agentLink = (chat: string, agent: string) => `/chats/${chat}/agents/${agent}`;
