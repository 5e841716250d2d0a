// Intl.RelativeTimeFormat (ECMA-402, section 18).
import { relativeTimeFormat } from "kitbag:intl";

import { canonicalLocales, numberingSystem, readMatcher, resolveLocale, supportedLocales } from "./locales.js";
import { digitOptions } from "./number-format.js";
import { choice, looseOptions, type Part, parts } from "./options.js";

const UNITS = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];

export class RelativeTimeFormat {
  readonly #resolved: { locale: string; style: string; numeric: string; numberingSystem: string };
  readonly #native: ReturnType<typeof relativeTimeFormat>;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = looseOptions(given);
    readMatcher(options);
    const { locale, data, values } = resolveLocale(requested, { nu: numberingSystem(options) });
    const style = choice(options, "style", ["long", "short", "narrow"], "long");
    const numeric = choice(options, "numeric", ["always", "auto"], "always");
    const numbering = values["nu"]!;
    this.#resolved = { locale, style, numeric, numberingSystem: numbering };
    this.#native = relativeTimeFormat(data, style, { ...digitOptions({}, 0, 3, "standard"), numberingSystem: numbering });
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  format(value: unknown, unit: unknown): string {
    return this.#native(finite(value), singular(unit), this.#resolved.numeric === "auto", false) as string;
  }

  formatToParts(value: unknown, unit: unknown): (Part & { unit?: string })[] {
    const of = singular(unit);
    const found = parts(this.#native(finite(value), of, this.#resolved.numeric === "auto", true) as string[]);
    return found.map((part) => (part.type === "literal" ? part : { ...part, unit: of }));
  }

  resolvedOptions(): Record<string, unknown> {
    return { ...this.#resolved };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.RelativeTimeFormat";
  }
}

function finite(value: unknown): number {
  const number = Number(value);
  if (!Number.isFinite(number)) throw new RangeError("Invalid time value");
  return number;
}

function singular(unit: unknown): string {
  const name = `${unit as string}`;
  const found = UNITS.find((known) => name === known || name === `${known}s`);
  if (found === undefined) throw new RangeError(`Invalid unit argument for format() '${name}'`);
  return found;
}
