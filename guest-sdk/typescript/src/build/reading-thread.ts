import { parentPort, workerData } from "node:worker_threads";

import { handlerFetch } from "../local/current-call.js";
import { evaluateModule } from "./answer.js";

// As in the sandbox: adds `self`, which Node.js lacks, and disables the network, which is available during calls only.
for (const [name, value] of Object.entries({ self: globalThis, fetch: handlerFetch, WebSocket: undefined, EventSource: undefined })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
const { answer } = await evaluateModule(() => import(workerData as string));
parentPort!.postMessage(answer);
