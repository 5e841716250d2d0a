// The console (Console Standard). It writes to the toolkit's log.
import { monotonicNow, print } from "kitbag:host";

import { format, inspect, type InspectOptions } from "./inspect.js";
import { table } from "./table.js";

const counts = new Map<string, number>();
const timers = new Map<string, number>();
let indentation = "";

function write(args: readonly unknown[]): void {
  const text = format(args);
  print(indentation === "" ? text : indentation + text.replaceAll("\n", `\n${indentation}`));
}

function log(...args: unknown[]): void {
  write(args);
}

function group(...label: unknown[]): void {
  if (label.length > 0) write(label);
  indentation += "  ";
}

function sinceStart(label: string): string | undefined {
  const start = timers.get(label);
  if (start !== undefined) return elapsed(monotonicNow() - start);
  write([`Warning: No such label '${label}' for console.time()`]);
  return undefined;
}

function elapsed(milliseconds: number): string {
  return milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(3)}s` : `${Number(milliseconds.toFixed(3))}ms`;
}

/** The global `console`. Its methods work without `this`. */
export const console = {
  log,
  debug: (...args: unknown[]): void => write(args),
  info: (...args: unknown[]): void => write(args),
  warn: (...args: unknown[]): void => write(args),
  error: (...args: unknown[]): void => write(args),
  trace(...args: unknown[]): void {
    const frames = (new Error().stack ?? "").trimEnd().split("\n").slice(1).join("\n");
    write([`Trace${args.length === 0 ? "" : `: ${format(args)}`}${frames === "" ? "" : `\n${frames}`}`]);
  },
  dir: (value: unknown, options?: InspectOptions): void => write([inspect(value, options)]),
  dirxml: (...args: unknown[]): void => write(args),
  table: (data: unknown, columns?: readonly string[]): void => write([table(data, columns) ?? data]),
  assert(condition?: unknown, ...args: unknown[]): void {
    if (condition) return;
    if (typeof args[0] === "string") write([`Assertion failed: ${args[0]}`, ...args.slice(1)]);
    else write(["Assertion failed", ...args]);
  },
  clear: (): void => {},
  count(label: string = "default"): void {
    const count = (counts.get(`${label}`) ?? 0) + 1;
    counts.set(`${label}`, count);
    write([`${label}: ${count}`]);
  },
  countReset(label: string = "default"): void {
    if (!counts.delete(`${label}`)) write([`Warning: Count for '${label}' does not exist`]);
  },
  group,
  groupCollapsed: group,
  groupEnd(): void {
    indentation = indentation.slice(2);
  },
  time(label: string = "default"): void {
    if (timers.has(`${label}`)) write([`Warning: Label '${label}' already exists for console.time()`]);
    else timers.set(`${label}`, monotonicNow());
  },
  timeLog(label: string = "default", ...args: unknown[]): void {
    const time = sinceStart(`${label}`);
    if (time !== undefined) write([`${label}: ${time}`, ...args]);
  },
  timeEnd(label: string = "default"): void {
    const time = sinceStart(`${label}`);
    timers.delete(`${label}`);
    if (time !== undefined) write([`${label}: ${time}`]);
  },
};
