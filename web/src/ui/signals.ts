// What is told beyond the page: its title, its icon, and, when asked for, a
// notice of the desktop when something waits.

import { chatState, isBusy, waiting } from "../state/select";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { currentRoute, go } from "./route";

const key = "cadre-notify";

export const wantsNotices = () => localStorage.getItem(key) === "yes" && "Notification" in window && Notification.permission === "granted";

export async function setNotices(on: boolean): Promise<boolean> {
  const granted = on && "Notification" in window && (await Notification.requestPermission()) === "granted";
  localStorage.setItem(key, granted ? "yes" : "no");
  return granted;
}

/** startSignals keeps title and icon current. */
export function startSignals(): void {
  let known: Set<string> | null = null;
  let wasBusy = false;
  useStore.subscribe((s) => {
    const { chat } = currentRoute();
    const open = waiting(s.data);
    const busy = chat ? isBusy(chatState(s.data, chat)) : Object.values(s.data.chats).some((c) => isBusy(c.state));
    const title = (chat && clean(s.data.chats[chat]?.title ?? "")) || "Cadre";
    const mark = open.length > 0 ? `(${open.length}) ` : busy ? "● " : "";
    if (document.title !== mark + title) document.title = mark + title;
    show(open.length > 0 ? "icon-waiting" : busy ? "icon-working" : wasBusy && document.hidden ? "icon-done" : "icon");
    wasBusy = busy || (wasBusy && document.hidden);
    if (!s.ready) return;
    const ids = new Set(open.map((i) => i.id));
    const fresh = known ? open.filter((i) => !known?.has(i.id)) : [];
    known = ids;
    if (document.hidden && wantsNotices())
      for (const i of fresh) tell(`${clean(i.path)} waits for you`, clean(i.action).slice(0, 120), i.chatId);
  });
}

function tell(title: string, body: string, chat: string): void {
  const n = new Notification(title, { body, tag: chat, icon: "/icon.svg" });
  n.onclick = () => {
    window.focus();
    go(`/chats/${chat}`);
  };
}

function show(name: string): void {
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (link && !link.href.endsWith(`/${name}.svg`)) link.href = `/${name}.svg`;
}
