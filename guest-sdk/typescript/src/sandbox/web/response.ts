// Response (Fetch Standard, section 5.5).
import { Body, defineBody, extractBody, type BodyInit, type BodyMethods } from "./body.js";
import { freezeHeaders, headerList, Headers, trustedHeaders, type HeadersInit } from "./headers.js";
import { URL } from "./url.js";

export interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

/** Statuses that have no body. */
export const NULL_BODY_STATUSES = [101, 103, 204, 205, 304];
export const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]*$/;

const NO_BODY = new Body(null);

/** Origin of a response: a URL without fragment, and whether redirects led to it. */
export interface ResponseUrl {
  url: string;
  redirected: boolean;
}

/** Creates the response to a request from the network. */
export let received: (status: number, headers: [string, string][], from: ResponseUrl, body: Body) => Response;

let bodyOf: (response: Response) => Body;
let contentType: (response: Response) => string | null;

export interface Response extends BodyMethods {}

export class Response {
  #body = NO_BODY;
  /** Converted to `Headers` on first access. */
  #headers: Headers | [string, string][] = [];
  #status = 200;
  #statusText = "";
  #type: "default" | "basic" | "error" = "default";
  #url = "";
  #redirected = false;

  static {
    bodyOf = (response) => response.#body;
    contentType = (response) => response.headers.get("content-type");
    received = (status, headers, { url, redirected }, body) => {
      const response = new Response();
      response.#body = body;
      response.#headers = headers;
      response.#status = status;
      response.#type = "basic";
      response.#url = url;
      response.#redirected = redirected;
      return response;
    };
  }

  constructor(body?: BodyInit | null, init?: ResponseInit) {
    if (init !== undefined) this.#set(init);
    if (body === undefined || body === null) return;
    const extracted = extractBody(body);
    this.#body = extracted.body;
    if (NULL_BODY_STATUSES.includes(this.#status)) throw new TypeError(`Response: the status ${this.#status} has no body`);
    if (extracted.type === undefined) return;
    if (Array.isArray(this.#headers)) this.#headers.push(["content-type", extracted.type]);
    else if (!this.#headers.has("content-type")) this.#headers.append("content-type", extracted.type);
  }

  static error(): Response {
    const response = new Response();
    response.#status = 0;
    response.#type = "error";
    freezeHeaders(response.headers);
    return response;
  }

  static json(data: unknown, init?: ResponseInit): Response {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("Response.json: the value is not JSON");
    const headers = new Headers(init?.headers);
    if (!headers.has("content-type")) headers.append("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }

  static redirect(url: string | URL, status: number = 302): Response {
    const location = new URL(`${url as string}`).href;
    if (!REDIRECT_STATUSES.includes(status)) throw new RangeError(`Response.redirect: ${status} is no status of a redirect`);
    const response = new Response(null, { status, headers: { location } });
    freezeHeaders(response.headers);
    return response;
  }

  get type(): string {
    return this.#type;
  }

  get url(): string {
    return this.#url;
  }

  get redirected(): boolean {
    return this.#redirected;
  }

  get status(): number {
    return this.#status;
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  get statusText(): string {
    return this.#statusText;
  }

  get headers(): Headers {
    if (!Array.isArray(this.#headers)) return this.#headers;
    const headers = trustedHeaders(this.#headers);
    if (this.#type === "basic") freezeHeaders(headers);
    return (this.#headers = headers);
  }

  clone(): Response {
    if (this.#body.unusable) throw new TypeError("Response.clone: Body has already been consumed.");
    const copy = new Response();
    copy.#body = this.#body.clone();
    copy.#status = this.#status;
    copy.#statusText = this.#statusText;
    copy.#type = this.#type;
    copy.#url = this.#url;
    copy.#redirected = this.#redirected;
    copy.#headers = headerList(this.headers).map(([name, value]) => [name, value]);
    if (this.#type === "error") freezeHeaders(copy.headers);
    return copy;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { status, statusText, headers, bodyUsed, ok, redirected, type, url } = this;
    const shown = { status, statusText, headers, bodyUsed, ok, redirected, type, url };
    return Object.assign(Object.create({ constructor: Response }) as object, shown);
  }

  #set(init: ResponseInit): void {
    const { status, statusText } = init;
    if (status !== undefined) {
      const number = Number(status) & 0xffff;
      if (number < 200 || number > 599) throw new RangeError("Response: the status must be from 200 to 599");
      this.#status = number;
    }
    if (statusText !== undefined) {
      this.#statusText = `${statusText}`;
      if (!REASON_PHRASE.test(this.#statusText)) throw new TypeError("Response: HTTP does not allow this status text");
    }
    if (init.headers !== undefined) this.#headers = new Headers(init.headers);
  }
}

defineBody(Response.prototype, bodyOf, contentType);
