// Timers (HTML Standard, section 8.6).
import { clearTimer, setTimer } from "kitbag:host";

import { reportError } from "./report-error.js";

/** The current host timer of each interval. Every repetition uses a new one. */
const intervals = new Map<number, number>();

export function setTimeout(callback: (...args: unknown[]) => unknown, delay?: number, ...args: unknown[]): number {
  return setTimer(guarded("setTimeout", callback, args), milliseconds(delay));
}

export function setInterval(callback: (...args: unknown[]) => unknown, delay?: number, ...args: unknown[]): number {
  const period = Math.max(milliseconds(delay), 1);
  const action = guarded("setInterval", callback, args);
  const again = (): void => {
    intervals.set(id, setTimer(again, period));
    action();
  };
  const id = setTimer(again, period);
  intervals.set(id, id);
  return id;
}

export function clearTimeout(id?: unknown): void {
  if (id === undefined || id === null) return;
  const own = Number(id);
  const current = intervals.get(own);
  intervals.delete(own);
  if (Number.isInteger(own) && own > 0) clearTimer(current ?? own);
}

export function clearInterval(id?: unknown): void {
  clearTimeout(id);
}

function guarded(name: string, callback: (...args: unknown[]) => unknown, args: unknown[]): () => void {
  if (typeof callback !== "function") throw new TypeError(`${name}: the callback is not a function`);
  return () => {
    try {
      callback.apply(globalThis, args);
    } catch (error) {
      reportError(error);
    }
  };
}

/** Returns the delay in milliseconds. Values above 2³¹ - 1 mean no delay, as in browsers. */
function milliseconds(delay: unknown): number {
  const number = Math.trunc(Number(delay ?? 0));
  return number > 0 && number <= 0x7fffffff ? number : 0;
}
