// Starts the program of Kitbag, which npm installs from a separate package for each platform.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";

/** Runs the program with these arguments until it ends, and returns its exit code. */
export async function main(args: string[]): Promise<number> {
  const program = findProgram();
  if (program === undefined) {
    console.error(missing());
    return 3;
  }
  const child = spawn(program, args, { stdio: "inherit" });
  // A terminal sends SIGINT to both processes: this one must not end before the other.
  const ignore = () => {};
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  process.on("SIGINT", ignore);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, forward);
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    // Exit code for a signal as in a shell: 128 plus its number.
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
}

/** Returns the path of the installed program, if this platform has one. */
export function findProgram(): string | undefined {
  try {
    const description = createRequire(import.meta.url).resolve(`${packageName()}/package.json`);
    return join(dirname(description), "bin/kitbag");
  } catch {
    return undefined;
  }
}

function packageName(): string {
  return `@kitbag/${process.platform}-${process.arch}`;
}

function missing(): string {
  if (process.platform !== "linux" && process.platform !== "darwin") {
    return `error: the program of Kitbag runs on Linux and macOS only
hint: \`npx kitbag build\` and \`npx kitbag dev\` work here; in WSL everything does`;
  }
  return `error: the program of Kitbag is not installed: there is no package ${packageName()}
hint: install \`kitbag\` again without --omit=optional; on Linux it needs glibc (not musl, as in Alpine)`;
}
