import { parentPort, workerData } from "node:worker_threads";

import { evaluateModule } from "./answer.js";

// As in the sandbox; Node.js has no such global.
Object.defineProperty(globalThis, "self", { value: globalThis, writable: true, configurable: true });
const { answer } = await evaluateModule(() => import(workerData as string));
parentPort!.postMessage(answer);
