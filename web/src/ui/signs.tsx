// The icons of states and roles.

import {
  Bot,
  Bug,
  Check,
  Circle,
  CircleDashed,
  CircleDollarSign,
  CircleHelp,
  CircleSlash,
  ClipboardList,
  Clock,
  Code,
  Eye,
  FlaskConical,
  GitBranch,
  Hand,
  Library,
  Loader,
  Pause,
  Play,
  ScanSearch,
  Sparkles,
  Workflow,
  X,
  type LucideIcon,
} from "lucide-react";
import { shown, type Sign, type Tone } from "../text/states";

export const tones: Record<Tone, string> = {
  grey: "text-faint",
  blue: "text-blue",
  amber: "text-amber",
  green: "text-green",
  teal: "text-teal",
  red: "text-red",
};

const signs: Record<Exclude<Sign, "half">, LucideIcon> = {
  outline: CircleDashed,
  pulse: Circle,
  play: Play,
  clock: Clock,
  hand: Hand,
  question: CircleHelp,
  coin: CircleDollarSign,
  branches: GitBranch,
  ending: Loader,
  check: Check,
  cross: X,
  stopped: CircleSlash,
  pause: Pause,
};

/** The icon of a state. Where its word does not stand beside it, it is read out. */
export function StateIcon({ state, size = 14, alone = false }: { state: string; size?: number; alone?: boolean }) {
  const s = shown(state);
  const label = alone ? { role: "img", "aria-label": s.word } : { "aria-hidden": true };
  const className = `shrink-0 ${tones[s.tone]}`;
  if (s.sign === "half") {
    return (
      <svg
        {...label}
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        className={className}
      >
        <title>{s.word}</title>
        <path d="M4 12l5 5L14 11" />
        <path d="M16.500 8.500L20 5" strokeDasharray="1 3.500" />
      </svg>
    );
  }
  const Icon = signs[s.sign];
  return (
    <span {...label} title={s.word} className={`inline-flex ${className} ${s.sign === "pulse" ? "breathes" : ""}`}>
      <Icon size={size} fill={s.sign === "pulse" || s.sign === "play" ? "currentColor" : "none"} />
    </span>
  );
}

export function StateBadge({ state }: { state: string }) {
  const s = shown(state);
  return (
    <span className={`inline-flex items-center gap-1 text-small font-medium whitespace-nowrap ${tones[s.tone]}`}>
      <StateIcon state={state} size={13} />
      {s.word}
    </span>
  );
}

const roles: Record<string, LucideIcon> = {
  main: Workflow,
  orchestrator: Workflow,
  coder: Code,
  tester: FlaskConical,
  reviewer: Eye,
  codereview: Eye,
  planner: ClipboardList,
  planner_tool: ClipboardList,
  debugger: Bug,
  researcher: Library,
  codesearch: ScanSearch,
  general: Sparkles,
};

export function RoleIcon({ role, size = 14, className = "text-soft" }: { role: string; size?: number; className?: string }) {
  const Icon = roles[role.toLowerCase()] ?? Bot;
  return <Icon size={size} className={`shrink-0 ${className}`} aria-hidden />;
}
