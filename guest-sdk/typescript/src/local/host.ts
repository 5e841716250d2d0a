// The host of calls in tests: `test_host` of kitbag-manifest, in rules.wasm. It decides; the modules of this folder run
// the handler, keep the state of the call, and send requests.
import type { Json, Manifest, ManifestTool } from "../manifest.js";
import type { OfferTarget } from "../offers.js";
import type { AskReply } from "../platform.js";
import type { Problem } from "../problems.js";
import type { DispatchFailure } from "../reply.js";
import { ask } from "../rules.js";
import type { AskError } from "../ask.js";
import type { SvcDocument, SvcIngestDoc, ToolkitAuth } from "../types.js";

/** The problems of a request that breaks a rule. */
export interface Problems {
  problems: Problem[];
}

/** A cached value without its text. Times are in milliseconds since 1970. */
export interface CacheEntry {
  key: string;
  /** Size of key and value. */
  bytes: number;
  expires: number;
}

/** Reason why a request of a handler is not sent. */
export interface Refusal {
  message: string;
  /** The reply if the call fails too; `null` if a retry may help. */
  failure: DispatchFailure | null;
}

/** What the requests of a call may use. */
export interface NetworkState {
  toolkit: string;
  egress: readonly string[];
  auth: ToolkitAuth | readonly ToolkitAuth[] | undefined;
  secrets: Record<string, string>;
  account: string | undefined;
  /** Tokens of client-credentials grants, at the index of their sign-in. */
  tokens: (string | undefined)[];
  attached: string[];
}

/** A request without its body. */
export interface Head {
  method: string;
  url: string;
  headers: [string, string][];
}

/** State of one request of a handler; opaque. */
export type Exchange = Record<string, Json>;

/** What to add to a request. */
export interface Attached {
  signIn: number;
  header: [string, string] | null;
  url: string | null;
  redacted: string | null;
}

/** What to send next. */
export type Sending = { exchange: Exchange } & ({ do: "send"; attach: Attached | null } | { do: "token"; signIn: number } | ({ do: "fail" } & Refusal));

/** What follows from a response. */
export type Following = { exchange: Exchange } & (
  | { do: "answer"; failure: DispatchFailure | null }
  | { do: "renew"; signIn: number }
  | { do: "follow"; head: Head; dropsBody: boolean }
  | { do: "fail"; message: string }
);

/** The requests to the host, each with its answer. */
interface Requests {
  environment: [{ toolkit: object; environment: object }, { problems: string[] }];
  "cache-get": [{ key: string; expires: number | undefined; now: number }, { isFound: boolean } | Problems];
  "cache-set": [{ key: string; value: string; seconds: number | undefined; now: number; entries: CacheEntry[] }, { expires: number; evicted: string[] } | Problems];
  "cache-key": [{ key: string }, Record<string, never> | Problems];
  "cache-evicted": [{ entries: CacheEntry[]; now: number }, { evicted: string[] }];
  search: [{ documents: object[]; search: object }, { hits: { index: number; snippet: string; score: number }[] } | Problems];
  ingest: [{ source: string; keys: (string | null)[]; documents: SvcIngestDoc[]; secrets: string[] }, { placed: { index: number; key: string; document: SvcDocument }[] } | Problems];
  ask: [
    { answers: object; asked: object[]; hasEnded: boolean; key: string; message: string; schema: string },
    { reply: AskReply } | { isNew: boolean } | { refused: AskError } | { mistake: string },
  ];
  offer: [
    { toolkit: object; target: OfferTarget; arguments: object },
    { name: string; arguments: Record<string, string>; uri: string | null } | { values: string[] } | { failure: DispatchFailure } | { mistake: string },
  ];
  offered: [{ toolkit: object; name: string; offered: object; uncounted: number }, { uris?: (string | null)[]; mimeType?: string | null } | { failure: DispatchFailure }];
  result: [
    { toolkit: object; tool: string; text: number; uncounted: number; structured: string | undefined; output: ManifestTool["outputSchema"]; content: object[] },
    { structured?: Json; warning?: string; uris: (string | null)[] } | { failure: DispatchFailure },
  ];
  next: [{ network: NetworkState; exchange: Exchange; head: Head }, Sending];
  token: [{ network: NetworkState; signIn: number }, { head: Head; body: string } | { refusal: Refusal }];
  granted: [{ network: NetworkState; signIn: number; status: number; mediaType: string | null; body: string }, { token: string } | { refusal: Refusal }];
  responded: [{ network: NetworkState; exchange: Exchange; head: Head; response: { status: number; locations: string[]; isRepeatable: boolean; mode: RequestRedirect } }, Following];
  redact: [{ secrets: string[]; values: (string | number)[] }, (string | number)[]];
}

/** Sends a request to the host and returns its answer. */
export function host<Kind extends keyof Requests>(kind: Kind, request: Requests[Kind][0]): Requests[Kind][1] {
  return ask({ ask: "test-host", request: { do: kind, ...request } });
}

/** Returns the parts of a manifest that the host needs: without tools, which may be many. */
export function outline(manifest: Manifest): object {
  return { ...manifest, tools: [] };
}
