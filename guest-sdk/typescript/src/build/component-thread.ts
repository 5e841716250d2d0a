import { parentPort, workerData } from "node:worker_threads";

import { componentize, StartFailure, type ComponentizeRequest, type Made } from "./engine.js";

/**
 * Messages of the thread: any number of log lines that the bundle printed, then the component or a failure.
 */
export type ThreadMessage = { printed: string } | { made: Made } | { failure: string };

const post = (message: ThreadMessage) => parentPort!.postMessage(message);
try {
  post({ made: await componentize(workerData as ComponentizeRequest, (printed) => post({ printed })) });
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  post({ failure: error.message });
}
