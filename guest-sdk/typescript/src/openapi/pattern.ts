// Generates a text that matches a simple regular expression, for tests. Does not run the expression.

const MAX_LENGTH = 500;
/** Characters to try for a character class, in this order. */
const CANDIDATES = "a0A1b-_./:x";

/** Returns a text that probably matches; `undefined` if the expression has unsupported syntax such as look-around. */
export function textLike(pattern: string, minLength = 0): string | undefined {
  try {
    const reader = new Reader(pattern, minLength);
    const text = reader.alternatives();
    return reader.isAtEnd() ? text : undefined;
  } catch {
    return undefined;
  }
}

class Unsupported extends Error {}

class Reader {
  #at = 0;

  constructor(
    readonly pattern: string,
    readonly minLength: number,
  ) {}

  isAtEnd(): boolean {
    return this.#at === this.pattern.length;
  }

  /** Returns the text of the first alternative. */
  alternatives(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (!this.isAtEnd() && !"|)".includes(this.#peek())) {
      if (this.#take("^") || this.#take("$")) continue;
      const atom = this.#atom();
      text += atom.repeat(this.#count(atom));
      if (text.length > MAX_LENGTH) throw new Unsupported();
    }
    return text;
  }

  #atom(): string {
    if (this.#take("(")) {
      if (this.#take("?") && !this.#take(":")) throw new Unsupported();
      const text = this.alternatives();
      if (!this.#take(")")) throw new Unsupported();
      return text;
    }
    if (this.#peek() === "[") return this.#member(this.#classSource());
    if (this.#peek() === "\\") return this.#escape();
    const character = this.#next();
    return character === "." ? "a" : character;
  }

  #escape(): string {
    const source = this.#next() + this.#next();
    if (/^\\[dwsDWS]$/.test(source)) return this.#member(source);
    if (/^\\[^a-zA-Z0-9]$/.test(source)) return source[1]!;
    throw new Unsupported();
  }

  /** Returns a character that matches a character class. Running a class by itself is safe. */
  #member(source: string): string {
    const found = [...CANDIDATES, " "].find((it) => new RegExp(`^${source}$`, "u").test(it)) ?? /[^\\[\]^-]/u.exec(source)?.[0];
    if (found === undefined) throw new Unsupported();
    return found;
  }

  #classSource(): string {
    const start = this.#at;
    for (this.#next(); !this.isAtEnd() && this.#peek() !== "]"; this.#next()) if (this.#peek() === "\\") this.#next();
    this.#next();
    return this.pattern.slice(start, this.#at);
  }

  /** Returns the repetition count of an atom: the minimum, or more if the minimum length of the text requires it. */
  #count(atom: string): number {
    const [, exact] = this.#match(/^\{(\d{1,3})(?:,\d*)?\}/) ?? [];
    const count = exact !== undefined ? Number(exact) : this.#take("+") ? this.#least(atom) : this.#take("*") ? (this.minLength > 0 ? this.#least(atom) : 0) : this.#take("?") ? 0 : 1;
    this.#take("?");
    return count;
  }

  #least(atom: string): number {
    return Math.max(1, Math.ceil(this.minLength / Math.max(1, atom.length)));
  }

  #match(expression: RegExp): RegExpExecArray | null {
    const found = expression.exec(this.pattern.slice(this.#at));
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #peek(): string {
    return this.pattern[this.#at] ?? "";
  }

  #next(): string {
    const character = this.pattern[this.#at++];
    if (character === undefined) throw new Unsupported();
    return character;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }
}
