import { parentPort, workerData } from "node:worker_threads";

import { componentize, StartFailure, type Order } from "./engine.js";

/** What a thread says: lines that the bundle printed, and then how it ended. */
export type Answer = { printed: string } | { component: Uint8Array } | { failure: string };

const say = (answer: Answer) => parentPort!.postMessage(answer);
try {
  say({ component: await componentize(workerData as Order, (printed) => say({ printed })) });
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  say({ failure: error.message });
}
