import type { z } from "zod";

import type { ToolError } from "./tool-error.js";

/** A schema of the library that this package re-exports as `z`. */
export type Schema = z.ZodType;

/** What a handler returns: with a schema `output` a structured value that it accepts, else anything, or a bare text. */
export type HandlerResult<O> = O extends z.ZodType ? StructuredResult<z.input<O>> : ToolResult | string;

/** What a tool with `output` answers. */
export type StructuredResult<Structured> = ToolResult<Structured> & { structured: Structured };

/** What a tool answers. */
export interface ToolResult<Structured = unknown> {
  /** What the model reads. */
  text: string;
  /** A value for programs. It reaches clients only where the tool declares `output`, and then it is required. */
  structured?: Structured | undefined;
  /** What clients show beside the text, in this order. Usually nothing. */
  content?: ToolContent[] | undefined;
}

/** One thing beside the text of a result. Bytes may be base64 text, as the protocol has them. */
export type ToolContent =
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
    };

/** The four behavioural hints of the Model Context Protocol. An absent one takes its default. */
export interface ToolAnnotations {
  /** The tool changes nothing. */
  readOnlyHint?: boolean | undefined;
  /** The tool may destroy something. */
  destructiveHint?: boolean | undefined;
  /** Calling again with the same arguments changes nothing more. */
  idempotentHint?: boolean | undefined;
  /** The tool talks to an open world of outside things. */
  openWorldHint?: boolean | undefined;
}

/** One tool of a toolkit. */
export interface ToolDefinition<
  Input extends Schema = Schema,
  Output extends Schema | undefined = Schema | undefined,
> {
  /** `[a-zA-Z0-9_-]+`, unique within the toolkit; snake_case by convention. */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** What the model reads to decide whether to call the tool. */
  description: string;
  /** Schema of the arguments, which are checked before the handler runs. */
  input: Input;
  /** Schema of the structured result, which is checked before it is sent. Every result has one then. */
  output?: Output | undefined;
  /** Behavioural hints. */
  annotations?: ToolAnnotations | undefined;
  /** The tool changes state. */
  mutating?: boolean | undefined;
  /** The tool is listed ahead of the toolkit's other tools. */
  alwaysOn?: boolean | undefined;
  /** Does the work. A bare string stands for `{ text }`, where there is no `output`. */
  handler(args: z.output<Input>, ctx: ToolContext): Promise<HandlerResult<Output>> | HandlerResult<Output>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a list holds tools of any input
export type AnyTool = ToolDefinition<any, any>;

/** One setting that a user fills in. */
export interface ManifestConfigField {
  /** What values it takes. */
  type: "string" | "number" | "boolean" | "select";
  /** Label beside the field. */
  label: string;
  /** Help text. */
  description?: string | undefined;
  /** Applies where the user set nothing. */
  default?: string | number | boolean | undefined;
  /** The user must fill it in. */
  required?: boolean | undefined;
  /** The choices of a `select`. */
  options?: string[] | undefined;
}

/** The OAuth2 client-credentials grant, which the host carries out; handlers never see the token. */
export interface OAuth2ClientCredentials {
  type: "oauth2_client_credentials";
  /** Token endpoint; its host is listed in `egress`. */
  tokenUrl: string;
  /** Name in `secrets` of the client id. */
  clientIdSecret: string;
  /** Name in `secrets` of the client secret. */
  clientSecretSecret: string;
  /** Space-delimited scopes. */
  scope?: string | undefined;
  /** The one host that receives the token; listed in `egress`. */
  apiHost: string;
}

/** A scope of the knowledge base. */
export type SvcScope = "svc:search" | "svc:ingest";

/** What an author says about a toolkit: the argument of `defineToolkit`. */
export interface ToolkitConfig {
  /** `^[a-z0-9-]+$`; stable. Tools are listed as `{id}__{tool}`. */
  id: string;
  /** Display name. */
  name: string;
  /** One line. */
  description: string;
  /** A single emoji, or an HTTPS URL of a square icon. */
  icon: string;
  /** Semantic version. */
  version: string;
  /** Attribution in the directory. */
  author?: string | undefined;
  /** At least one. */
  tools: readonly AnyTool[];
  /** UPPER_SNAKE_CASE names of the credentials that handlers may read. */
  secrets?: readonly string[] | undefined;
  /** Hosts that handlers may reach: `api.example.com`, or `api.example.com:8443`. */
  egress?: readonly string[] | undefined;
  /** Use of the calling user's knowledge base. */
  scopes?: readonly SvcScope[] | undefined;
  /** The user's settings, by key. */
  config?: Readonly<Record<string, ManifestConfigField>> | undefined;
  /** Who sees the toolkit; by default its owner alone. */
  visibility?: "shared" | "private" | undefined;
  /** Sign-in that the host carries out. */
  auth?: OAuth2ClientCredentials | undefined;
}

/** What every handler receives beside its arguments. */
export interface ToolContext {
  /** The calling user's opaque id: an identity, not a credential. */
  readonly userId: string;
  /** The calling user's settings, defaults applied. Preferences only, and read-only. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Reads one declared credential; `undefined` where the user has set none. An undeclared name throws. */
  secret(name: string): Promise<string | undefined>;
  /** Reads a credential that the tool cannot do without; where none is set, the error says how to set it. */
  requireSecret(name: string): Promise<string>;
  /** Standard `fetch`, to the hosts that the toolkit lists in `egress`. */
  fetch(url: string | URL | Request, init?: FetchInit): Promise<Response>;
  /** Calls a JSON API. */
  fetchJson<S extends z.ZodType>(
    url: string | URL | Request,
    options: FetchJsonOptions & { schema: S },
  ): Promise<z.output<S>>;
  // For authors who name the result's type: `fetchJson<Book>(url, { schema })`.
  fetchJson<T>(url: string | URL | Request, options: FetchJsonOptions & { schema: z.ZodType<T> }): Promise<T>;
  fetchJson(url: string | URL | Request, options?: FetchJsonOptions): Promise<unknown>;
  /** The calling user's knowledge base; `undefined` without a scope. */
  readonly svc: SvcClient | undefined;
  /** Appends one entry to the invocation's log. Values of the user's secrets are taken out of it. */
  log(...args: unknown[]): void;
  /** Tells the client how far a long call has come. Where it did not ask, nothing happens. */
  progress(report: Progress): void;
}

/** How far a long call has come. */
export interface Progress {
  /** Grows from report to report. */
  progress: number;
  /** What it grows to, in the same unit. */
  total?: number | undefined;
  /** What is being done. */
  message?: string | undefined;
}

/** The options of a request. Any bytes may be its body: since TypeScript 5.7 a plain `Uint8Array` is no `BodyInit`. */
export type FetchInit = Omit<RequestInit, "body"> & { body?: BodyInit | ArrayBufferView | null | undefined };

/** How a JSON API is called. */
export interface FetchJsonOptions {
  /** Checks the body, and types the result. */
  schema?: z.ZodType | undefined;
  /** As for `fetch`. */
  init?: FetchInit | undefined;
  /** Says in the API's own way what is wrong; `undefined` leaves it to the default mapping. */
  errorMap?: ((res: Response, body: string) => ToolError | undefined) | undefined;
}

/** The calling user's own knowledge base. */
export interface SvcClient {
  /** Returns the best matches, best first. Needs `svc:search`. */
  search(query: string, options?: SvcSearchOptions): Promise<SvcSearchResult[]>;
  /** Returns one document with its text. Needs `svc:search`. */
  getDocument(id: string): Promise<SvcDocument>;
  /** Stores the documents, all or none, as this toolkit's. Needs `svc:ingest`. */
  ingest(docs: SvcIngestDoc[]): Promise<{ ingested: number }>;
}

/** What narrows a search. */
export interface SvcSearchOptions {
  /** 1 to 50; by default 10. */
  limit?: number | undefined;
  /** A toolkit's id, or `user`; exact. */
  source?: string | undefined;
  /** Byline; case-insensitive. */
  author?: string | undefined;
}

/** A document without its text. */
export interface SvcDocumentSummary {
  id: string;
  title: string;
  url?: string | undefined;
  author?: string | undefined;
  /** The toolkit's id, or `user`. */
  source: string;
  /** Name of the feed that it belongs to. */
  feed?: string | undefined;
}

/** One match. */
export interface SvcSearchResult {
  document: SvcDocumentSummary;
  /** The passage that matched best. */
  snippet: string;
  /** Higher is better; comparable within one search only. */
  score: number;
}

/** A document with its text. */
export interface SvcDocument extends SvcDocumentSummary {
  text: string;
}

/** A document to store. It is always attributed to the toolkit itself. */
export interface SvcIngestDoc {
  title: string;
  /** Required unless `fileUrl` or `audioUrl` is there. */
  text?: string | undefined;
  /** Canonical URL of the original. */
  url?: string | undefined;
  /** Free-text byline. */
  author?: string | undefined;
  /** File to capture; public internet only. */
  fileUrl?: string | undefined;
  /** Audio to capture; implies `audio/mpeg`. */
  audioUrl?: string | undefined;
  /** Media type of `fileUrl`. */
  mimeType?: string | undefined;
  /** Stores the artifact and a record of its metadata, and processes nothing. */
  captureOnly?: boolean | undefined;
  /** Sub-group of the toolkit's documents. */
  feed?: SvcIngestFeed | undefined;
}

/** Sub-group of a toolkit's documents; deduplication happens within it. */
export interface SvcIngestFeed {
  /** The entity's stable id upstream; survives a rename. */
  key: string;
  /** Shown to the user. */
  name: string;
  /** Word for the kind of grouping: a channel, a show, a company. */
  label?: string | undefined;
}
