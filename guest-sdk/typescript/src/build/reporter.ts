import type { BuildFailure } from "./failure.js";

/** What a build put where. */
export interface Built {
  component: string;
  manifest: string;
  id: string;
  version: string;
  /** Bytes of the component. */
  size: number;
  milliseconds: number;
  /** Nothing had changed since the last build: the component is the one that was there. */
  unchanged: boolean;
}

/** Hears how a build goes. */
export interface Reporter {
  step(text: string): void;
  warning(text: string): void;
  /** A line that the author's own code printed. */
  printed(line: string): void;
  failed(failure: BuildFailure): void;
  done(built: Built): void;
}

/** For people: progress on standard error, the two paths on standard output. */
export const forPeople: Reporter = {
  step: (text) => console.error(text),
  warning: (text) => console.error(`warning: ${text}`),
  printed: (line) => console.error(`  | ${line}`),
  failed: ({ message }) => console.error(`error: ${message}`),
  done: ({ component, manifest, size, milliseconds, unchanged }) => {
    const how = unchanged ? "unchanged since the last build" : `${(milliseconds / 1000).toFixed(1)} s`;
    console.error(`done: ${(size / 1024 / 1024).toFixed(1)} MiB, ${how}`);
    console.log(component);
    console.log(manifest);
  },
};

/** For programs: one JSON object a line on standard output. */
export const forPrograms: Reporter = {
  step: (text) => write({ event: "step", text }),
  warning: (text) => write({ event: "warning", text }),
  printed: (text) => write({ event: "printed", text }),
  failed: ({ kind, message, problems }) => write({ event: "failed", kind, message, problems }),
  done: (built) => write({ event: "done", ...built }),
};

/** Hears of warnings only. */
export function warningsOnly(warning: (text: string) => void): Reporter {
  return { step: () => {}, printed: () => {}, failed: () => {}, done: () => {}, warning };
}

function write(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
