// Requests in a test: sends what the host says, and follows redirects as it says.
import type { FetchImplementation } from "../define.js";
import { limitsOfCalls } from "../rules.js";
import type { ToolkitConfig } from "../types.js";
import { encodingsToAccept, readableInSandbox } from "./encodings.js";
import { host, type Attached, type Exchange, type Following, type Head, type NetworkState, type Refusal } from "./host.js";
import { headersOf, withHeader, withoutIgnoredHeaders } from "./request-headers.js";
import type { Trace } from "./trace.js";

/** Sends the requests of one call. */
export class Network {
  readonly #state: NetworkState;
  /** Requests for tokens under way, by the index of their sign-in. */
  readonly #asked = new Map<number, Promise<void>>();

  constructor(
    { id, egress = [], auth }: ToolkitConfig,
    world: { secrets?: Record<string, string> | undefined; account?: string | undefined },
    readonly fetchImpl: FetchImplementation | undefined,
    readonly trace: Trace,
  ) {
    this.#state = { toolkit: id, egress, auth, secrets: world.secrets ?? {}, account: world.account, tokens: [], attached: trace.attached };
  }

  /**
   * Sends a request, with what the declaration's `auth` attaches for its host, and follows redirects unless the
   * request says otherwise.
   */
  async fetch(input: string | Request, init: RequestInit | undefined): Promise<Response> {
    const mode = init?.redirect ?? (typeof input === "string" ? "follow" : input.redirect);
    let target = input;
    let request = withUserAgent(input, withoutIgnoredHeaders(input, init));
    let exchange: Exchange = {};
    let isRedirected = false;
    for (;;) {
      const head = headOf(target, request);
      const sending = await this.#sending(exchange, head);
      const token = sending.attach === null ? undefined : this.#state.tokens[sending.attach.signIn];
      const response = await this.#sendWith(sending.attach, target, request);
      const { status, headers } = response;
      const location = headers.get("location");
      // A body that has been consumed cannot be sent again.
      const isRepeatable = !(request.body instanceof ReadableStream || (typeof target === "object" && target.bodyUsed));
      const responded = { status, locations: location === null ? [] : [location], isRepeatable, mode };
      const following = host("responded", { network: this.#state, exchange: sending.exchange, head, response: responded });
      exchange = following.exchange;
      switch (following.do) {
        case "answer":
          this.#note(following.failure);
          return withUrl(new URL(head.url), isRedirected, response);
        case "renew":
          if (!(await this.#renewed(following.signIn, token))) return withUrl(new URL(head.url), isRedirected, response);
          await response.body?.cancel();
          break;
        case "follow":
          [target, request] = [following.head.url, redirectedInit(request, following)];
          isRedirected = true;
          break;
        case "fail":
          throw new TypeError(following.message);
      }
    }
  }

  /** Returns what to attach to a request; requests a token first where one is needed. */
  async #sending(exchange: Exchange, head: Head): Promise<{ exchange: Exchange; attach: Attached | null }> {
    for (;;) {
      const sending = host("next", { network: this.#state, exchange, head });
      if (sending.do === "fail") throw this.#refused(sending);
      if (sending.do === "send") {
        const redacted = sending.attach?.redacted;
        if (typeof redacted === "string" && !this.trace.attached.includes(redacted)) this.trace.attached.push(redacted);
        return sending;
      }
      exchange = sending.exchange;
      await this.#token(sending.signIn);
    }
  }

  /** Replaces a token that the API has refused, unless another refused request has done so. Resolves with whether there is one. */
  async #renewed(signIn: number, refused: string | undefined): Promise<boolean> {
    const { tokens } = this.#state;
    if (tokens[signIn] === refused) tokens[signIn] = undefined;
    if (tokens[signIn] !== undefined) return true;
    return this.#token(signIn).then(() => true, () => false);
  }

  /** Requests a token; requests at the same time share it. */
  #token(signIn: number): Promise<void> {
    const asked = this.#asked.get(signIn) ?? this.#requestToken(signIn).finally(() => this.#asked.delete(signIn));
    this.#asked.set(signIn, asked);
    return asked;
  }

  async #requestToken(signIn: number): Promise<void> {
    const request = host("token", { network: this.#state, signIn });
    if ("refusal" in request) throw this.#refused(request.refusal);
    const { head, body } = request;
    const response = await this.#send(head.url, { method: head.method, headers: Object.fromEntries(head.headers), body });
    const [status, mediaType] = [response.status, response.headers.get("content-type")];
    const granted = host("granted", { network: this.#state, signIn, status, mediaType, body: await response.text() });
    if ("refusal" in granted) throw this.#refused(granted.refusal);
    this.#state.tokens[signIn] = granted.token;
  }

  /** Records a refusal; returns the error for the handler. */
  #refused({ message, failure }: Refusal): TypeError {
    this.#note(failure);
    return new TypeError(message);
  }

  /** Records the first failure to sign in: later requests fail for the same reason. */
  #note(failure: Refusal["failure"]): void {
    this.trace.signIn ??= failure ?? undefined;
  }

  #sendWith(attach: Attached | null, target: string | Request, init: RequestInit): Promise<Response> {
    const { header, url } = attach ?? { header: null, url: null };
    if (header !== null) return this.#send(target, withHeader(init, ...header, target));
    if (url === null) return this.#send(target, init);
    return this.#send(typeof target === "string" ? url : new Request(url, target), init);
  }

  async #send(target: string | Request, init: RequestInit): Promise<Response> {
    const { method, url } = headOf(target, init);
    this.trace.requests.push({ method, url: new URL(url).href });
    if (this.fetchImpl !== undefined) return this.fetchImpl(target, init);
    // Node.js requires `duplex` for streams; the sandbox and the types for authors do not.
    const streams = init.body instanceof ReadableStream && { duplex: "half" };
    const encodings = encodingsToAccept(headersOf(target, init));
    const sent = encodings === undefined ? init : withHeader(init, "accept-encoding", encodings, target);
    return readableInSandbox(await fetch(target, { ...sent, ...streams, redirect: "manual" } as RequestInit));
  }
}

function headOf(target: string | Request, init: RequestInit): Head {
  const [method, url] = typeof target === "string" ? ["GET", target] : [target.method, target.url];
  return { method: (init.method ?? method).toUpperCase(), url, headers: [...headersOf(target, init)] };
}

/** Adds the default `User-Agent` unless the request has one. */
function withUserAgent(input: string | Request, init: RequestInit = {}): RequestInit {
  return headersOf(input, init).has("user-agent") ? init : withHeader(init, "user-agent", limitsOfCalls().userAgent, input);
}

/** Sets `url` and `redirected` of a response: each hop was a separate request, and a test's response has no URL. */
function withUrl(url: URL, redirected: boolean, response: Response): Response {
  const own = (value: unknown) => ({ value, configurable: true });
  try {
    return Object.defineProperties(response, { url: own(url.href.split("#", 1)[0]), redirected: own(redirected) });
  } catch {
    // Frozen by the test: stays unchanged.
    return response;
  }
}

/** Returns the options of the request that follows a redirect. */
function redirectedInit(init: RequestInit, { head, dropsBody }: Extract<Following, { do: "follow" }>): RequestInit {
  return { ...init, method: head.method, headers: new Headers(head.headers), ...(dropsBody && { body: null }) };
}
