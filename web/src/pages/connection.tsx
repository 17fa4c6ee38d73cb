// Whether what is seen is current.

import { CloudOff, LoaderCircle } from "lucide-react";
import { reconnect } from "../state/load";
import { useStore } from "../state/store";
import { took } from "../text/format";
import { useNow } from "../ui/hooks";

/** Where there is little room, nothing is said while it only connects. */
export function Connection({ brief = false }: { brief?: boolean }) {
  const link = useStore((s) => s.link);
  const retryAt = useStore((s) => s.retryAt);
  const paused = useStore((s) => s.data.me?.paused);
  const now = useNow(link === "waiting");
  if (paused)
    return (
      <p role="alert" className="mb-1 rounded-md bg-red-wash px-2 py-1.5 text-small">
        Nothing can be stored at present: {paused}
      </p>
    );
  if (link === "live" || (brief && link === "connecting")) return null;
  const left = retryAt - now;
  return (
    <div role="status" className="mb-1 flex items-center gap-2 rounded-md bg-amber-wash px-2 py-1.5 text-small">
      {link === "connecting" ? (
        <LoaderCircle size={14} className="animate-spin text-amber" aria-hidden />
      ) : (
        <CloudOff size={14} className="shrink-0 text-amber" aria-hidden />
      )}
      <span className="flex-1">
        {link === "connecting"
          ? "Connecting"
          : link === "refused"
            ? "Not signed in any more; cadre open opens the page anew"
            : `Not connected; trying again${left > 1000 ? ` in ${took(Math.round(left / 1000) * 1000)}` : ""}`}
      </span>
      {link === "waiting" && (
        <button type="button" onClick={reconnect} className="font-medium underline underline-offset-2">
          Now
        </button>
      )}
    </div>
  );
}
