// Which of several running agents shall stop.

import { Square } from "lucide-react";
import { AgentRow } from "../agents/row";
import { stopChat } from "../state/act";
import { inTree, within } from "../state/select";
import { useStore } from "../state/store";
import { shown } from "../text/states";
import { Button, Dialog, DialogHead } from "../ui/kit";
import { currentRoute, showPanel } from "../ui/route";

export default function StopWhich({ close }: { close: () => void }) {
  const { chat } = currentRoute();
  const agents = useStore((s) => s.data.agents);
  const live = Object.values(agents)
    .filter((a) => a.parent && within(a.id, chat) && shown(a.state).live)
    .sort((a, b) => inTree(a.id, b.id));
  return (
    <Dialog label="Stop which agents" close={close} className="max-w-2xl">
      <DialogHead title="Stop which?" close={close} />
      <div className="p-3">
        <p className="mb-2 px-2 text-soft">What was done so far is kept. An agent that is stopped takes its sub-agents with it.</p>
        {live.slice(0, 50).map((a) => (
          <AgentRow
            key={a.id}
            id={a.id}
            depth={a.depth - 1}
            open={(id) => {
              close();
              showPanel(`agent:${id}`);
            }}
          />
        ))}
        <Button
          look="danger"
          className="mt-3"
          onClick={() => {
            void stopChat(chat);
            close();
          }}
        >
          <Square size={12} fill="currentColor" />
          Stop all
        </Button>
      </div>
    </Dialog>
  );
}
