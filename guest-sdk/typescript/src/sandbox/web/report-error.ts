// Writes an uncaught exception to the toolkit's log (HTML Standard, section 8.1.4.3).
import { print } from "kitbag:host";

import { inspect } from "./inspect.js";

export function reportError(error: unknown): void {
  print(`Uncaught ${inspect(error)}`);
}
