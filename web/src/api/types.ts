// Names for what the API's document describes. The types themselves are made
// of it: see generated/schema.ts. Times are Unix milliseconds, money is in
// millionths of a dollar.

import type { components } from "./generated/schema";

type Schemas = components["schemas"];

export type Agent = Schemas["Agent"];
export type Answer = Schemas["Answer"];
export type Approval = Schemas["Approval"];
export type Attachment = Schemas["Attachment"] & { mediaType: string };
export type Change = Schemas["Change"];
export type Chat = Schemas["ChatRow"];
export type Delta = Schemas["Delta"];
export type Document = Schemas["Document"];
export type Item = Schemas["Item"];
export type Finding = Schemas["Finding"];
export type LogEntry = Schemas["LogEntry"];
export type Me = Schemas["Me"];
export type Message = Schemas["Message"];
export type Model = Schemas["Model"];
export type ModelCall = Schemas["ModelCall"];
export type Models = Schemas["Models"];
export type Part = Schemas["Part"];
export type Policy = Schemas["Policy"];
export type Prompt = Schemas["Prompt"];
export type Provider = Schemas["Provider"];
export type Report = Schemas["Report"];
export type Role = Schemas["Role"];
export type Spending = Schemas["Spending"];
export type Task = Schemas["Task"];
export type ToolCall = Schemas["ToolCall"];
export type Work = Schemas["Work"];

/** A page of a list; next is absent after the last. */
export interface Page<T> {
  items: T[];
  next?: string;
}

/** The detail of an item that asks for an approval. */
export const approvalOf = (i: Item): Approval | undefined => (i.detail && "tool" in i.detail ? i.detail : undefined);

/** The detail of an item about what an agent leaves in its worktree. */
export const workOf = (i: Item): Work | undefined => (i.detail && "branch" in i.detail ? i.detail : undefined);
