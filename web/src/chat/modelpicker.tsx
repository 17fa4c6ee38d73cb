// The choice of a model: for a new chat, or for a chat from its next message
// on.

import { Cpu } from "lucide-react";
import { useMemo } from "react";
import { api } from "../api/client";
import type { Models } from "../api/types";
import { clean, modelName } from "../text/format";
import { useLoad } from "../ui/hooks";
import { Picker, type Option } from "../ui/picker";

let asked: Promise<Models> | null = null;

/** useModels is which models there are; they stay the same while the server runs. */
export function useModels(): Models | null {
  const load = () =>
    (asked ??= api.models().catch((err: unknown) => {
      asked = null;
      throw err;
    }));
  return useLoad("models", load).value;
}

/** What answers where none is chosen. */
export const usualModel = (models: Models | null) => models?.choices.find((c) => c.name === "")?.model ?? "";

function optionsOf(models: Models | null): Option[] {
  const tiers = (models?.choices ?? []).filter((c) => c.name !== "");
  return [
    ...tiers.map((c) => ({ value: c.name, label: c.name, hint: c.model || c.reason || "" })),
    ...(models?.models ?? []).map((m) => ({
      value: m.ref,
      label: clean(m.ref),
      hint: m.offline ? "fixed rules, no language model" : clean(m.name ?? ""),
    })),
  ];
}

interface Props {
  /** What answers without a choice, and how that is said in the list. */
  usual: string;
  stays: { label: string; hint: string };
  chosen: string;
  choose: (model: string) => void;
}

export function ModelPicker({ usual, stays, chosen, choose }: Props) {
  const models = useModels();
  const options = useMemo<Option[]>(
    () => [{ value: "", ...stays }, ...optionsOf(models).filter((o) => o.value !== stays.label)],
    [models, stays.label, stays.hint],
  );
  return (
    <Picker
      label="Model"
      options={options}
      chosen={chosen}
      choose={choose}
      button={
        <span className="flex min-w-0 items-center gap-1 text-small">
          <Cpu size={13} className="shrink-0" aria-hidden />
          <span className="truncate">{modelName(chosen || usual) || "model"}</span> ▾
        </span>
      }
    />
  );
}
