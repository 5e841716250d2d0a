// Some APIs compress their answers unasked. The engine hands those on as they came.
import { standIn } from "./bodies.js";

const FORMATS: Record<string, CompressionFormat> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

/** Returns a response whose body is what it was before the server compressed it. */
export function decoded(response: Response): Response {
  const format = FORMATS[response.headers.get("content-encoding")?.trim().toLowerCase() ?? ""];
  if (format === undefined || response.body === null) return response;
  return standIn(response, response.body.pipeThrough(new DecompressionStream(format) as ReadableWritablePair));
}
