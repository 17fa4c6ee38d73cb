// Completion in the composer: @ names agents, / names commands.

export interface Suggestion {
  label: string;
  hint: string;
  insert: string;
  run?: () => void;
}

export interface Asked {
  sign: "@" | "/";
  text: string;
  from: number;
}

/** asked tells what is being completed where the cursor stands. */
export function asked(text: string, cursor: number): Asked | null {
  const before = text.slice(0, cursor);
  const at = /(?:^|\s)@([\w-]*)$/.exec(before);
  if (at) return { sign: "@", text: at[1] ?? "", from: cursor - (at[1] ?? "").length - 1 };
  const slash = /^\/([\w-]*)$/.exec(before);
  if (slash) return { sign: "/", text: slash[1] ?? "", from: 0 };
  return null;
}

export function matching(all: Suggestion[], text: string): Suggestion[] {
  const lower = text.toLowerCase();
  return all.filter((s) => s.label.toLowerCase().slice(1).startsWith(lower)).slice(0, 8);
}
