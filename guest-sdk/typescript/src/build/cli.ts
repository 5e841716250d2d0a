import { parseArgs } from "node:util";

import { buildToolkit } from "./build.js";
import { BuildFailure } from "./failure.js";
import { forPeople, forPrograms } from "./reporter.js";

const USAGE = `Turn an extension.ts into a component, and write manifest.json beside it

Usage: npx kitbag build [OPTIONS] [PATH]

Arguments:
  [PATH]  An extension.ts, or the folder that holds one [default: .]

Options:
  -o, --out <OUT>  Where the results go; by default dist beside the entry
      --json       Say everything in JSON, one object a line
  -h, --help       Print help

Exit codes: 0 done; 1 the toolkit is at fault; 2 wrong usage; 3 this machine is.
Next: kitbag toolkit deploy dist/<id>.wasm
`;

/** Runs the command line and returns the exit code. */
export async function main(args: string[]): Promise<number> {
  if (args[0] === "build") args = args.slice(1);
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: { out: { type: "string", short: "o" }, json: { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
  } catch (error) {
    console.error(`error: ${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (positionals.length > 1) {
    console.error(`error: one path at a time\n\n${USAGE}`);
    return 2;
  }
  const reporter = values.json ? forPrograms : forPeople;
  try {
    reporter.done(await buildToolkit(positionals[0] ?? ".", { out: values.out }, reporter));
    return 0;
  } catch (error) {
    const failure = error instanceof BuildFailure ? error : new BuildFailure("toolchain", unexpected(error));
    reporter.failed(failure);
    return { usage: 2, toolchain: 3, source: 1, types: 1, declaration: 1 }[failure.kind];
  }
}

/** Describes an error that the build does not expect: its message, and the place in this package for a report. */
function unexpected(error: unknown): string {
  const { message, stack } = error as Error;
  const [, place] = /\/dist\/(\S+:\d+):\d+\)?$/m.exec(stack ?? "") ?? [];
  return `the build failed unexpectedly: ${message ?? String(error)}${place === undefined ? "" : ` (at ${place} of kitbag)`}`;
}
