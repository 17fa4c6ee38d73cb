// Short notices at the foot of the page.

import { X } from "lucide-react";
import { dismiss, useStore } from "../state/store";
import { IconButton } from "../ui/kit";

export function Notices() {
  const notices = useStore((s) => s.notices);
  return (
    <div aria-live="polite" className="pointer-events-none fixed inset-x-0 bottom-4 z-50 flex flex-col items-center gap-2 px-4">
      {notices.map((n) => (
        <div
          key={n.id}
          role={n.bad ? "alert" : "status"}
          className={`appears pointer-events-auto flex max-w-lg items-center gap-3 rounded-lg border border-line py-1.5 pr-1.5 pl-4 text-row shadow-lg ${n.bad ? "bg-red-wash" : "bg-canvas"}`}
        >
          <span className="[overflow-wrap:anywhere]">{n.text}</span>
          {n.action && (
            <button
              type="button"
              className="font-medium text-accent"
              onClick={() => {
                n.action?.run();
                dismiss(n.id);
              }}
            >
              {n.action.label}
            </button>
          )}
          <IconButton label="Dismiss" onClick={() => dismiss(n.id)}>
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
