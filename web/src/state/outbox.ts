// What is not sent yet outlives the page: it begins anew by itself when its
// place in the feed is gone, which is often just after messages could not be
// sent. What was written must not be lost by that, nor by a reload by hand.

import type { Attachment } from "../api/types";
import type { Pending } from "./store";

/** What goes along with messages in the outbox, by message. */
export const kept = new Map<string, Attachment[]>();

const name = "cadre-outbox";
const unknown = "The page was loaded anew meanwhile.";
const tooLarge = "The page was loaded anew, and what was attached is too large to be kept: attach it again.";

interface Packed {
  pending: Pending;
  attachments: Attachment[];
}

type Storage = Pick<globalThis.Storage, "getItem" | "setItem" | "removeItem">;

/** pack leaves the outbox to the page that comes next in this window. */
export function pack(outbox: readonly Pending[], storage: Storage = sessionStorage): void {
  if (outbox.length === 0) return;
  const packed = outbox.map((p): Packed => ({ pending: { ...p, failed: p.failed || unknown }, attachments: kept.get(p.id) ?? [] }));
  try {
    storage.setItem(name, JSON.stringify(packed));
  } catch {
    // A browser keeps a few megabytes: the words go first.
    const words = packed.map(({ pending, attachments }): Packed => {
      return { pending: attachments.length > 0 ? { ...pending, failed: tooLarge } : pending, attachments: [] };
    });
    try {
      storage.setItem(name, JSON.stringify(words));
    } catch {
      // Nothing can be kept here.
    }
  }
}

/** unpack takes what the page before has left. It may have arrived: the same id is one message. */
export function unpack(storage: Storage = sessionStorage): Pending[] {
  try {
    const packed = JSON.parse(storage.getItem(name) ?? "[]") as Packed[];
    storage.removeItem(name);
    for (const { pending, attachments } of packed) if (attachments.length > 0) kept.set(pending.id, attachments);
    return packed.map((p) => p.pending);
  } catch {
    return [];
  }
}
