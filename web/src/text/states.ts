// The states of an agent as they are shown: icon, word and colour always
// together, so that none has to be seen for the others to be understood.

export type Tone = "grey" | "blue" | "amber" | "green" | "teal" | "red";

export type Sign =
  | "outline"
  | "pulse"
  | "play"
  | "clock"
  | "hand"
  | "question"
  | "coin"
  | "branches"
  | "ending"
  | "check"
  | "half"
  | "cross"
  | "stopped"
  | "pause";

export interface Shown {
  word: string;
  sign: Sign;
  tone: Tone;
  /** It works, or waits for something that will come by itself. */
  live?: boolean;
  /** It waits for a person. */
  person?: boolean;
  /** It ended, and not well: always visible. */
  bad?: boolean;
  over?: boolean;
}

const states: Record<string, Shown> = {
  idle: { word: "idle", sign: "outline", tone: "grey" },
  queued: { word: "queued", sign: "outline", tone: "grey", live: true },
  thinking: { word: "thinking", sign: "pulse", tone: "blue", live: true },
  compacting: { word: "shortening", sign: "pulse", tone: "blue", live: true },
  acting: { word: "acting", sign: "play", tone: "blue", live: true },
  accepting: { word: "checking", sign: "play", tone: "blue", live: true },
  retrying: { word: "retrying", sign: "clock", tone: "amber", live: true },
  awaiting_approval: { word: "needs approval", sign: "hand", tone: "amber", live: true, person: true },
  awaiting_answer: { word: "asks", sign: "question", tone: "amber", live: true, person: true },
  awaiting_budget: { word: "needs budget", sign: "coin", tone: "amber", live: true, person: true },
  awaiting_children: { word: "waiting", sign: "branches", tone: "blue", live: true },
  cancelling: { word: "cancelling", sign: "ending", tone: "grey", live: true },
  settling: { word: "settling", sign: "ending", tone: "grey", live: true },
  completed: { word: "completed", sign: "check", tone: "green", over: true },
  partial: { word: "partial", sign: "half", tone: "teal", over: true, bad: true },
  failed: { word: "failed", sign: "cross", tone: "red", over: true, bad: true },
  cancelled: { word: "cancelled", sign: "stopped", tone: "grey", over: true },
  timeout: { word: "timed out", sign: "clock", tone: "amber", over: true, bad: true },
  max_turns: { word: "turn limit", sign: "clock", tone: "amber", over: true, bad: true },
  budget: { word: "budget spent", sign: "coin", tone: "amber", over: true, bad: true },
  superseded: { word: "superseded", sign: "stopped", tone: "grey", over: true },
  interrupted: { word: "interrupted", sign: "pause", tone: "amber", over: true, bad: true },
};

export function shown(state: string): Shown {
  return states[state] ?? { word: state.replaceAll("_", " ") || "unknown", sign: "outline", tone: "grey" };
}
