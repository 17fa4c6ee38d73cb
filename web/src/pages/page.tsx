// The frame of the pages that are not chats.

import { Menu as MenuIcon } from "lucide-react";
import { createContext, useContext, type ReactNode } from "react";
import { waiting } from "../state/select";
import { useStore } from "../state/store";
import { Button, Empty, IconButton } from "../ui/kit";
import { go } from "../ui/route";

/** How a page opens the sidebar where it is a sheet. */
export const OpenSidebar = createContext<() => void>(() => {});

/** Opens the sidebar where it is a sheet, and tells how much waits in it. */
export function ShowChats({ className = "" }: { className?: string }) {
  const open = useContext(OpenSidebar);
  const count = useStore((s) => waiting(s.data).length);
  return (
    <IconButton
      label={count > 0 ? `Show the chats, ${count} waiting` : "Show the chats"}
      className={`relative mr-1 md:hidden ${className}`}
      onClick={open}
    >
      <MenuIcon size={17} />
      {count > 0 && (
        <span
          aria-hidden
          className="figures absolute -top-0.5 -right-0.5 min-w-3.5 rounded-full bg-amber px-1 text-center text-[9px] leading-3.5 font-semibold text-canvas"
        >
          {count}
        </span>
      )}
    </IconButton>
  );
}

/** What stands where an address leads to nothing. */
export function Missing({ what, children }: { what: string; children?: ReactNode }) {
  return (
    <Page title="Not found">
      <Empty title={what}>
        {children && <p className="mb-4">{children}</p>}
        <Button look="outline" onClick={() => go("/")}>
          Begin a new chat
        </Button>
      </Empty>
    </Page>
  );
}

export function Page({ title, note = "", children, wide = false }: { title: string; note?: string; children: ReactNode; wide?: boolean }) {
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col" aria-label={title}>
      <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-4">
        <ShowChats className="-ml-1" />
        <h1 className="text-read font-medium">{title}</h1>
        {note && <span className="hidden truncate text-small text-faint sm:inline">{note}</span>}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0}>
        <div className={`mx-auto w-full px-4 py-6 ${wide ? "max-w-5xl" : "max-w-[792px]"}`}>{children}</div>
      </div>
    </main>
  );
}
