// The first page: a new chat, and for who is here for the first time an
// example that shows in a minute what Cadre does.

import { ArrowRight, GitFork, ShieldCheck, Wallet } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { Composer } from "../chat/composer";
import { ModelPicker, useModels, usualModel } from "../chat/modelpicker";
import { newChat } from "../state/act";
import { useStore } from "../state/store";
import { clean } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Button, Menu } from "../ui/kit";
import { ShowChats } from "./page";

const example = "Count the files in this folder; list the folders at the top; and summarise README.md";

const promises = [
  { icon: GitFork, title: "One orchestrator, many agents", text: "You talk to one. It hands work to others, which work side by side." },
  { icon: ShieldCheck, title: "Nothing risky unasked", text: "What an agent wants to change or run waits in one inbox, at any depth." },
  { icon: Wallet, title: "Everything on record", text: "Each prompt, tool, token and cent, live and afterwards. A crash loses nothing." },
];

export function NewPage() {
  const me = useStore((s) => s.data.me);
  const first = useStore((s) => s.ready && Object.keys(s.data.chats).length === 0);
  const models = useModels();
  const roles = useLoad("roles", api.roles);
  const [model, setModel] = useState(() => localStorage.getItem("cadre-model") ?? "");
  const [role, setRole] = useState("");
  const [busy, setBusy] = useState(false);
  const start = async (text: string, attachments: Parameters<typeof newChat>[1] = {}) => {
    setBusy(true);
    await newChat(text, { ...attachments, ...(model ? { model } : {}), ...(role ? { role } : {}) });
    setBusy(false);
  };
  const runExample = async () => {
    setBusy(true);
    await newChat(example, { model: "offline" });
    setBusy(false);
  };
  const pick = (ref: string) => {
    setModel(ref);
    localStorage.setItem("cadre-model", ref);
  };
  const usual = usualModel(models);
  const offline = (model || usual) === "offline";
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col overflow-y-auto" aria-label="New chat">
      <div className="p-2 md:hidden">
        <ShowChats />
      </div>
      <div className="mx-auto flex w-full max-w-[792px] flex-1 flex-col justify-center px-4 py-10">
        <h1 className="text-center text-2xl font-semibold tracking-tight">{first ? "Welcome to Cadre" : "What shall be done?"}</h1>
        {me && (
          <p className="mt-2 mb-6 text-center text-row text-faint">
            Agents work in <span className="font-mono">{clean(me.dir)}</span>
          </p>
        )}
        <Composer
          draftKey="new"
          placeholder="Describe a task. The orchestrator splits it and hands it out."
          suggestions={[]}
          autoFocus
          send={(text, attachments) => void start(text, { attachments })}
        >
          <ModelPicker usual={usual} stays={{ label: "As configured", hint: usual }} chosen={model} choose={pick} />
          <Menu
            up
            label="Role of the orchestrator"
            items={(roles.value?.items ?? [])
              .filter((r) => r.mode !== "subagent" && r.mode !== "tool")
              .map((r) => ({
                label: r.label || r.name,
                hint: r.description,
                chosen: (role || "main") === r.name,
                run: () => setRole(r.name),
              }))}
            button={<span className="text-small">{role || "main"} ▾</span>}
          />
        </Composer>
        {offline && (
          <p className="mt-3 text-center text-small text-faint">
            {usual === "offline"
              ? "No model is configured: fixed rules answer (the offline model)."
              : "Fixed rules answer, not a language model."}{" "}
            They can count, list, search and summarise files. {usual === "offline" && "Set an API key to use a language model."}
          </p>
        )}
        {(first || offline) && (
          <div className="mt-6 rounded-lg border border-line p-4">
            <h2 className="text-read font-medium">See it work, in one minute</h2>
            <p className="mt-1 text-row text-soft">
              “{example}.” The orchestrator starts three sub-agents at once over this folder. They only read, and the offline model needs no
              key and costs nothing.
            </p>
            <Button look="primary" className="mt-3" disabled={busy} onClick={() => void runExample()}>
              Run the example
              <ArrowRight size={14} />
            </Button>
          </div>
        )}
        {first && (
          <ul className="mt-6 grid gap-4 sm:grid-cols-3">
            {promises.map((p) => (
              <li key={p.title}>
                <p.icon size={17} className="text-accent" aria-hidden />
                <h2 className="mt-2 font-medium">{p.title}</h2>
                <p className="mt-1 text-faint">{p.text}</p>
              </li>
            ))}
          </ul>
        )}
      </div>
    </main>
  );
}
