// Requests in tests: applies the allowlist, signs in, and follows redirects as the host does.
import { signInsOf } from "../auth.js";
import type { FetchImplementation } from "../define.js";
import { allows, limitsOfCalls } from "../rules.js";
import { notListed } from "../texts.js";
import type { ToolkitConfig } from "../types.js";
import { encodingsToAccept, readableInSandbox } from "./encodings.js";
import { headersOf, withHeader, withoutIgnoredHeaders } from "./request-headers.js";
import { SignIn, type Attachment } from "./sign-in.js";
import type { Trace } from "./trace.js";

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
/** Headers that are removed when a redirect leads to another origin. */
const CREDENTIAL_HEADERS = ["authorization", "cookie", "proxy-authorization"];

/** Sign-ins that may still be attached to a request and to the requests after its redirects. */
interface Attaching {
  /**
   * All sign-ins before the first request. After it, only the sign-in whose host received all requests so far, if any: a
   * redirect by another host must not direct credentials to a target of its choice.
   */
  signIns: readonly SignIn[];
  mayReplace: boolean;
}

/** Sends the requests of one call. */
export class Network {
  readonly #signIns: SignIn[];

  constructor(
    readonly config: ToolkitConfig,
    world: { secrets?: Record<string, string> | undefined; account?: string | undefined },
    readonly fetchImpl: FetchImplementation | undefined,
    readonly trace: Trace,
  ) {
    const send = (url: URL, init: RequestInit) => this.#send(url, url.href, init);
    const signInWorld = { toolkit: config.id, secrets: world.secrets ?? {}, account: world.account, trace, send };
    this.#signIns = signInsOf(config).map((auth) => new SignIn(auth, signInWorld));
  }

  /**
   * Sends a request, with what the declaration's `auth` attaches for its host, and follows redirects unless the
   * request says otherwise.
   */
  async fetch(input: string | Request, init: RequestInit | undefined): Promise<Response> {
    const first = new URL(typeof input === "string" ? input : input.url);
    const mode = init?.redirect ?? (typeof input === "string" ? "follow" : input.redirect);
    const allowed = withoutIgnoredHeaders(input, init);
    let [target, request] = [input, withUserAgent(input, allowed)];
    let url = first;
    const attaching: Attaching = { signIns: this.#signIns, mayReplace: true };
    for (let followed = 0; followed <= limitsOfCalls().redirects; followed += 1) {
      const response = await this.#hop(url, target, request, attaching);
      const location = REDIRECT_STATUSES.includes(response.status) ? response.headers.get("location") : null;
      if (location === null || mode === "manual") return withUrl(url, followed > 0, response);
      if (mode === "error") throw new TypeError('network error: the answer is a redirect, and the request has redirect: "error"');
      const next = new URL(location, url);
      if (url.protocol === "https:" && next.protocol !== "https:") throw new TypeError("it leads from https to http");
      request = redirectedInit(request, target, response.status, url.origin === next.origin);
      [url, target] = [next, next.href];
    }
    throw new TypeError("too many redirects");
  }

  /** Sends a request to its current target, with the credentials for that target. */
  async #hop(url: URL, target: string | Request, init: RequestInit, attaching: Attaching): Promise<Response> {
    const signIn = attaching.signIns.find((it) => it.appliesTo(url, methodOf(target, init)));
    if (signIn === undefined || signIn.isSetIn(url, headersOf(target, init))) {
      attaching.signIns = [];
      return this.#send(url, target, init);
    }
    attaching.signIns = [signIn];
    const attachment = await signIn.attachment();
    const response = await this.#sendWith(attachment, url, target, init);
    // A body that has been consumed cannot be sent again.
    const isRepeatable = !(init.body instanceof ReadableStream || (typeof target === "object" && target.bodyUsed));
    const other = attaching.mayReplace && isRepeatable ? await signIn.replaced(attachment, response.status) : undefined;
    if (other === undefined) {
      signIn.noteStatus(response.status);
      return response;
    }
    attaching.mayReplace = false;
    await response.body?.cancel();
    return this.#sendWith(other, url, target, init);
  }

  #sendWith({ in: place, name, value }: Attachment, url: URL, target: string | Request, init: RequestInit): Promise<Response> {
    if (place === "header") return this.#send(url, target, withHeader(init, name, value, target));
    const extended = new URL(url);
    // Unlike `searchParams.append`, this does not re-encode the handler's own parameters.
    extended.search = [url.search.slice(1), new URLSearchParams({ [name]: value }).toString()].filter((part) => part !== "").join("&");
    return this.#send(extended, typeof target === "string" ? extended.href : new Request(extended, target), init);
  }

  async #send(url: URL, target: string | Request, init: RequestInit): Promise<Response> {
    if (!allows(this.config.egress ?? [], url)) throw new TypeError(notListed(url));
    const method = methodOf(target, init);
    this.trace.requests.push({ method, url: url.href });
    if (this.fetchImpl !== undefined) return this.fetchImpl(target, init);
    // Node.js requires `duplex` for streams; the sandbox and the types for authors do not.
    const streams = init.body instanceof ReadableStream && { duplex: "half" };
    const encodings = encodingsToAccept(headersOf(target, init));
    const sent = encodings === undefined ? init : withHeader(init, "accept-encoding", encodings, target);
    return readableInSandbox(await fetch(target, { ...sent, ...streams, redirect: "manual" } as RequestInit));
  }
}

function methodOf(target: string | Request, init: RequestInit): string {
  return (init.method ?? (typeof target === "string" ? "GET" : target.method)).toUpperCase();
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

/** Returns the options of the request that follows a redirect (Fetch Standard, HTTP-redirect fetch). */
function redirectedInit(init: RequestInit, target: string | Request, status: number, sameOrigin: boolean): RequestInit {
  const method = methodOf(target, init);
  const headers = headersOf(target, init);
  if (!sameOrigin) for (const name of CREDENTIAL_HEADERS) headers.delete(name);
  const becomesGet = (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");
  if (!becomesGet) return { ...init, method, headers };
  headers.delete("content-type");
  return { ...init, method: "GET", headers, body: null };
}
