import { parentPort, workerData } from "node:worker_threads";

import { isToolkit } from "../define.js";

parentPort!.postMessage(await answer());

async function answer(): Promise<object> {
  let made: unknown;
  try {
    made = ((await import(workerData as string)) as { default?: unknown }).default;
  } catch (error) {
    const { name, message, problems, stack } = error as Error & { problems?: unknown };
    if (name === "DeclarationError") return { kind: "declaration", message, problems };
    return { kind: "thrown", message: error instanceof Error ? clean(stack ?? message) : String(error) };
  }
  if (made === undefined) return { kind: "no-default-export" };
  return isToolkit(made) ? { kind: "manifest", manifest: made.manifest } : { kind: "no-toolkit" };
}

/** Without the lines of Node.js itself. */
function clean(stack: string): string {
  return stack.split("\n").filter((line) => !/node:internal|reading-thread/.test(line)).join("\n");
}
