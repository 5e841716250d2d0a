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

/** Collects problems while a declaration is read. */
export class Report {
  readonly problems: Problem[] = [];

  add(path: string, message: string): void {
    this.problems.push({ path, message });
  }

  /** Returns a required text, or nothing when there is none; says so. */
  text(path: string, value: unknown): string | undefined {
    if (value === undefined) this.add(path, "is required");
    else if (typeof value !== "string") this.add(path, "must be a string");
    else return value;
    return undefined;
  }

  /** Checks a text that has to say something. */
  notBlank(path: string, value: unknown): string | undefined {
    const text = this.text(path, value);
    if (text !== undefined && text.trim() === "") this.add(path, "must not be empty");
    return text;
  }

  /** Returns the entries of an optional list that are texts; says what the others are. */
  texts(path: string, value: unknown): { path: string; text: string }[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.add(path, "must be a list of strings");
      return [];
    }
    return value.flatMap((entry: unknown, index) => {
      const text = this.text(`${path}[${index}]`, entry);
      return text === undefined ? [] : [{ path: `${path}[${index}]`, text }];
    });
  }

  flag(path: string, value: unknown): void {
    if (value !== undefined && typeof value !== "boolean") this.add(path, "must be true or false");
  }

  /** Names the members that nobody would read: most are misspelt. */
  unknown(prefix: string, value: object, known: readonly string[]): void {
    for (const key of Object.keys(value)) {
      if (known.includes(key) || (value as Record<string, unknown>)[key] === undefined) continue;
      this.add(`${prefix}${key}`, `there is no such field; there are ${known.join(", ")}`);
    }
  }

  /** Returns a value that has members. */
  object(path: string, value: unknown): Record<string, unknown> | undefined {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    this.add(path, "must be an object");
    return undefined;
  }
}
