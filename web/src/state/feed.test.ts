// The client of the feed: parsing, resuming, backing off, giving up.

import { describe, expect, it } from "vitest";
import { parser, subscribe, type FeedEvent, type Link } from "./feed";

describe("parser", () => {
  const parse = (...chunks: string[]) => {
    const out: FeedEvent[] = [];
    const feed = parser((e) => out.push(e));
    chunks.forEach(feed);
    return out;
  };

  it("reads events however they are cut", () => {
    const text = ': hello\n\nevent: change\nid: 7\ndata: {"a":1}\n\ndata: x\ndata: y\n\n';
    for (let cut = 0; cut <= text.length; cut++) {
      expect(parse(text.slice(0, cut), text.slice(cut))).toEqual([
        { event: "change", id: "7", data: '{"a":1}' },
        { event: "message", id: "7", data: "x\ny" },
      ]);
    }
  });

  it("does not tell an event that is not whole", () => {
    expect(parse("event: change\ndata: half\n")).toEqual([]);
  });
});

interface Server {
  urls: string[];
  answers: (() => Response)[];
}

function stream(...chunks: string[]): () => Response {
  return () =>
    new Response(
      new ReadableStream({
        start(c) {
          chunks.forEach((x) => c.enqueue(new TextEncoder().encode(x)));
          c.close();
        },
      }),
    );
}

function follow(server: Server, since = 3) {
  const seen: FeedEvent[] = [];
  const links: Link[] = [];
  const waits: number[] = [];
  let gone = 0;
  return new Promise<{ seen: FeedEvent[]; links: Link[]; waits: number[]; gone: number }>((done) => {
    const finish = () => {
      feed.close();
      done({ seen, links, waits, gone });
    };
    const feed = subscribe({
      url: "/changes",
      since,
      on: (e) => seen.push(e),
      link: (l) => {
        links.push(l);
        if (l === "refused") queueMicrotask(finish);
      },
      gone: () => {
        gone++;
        queueMicrotask(finish);
      },
      wait: async (ms) => void waits.push(ms),
      fetch: (async (url: string) => {
        server.urls.push(url);
        const next = server.answers.shift();
        if (!next) {
          queueMicrotask(finish);
          return new Promise<Response>(() => {});
        }
        return next();
      }) as typeof fetch,
    });
  });
}

describe("subscribe", () => {
  it("resumes after the last number it has seen", async () => {
    const server: Server = { urls: [], answers: [stream("id: 4\ndata: a\n\nid: 9\ndata: b\n\n"), stream("event: delta\ndata: d\n\n")] };
    const { seen } = await follow(server);
    expect(server.urls).toEqual(["/changes?since=3", "/changes?since=9", "/changes?since=9"]);
    expect(seen.map((e) => e.data)).toEqual(["a", "b", "d"]);
  });

  it("waits longer each time, and begins anew once connected", async () => {
    const fail = () => {
      throw new TypeError("no network");
    };
    const busy = () => new Response("", { status: 503 });
    const { waits, links } = await follow({ urls: [], answers: [fail, busy, fail, stream(""), fail] });
    expect(waits).toEqual([500, 1000, 2000, 500, 1000]);
    expect(links).toContain("live");
  });

  it("never waits longer than a quarter of a minute", async () => {
    const fail = () => {
      throw new TypeError("no network");
    };
    const { waits } = await follow({ urls: [], answers: Array.from({ length: 9 }, () => fail) });
    expect(Math.max(...waits)).toBe(15_000);
  });

  it("asks for a snapshot when its numbers are gone", async () => {
    const { gone } = await follow({ urls: [], answers: [() => new Response("", { status: 410 })] });
    expect(gone).toBe(1);
  });

  it("gives up when it is not let in", async () => {
    const server: Server = { urls: [], answers: [() => new Response("", { status: 401 })] };
    const { links } = await follow(server);
    expect(links.at(-1)).toBe("refused");
    expect(server.urls).toHaveLength(1);
  });
});
