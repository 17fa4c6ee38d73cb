// What a person does: send, stop, answer, rename, archive, delete, fork. The
// outcome is seen when the feed tells of it; a failure is told in a notice.

import { api } from "../api/client";
import type { Answer, Attachment, Item } from "../api/types";
import { go } from "../ui/route";
import { reason } from "./load";
import { kept } from "./outbox";
import { budget } from "./settings";
import { notify, read, write } from "./store";

const letters = "abcdefghijklmnopqrstuvwxyz234567";

function newMessageID(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return `msg-${Array.from(bytes, (b) => letters[b & 31]).join("")}`;
}

/** send posts a message; until the feed shows it, it stands in the outbox. */
export function send(chat: string, text: string, attachments: Attachment[] = [], model = ""): void {
  const id = newMessageID();
  if (attachments.length > 0) kept.set(id, attachments);
  write((s) => ({ outbox: [...s.outbox, { id, chat, text, model, at: Date.now(), failed: "" }] }));
  void post(id);
}

/** post sends what stands in the outbox, also once more: the same id is one message. */
export async function post(id: string): Promise<void> {
  const p = read().outbox.find((x) => x.id === id);
  if (!p) return;
  write((s) => ({ outbox: s.outbox.map((x) => (x.id === id ? { ...x, failed: "" } : x)) }));
  try {
    const attachments = kept.get(id);
    await api.send(p.chat, { id, text: p.text, ...(attachments ? { attachments } : {}), ...(p.model ? { model: p.model } : {}) });
    kept.delete(id);
  } catch (err) {
    write((s) => ({ outbox: s.outbox.map((x) => (x.id === id ? { ...x, failed: reason(err) } : x)) }));
  }
}

export function discard(id: string): void {
  kept.delete(id);
  write((s) => ({ outbox: s.outbox.filter((p) => p.id !== id) }));
}

async function attempt(what: string, run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (err) {
    notify(`${what}: ${reason(err)}`, { bad: true });
    return false;
  }
}

export async function newChat(text: string, options: { role?: string; model?: string; attachments?: Attachment[] } = {}): Promise<boolean> {
  const { attachments = [], ...rest } = options;
  return attempt("The chat was not created", async () => {
    const costMicros = await budget().catch(() => 0);
    const limits = costMicros > 0 ? { limits: { costMicros } } : {};
    const made = await api.createChat({ ...rest, ...limits, ...(attachments.length > 0 ? {} : { text }) });
    if (attachments.length > 0) send(made.chat.id, text, attachments);
    go(`/chats/${made.chat.id}`);
  });
}

export async function answer(item: Item, body: Answer): Promise<boolean> {
  return attempt("The answer was not taken", async () => {
    const done = await api.answer(item.chatId, item.id, body);
    if (done.said) notify(done.said);
  });
}

export const stopChat = (chat: string) => attempt("It was not stopped", () => api.stopChat(chat));
export const stopAgent = (chat: string, agent: string) => attempt("It was not stopped", () => api.stopAgent(chat, agent));
export const rename = (chat: string, title: string) => attempt("It was not renamed", () => api.setChat(chat, { title }));

export async function archive(chat: string, archived: boolean): Promise<void> {
  if (!(await attempt("It was not moved", () => api.setChat(chat, { archived })))) return;
  notify(archived ? "Moved to the archive." : "Taken out of the archive.", {
    action: { label: "Undo", run: () => void attempt("It was not moved", () => api.setChat(chat, { archived: !archived })) },
  });
}

/** removeLater deletes a chat unless the person thinks better of it. */
export function removeLater(chat: string): void {
  let undone = false;
  write((s) => ({ data: { ...s.data, chats: { ...s.data.chats, [chat]: { ...s.data.chats[chat]!, status: "deleting" } } } }));
  const restore = () => {
    undone = true;
    write((s) => {
      const held = s.data.chats[chat];
      return held ? { data: { ...s.data, chats: { ...s.data.chats, [chat]: { ...held, status: "" } } } } : {};
    });
  };
  notify("The chat will be deleted with everything in it.", { action: { label: "Undo", run: restore } });
  go("/");
  setTimeout(() => {
    if (undone) return;
    void attempt("It was not deleted", () => api.deleteChat(chat, true)).then((ok) => ok || restore());
  }, 7000);
}

export async function fork(chat: string, message: string, text: string): Promise<void> {
  await attempt("The chat was not forked", async () => {
    const made = await api.fork(chat, { message, text });
    go(`/chats/${made.chat.id}`);
  });
}
