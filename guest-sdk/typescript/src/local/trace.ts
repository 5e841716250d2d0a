// The effects of a call in a test.
import type { SignInCause } from "../rules.js";
import type { Progress, SvcIngestDoc } from "../types.js";
import type { AskedQuestion } from "./questions.js";

/** The effects of a call, for assertions in tests. */
export interface Trace {
  /** Entries of `ctx.log`, with secrets redacted: one array of arguments per entry. */
  log: unknown[][];
  /** Reports of `ctx.progress`. */
  progress: Progress[];
  /** Requests that `egress` allowed, with what `auth` attached, including redirects and requests for tokens. */
  requests: { method: string; url: string }[];
  /** Documents that the call ingested. */
  ingested: SvcIngestDoc[];
  /** Questions that the call asked. The handler ran again after each. */
  questions: AskedQuestion[];
  /** The exception that the handler threw, if the model learns only that the tool failed. */
  failure?: unknown;
  /** Values that `auth` attached to requests and that are not in `secrets`. They are redacted like secrets. */
  attached: string[];
  /** Cause of a failed sign-in. If the call fails too, this becomes its error. */
  signIn?: SignInCause | undefined;
}
