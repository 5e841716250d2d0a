// Intl.Collator (ECMA-402, section 10).
import { collator } from "kitbag:intl";

import { canonicalLocales, readMatcher, resolveLocale, supportedLocales, typeOption } from "./locales.js";
import { callable, choice, flag, looseOptions } from "./options.js";

/** Collations besides each language's default one. */
const COLLATIONS: Record<string, readonly string[]> = { ar: ["compat"], de: ["phonebk"], es: ["trad"], fi: ["trad"], sv: ["trad"], vi: ["trad"] };

class Comparer {
  readonly #resolved: Record<string, unknown>;
  readonly #native: (left: string, right: string) => number;
  #bound: ((left: unknown, right: unknown) => number) | undefined;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = looseOptions(given);
    const usage = choice(options, "usage", ["sort", "search"], "sort");
    readMatcher(options);
    const numeric = flag(options, "numeric");
    const caseFirst = choice(options, "caseFirst", ["upper", "lower", "false"]);
    const { locale, data, values } = resolveLocale(requested, {
      co: {
        option: typeOption(options, "collation"),
        fallback: () => "default",
        valid: (value, of) => (COLLATIONS[of.split("-")[0]!] ?? []).includes(value),
      },
      kn: { option: numeric === undefined ? undefined : `${numeric}`, fallback: () => "false", valid: (value) => value === "true" || value === "false" },
      kf: {
        option: caseFirst,
        fallback: (of) => (of === "da" ? "upper" : "false"),
        valid: (value) => ["upper", "lower", "false"].includes(value),
      },
    });
    const sensitivity = choice(options, "sensitivity", ["base", "accent", "case", "variant"], "variant");
    const ignorePunctuation = flag(options, "ignorePunctuation") ?? locale.split("-")[0] === "th";
    this.#resolved = {
      locale,
      usage,
      sensitivity,
      ignorePunctuation,
      collation: values["co"],
      numeric: values["kn"] === "true",
      caseFirst: values["kf"],
    };
    const collation = values["co"] === "default" ? "" : `-co-${values["co"]}`;
    this.#native = collator(data, `${collation}-kf-${values["kf"]}-kn-${values["kn"]}`, sensitivity, ignorePunctuation);
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  get compare(): (left: unknown, right: unknown) => number {
    this.#bound ??= (left, right) => this.#native(`${left as string}`.toWellFormed(), `${right as string}`.toWellFormed());
    return this.#bound;
  }

  resolvedOptions(): Record<string, unknown> {
    return { ...this.#resolved };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.Collator";
  }
}

Object.defineProperty(Comparer, "name", { value: "Collator" });
export const Collator = callable(Comparer);
