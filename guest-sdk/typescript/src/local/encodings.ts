// Restricts the `fetch` of Node.js to the compressions that the sandbox supports.
import { acceptedEncodings, encodingOf, UNSUPPORTED_ENCODING } from "../content-encoding.js";

/** Returns the `Accept-Encoding` to add to a request; `undefined` if it has one or Node.js adds the right one. */
export function encodingsToAccept(headers: Headers): string | undefined {
  // Node.js adds `identity` to requests with a range.
  return headers.has("accept-encoding") || headers.has("range") ? undefined : acceptedEncodings(false);
}

/** Returns the response; reading its body fails if the sandbox does not support the compression. */
export function readableInSandbox(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || encodingOf(headers.get("content-encoding")) !== "unsupported") return response;
  body.cancel().catch(() => {});
  const failing = new ReadableStream({ pull: (controller) => controller.error(new TypeError(UNSUPPORTED_ENCODING)) });
  return new Response(failing, { status, statusText, headers });
}
