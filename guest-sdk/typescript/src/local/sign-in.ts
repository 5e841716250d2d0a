// Sign-in in a test: attaches the credentials of a declared `auth` to requests, by the rules of a server.
import { isApiHost, type CredentialProblem, type SignInCause, type TokenProblem } from "../rules.js";
import type { ApiKeyAuth, BasicAuth, OAuth2ClientCredentials, ToolkitAuth } from "../types.js";
import type { Trace } from "./trace.js";

/** Methods without a sign-in. TRACE echoes the request, credentials included (RFC 9110, section 9.3.8). */
const METHODS_WITHOUT_SIGN_IN = ["TRACE", "CONNECT"];

/** Environment of the sign-ins of one call: credentials from the test, and functions of the call. */
export interface SignInWorld {
  toolkit: string;
  secrets: Record<string, string>;
  /** Access token of the user's connected account. */
  account: string | undefined;
  trace: Trace;
  /** Sends a request for a token. */
  send(url: URL, init: RequestInit): Promise<Response>;
}

/** Value to attach, and its location in the request. */
export interface Attachment {
  in: "header" | "query";
  name: string;
  value: string;
}

/** Thrown if nothing can be attached, and a retry would fail too. */
class SignInError extends TypeError {
  constructor(readonly why: SignInCause) {
    super("the host could not sign in");
  }
}

/** One sign-in of a call. It requests a token on first use. */
export class SignIn {
  /** Latest access token of a client-credentials grant. */
  #token: Promise<string> | undefined;

  constructor(
    readonly auth: ToolkitAuth,
    readonly world: SignInWorld,
  ) {}

  /** Whether the credentials may be attached to a request. */
  appliesTo(url: URL, method: string): boolean {
    return !METHODS_WITHOUT_SIGN_IN.includes(method.toUpperCase()) && isApiHost(this.auth.apiHost, url);
  }

  /** Whether the handler has already set the header or parameter that this would set. */
  isSetIn(url: URL, headers: Headers): boolean {
    const place = placeOf(this.auth);
    return place.in === "query" ? url.searchParams.has(place.name) : headers.has(place.name);
  }

  /** Returns the value to attach. After a permanent failure, its reason becomes the reply if the call fails. */
  async attachment(): Promise<Attachment> {
    try {
      return { ...placeOf(this.auth), value: await this.#value() };
    } catch (error) {
      if (error instanceof SignInError) this.world.trace.signIn ??= error.why;
      throw error;
    }
  }

  /** Returns the replacement of a token that the API has refused; `undefined` if the request is not to be repeated. */
  async replaced(refused: Attachment, status: number): Promise<Attachment | undefined> {
    const { auth } = this;
    if (auth.type !== "oauth2_client_credentials" || (status !== 401 && status !== 403)) return undefined;
    const current = this.#token;
    try {
      const isCurrent = refused.value === `Bearer ${await current}`;
      // Another refused request may already have requested the new token.
      if (isCurrent && current === this.#token) this.#requestToken(auth);
      return { ...refused, value: `Bearer ${await this.#token}` };
    } catch {
      // Without a new token, the API's response is returned.
      return undefined;
    }
  }

  /** Records the status of the API's response. If the API refuses the account, that becomes the reply if the call fails. */
  noteStatus(status: number): void {
    const { auth, world } = this;
    if (auth.type !== "oauth2_authorization_code" || status !== 401) return;
    world.trace.signIn ??= { cause: "account-refused", toolkit: world.toolkit, host: auth.apiHost, status };
  }

  async #value(): Promise<string> {
    const { auth, world } = this;
    switch (auth.type) {
      case "oauth2_client_credentials":
        return `Bearer ${await (this.#token ?? this.#requestToken(auth))}`;
      case "oauth2_authorization_code":
        if (world.account === undefined) throw new SignInError({ cause: "no-account", toolkit: world.toolkit, host: auth.apiHost });
        return `Bearer ${this.#sent(world.account)}`;
      case "api_key":
        return this.#keyValue(auth);
      case "basic":
        return this.#basicValue(auth);
    }
  }

  #keyValue(auth: ApiKeyAuth): string {
    const [key] = this.#secrets(auth.secret) as [string];
    if (auth.in === "query") {
      this.#sent(formEncoded(key));
      return key;
    }
    if (!/^[ -~]*$/.test(key)) throw this.#unusable(auth.secret, "not-a-header-value");
    return `${auth.prefix ?? ""}${key}`;
  }

  #basicValue(auth: BasicAuth): string {
    const [username, password] = this.#secrets(auth.usernameSecret, auth.passwordSecret) as [string, string];
    if (username.includes(":")) throw this.#unusable(auth.usernameSecret, "colon");
    return `Basic ${this.#sent(base64(`${username}:${password}`))}`;
  }

  /** Requests a token for this and later requests. After a failure, the next request tries again. */
  #requestToken(auth: OAuth2ClientCredentials): Promise<string> {
    const token = this.#fetchToken(auth).then((value) => this.#sent(value));
    token.catch(() => {
      if (this.#token === token) this.#token = undefined;
    });
    this.#token = token;
    return token;
  }

  /** Requests a token from the token endpoint (RFC 6749, section 4.4). */
  async #fetchToken(auth: OAuth2ClientCredentials): Promise<string> {
    const { toolkit, send } = this.world;
    const names = [auth.clientIdSecret, auth.clientSecretSecret];
    const [id, secret] = this.#secrets(...names) as [string, string];
    const url = new URL(auth.tokenUrl);
    const form = new URLSearchParams({ grant_type: "client_credentials", ...(auth.scope && { scope: auth.scope }) });
    const response = await send(url, {
      method: "POST",
      headers: {
        // Form-encoded (RFC 6749, section 2.3.1).
        authorization: `Basic ${base64(`${formEncoded(id)}:${formEncoded(secret)}`)}`,
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      },
      body: form.toString(),
    });
    const { status } = response;
    const answer = objectIn(await response.text());
    const { hostname: host } = url;
    if (status === 429 || status >= 500) throw new TypeError(`the token endpoint answered with HTTP status ${status}`);
    if (status !== 200) {
      throw new SignInError({ cause: "refused-credentials", toolkit, names, host, status, code: String(answer?.["error"] ?? "") });
    }
    const { access_token: token, token_type: type = "bearer" } = answer ?? {};
    const unusable = (problem: TokenProblem) => new SignInError({ cause: "unusable-token", host, problem });
    if (typeof token !== "string") throw unusable("no-token");
    // RFC 6749, section 5.1, requires `token_type`, but many servers omit it. Only Bearer is supported.
    if (String(type).toLowerCase() !== "bearer") throw unusable("not-bearer");
    if (!isToken(token)) throw unusable("not-a-header-value");
    return token;
  }

  /** Returns the values of secrets; throws if the test does not set all of them. */
  #secrets(...names: string[]): string[] {
    const { secrets, toolkit } = this.world;
    const missing = names.filter((name) => secrets[name] === undefined);
    if (missing.length > 0) throw new SignInError({ cause: "missing-credentials", toolkit, names: missing });
    return names.map((name) => secrets[name]!);
  }

  #unusable(name: string, problem: CredentialProblem): SignInError {
    return new SignInError({ cause: "unusable-credential", toolkit: this.world.toolkit, name, problem });
  }

  /** Records a value for redaction, and returns it. */
  #sent(value: string): string {
    this.world.trace.attached.push(value);
    return value;
  }
}

/** Whether a text is valid as an access token in a header. */
export function isToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

function placeOf(auth: ToolkitAuth): Pick<Attachment, "in" | "name"> {
  if (auth.type !== "api_key") return { in: "header", name: "authorization" };
  return auth.in === "query" ? { in: "query", name: auth.name } : { in: "header", name: (auth.name ?? "authorization").toLowerCase() };
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

function objectIn(text: string): { [member: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as { [member: string]: unknown }) : undefined;
  } catch {
    return undefined;
  }
}
