/** Cause of a failure. Determines the exit code, and appears in the output of `--json`. */
export type FailureKind = "usage" | "source" | "types" | "declaration" | "toolchain";

/** An error that ends a build; the message is for the author. */
export class BuildFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** For kind `declaration`: the individual problems, for programs. */
    readonly problems?: readonly { path: string; message: string }[],
  ) {
    super(message);
    this.name = "BuildFailure";
  }
}
