// The frame of the app: sidebar, page, panel; notices; keys that work
// everywhere.

import { lazy, Suspense, useEffect, useState } from "react";
import { ChatPage } from "./chat/page";
import { Connection } from "./pages/connection";
import { Notices } from "./pages/notices";
import { InboxPage } from "./pages/inbox";
import { NewPage } from "./pages/new";
import { Missing, OpenSidebar } from "./pages/page";
import { Sidebar } from "./pages/sidebar";
import { SignIn } from "./pages/signin";
import { start } from "./state/load";
import { useStore } from "./state/store";
import { Boundary } from "./ui/boundary";
import { useMedia } from "./ui/hooks";
import { useKeys } from "./ui/keys";
import { Failure, Loading } from "./ui/kit";
import { useRoute } from "./ui/route";

const Panel = lazy(() => import("./panel/panel"));
const AgentPage = lazy(() => import("./panel/agentpage"));
const RolesPage = lazy(() => import("./pages/roles"));
const SettingsPage = lazy(() => import("./pages/settings"));
const Palette = lazy(() => import("./pages/palette"));
const Help = lazy(() => import("./pages/help"));
const StopWhich = lazy(() => import("./pages/stopwhich"));

export function App() {
  const route = useRoute();
  const narrow = useMedia("(max-width: 767px)");
  const [sheet, setSheet] = useState(false);
  const [over, setOver] = useState<"" | "palette" | "help" | "stop">("");
  const broken = useStore((s) => s.broken);
  const stranger = useStore((s) => s.stranger);
  const ready = useStore((s) => s.ready);
  useEffect(() => void start(), []);
  useEffect(() => setSheet(false), [route]);
  useKeys(setOver);
  if (stranger) return <SignIn />;
  if (broken && !ready)
    return (
      <div className="mx-auto max-w-lg pt-24">
        <h1 className="px-4 text-xl font-semibold">Cadre</h1>
        <Failure text={broken} retry={() => void start()} />
      </div>
    );
  const openSidebar = () => setSheet(true);
  return (
    <OpenSidebar value={openSidebar}>
      <div className="flex h-full">
        <a href="#page" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-canvas focus:p-2">
          Skip to the page
        </a>
        {!narrow && (
          <div className="w-[260px] shrink-0 border-r border-line">
            <Sidebar find={() => setOver("palette")} />
          </div>
        )}
        {narrow && sheet && (
          <div
            className="fixed inset-0 z-40 flex bg-black/40"
            onMouseDown={(e) => e.target === e.currentTarget && setSheet(false)}
            onKeyDown={(e) => e.key === "Escape" && setSheet(false)}
          >
            <div className="w-[300px] max-w-[85vw] bg-side">
              <Sidebar close={() => setSheet(false)} find={() => setOver("palette")} />
            </div>
          </div>
        )}
        <div id="page" className="relative flex h-full min-w-0 flex-1">
          {narrow && !sheet && (
            <div className="absolute inset-x-2 top-14 z-30 empty:hidden">
              <Connection brief />
            </div>
          )}
          <Boundary name={`${route.page} ${route.chat} ${route.agent}`}>
            <Suspense
              fallback={
                <div className="flex-1">
                  <Loading rows={6} />
                </div>
              }
            >
              {route.page === "new" && <NewPage />}
              {route.page === "chat" && <ChatPage chat={route.chat} />}
              {route.page === "agent" && <AgentPage chat={route.chat} agent={route.agent} />}
              {route.page === "inbox" && <InboxPage />}
              {route.page === "roles" && <RolesPage />}
              {route.page === "settings" && <SettingsPage />}
              {route.page === "missing" && <Missing what="There is no such page" />}
            </Suspense>
          </Boundary>
          {route.panel && route.page === "chat" && (
            <Boundary name={route.panel}>
              <Suspense fallback={null}>
                <Panel chat={route.chat} panel={route.panel} />
              </Suspense>
            </Boundary>
          )}
        </div>
      </div>
      <Suspense fallback={null}>
        {over === "palette" && <Palette close={() => setOver("")} />}
        {over === "help" && <Help close={() => setOver("")} />}
        {over === "stop" && <StopWhich close={() => setOver("")} />}
      </Suspense>
      <Notices />
    </OpenSidebar>
  );
}
