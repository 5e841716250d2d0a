import { limitsOfCalls } from "../rules.js";
import type { BuildFailure } from "./failure.js";
import { mebibytes } from "./memory.js";

/** The result of a successful build. `component` and `manifest` are paths. */
export interface Built {
  component: string;
  manifest: string;
  id: string;
  version: string;
  /** Size of the component in bytes. */
  size: number;
  /** Initial memory of each call, in bytes. */
  memory: number;
  milliseconds: number;
  /** Whether the component is identical to the one of the last build. */
  unchanged: boolean;
}

/** Receives the events of a build. */
export interface Reporter {
  step(text: string): void;
  warning(text: string): void;
  /** A line printed by the author's code. */
  printed(line: string): void;
  failed(failure: BuildFailure): void;
  done(built: Built): void;
}

/** Text for people: progress on standard error, the two paths on standard output. */
export const forPeople: Reporter = {
  step: (text) => console.error(text),
  warning: (text) => console.error(`warning: ${text}`),
  printed: (line) => console.error(`  | ${line}`),
  failed: ({ message }) => console.error(`error: ${message}`),
  done: ({ component, manifest, size, memory, milliseconds, unchanged }) => {
    const how = unchanged ? "unchanged since the last build" : `${(milliseconds / 1000).toFixed(1)} s`;
    const share = `each call begins with ${mebibytes(memory)} of ${mebibytes(limitsOfCalls().callMemory)} MiB of memory`;
    console.error(`done: ${mebibytes(size)} MiB, ${how}; ${share}`);
    console.log(component);
    console.log(manifest);
  },
};

/** JSON for programs: one object per line on standard output. */
export const forPrograms: Reporter = {
  step: (text) => write({ event: "step", text }),
  warning: (text) => write({ event: "warning", text }),
  printed: (text) => write({ event: "printed", text }),
  failed: ({ kind, message, problems }) => write({ event: "failed", kind, message, problems }),
  done: (built) => write({ event: "done", ...built }),
};

/** Returns a reporter that passes warnings on and ignores all other events. */
export function warningsOnly(warning: (text: string) => void): Reporter {
  return { step: () => {}, printed: () => {}, failed: () => {}, done: () => {}, warning };
}

function write(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
