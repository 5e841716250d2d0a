// Request (Fetch Standard, section 5.4).
import { AbortController, AbortSignal } from "./abort.js";
import { Body, defineBody, extractBody, type BodyInit, type BodyMethods } from "./body.js";
import { headerList, Headers, type HeadersInit } from "./headers.js";
import { URL } from "./url.js";

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  signal?: AbortSignal | null;
  redirect?: string;
  [option: string]: unknown;
}

/** The parts of a request that are sent. */
export interface Outgoing {
  method: string;
  url: string;
  headers: [string, string][];
  body: Body;
  signal: AbortSignal | undefined;
  redirect: string;
}

export let outgoing: (request: Request) => Outgoing;

let bodyOf: (request: Request) => Body;
let contentType: (request: Request) => string | null;

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN_METHOD = /^(connect|trace|track)$/i;
/** Methods that are converted to upper case; others are sent unchanged. */
const NORMALIZED_METHOD = /^(delete|get|head|options|post|put)$/i;

/** Allowed values of the options; the first one is the default. */
const OPTIONS = {
  redirect: ["follow", "error", "manual"],
  cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
  credentials: ["same-origin", "omit", "include"],
  mode: ["cors", "no-cors", "same-origin", "navigate"],
  referrerPolicy: [
    "",
    "no-referrer",
    "no-referrer-when-downgrade",
    "same-origin",
    "origin",
    "strict-origin",
    "origin-when-cross-origin",
    "strict-origin-when-cross-origin",
    "unsafe-url",
  ],
  duplex: ["half"],
};
type Option = keyof typeof OPTIONS;
const OPTION_NAMES = Object.keys(OPTIONS) as Option[];

export interface Request extends BodyMethods {}

export class Request {
  readonly #url: string;
  readonly #method: string;
  readonly #headers: Headers;
  #body: Body;
  #signal: AbortSignal | undefined;
  readonly #options: Partial<Record<Option, string>> = {};
  readonly #integrity: string = "";
  readonly #keepalive: boolean = false;

  static {
    bodyOf = (request) => request.#body;
    contentType = (request) => request.#headers.get("content-type");
    outgoing = (request) => ({
      method: request.#method,
      url: request.#url.split("#", 1)[0]!,
      headers: headerList(request.#headers),
      body: request.#body,
      signal: request.#signal,
      redirect: request.redirect,
    });
  }

  constructor(input: string | URL | Request, init: RequestInit = {}) {
    if (arguments.length === 0) throw new TypeError("Request: 1 argument required");
    if (init === null || (typeof init !== "object" && typeof init !== "function")) {
      throw new TypeError("Request: the options are not an object");
    }
    const from = input instanceof Request ? input : undefined;
    const url = from === undefined ? URL.parse(`${input as string}`) : undefined;
    if (url === null) throw new TypeError(`Failed to parse URL from ${input as string}`);
    if (url?.href.includes("@") && (url.username !== "" || url.password !== "")) {
      throw new TypeError("Request: the URL must not hold a user name or a password");
    }
    this.#url = from === undefined ? url!.href : from.#url;

    for (const name of OPTION_NAMES) {
      const value = init[name] === undefined ? (from === undefined ? undefined : from.#options[name]) : `${init[name] as string}`;
      if (value === undefined) continue;
      if (!OPTIONS[name].includes(value)) throw new TypeError(`Request: ${JSON.stringify(value)} is not valid for ${name}`);
      this.#options[name] = value;
    }
    if (init.mode === "navigate") throw new TypeError("Request: the mode must not be navigate");
    this.#integrity = init.integrity === undefined ? (from === undefined ? "" : from.#integrity) : `${init.integrity as string}`;
    this.#keepalive = init.keepalive === undefined ? from !== undefined && from.#keepalive : Boolean(init.keepalive);
    this.#method = init.method === undefined ? (from === undefined ? "GET" : from.#method) : checkedMethod(init.method);

    if (init.signal === undefined) this.#signal = from === undefined ? undefined : from.#signal;
    else if (init.signal instanceof AbortSignal) this.#signal = init.signal;
    else if (init.signal !== null) throw new TypeError("Request: the signal is not an AbortSignal");

    const given = init.headers ?? (from === undefined ? undefined : from.#headers);
    this.#headers = new Headers(given);

    const hasBody = init.body !== undefined && init.body !== null;
    const isBodiless = this.#method === "GET" || this.#method === "HEAD";
    if (isBodiless && (hasBody || (from !== undefined && !from.#body.isNull))) {
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    }
    if (hasBody || from === undefined) {
      const { body, type } = extractBody(init.body);
      this.#body = body;
      if (type !== undefined && !this.#headers.has("content-type")) this.#headers.append("content-type", type);
    } else {
      if (!from.#body.isNull && from.#body.unusable) throw new TypeError("Request: the body has been read already");
      this.#body = from.#body.takeOver();
    }
  }

  get method(): string {
    return this.#method;
  }

  get url(): string {
    return this.#url;
  }

  get headers(): Headers {
    return this.#headers;
  }

  get signal(): AbortSignal {
    return (this.#signal ??= new AbortController().signal);
  }

  get destination(): string {
    return "";
  }

  get referrer(): string {
    return "about:client";
  }

  get referrerPolicy(): string {
    return this.#option("referrerPolicy");
  }

  get mode(): string {
    return this.#option("mode");
  }

  get credentials(): string {
    return this.#option("credentials");
  }

  get cache(): string {
    return this.#option("cache");
  }

  get redirect(): string {
    return this.#option("redirect");
  }

  get integrity(): string {
    return this.#integrity;
  }

  get keepalive(): boolean {
    return this.#keepalive;
  }

  get duplex(): string {
    return this.#option("duplex");
  }

  clone(): Request {
    if (this.#body.unusable) throw new TypeError("Request.clone: the body has been read already");
    const { method, signal, integrity, keepalive } = this;
    const copy = new Request(this.#url, { ...this.#options, method, headers: this.#headers, signal, integrity, keepalive });
    copy.#body = this.#body.clone();
    return copy;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { method, url, headers, redirect, signal, bodyUsed } = this;
    const shown = { method, url, headers, redirect, signal, bodyUsed };
    return Object.assign(Object.create({ constructor: Request }) as object, shown);
  }

  #option(name: Option): string {
    return this.#options[name] ?? OPTIONS[name][0]!;
  }
}

defineBody(Request.prototype, bodyOf, contentType);

function checkedMethod(method: unknown): string {
  const text = `${method as string}`;
  if (!METHOD.test(text)) throw new TypeError(`Request: ${JSON.stringify(text)} is not a valid HTTP method`);
  if (FORBIDDEN_METHOD.test(text)) throw new TypeError(`Request: the method ${text} cannot be sent`);
  return NORMALIZED_METHOD.test(text) ? text.toUpperCase() : text;
}
