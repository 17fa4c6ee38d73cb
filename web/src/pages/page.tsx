// The frame of the pages that are not chats.

import { Menu as MenuIcon } from "lucide-react";
import { createContext, useContext, type ReactNode } from "react";
import { IconButton } from "../ui/kit";

/** How a page opens the sidebar where it is a sheet. */
export const OpenSidebar = createContext<() => void>(() => {});

export function Page({ title, note = "", children, wide = false }: { title: string; note?: string; children: ReactNode; wide?: boolean }) {
  const open = useContext(OpenSidebar);
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col" aria-label={title}>
      <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-4">
        <IconButton label="Show the chats" className="-ml-1 md:hidden" onClick={open}>
          <MenuIcon size={17} />
        </IconButton>
        <h1 className="text-read font-medium">{title}</h1>
        {note && <span className="hidden truncate text-small text-faint sm:inline">{note}</span>}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0}>
        <div className={`mx-auto w-full px-4 py-6 ${wide ? "max-w-5xl" : "max-w-[792px]"}`}>{children}</div>
      </div>
    </main>
  );
}
