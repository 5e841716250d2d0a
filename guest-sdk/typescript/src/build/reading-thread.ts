import { parentPort, workerData } from "node:worker_threads";

import { evaluateModule } from "./answer.js";

const { answer } = await evaluateModule(() => import(workerData as string));
parentPort!.postMessage(answer);
