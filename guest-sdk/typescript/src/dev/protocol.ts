// Messages between the server and a call's thread.
import type { ModuleOutcome } from "../build/read.js";
import type { Limits } from "../rules.js";
import type { Ending } from "../local/call.js";
import type { Target } from "../local/dispatch.js";
import type { Change, UserState } from "../local/user-state.js";
import type { Json } from "../manifest.js";

/** The data that a thread starts with. */
export interface ThreadData {
  /** Source of the bundle. */
  code: string;
  /** Name of the bundle in stack traces. */
  file: string;
  limits: Limits;
}

/** One call with valid arguments, and its environment. */
export interface CallData {
  target: Target;
  args: Json;
  secrets: Record<string, string>;
  /** Access token that stands for the connected account. */
  account: string | undefined;
  config: Record<string, Json>;
  /** A copy; changes are sent to the server. */
  user: UserState;
}

/** Messages from the server to the thread. */
export type ToThread =
  | { kind: "call"; call: CallData }
  | { kind: "response"; id: number; status: number; statusText: string; headers: [string, string][]; body: ReadableStream<Uint8Array> | null }
  | { kind: "no-response"; id: number; message: string };

/** Messages from the thread to the server. */
export type FromThread =
  | { kind: "answer"; answer: ModuleOutcome }
  | { kind: "printed"; text: string }
  | { kind: "logged"; entry: unknown[] }
  | { kind: "changed"; change: Change }
  /** A credential to redact from now on. */
  | { kind: "attached"; value: string }
  | { kind: "request"; id: number; url: string; method: string; headers: [string, string][]; body: Uint8Array | null }
  | { kind: "abort"; id: number }
  | { kind: "ended"; ending: Ending; failure: string | undefined };
