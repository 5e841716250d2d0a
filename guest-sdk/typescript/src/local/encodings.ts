// Makes the `fetch` of Node.js ask for the compressions that the sandbox asks for, and read no others.
import { acceptedEncodings, encodingOf, UNSUPPORTED_ENCODING } from "../content-encoding.js";

/** Returns the `Accept-Encoding` to add to a request; `undefined` if it has one, or if Node.js adds the right one. */
export function encodingsToAccept(headers: Headers): string | undefined {
  // Node.js adds `identity` to requests with a range.
  return headers.has("accept-encoding") || headers.has("range") ? undefined : acceptedEncodings(false);
}

/** Returns a response of Node.js. Its body cannot be read if the sandbox could not decompress it. */
export function readableInSandbox(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || encodingOf(headers.get("content-encoding")) !== "unsupported") return response;
  body.cancel().catch(() => {});
  const failing = new ReadableStream({ pull: (controller) => controller.error(new TypeError(UNSUPPORTED_ENCODING)) });
  return new Response(failing, { status, statusText, headers });
}
