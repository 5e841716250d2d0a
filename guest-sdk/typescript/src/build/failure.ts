/** What a build could not do, and whose fault it is: exit codes and `--json` tell the kinds apart. */
export type FailureKind = "usage" | "source" | "types" | "declaration" | "toolchain";

/** A reason to make no component. */
export class BuildFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** Of a declaration: each problem, for programs. */
    readonly problems?: readonly { path: string; message: string }[],
  ) {
    super(message);
    this.name = "BuildFailure";
  }
}
