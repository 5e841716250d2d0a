// What the server and a call's thread say to each other.
import type { Answer } from "../build/read.js";
import type { DispatchFailure, DispatchSuccess } from "../local/dispatch.js";
import type { SvcDocument, SvcIngestDoc } from "../types.js";

/** What a thread starts with. */
export interface ThreadData {
  /** The bundle. */
  code: string;
  /** Its name in stack traces. */
  file: string;
}

/** One call, and what it finds around it. */
export interface CallData {
  tool: string;
  arguments: Record<string, unknown>;
  secrets: Record<string, string>;
  config: Record<string, unknown>;
  documents: SvcDocument[];
}

/** From the server to the thread. */
export type ToThread =
  | { kind: "call"; call: CallData }
  | { kind: "response"; id: number; status: number; statusText: string; headers: [string, string][]; body: ReadableStream<Uint8Array> | null }
  | { kind: "no-response"; id: number; message: string };

/** From the thread to the server. */
export type FromThread =
  | { kind: "answer"; answer: Answer }
  | { kind: "printed"; text: string }
  | { kind: "logged"; entry: unknown[] }
  | { kind: "request"; id: number; url: string; method: string; headers: [string, string][]; body: Uint8Array | null }
  | { kind: "abort"; id: number }
  | { kind: "ended"; result: DispatchSuccess | DispatchFailure; ingested: SvcIngestDoc[]; failure: string | undefined };
