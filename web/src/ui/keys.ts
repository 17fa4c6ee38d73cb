// Keys that work everywhere, unless something is being typed.

import { useEffect } from "react";
import { togglePanel } from "../chat/page";
import { stopChat } from "../state/act";
import { isBusy, within } from "../state/select";
import { read } from "../state/store";
import { shown } from "../text/states";
import { currentRoute, go, showPanel } from "./route";

export type Overlay = "" | "palette" | "help" | "stop";

const typing = (t: EventTarget | null) => t instanceof HTMLElement && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName));

export function useKeys(show: (o: Overlay) => void): void {
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        show("palette");
        return;
      }
      if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.altKey || document.querySelector("[role=dialog], [role=menu]")) return;
      if (e.key === "Escape") {
        escape(show);
        return;
      }
      if (!typing(e.target) && plain(e.key, show)) e.preventDefault();
    };
    document.addEventListener("keydown", on);
    return () => document.removeEventListener("keydown", on);
  }, [show]);
}

/** Escape closes the panel, else stops what runs; when several run it asks which. */
function escape(show: (o: Overlay) => void): void {
  const { chat, panel, page } = currentRoute();
  if (panel) {
    showPanel("");
    return;
  }
  const agents = read().data.agents;
  if (page !== "chat" || !isBusy(agents[chat]?.state)) return;
  const live = Object.values(agents).filter((a) => within(a.id, chat) && a.parent && shown(a.state).live);
  if (live.length > 0) show("stop");
  else void stopChat(chat);
}

function plain(key: string, show: (o: Overlay) => void): boolean {
  const { page, chat } = currentRoute();
  const inChat = page === "chat";
  switch (key) {
    case "?":
      show("help");
      return true;
    case "n":
      go("/");
      return true;
    case "g":
      go("/inbox");
      return true;
    case "/":
      document.querySelector<HTMLElement>("[data-composer]")?.focus();
      return true;
    case "i":
      if (inChat) togglePanel(`agent:${chat}`);
      return inChat;
    case "s":
      if (inChat) togglePanel("steps");
      return inChat;
    case "t":
      if (inChat) togglePanel("timeline");
      return inChat;
    case "c":
      if (inChat) togglePanel("cost");
      return inChat;
    case "j":
    case "k":
      move(key === "j" ? 1 : -1);
      return true;
    case "a":
      return press("[data-allow]");
    case "d":
      return press("[data-deny]");
  }
  return false;
}

const cards = () => [...document.querySelectorAll<HTMLElement>("[data-item]")];

function move(by: number): void {
  const list =
    cards().length > 0 && currentRoute().page === "inbox"
      ? cards()
      : [...document.querySelectorAll<HTMLElement>("[data-entry=user], [data-entry=reply], [data-entry=tasks]")];
  const at = list.findIndex((el) => el.contains(document.activeElement));
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by];
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** press gives the answer of the card that has the focus, else of the only one. */
function press(button: string): boolean {
  const list = cards();
  const card = list.find((c) => c.contains(document.activeElement)) ?? (list.length === 1 ? list[0] : undefined);
  const found = card?.querySelector<HTMLButtonElement>(button);
  found?.click();
  return Boolean(found);
}
