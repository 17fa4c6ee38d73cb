// The panel beside a chat: inspector, steps, timeline, cost, roles. It can be
// made wider; on narrow screens it covers the page.

import { ChartGantt, CircleDollarSign, ListTree, PanelRight, Users, X } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { useMedia } from "../ui/hooks";
import { IconButton, Loading } from "../ui/kit";
import { showPanel } from "../ui/route";
import { Tabs } from "../ui/tabs";
import { Inspector } from "./inspector";

const Steps = lazy(() => import("./steps"));
const Timeline = lazy(() => import("./timeline"));
const Cost = lazy(() => import("./cost"));
const Roles = lazy(() => import("./roles"));

const tabs = [
  { name: "agent", label: "Inspector", icon: PanelRight },
  { name: "steps", label: "Steps", icon: ListTree },
  { name: "timeline", label: "Timeline", icon: ChartGantt },
  { name: "cost", label: "Cost", icon: CircleDollarSign },
  { name: "roles", label: "Roles", icon: Users },
];

const widthKey = "cadre-panel-width";
const least = 420,
  most = 960;

export default function Panel({ chat, panel }: { chat: string; panel: string }) {
  const [kind = "", id = ""] = panel.split(/:(.*)/s);
  const [width, setWidth] = useState(() => Math.min(most, Math.max(least, Number(localStorage.getItem(widthKey)) || 520)));
  const narrow = useMedia("(max-width: 899px)");
  const agent = useRef(chat);
  if (kind === "agent" && id) agent.current = id;
  const resize = (next: number) => {
    const w = Math.min(most, Math.max(least, next));
    setWidth(w);
    localStorage.setItem(widthKey, String(w));
  };
  return (
    <aside
      aria-label="Details"
      className={
        narrow ? "slides fixed inset-0 z-30 flex flex-col bg-canvas" : "slides relative flex h-full shrink-0 flex-col border-l border-line"
      }
      style={narrow ? undefined : { width: `min(${width}px, 62vw)` }}
    >
      {!narrow && (
        <div
          role="separator"
          aria-orientation="vertical"
          aria-label="Width of the panel"
          aria-valuenow={width}
          aria-valuemin={least}
          aria-valuemax={most}
          tabIndex={0}
          className="absolute inset-y-0 -left-1 z-20 w-2 cursor-col-resize hover:bg-line"
          onKeyDown={(e) => {
            if (e.key === "ArrowLeft") resize(width + 24);
            if (e.key === "ArrowRight") resize(width - 24);
          }}
          onPointerDown={(e) => {
            e.currentTarget.setPointerCapture(e.pointerId);
          }}
          onPointerMove={(e) => {
            if (e.currentTarget.hasPointerCapture(e.pointerId)) resize(window.innerWidth - e.clientX);
          }}
        />
      )}
      <div className="flex h-12 shrink-0 items-center border-b border-line px-2">
        <Tabs
          label="Details"
          tabs={tabs.map((t) => ({
            name: t.name,
            label: (
              <>
                <t.icon size={14} aria-hidden />
                <span className={narrow && t.name !== kind ? "sr-only sm:not-sr-only" : ""}>{t.label}</span>
              </>
            ),
          }))}
          chosen={kind}
          choose={(name) => showPanel(name === "agent" ? `agent:${agent.current}` : name)}
          className="flex min-w-0 flex-1 items-center gap-0.5"
          tab={(chosen) =>
            `flex h-8 items-center gap-1.5 rounded-md px-2 text-row ${chosen ? "bg-hover font-medium text-text" : "text-faint hover:text-text"}`
          }
        />
        <IconButton label="Close the panel" onClick={() => showPanel("")}>
          <X size={16} />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1">
        <Suspense fallback={<Loading />}>
          {kind === "agent" && <Inspector key={id} chat={chat} agent={id || chat} />}
          {kind === "steps" && <Steps chat={chat} />}
          {kind === "timeline" && <Timeline chat={chat} />}
          {kind === "cost" && <Cost chat={chat} />}
          {kind === "roles" && <Roles />}
        </Suspense>
      </div>
    </aside>
  );
}
