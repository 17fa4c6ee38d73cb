// The client of a feed: server-sent events over fetch, so that it can see why
// it was refused. It reconnects by itself, with backoff, from the last number
// it has seen, and tells its connection state.

export type Link = "connecting" | "live" | "waiting" | "refused";

export interface FeedEvent {
  event: string;
  id: string;
  data: string;
}

export interface FeedOptions {
  url: string;
  since: number;
  on: (event: FeedEvent) => void;
  link: (link: Link, retryAt: number) => void;
  /** The numbers before `since` are gone: what is shown must be loaded anew. */
  gone: () => void;
  fetch?: typeof fetch;
  wait?: (ms: number) => Promise<void>;
  /** Silence after which the connection counts as dead; the server sends heartbeats. */
  silence?: number;
}

export interface Feed {
  close: () => void;
  retry: () => void;
}

const firstWait = 500;
const longestWait = 15_000;

/** parser splits a stream of text into events. */
export function parser(on: (event: FeedEvent) => void): (text: string) => void {
  let rest = "";
  let event = "",
    id = "",
    data: string[] = [];
  const line = (text: string) => {
    if (text === "") {
      if (data.length > 0) on({ event: event || "message", id, data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  };
  return (text) => {
    rest += text;
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    lines.forEach(line);
  };
}

/** subscribe follows a feed until it is closed. */
export function subscribe(options: FeedOptions): Feed {
  const fetcher = options.fetch ?? fetch.bind(globalThis);
  const silence = options.silence ?? 45_000;
  let since = options.since;
  let closed = false;
  let tries = 0;
  let abort = new AbortController();
  let wake: () => void = () => {};

  const pause = (ms: number) => {
    const over = options.wait?.(ms) ?? new Promise<void>((done) => setTimeout(done, ms));
    return Promise.race([over, new Promise<void>((done) => (wake = done))]);
  };

  const read = async (answer: Response) => {
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const text = new TextDecoder();
    const parse = parser((event) => {
      const seq = Number(event.id);
      if (event.id !== "" && Number.isFinite(seq)) since = Math.max(since, seq);
      options.on(event);
    });
    for (;;) {
      const timer = setTimeout(() => abort.abort(), silence);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      parse(text.decode(value, { stream: true }));
    }
  };

  const connect = async (): Promise<"again" | "over"> => {
    abort = new AbortController();
    options.link("connecting", 0);
    const url = `${options.url}${options.url.includes("?") ? "&" : "?"}since=${since}`;
    const answer = await fetcher(url, { headers: { Accept: "text/event-stream" }, credentials: "same-origin", signal: abort.signal });
    if (answer.status === 410) {
      options.gone();
      return "over";
    }
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) {
      options.link("refused", 0);
      return "over";
    }
    if (!answer.ok || !answer.body) return "again";
    tries = 0;
    options.link("live", 0);
    await read(answer);
    return "again";
  };

  const run = async () => {
    while (!closed) {
      const outcome = await connect().catch(() => "again" as const);
      if (closed || outcome === "over") return;
      const ms = Math.min(firstWait * 2 ** tries++, longestWait);
      options.link("waiting", Date.now() + ms);
      await pause(ms);
    }
  };
  void run();

  return {
    close: () => {
      closed = true;
      abort.abort();
      wake();
    },
    retry: () => {
      tries = 0;
      wake();
    },
  };
}
