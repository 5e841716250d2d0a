// fetch (Fetch Standard, section 5.6), with the host's HTTP client.
import { abortRequest, sendRequest } from "kitbag:host";

import { withCallerStack } from "../../caller-stack.js";
import { acceptedEncodings } from "../../content-encoding.js";
import { isIgnoredHeader } from "../../ignored-headers.js";
import { onAbort } from "./abort.js";
import { Body, exactBuffer } from "./body.js";
import { Incoming } from "./incoming.js";
import { outgoing, Request, type Outgoing, type RequestInit } from "./request.js";
import { NULL_BODY_STATUSES, received, REDIRECT_STATUSES, type Response } from "./response.js";
import type { URL } from "./url.js";

/** Tells the host whether to follow redirects; it is not sent to the server. */
const REDIRECT_HEADER = "kitbag-redirect";
/** The URL of a response that redirects led to. The host sets it, never the server. */
const URL_HEADER = "kitbag-url";

/** Maximum size in bytes of a request body that is a stream: it is read whole before it is sent. */
const MAX_STREAMED_BYTES = 32 * 1024 * 1024;

export function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    // An exception here rejects the promise.
    const request = outgoing(new Request(input, init));
    const { signal, body } = request;
    if (signal === undefined)
      return body.consumeBytes(MAX_STREAMED_BYTES, (bytes) => send(request, bytes, resolve, reject), reject);
    if (signal.aborted) return reject(signal.reason);
    let abortSending: (() => void) | undefined;
    const removeAbortHandler = onAbort(signal, () => {
      abortSending?.();
      reject(signal.reason);
    });
    const settle =
      <T>(then: (value: T) => void) =>
      (value: T): void => {
        removeAbortHandler();
        then(value);
      };
    const sendUnlessAborted = (bytes: Uint8Array<ArrayBuffer> | undefined): void => {
      if (!signal.aborted) abortSending = send(request, bytes, settle(resolve), settle(reject));
    };
    body.consumeBytes(MAX_STREAMED_BYTES, sendUnlessAborted, settle(reject));
  });
}

/** Sends a request; returns a function that aborts it. */
function send(
  request: Outgoing,
  bytes: Uint8Array<ArrayBuffer> | undefined,
  resolve: (response: Response) => void,
  reject: (error: unknown) => void,
): () => void {
  const call = new Error();
  const { method, url, redirect, signal } = request;
  const headers = request.headers.filter(([name]) => name !== REDIRECT_HEADER && !isIgnoredHeader(name));
  headers.push([REDIRECT_HEADER, redirect === "follow" ? "follow" : "manual"]);
  // Without a length the host would use chunked transfer coding, which some servers refuse.
  if (bytes !== undefined) headers.push(["content-length", String(bytes.length)]);
  const has = (wanted: string): boolean => headers.some(([name]) => name === wanted);
  if (!has("accept")) headers.push(["accept", "*/*"]);
  if (!has("accept-encoding")) headers.push(["accept-encoding", acceptedEncodings(has("range"))]);
  const id = sendRequest(method, url, headers, bytes && exactBuffer(bytes), (error, status, list) => {
    if (error !== undefined) return reject(withCallerStack(new TypeError(error), call));
    const value = (wanted: string): string | null => list.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
    if (redirect === "error" && REDIRECT_STATUSES.includes(status) && value("location") !== null) {
      abortRequest(id);
      return reject(new TypeError('network error: the answer is a redirect, and the request has redirect: "error"'));
    }
    const isEmpty = method === "HEAD" || NULL_BODY_STATUSES.includes(status);
    if (isEmpty) abortRequest(id);
    const body = new Body(isEmpty ? null : new Incoming(id, value("content-encoding"), signal));
    const lowerCase = list.map(([name, text]): [string, string] => [name.toLowerCase(), text]).filter(([name]) => name !== URL_HEADER);
    const target = value(URL_HEADER);
    resolve(received(status, lowerCase, { url: target ?? url, redirected: target !== null }, body));
  });
  return () => abortRequest(id);
}
