import { parentPort, workerData } from "node:worker_threads";

import { answerOf } from "./answer.js";

const { answer } = await answerOf(() => import(workerData as string));
parentPort!.postMessage(answer);
