// Intl.PluralRules (ECMA-402, section 17).
import { pluralRules } from "kitbag:intl";

import { canonicalLocales, readMatcher, resolveLocale, supportedLocales } from "./locales.js";
import { digitOptions, shownDigits } from "./number-format.js";
import { choice, looseOptions } from "./options.js";

export class PluralRules {
  readonly #resolved: Record<string, unknown>;
  readonly #native: ReturnType<typeof pluralRules>;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = looseOptions(given);
    readMatcher(options);
    const type = choice(options, "type", ["cardinal", "ordinal"], "cardinal");
    const digits = digitOptions(options, 0, 3, "standard");
    const { locale, data } = resolveLocale(requested, {});
    this.#native = pluralRules(data, type === "ordinal", { ...digits });
    this.#resolved = {
      locale,
      type,
      ...shownDigits(digits),
      pluralCategories: this.#native.pluralCategories,
      roundingIncrement: digits.roundingIncrement,
      roundingMode: digits.roundingMode,
      roundingPriority: digits.roundingPriority,
      trailingZeroDisplay: digits.trailingZeroDisplay,
    };
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  select(value: unknown): string {
    return this.#native.select(Number(value));
  }

  resolvedOptions(): Record<string, unknown> {
    return { ...this.#resolved, pluralCategories: [...(this.#resolved["pluralCategories"] as string[])] };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.PluralRules";
  }
}
