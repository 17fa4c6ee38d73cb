// What the page knows: documents by collection, and replies on their way.
// It comes from snapshots and the feed alone, so that two windows agree.

import type { Agent, Chat, Item, Me, Message, ModelCall, Task, ToolCall } from "../api/types";

export type Docs<T> = Readonly<Record<string, T>>;

/** One part of a reply that is being received. */
export interface StreamPart {
  kind: string;
  name: string;
  text: string;
  /** How many bytes the part has, those included that were never seen. */
  bytes: number;
}

/** A reply on its way. It is void once the document of its call is there. */
export interface Stream {
  call: string;
  parts: readonly StreamPart[];
  /** When something of it came last, by this machine's clock. */
  at: number;
}

/** What a running tool has printed. It is void once its call is done. */
export interface Printed extends StreamPart {
  at: number;
}

export interface State {
  me: Me | null;
  /** What the user has set for themselves; null until it is known. */
  settings: Readonly<Record<string, unknown>> | null;
  chats: Docs<Chat>;
  items: Docs<Item>;
  agents: Docs<Agent>;
  tasks: Docs<Task>;
  /** By agent, sorted by place; queued ones last. */
  messages: Docs<readonly Message[]>;
  toolCalls: Docs<Docs<ToolCall>>;
  modelCalls: Docs<Docs<ModelCall>>;
  streams: Docs<Stream>;
  /** By agent and tool call. */
  printed: Docs<Docs<Printed>>;
  /** When an agent last got on, by agent. */
  progress: Docs<number>;
  /** The newest reply to the user that the feed told of, by chat. */
  heard: Docs<number>;
}

export const empty: State = {
  me: null,
  settings: null,
  chats: {},
  items: {},
  agents: {},
  tasks: {},
  messages: {},
  toolCalls: {},
  modelCalls: {},
  streams: {},
  printed: {},
  progress: {},
  heard: {},
};
