// A replacement for the module kitbag:host with a simulated network: `network` maps URLs to responses.
import { clearTimer, monotonicNow, print, randomBytes, setTimer } from "kitbag:host";

export { clearTimer, monotonicNow, print, randomBytes, setTimer };

/** The requests that were sent, and the ids of those that were aborted. */
export const requests = [];
export const aborted = [];

/**
 * By URL: `{ error }`, `{ status, headers, pieces, fails, later, hangs }`, or `"hang"` for no response at
 * all.
 */
export const network = {};

let lastId = 0;
const bodies = new Map();

export function sendRequest(method, url, headers, body, done) {
  lastId += 1;
  const id = lastId;
  requests.push({ method, url, headers, body: body && new Uint8Array(body) });
  const answer = network[url] ?? { error: "no such host" };
  if (answer === "hang") return id;
  // As in the sandbox, an error may be reported synchronously, a response never is.
  if (answer.error !== undefined) done(answer.error, undefined, undefined);
  else {
    setTimer(() => {
      if (aborted.includes(id)) return;
      bodies.set(id, { ...answer, pieces: [...(answer.pieces ?? [])] });
      done(undefined, answer.status ?? 200, answer.headers ?? []);
    }, 1);
  }
  return id;
}

export function abortRequest(id) {
  aborted.push(id);
  bodies.delete(id);
}

export function readBody(id, done) {
  const body = bodies.get(id);
  const next = () => {
    if (!bodies.has(id)) return;
    if (body.pieces.length > 0) {
      const piece = body.pieces.shift();
      done(undefined, typeof piece === "string" ? new TextEncoder().encode(piece).buffer : piece);
    } else if (body.fails !== undefined) done(body.fails, undefined);
    else if (body.hangs !== true) done(undefined, undefined);
  };
  // Available pieces are delivered synchronously.
  if (body.later) setTimer(next, 1);
  else next();
}
