import type { z } from "zod";

import type { AnyPrompt, AnyResource } from "./offer-types.js";
import type { SettingValues, ToolkitSettings } from "./settings.js";
import type { ToolError } from "./tool-error.js";

export type * from "./offer-types.js";
export type { SettingValues, ToolkitSettings } from "./settings.js";

/** A schema of the library that this package re-exports as `z`. */
export type Schema = z.ZodType;

/**
 * What a handler returns. With an `output` schema: a result whose `structured` value matches it. Without one:
 * any result, or a string, which stands for `{ text }`.
 */
export type HandlerResult<O> = O extends z.ZodType ? StructuredResult<z.input<O>> : ToolResult | string;

/** The result of a tool that declares `output`: `structured` is required. */
export type StructuredResult<Structured> = ToolResult<Structured> & { structured: Structured };

/** The result of a tool call. */
export interface ToolResult<Structured = unknown> {
  /** The text that the model reads. */
  text: string;
  /**
   * A JSON value for programs. Required if the tool declares `output`; otherwise clients do not receive it.
   */
  structured?: Structured | undefined;
  /** Further MCP content blocks after the text, in this order. Most tools have none. */
  content?: ToolContent[] | undefined;
  /** Not supported: to report a failure, throw a `ToolError`. */
  isError?: never;
  /** Not supported: the value for programs is `structured`. */
  structuredContent?: never;
  /** Not supported. */
  _meta?: never;
}

/**
 * One MCP content block besides the text. `data` and `blob` are raw bytes or a base64 string; `size` is in
 * bytes. MCP's `_meta` is not supported.
 */
export type ToolContent = { annotations?: ContentAnnotations | undefined; _meta?: never } & (
  | { type: "image" | "audio"; data: Uint8Array | string; mimeType: string }
  | {
      type: "resource";
      resource: { uri: string; mimeType?: string | undefined } & ({ text: string } | { blob: Uint8Array | string });
    }
  | {
      type: "resource_link";
      uri: string;
      name: string;
      title?: string | undefined;
      description?: string | undefined;
      mimeType?: string | undefined;
      size?: number | undefined;
    }
);

/** Hints of a content block for the client, as in the Model Context Protocol. */
export interface ContentAnnotations {
  /** Intended audience of the block. */
  audience?: ("user" | "assistant")[] | undefined;
  /** Importance of the block, from 0 (optional) to 1 (required). */
  priority?: number | undefined;
  /** Time of the last change (RFC 3339), such as `2026-11-26T09:30:00Z`. */
  lastModified?: string | undefined;
}

/**
 * The four tool annotations (behavioural hints) of the Model Context Protocol.
 *
 * An omitted hint takes its default: `readOnlyHint` is true unless the tool is `mutating` or the toolkit
 * declares the scope `svc:ingest`. A read-only tool is by default neither destructive nor open-world. The
 * others have no default.
 */
export interface ToolAnnotations {
  /** The tool does not change anything. */
  readOnlyHint?: boolean | undefined;
  /** The tool may delete or overwrite something. */
  destructiveHint?: boolean | undefined;
  /** A repeated call with the same arguments has no additional effect. */
  idempotentHint?: boolean | undefined;
  /** The tool interacts with external systems, such as the Web. */
  openWorldHint?: boolean | undefined;
}

/** One tool of a toolkit. */
export interface ToolDefinition<
  Input extends Schema = Schema,
  Output extends Schema | undefined = Schema | undefined,
> {
  /**
   * Matches `[a-zA-Z0-9_-]+`, unique within the toolkit; snake_case by convention. The listed name
   * `{id}__{name}` has at most 128 characters.
   */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** Tells the model what the tool does and when to call it. */
  description: string;
  /** Schema of the arguments, an object. Arguments are validated before the handler runs. */
  input: Input;
  /**
   * Schema of the structured result, an object. If it is set, every result needs a `structured` value, which
   * is validated before it is sent; a result that does not match becomes a tool error.
   */
  output?: Output | undefined;
  /** Behavioural hints for clients. */
  annotations?: ToolAnnotations | undefined;
  /** The tool changes state. By default false. */
  mutating?: boolean | undefined;
  /** The tool is listed before the toolkit's other tools. By default false. */
  alwaysOn?: boolean | undefined;
  /**
   * Runs one call. `args` is the parsed value of `input`.
   *
   * Throw a `ToolError` to send a message to the model. For any other exception the model learns only that
   * the tool failed; the exception and its stack go to the toolkit's log.
   */
  handler(args: z.output<Input>, ctx: ToolContext): Promise<HandlerResult<Output>> | HandlerResult<Output>;
}

/** A tool with any input and output. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a list holds tools with different inputs
export type AnyTool = ToolDefinition<any, any>;

/** One setting that users can set for the toolkit. Not for credentials: those belong in `secrets`. */
export interface ManifestConfigField {
  /** Type of the value. A `select` takes one of `options`. */
  type: "string" | "number" | "boolean" | "select";
  /** Label of the field. */
  label: string;
  /** Help text. */
  description?: string | undefined;
  /** Value used while the user has not set one. Must fit `type`. */
  default?: string | number | boolean | undefined;
  /** The user must set a value. By default false. */
  required?: boolean | undefined;
  /** The allowed values of a `select`, at least one; not allowed for other types. */
  options?: string[] | undefined;
}

/**
 * An OAuth 2.0 client-credentials grant (RFC 6749, section 4.4). The host obtains the access token and
 * attaches it to requests to `apiHost`; handlers never see the token.
 */
export interface OAuth2ClientCredentials {
  type: "oauth2_client_credentials";
  /** Token endpoint: an `https://` URL (`http://` on loopback only) whose host is listed in `egress`. */
  tokenUrl: string;
  /** Name of the client ID in `secrets`. */
  clientIdSecret: string;
  /** Name of the client secret in `secrets`. */
  clientSecretSecret: string;
  /** Space-delimited scopes to request. */
  scope?: string | undefined;
  /** The only host that receives the token, written as in `egress`, where it must be listed too. */
  apiHost: string;
}

/**
 * The calling user's account at an API: an OAuth 2.0 authorization-code grant (RFC 6749, section 4.1) with PKCE
 * (RFC 7636). Each user connects an account once, in a browser; the host attaches its access token to that user's
 * requests to `apiHost`, and renews it. Handlers never see the token.
 *
 * The redirect URI to register at the provider is `{base_url}/ui/toolkits/{id}/auth/callback`.
 */
export interface OAuth2AuthorizationCode {
  type: "oauth2_authorization_code";
  /** Authorization endpoint, which the user's browser opens: an `https://` URL (`http://` on loopback only). */
  authorizationUrl: string;
  /** Token endpoint: an `https://` URL (`http://` on loopback only) whose host is listed in `egress`. */
  tokenUrl: string;
  /** Name of the secret that holds the client ID. */
  clientIdSecret: string;
  /** Name of the secret that holds the client secret; absent for a public client. */
  clientSecretSecret?: string | undefined;
  /** Space-delimited scopes to request. */
  scope?: string | undefined;
  /** Client authentication method at the token endpoint: HTTP Basic (the default), or in the body. */
  clientAuth?: "basic" | "post" | undefined;
  /**
   * Further parameters of the authorization request, such as `{ prompt: "consent" }`: at most 8, and none that the
   * host sets itself (`client_id`, `scope`, `state` and so on).
   */
  authorizationParams?: { readonly [name: string]: string } | undefined;
  /** Revocation endpoint (RFC 7009); its host is listed in `egress`. */
  revocationUrl?: string | undefined;
  /**
   * Where the API says whose account it is, so that pages and records can: the host gets `url`, at `apiHost`, once with the
   * token of a user who connects an account, and reads the name at the JSON pointer, such as `/login`. Without it, the
   * name is that of the provider's ID token, if it sends one.
   */
  accountName?: { readonly url: string; readonly pointer: string } | undefined;
  /** The only host that receives the token, written as in `egress`, where it must be listed too. */
  apiHost: string;
}

/**
 * An API key that the host puts into a header or into the query of requests to `apiHost`. If the secret is not listed
 * in `secrets`, handlers cannot read it.
 */
export type ApiKeyAuth = {
  type: "api_key";
  /** Name of the secret that holds the key. */
  secret: string;
  /** The only host that receives the key, written as in `egress`, where it must be listed too. */
  apiHost: string;
} & (
  | {
      /** Location of the key in the request: by default a header. */
      in?: "header" | undefined;
      /** Name of the header; by default `Authorization`. */
      name?: string | undefined;
      /** Text before the key, such as `"Bearer "` with its space. */
      prefix?: string | undefined;
    }
  | {
      in: "query";
      /** Name of the query parameter. */
      name: string;
      prefix?: undefined;
    }
);

/**
 * A user name and a password that the host sends to `apiHost` with HTTP Basic authentication (RFC 7617). Handlers cannot
 * read secrets that are not listed in `secrets`.
 */
export interface BasicAuth {
  type: "basic";
  /** Name of the secret that holds the user name. */
  usernameSecret: string;
  /** Name of the secret that holds the password. */
  passwordSecret: string;
  /** The only host that receives both, written as in `egress`, where it must be listed too. */
  apiHost: string;
}

/**
 * One sign-in that the host performs for requests to `apiHost`, over `https` (`http` on loopback only). A header or
 * query parameter that a handler sets itself is not replaced.
 */
export type ToolkitAuth = OAuth2ClientCredentials | OAuth2AuthorizationCode | ApiKeyAuth | BasicAuth;

/**
 * A permission: to read the calling user's knowledge base (`svc:search`), to add documents to it (`svc:ingest`), to ask the
 * user (`svc:ask`), or for a cache (`svc:cache`).
 */
export type SvcScope = "svc:search" | "svc:collections" | "svc:ingest" | "svc:ask" | "svc:cache";

/** A toolkit's declaration and handlers: the argument of `defineToolkit`. */
export interface ToolkitConfig {
  /** Stable identifier, `^[a-z0-9-]+$`, except `user`, `knowledge` and `documents`. Clients see tools as `{id}__{tool}`. */
  id: string;
  /** Display name. */
  name: string;
  /** Description in one line. */
  description: string;
  /** A single emoji, or an `https://` URL of a square picture. */
  icon: string;
  /** Semantic version. A server refuses a changed component under a version that it already has. */
  version: string;
  /** Author, shown in the directory. */
  author?: string | undefined;
  /** The toolkit's tools, at least one. */
  tools: readonly AnyTool[];
  /** Prompts, which users pick in their clients. At most 100. */
  prompts?: readonly AnyPrompt[] | undefined;
  /** Resources, which clients read by their URIs, `kitbag://{id}/…`. At most 100. */
  resources?: readonly AnyResource[] | undefined;
  /** Names, in UPPER_SNAKE_CASE, of the credentials that handlers may read. */
  secrets?: readonly string[] | undefined;
  /**
   * Hosts that handlers may reach: `api.example.com`, or `api.example.com:8443`. Without a port, only the
   * default port of the URL's scheme is allowed. No wildcards.
   */
  egress?: readonly string[] | undefined;
  /** Permissions to use capabilities of Kitbag on behalf of the calling user. */
  scopes?: readonly SvcScope[] | undefined;
  /** The settings that users can set, by key (`^[a-zA-Z_][a-zA-Z0-9_]*$`). */
  config?: ToolkitSettings | undefined;
  /** Who can see and call the toolkit: its owner only (`private`, the default) or every user (`shared`). */
  visibility?: "shared" | "private" | undefined;
  /** Sign-ins that the host performs for the toolkit: one, or a list of at most eight, each for a different host. */
  auth?: ToolkitAuth | readonly ToolkitAuth[] | undefined;
}

/**
 * The second argument of every handler: the caller, their settings, and what the toolkit declared. `ToolContext<typeof
 * config>` knows the types of the settings, where `config` is a constant that `satisfies ToolkitSettings`.
 */
export interface ToolContext<Settings extends ToolkitSettings | undefined = undefined> {
  /** Opaque id of the calling user. It identifies the user and is not a credential. */
  readonly userId: string;
  /**
   * The calling user's settings over the defaults, read-only. A setting without value and default is absent.
   */
  readonly config: Settings extends ToolkitSettings ? SettingValues<Settings> : Readonly<Record<string, unknown>>;
  /**
   * Returns the calling user's value of a declared credential, or `undefined` if the user has not set it.
   *
   * Rejects with an `Error` if `name` is not listed in `secrets`, and with a retryable `ToolError` if the
   * host cannot read credentials at the moment.
   */
  secret(name: string): Promise<string | undefined>;
  /**
   * Like `secret`, but if the user has not set the credential, rejects with a `ToolError` that says how to set it.
   */
  requireSecret(name: string): Promise<string>;
  /**
   * Sends a request to a host listed in `egress`; otherwise like the standard `fetch`.
   *
   * The host follows redirects, and checks each one as it checks the request. It attaches what `auth` declares for
   * the host, and adds a `User-Agent` if none is set. Any HTTP status is a response. A stream as the body is read whole before it is sent.
   *
   * Rejects with a `TypeError` whose message starts with `invalid request: ` if the request is malformed, or
   * with `network error: ` if the host is not listed in `egress` or cannot be reached; with the signal's
   * reason if `init` or the `Request` has an aborted signal.
   */
  fetch(url: string | URL | Request, init?: FetchInit): Promise<Response>;
  /**
   * Sends a request to a JSON API as `fetch` does, and returns the parsed body; `undefined` if the body of a
   * successful response is empty.
   *
   * Rejects with a `ToolError`, unless the request is malformed (a `TypeError`):
   * - retryable for status 429, 5xx, network errors and aborted requests, and for malformed JSON in answer to
   *   GET, HEAD or OPTIONS;
   * - not retryable for any other status except 2xx and 304, for malformed JSON in answer to other methods,
   *   and for a body that `schema` does not accept, in which case the message names the path.
   */
  fetchJson<S extends z.ZodType>(
    url: string | URL | Request,
    options: FetchJsonOptions & { schema: S },
  ): Promise<z.output<S>>;
  // For calls with an explicit result type: `fetchJson<Book>(url, { schema })`.
  fetchJson<T>(url: string | URL | Request, options: FetchJsonOptions & { schema: z.ZodType<T> }): Promise<T>;
  fetchJson(url: string | URL | Request, options?: FetchJsonOptions): Promise<unknown>;
  /**
   * Shows the calling user a form, and resolves with their response. Needs scope `svc:ask`.
   *
   * **The handler runs again.** The promise does not settle before the user has answered: the host ends the run, asks the
   * user, and starts the handler again from the beginning. In the new run, the same question with the same key resolves at
   * once. Therefore ask before any side effect, and ask the same questions in each run. A call may ask at most five
   * questions.
   *
   * `schema` describes an object of strings, numbers, booleans, enums and lists of enums: as a schema of zod (4.2 or later)
   * or another library with Standard JSON Schema, or as JSON Schema. A form that asks for a credential is refused: declare
   * it in `secrets` instead.
   *
   * Rejects with a `CannotAskError` if the user's client does not support forms, with another `ToolError` if the answer
   * does not fit the schema, and with an `Error` if the question breaks a rule.
   */
  ask<S extends z.ZodType>(question: Question & { schema: S }): Promise<Asked<z.output<S>>>;
  ask(question: Question): Promise<Asked<Record<string, string | number | boolean | string[]>>>;
  /** The calling user's knowledge base; `undefined` if the toolkit declares neither `svc:search` nor `svc:ingest`. */
  readonly svc: SvcClient | undefined;
  /** The toolkit's cache for the calling user, which persists between calls. Needs scope `svc:cache`. */
  readonly cache: ToolCache;
  /**
   * Appends one entry to the log of this call. Arguments are converted to JSON, and values of the user's
   * secrets are removed. By default a call may log 256 KiB; further entries are dropped.
   */
  log(...args: unknown[]): void;
  /**
   * Reports the progress of a long call. Does nothing if the client did not request progress. A report less than 25 ms
   * after the previous one is dropped.
   */
  progress(report: Progress): void;
}

/** A question to the calling user. */
export interface Question {
  /**
   * Name of the question within the call, `^[a-zA-Z0-9_.-]{1,64}$`. The answer is looked up by it when the handler runs
   * again. By default `question-1`, `question-2`, …
   */
  key?: string | undefined;
  /** Text for the user, up to 1,000 characters. The client shows which toolkit asks. */
  message: string;
  /** Schema of the form: an object with at most 20 flat fields. Without it, the form is a yes/no question. */
  schema?: z.ZodType | Readonly<Record<string, unknown>> | undefined;
}

/** Response of the user: `accept` with a valid value, `decline`, or `cancel` if the form was dismissed or timed out. */
export type Asked<T> = { action: "accept"; value: T } | { action: "decline" } | { action: "cancel" };

/** A progress report, as in MCP's `notifications/progress`. */
export interface Progress {
  /** Work done so far, in any unit. A report that does not increase it is dropped. */
  progress: number;
  /** Total work, in the same unit. */
  total?: number | undefined;
  /** Description of the current work. Truncated to 1024 bytes. */
  message?: string | undefined;
}

/**
 * The options of `fetch`. `body` may be any `ArrayBufferView`: since TypeScript 5.7, `BodyInit` does not
 * include a plain `Uint8Array`.
 */
export type FetchInit = Omit<RequestInit, "body"> & { body?: BodyInit | ArrayBufferView | null | undefined };

/** The options of `fetchJson`. */
export interface FetchJsonOptions {
  /** Validates the parsed body, and gives the result its type. */
  schema?: z.ZodType | undefined;
  /** The options of the request, as for `fetch`. */
  init?: FetchInit | undefined;
  /**
   * Turns a response with an error status (any but 2xx and 304) and its body into a `ToolError`. `undefined`
   * selects the default error.
   */
  errorMap?: ((res: Response, body: string) => ToolError | undefined) | undefined;
}

/**
 * Per-user cache of a toolkit that persists between calls: for ETags, cursors, and other data that can be fetched again.
 *
 * Any value may be evicted at any time. The whole cache is cleared when the user sets or removes a secret or an account
 * for the toolkit. Each user has room for 1,000 values and 1 MiB of keys and values; the oldest are evicted first.
 *
 * All methods reject with an `Error` if the scope is not declared, or if a key, a value or a lifetime breaks a rule.
 */
export interface ToolCache {
  /** Returns the value for a key of 1 to 256 bytes of UTF-8; `undefined` if it was never set, has expired or was evicted. */
  get(key: string): Promise<string | undefined>;
  /**
   * Stores a value of at most 64 KiB, replacing any earlier value.
   *
   * If the cache is temporarily unavailable, the value is not stored, a log entry says so, and the promise resolves; an
   * earlier value may still be stored.
   */
  set(key: string, value: string, options?: CacheOptions): Promise<void>;
  /**
   * Removes the value for a key, if there is one. Rejects with a retryable `ToolError` if the cache is temporarily
   * unavailable: the value may still be stored.
   */
  delete(key: string): Promise<void>;
}

/** Options of `ToolCache.set`. */
export interface CacheOptions {
  /** Lifetime in whole seconds, from 1 to 2,592,000 (30 days), which is the default. */
  seconds?: number | undefined;
}

/**
 * The calling user's own knowledge base.
 *
 * All methods reject with a `ToolError`: retryable if the knowledge base is unavailable, not retryable if the
 * scope is not declared or the request breaks a rule, which the message names.
 */
export interface SvcClient {
  /** Returns the best matches, sorted by score, descending. Needs scope `svc:search`. */
  search(query: string, options?: SvcSearchOptions): Promise<SvcSearchResult[]>;
  /** Returns one document with its text; rejects if there is no such document. Needs scope `svc:search`. */
  getDocument(id: string): Promise<SvcDocument>;
  /**
   * Stores all the documents or none, as documents of this toolkit, and returns their number. Needs scope
   * `svc:ingest`.
   */
  ingest(docs: SvcIngestDoc[]): Promise<{ ingested: number }>;
}

/** Limits and filters of a search. */
export interface SvcSearchOptions {
  /** Maximum number of results, 1 to 50; by default 10. */
  limit?: number | undefined;
  /** Only documents of this source: a toolkit's id, or `user`. Compared exactly. */
  source?: string | undefined;
  /** Only documents with this author. Compared without regard to case. */
  author?: string | undefined;
}

/** A document without its text. */
export interface SvcDocumentSummary {
  id: string;
  title: string;
  url?: string | undefined;
  author?: string | undefined;
  /** The id of the toolkit that ingested it, or `user`. */
  source: string;
  /** Name of the feed that the document belongs to. */
  feed?: string | undefined;
}

/** One search result. */
export interface SvcSearchResult {
  document: SvcDocumentSummary;
  /** The passage of the document that matched best. */
  snippet: string;
  /** Relevance, 0 to 1: higher is better. Comparable between searches on the same server. */
  score: number;
}

/** A document with its text. */
export interface SvcDocument extends SvcDocumentSummary {
  text: string;
}

/** A document to store. Its source is always the toolkit itself. */
export interface SvcIngestDoc {
  title: string;
  /** The text of the document. Required unless `fileUrl` or `audioUrl` is set. */
  text?: string | undefined;
  /** Canonical URL of the original, absolute http or https. */
  url?: string | undefined;
  /** Author, as free text. */
  author?: string | undefined;
  /**
   * URL of a file that the host downloads and reads; on the public internet only. Not together with
   * `audioUrl`.
   */
  fileUrl?: string | undefined;
  /**
   * URL of a recording that the host downloads and transcribes; its media type is `audio/mpeg` by default.
   */
  audioUrl?: string | undefined;
  /** Media type of the file, such as `application/pdf`. */
  mimeType?: string | undefined;
  /** Stores the file and its metadata without extracting text. Needs `fileUrl` or `audioUrl`. */
  captureOnly?: boolean | undefined;
  /** Group of this toolkit's documents that the document belongs to. */
  feed?: SvcIngestFeed | undefined;
}

/** A group of a toolkit's documents. Duplicates are detected within a feed. */
export interface SvcIngestFeed {
  /** Stable id of the feed in its original system; it identifies the feed even if `name` changes. */
  key: string;
  /** Name shown to the user. */
  name: string;
  /** Word for the type of group: channel, show, company. */
  label?: string | undefined;
}
