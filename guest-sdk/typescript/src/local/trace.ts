// The effects of a call in a test.
import type { DispatchFailure } from "../reply.js";
import type { Progress, SvcIngestDoc } from "../types.js";
import type { AskedQuestion } from "./questions.js";
import { redactor } from "./redaction.js";

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
  /** Values that `auth` attached to requests, as far as no secret contains them. They are redacted like secrets. */
  attached: string[];
  /** The first failure to sign in. If the call fails too, this becomes its reply. */
  signIn?: DispatchFailure | undefined;
}

/** Returns the trace of a call that begins. */
export function newTrace(): Trace {
  return { log: [], progress: [], requests: [], ingested: [], questions: [], attached: [] };
}

/** Returns the values to redact in what a call produces; more of them come while it runs. */
export function redactedValues({ secrets = {} }: { secrets?: Record<string, string> | undefined }, trace: Trace): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      yield* Object.values(secrets);
      yield* trace.attached;
    },
  };
}

/** Removes secrets from the log and the reports of progress. */
export function redactTrace(trace: Trace, redacted: Iterable<string>): void {
  trace.log = redactor(redacted)(trace.log);
  trace.progress = redactor(redacted)(trace.progress);
}
