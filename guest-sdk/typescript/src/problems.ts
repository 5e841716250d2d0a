/** One thing that is wrong with a declaration. */
export interface Problem {
  /** Where: `tools[2].name`. */
  path: string;
  /** What is wrong, and what would be right. */
  message: string;
}

/** All that is wrong with a declaration, in the order of its fields. */
export class DeclarationError extends Error {
  /** What is wrong. */
  readonly problems: readonly Problem[];

  constructor(id: unknown, problems: readonly Problem[]) {
    const lines = problems.map(({ path, message }) => `  ${path}: ${message}`);
    super(`The declaration of ${typeof id === "string" ? JSON.stringify(id) : "the toolkit"} is not valid:\n${lines.join("\n")}`);
    this.name = "DeclarationError";
    this.problems = problems;
  }
}
