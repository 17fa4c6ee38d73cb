// One feed for all windows. A browser opens few connections to a server at a
// time, and a feed holds one for good: with one for each window the fourth or
// fifth would hang. So one window, which holds a lock, follows the user's feed
// and tells the others; when it is closed, the next one goes on.

import { subscribe, type Feed, type FeedEvent, type FeedOptions, type Link } from "./feed";

export type Told =
  | { kind: "event"; event: FeedEvent }
  | { kind: "link"; link: Link; retryAt: number }
  | { kind: "gone" }
  | { kind: "hello" }
  | { kind: "retry" };

export interface Channel {
  postMessage: (told: Told) => void;
  onmessage: ((e: { data: Told }) => void) | null;
  close: () => void;
}

export interface SharedOptions extends FeedOptions {
  channel: Channel;
  /** What was told before this window knew its number. */
  early?: Told[];
  /** Something was told before this window listened: lists must be loaded anew. */
  missed: () => void;
  /** lead resolves when it is this window's turn; what it is given back is called when the window leaves. */
  lead: (signal: AbortSignal, run: () => Promise<void>) => void;
}

/** browserSharing is what browsers offer for it, null where they do not. */
export function browserSharing(name: string): Pick<SharedOptions, "channel" | "early" | "lead"> | null {
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined") return null;
  const channel = new BroadcastChannel(name) as unknown as Channel;
  const early: Told[] = [];
  channel.onmessage = ({ data }) => void early.push(data);
  return {
    channel,
    early,
    lead: (signal, run) => void navigator.locks.request(name, { signal }, run).catch(() => {}),
  };
}

/** share follows a feed together with other windows. Each event reaches each window once. */
export function share(options: SharedOptions): Feed {
  const { channel } = options;
  const leave = new AbortController();
  let since = options.since;
  let own: Feed | null = null;
  let link: { link: Link; retryAt: number } = { link: "connecting", retryAt: 0 };
  let release: () => void = () => {};

  const take = (event: FeedEvent) => {
    const seq = Number(event.id);
    if (event.event === "change" && event.id !== "" && Number.isFinite(seq)) {
      if (seq <= since) return;
      const prev = prevOf(event);
      if (prev !== null && prev > since) {
        options.missed();
        return;
      }
      since = Math.max(since, seq);
    }
    options.on(event);
  };
  const show = (l: Link, retryAt: number) => {
    link = { link: l, retryAt };
    options.link(l, retryAt);
  };

  const hear = (data: Told) => {
    if (data.kind === "event" && !own) take(data.event);
    else if (data.kind === "link" && !own) show(data.link, data.retryAt);
    else if (data.kind === "gone" && !own) options.gone();
    else if (data.kind === "hello" && own) channel.postMessage({ kind: "link", ...link });
    else if (data.kind === "retry") own?.retry();
  };
  channel.onmessage = ({ data }) => hear(data);
  options.early?.splice(0).forEach(hear);
  channel.postMessage({ kind: "hello" });

  options.lead(leave.signal, () => {
    if (leave.signal.aborted) return Promise.resolve();
    own = subscribe({
      ...options,
      since,
      on: (event) => {
        take(event);
        channel.postMessage({ kind: "event", event });
      },
      link: (l, retryAt) => {
        show(l, retryAt);
        channel.postMessage({ kind: "link", link: l, retryAt });
      },
      gone: () => {
        channel.postMessage({ kind: "gone" });
        options.gone();
      },
    });
    return new Promise<void>((done) => (release = done));
  });

  return {
    close: () => {
      leave.abort();
      own?.close();
      release();
      channel.close();
    },
    retry: () => (own ? own.retry() : channel.postMessage({ kind: "retry" })),
  };
}

function prevOf(event: FeedEvent): number | null {
  const found = /"prev":(\d+)/.exec(event.data.slice(0, 200));
  return found ? Number(found[1]) : null;
}
