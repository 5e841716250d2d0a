/** One violated rule of a declaration. */
export interface Problem {
  /** Path of the field, such as `tools[2].name`. */
  path: string;
  /** The violated rule, such as `must match ^[a-z0-9-]+$`. */
  message: string;
}

/** Formats a problem as `path: message`. */
export function problemText({ path, message }: Problem): string {
  return `${path}: ${message}`;
}

/** Formats problems, each on a line of its own. */
export function problemLines(problems: readonly Problem[], indent = ""): string {
  return problems.map((problem) => `${indent}${problemText(problem)}`).join("\n");
}

/** Thrown by `defineToolkit` for a declaration that is not valid. The message lists all problems. */
export class DeclarationError extends Error {
  /** All problems, in the order of the fields. */
  readonly problems: readonly Problem[];

  constructor(id: unknown, problems: readonly Problem[]) {
    super(`The declaration of ${typeof id === "string" ? JSON.stringify(id) : "the toolkit"} is not valid:\n${problemLines(problems, "  ")}`);
    this.name = "DeclarationError";
    this.problems = problems;
  }
}
