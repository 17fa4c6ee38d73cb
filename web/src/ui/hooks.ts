// Hooks shared by the whole page: the time, the width, loading.

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { reason } from "../state/load";

const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let time = Date.now();

function tick(on: () => void): () => void {
  tickers.add(on);
  timer ??= setInterval(() => {
    time = Date.now();
    tickers.forEach((t) => t());
  }, 1000);
  return () => {
    tickers.delete(on);
    if (tickers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

const still = () => () => {};

/** useNow is the time, to the second; one that does not run stands still. */
export function useNow(runs = true): number {
  const seen = useSyncExternalStore(runs ? tick : still, () => time);
  return Math.max(seen, runs ? 0 : seen);
}

/** useMedia tells whether a media query holds. */
export function useMedia(query: string): boolean {
  const listen = useCallback(
    (on: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", on);
      return () => media.removeEventListener("change", on);
    },
    [query],
  );
  return useSyncExternalStore(listen, () => matchMedia(query).matches);
}

function visibility(on: () => void): () => void {
  document.addEventListener("visibilitychange", on);
  return () => document.removeEventListener("visibilitychange", on);
}

/** useVisible tells whether the window is seen. */
export const useVisible = () => useSyncExternalStore(visibility, () => !document.hidden);

/** useLoad runs a loader when its key changes, and tells how it went. */
export function useLoad<T>(key: string, load: () => Promise<T>): { value: T | null; error: string; loading: boolean; again: () => void } {
  const [state, setState] = useState<{ key: string; value: T | null; error: string; loading: boolean }>({
    key: "",
    value: null,
    error: "",
    loading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let current = true;
    setState((s) => ({ key, value: s.key === key ? s.value : null, error: "", loading: true }));
    latest.current().then(
      (value) => current && setState({ key, value, error: "", loading: false }),
      (err: unknown) => current && setState({ key, value: null, error: reason(err), loading: false }),
    );
    return () => {
      current = false;
    };
  }, [key, round]);
  return { ...state, again: () => setRound((n) => n + 1) };
}

/** useWidth measures an element. */
export function useWidth<T extends HTMLElement>(): [(el: T | null) => void, number] {
  const [width, setWidth] = useState(0);
  const ref = useCallback((el: T | null) => {
    if (!el) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
