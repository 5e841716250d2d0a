// Intl.Segmenter (ECMA-402, section 19).
import { segment } from "kitbag:intl";

import { canonicalLocales, readMatcher, resolveLocale, supportedLocales } from "./locales.js";
import { choice, strictOptions } from "./options.js";

export interface SegmentData {
  segment: string;
  index: number;
  input: string;
  isWordLike?: boolean;
}

export class Segmenter {
  readonly #locale: string;
  readonly #granularity: string;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = strictOptions(given);
    readMatcher(options);
    ({ locale: this.#locale } = resolveLocale(requested, {}));
    this.#granularity = choice(options, "granularity", ["grapheme", "word", "sentence"], "grapheme");
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  segment(input: unknown): Segments {
    return new Segments(`${input as string}`, this.#granularity);
  }

  resolvedOptions(): Record<string, unknown> {
    return { locale: this.#locale, granularity: this.#granularity };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.Segmenter";
  }
}

/** The segments of a text, computed on first use. */
class Segments {
  readonly #input: string;
  readonly #words: boolean;
  readonly #granularity: string;
  #found: Uint32Array | undefined;

  constructor(input: string, granularity: string) {
    this.#input = input;
    this.#granularity = granularity;
    this.#words = granularity === "word";
  }

  containing(index?: unknown): SegmentData | undefined {
    const wanted = Math.trunc(Number(index)) || 0;
    if (wanted < 0 || wanted >= this.#input.length) return undefined;
    const ends = this.#ends;
    let [low, high] = [0, ends.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ends[middle]! >>> 1 > wanted) high = middle;
      else low = middle + 1;
    }
    return this.#at(low);
  }

  *[Symbol.iterator](): Generator<SegmentData> {
    for (let at = 0; at < this.#ends.length; at++) yield this.#at(at);
  }

  get #ends(): Uint32Array {
    this.#found ??= segment(this.#input.toWellFormed(), this.#granularity);
    return this.#found;
  }

  #at(at: number): SegmentData {
    const index = at === 0 ? 0 : this.#ends[at - 1]! >>> 1;
    const end = this.#ends[at]!;
    const data = { segment: this.#input.slice(index, end >>> 1), index, input: this.#input };
    return this.#words ? { ...data, isWordLike: (end & 1) === 1 } : data;
  }
}
