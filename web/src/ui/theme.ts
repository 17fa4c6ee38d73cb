// Light, dark, or as the system has it.

import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";

const key = "cadre-theme";
const listeners = new Set<() => void>();
const dark = () => matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const held = localStorage.getItem(key);
  return held === "light" || held === "dark" ? held : "system";
}

function show(): void {
  const t = theme();
  document.documentElement.dataset["theme"] = t === "system" ? (dark().matches ? "dark" : "light") : t;
}

export function setTheme(t: Theme): void {
  localStorage.setItem(key, t);
  show();
  listeners.forEach((on) => on());
}

/** startTheme shows the chosen theme, and follows the system and other windows. */
export function startTheme(): void {
  show();
  dark().addEventListener("change", show);
  window.addEventListener("storage", (e) => {
    if (e.key !== key) return;
    show();
    listeners.forEach((on) => on());
  });
}

export const useTheme = () => useSyncExternalStore((on) => (listeners.add(on), () => void listeners.delete(on)), theme);
