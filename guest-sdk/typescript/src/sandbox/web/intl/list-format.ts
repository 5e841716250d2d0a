// Intl.ListFormat (ECMA-402, section 14).
import { list } from "kitbag:intl";

import { canonicalLocales, readMatcher, resolveLocale, supportedLocales } from "./locales.js";
import { choice, type Part, parts, strictOptions } from "./options.js";

const TYPES = ["conjunction", "disjunction", "unit"] as const;

export class ListFormat {
  readonly #locale: string;
  readonly #data: string;
  readonly #type: (typeof TYPES)[number];
  readonly #style: string;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = strictOptions(given);
    readMatcher(options);
    ({ locale: this.#locale, data: this.#data } = resolveLocale(requested, {}));
    this.#type = choice(options, "type", TYPES, "conjunction");
    this.#style = choice(options, "style", ["long", "short", "narrow"], "long");
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  format(items?: Iterable<unknown>): string {
    return list(this.#data, TYPES.indexOf(this.#type), this.#style, strings(items), false) as string;
  }

  formatToParts(items?: Iterable<unknown>): Part[] {
    return parts(list(this.#data, TYPES.indexOf(this.#type), this.#style, strings(items), true) as string[]);
  }

  resolvedOptions(): Record<string, unknown> {
    return { locale: this.#locale, type: this.#type, style: this.#style };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.ListFormat";
  }
}

function strings(items: Iterable<unknown> | undefined): string[] {
  const found: string[] = [];
  for (const item of items ?? []) {
    if (typeof item !== "string") throw new TypeError("Iterable yielded a non-String value");
    found.push(item.toWellFormed());
  }
  return found;
}
