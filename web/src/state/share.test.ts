// One feed for several windows: each hears everything once, also when the one
// that follows it leaves.

import { expect, it } from "vitest";
import type { FeedEvent } from "./feed";
import { share, type Channel, type Told } from "./share";

/** A browser with windows that hear each other, and a lock that one holds at a time. */
function browser() {
  const channels = new Set<Channel>();
  const queue: { signal: AbortSignal; run: () => Promise<void> }[] = [];
  let held = false;
  const next = () => {
    const first = queue.shift();
    if (!first) return;
    if (first.signal.aborted) return next();
    held = true;
    void first.run().then(() => {
      held = false;
      next();
    });
  };
  const streams: { url: string; send: (text: string) => void }[] = [];
  const open = (since: number, early: Told[] = []) => {
    const seen: string[] = [];
    let gone = 0;
    let missed = 0;
    const channel: Channel = {
      onmessage: null,
      postMessage: (data) => channels.forEach((c) => c !== channel && c.onmessage?.({ data })),
      close: () => void channels.delete(channel),
    };
    channels.add(channel);
    const feed = share({
      url: "/changes",
      since,
      channel,
      early,
      missed: () => void missed++,
      lead: (signal, run) => {
        queue.push({ signal, run });
        if (!held) next();
      },
      on: (e: FeedEvent) => seen.push(e.data),
      link: () => {},
      gone: () => void gone++,
      fetch: (async (url: string, init: RequestInit) => {
        const body = new ReadableStream<Uint8Array>({
          start(c) {
            streams.push({ url, send: (text) => c.enqueue(new TextEncoder().encode(text)) });
            init.signal?.addEventListener("abort", () => c.error(new Error("aborted")));
          },
        });
        return new Response(body);
      }) as typeof fetch,
    });
    return { seen, feed, gone: () => gone, missed: () => missed };
  };
  return { open, streams };
}

const settle = () => new Promise<void>((done) => setImmediate(done));
const event = (seq: number, prev: number) => `event: change\nid: ${seq}\ndata: {"prev":${prev},"seq":${seq}}\n\n`;
const data = (seq: number, prev: number) => `{"prev":${prev},"seq":${seq}}`;

it("opens one connection for all windows", async () => {
  const b = browser();
  const one = b.open(5),
    two = b.open(5);
  await settle();
  expect(b.streams).toHaveLength(1);
  b.streams[0]?.send(event(7, 5));
  await settle();
  expect(one.seen).toEqual([data(7, 5)]);
  expect(two.seen).toEqual([data(7, 5)]);
  b.streams[0]?.send(`event: state\ndata: {"paused":"full"}\n\n`); // has no number of its own
  await settle();
  expect(one.seen.at(-1)).toBe(`{"paused":"full"}`);
  expect(two.seen.at(-1)).toBe(`{"paused":"full"}`);
});

it("goes on in the next window where the first left off", async () => {
  const b = browser();
  const one = b.open(5),
    two = b.open(5);
  await settle();
  b.streams[0]?.send(event(7, 5));
  await settle();
  one.feed.close();
  await settle();
  expect(b.streams.map((s) => s.url)).toEqual(["/changes?since=5", "/changes?since=7"]);
  b.streams[1]?.send(event(9, 7));
  await settle();
  expect(two.seen).toEqual([data(7, 5), data(9, 7)]);
});

it("does not take what it has, and loads anew what it missed", async () => {
  const b = browser();
  b.open(5);
  const late = b.open(8);
  await settle();
  b.streams[0]?.send(event(7, 5) + event(8, 7));
  await settle();
  expect(late.seen).toEqual([]);
  b.streams[0]?.send(event(12, 10));
  await settle();
  expect(late.missed()).toBe(1);
  expect(late.gone()).toBe(0);
});

it("takes what was told while it loaded its lists", async () => {
  const b = browser();
  b.open(5);
  const told = (seq: number, prev: number) => ({ kind: "event" as const, event: { event: "change", id: `${seq}`, data: data(seq, prev) } });
  const late = b.open(8, [told(7, 5), told(8, 7), told(10, 8)]);
  await settle();
  b.streams[0]?.send(event(12, 10));
  await settle();
  expect(late.seen).toEqual([data(10, 8), data(12, 10)]);
  expect(late.missed()).toBe(0);
});
