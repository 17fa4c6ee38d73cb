// The keys, in one place.

import { Dialog, DialogHead } from "../ui/kit";

const keys: [string, string][] = [
  ["Ctrl K", "find anything"],
  ["N", "new chat"],
  ["G", "inbox"],
  ["/", "write"],
  ["J, K", "next, previous message or card"],
  ["A, D", "allow once, deny"],
  ["I", "inspector"],
  ["S", "steps"],
  ["T", "timeline"],
  ["C", "cost"],
  ["Enter, arrows", "in the timeline: pick a bar, move, open its agent"],
  ["Esc", "close the panel; stop what runs"],
  ["@", "address an agent, in a message"],
  ["?", "this help"],
];

export default function Help({ close }: { close: () => void }) {
  return (
    <Dialog label="Keys" close={close}>
      <DialogHead title="Keys" close={close} />
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 p-4">
        {keys.map(([k, what]) => (
          <div key={k} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-surface px-1.5 py-0.5 font-mono text-small">{k}</kbd>
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
