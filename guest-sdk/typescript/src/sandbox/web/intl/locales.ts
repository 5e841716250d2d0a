// Language tags and locale negotiation (ECMA-402, sections 6.2 and 9.2).
import { bestLocale, canonicalize, defaultNumbering, knows } from "kitbag:intl";

import { choice, type Options } from "./options.js";

const DEFAULT_LOCALE = "en-US";

/** Returns canonical tags without duplicates; throws for an invalid tag. */
export function canonicalLocales(locales: unknown): string[] {
  if (locales === undefined) return [];
  if (locales === null) throw new TypeError("Cannot convert undefined or null to object");
  const single = typeof locales === "string" || (typeof locales === "object" && tagOf !== undefined && tagOf(locales) !== undefined);
  const list = single ? [locales] : Array.from(Object(locales) as ArrayLike<unknown>);
  const found = new Set<string>();
  for (const item of list) {
    if (typeof item !== "string" && (typeof item !== "object" || item === null)) throw new TypeError("Incorrect locale information provided");
    found.add(canonicalTag(tagOf?.(item) ?? `${item as string}`));
  }
  return [...found];
}

/** Returns the canonical form of a tag; throws a RangeError if it is not valid. */
export function canonicalTag(tag: string): string {
  const canonical = canonicalize(tag.toWellFormed());
  if (canonical === undefined) throw new RangeError("Incorrect locale information provided");
  return canonical;
}

/** Returns the tag of an `Intl.Locale`; set by that class to avoid a circular import. */
let tagOf: ((value: unknown) => string | undefined) | undefined;
export function registerLocaleClass(tag: (value: unknown) => string | undefined): void {
  tagOf = tag;
}

/** Returns the tag without extensions. */
export function baseName(tag: string): string {
  const at = tag.search(/-[a-z0-9]-/);
  return at < 0 ? tag : tag.slice(0, at);
}

/** Returns the keywords of a tag's `u` extension. */
export function keywords(tag: string): Map<string, string> {
  const found = new Map<string, string>();
  const extension = /-u((?:-[a-z0-9]{2,8})+)/.exec(tag.split("-x-", 1)[0]!);
  let key: string | undefined;
  for (const subtag of extension?.[1]!.slice(1).split("-") ?? []) {
    if (subtag.length === 2) {
      key = subtag;
      if (!found.has(key)) found.set(key, "");
    } else if (key !== undefined) {
      const value = found.get(key)!;
      found.set(key, value === "" ? subtag : `${value}-${subtag}`);
    }
  }
  return found;
}

/** A formatter's support for one keyword. */
export interface Keyword {
  /** The value given by an option. */
  option: string | undefined;
  fallback: (data: string, locale: string) => string;
  valid: (value: string, data: string) => boolean;
}

export interface Resolved {
  /** The locale with those keywords of the request that were applied. */
  locale: string;
  /** The name of the locale with the data. */
  data: string;
  values: Record<string, string>;
}

/** Chooses a locale and the values of keywords (ECMA-402, section 9.2.7). */
export function resolveLocale(requested: readonly string[], supported: Record<string, Keyword>): Resolved {
  let [name, data] = [DEFAULT_LOCALE, "en"];
  let asked = new Map<string, string>();
  for (const tag of requested) {
    const best = bestLocale(baseName(tag));
    if (best === undefined) continue;
    [name, data] = best as [string, string];
    asked = keywords(tag);
    break;
  }
  const values: Record<string, string> = {};
  let extension = "";
  for (const [key, keyword] of Object.entries(supported)) {
    let value = keyword.fallback(data, name);
    let kept = "";
    const requestedValue = asked.get(key);
    if (requestedValue !== undefined) {
      const meant = requestedValue === "" ? "true" : requestedValue;
      if (keyword.valid(meant, data)) {
        value = meant;
        kept = requestedValue === "" ? `-${key}` : `-${key}-${requestedValue}`;
      }
    }
    if (keyword.option !== undefined && keyword.valid(keyword.option, data) && keyword.option !== value) {
      value = keyword.option;
      kept = "";
    }
    values[key] = value;
    extension += kept;
  }
  return { locale: extension === "" ? name : `${name}-u${extension}`, data, values };
}

/** Returns the support for the keyword of numbering systems. */
export function numberingSystem(options: Options): Keyword {
  return {
    option: typeOption(options, "numberingSystem"),
    fallback: (data) => defaultNumbering(data)[0]!,
    valid: (value) => knows("numberingSystem", value),
  };
}

/** Reads an option whose value is a keyword type, in lower case. */
export function typeOption(options: Options, name: string): string | undefined {
  const value = choice(options, name);
  if (value !== undefined && !/^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/i.test(value)) throw new RangeError(`Invalid ${name} : ${value}`);
  return value?.toLowerCase();
}

/** Returns those of the requested locales that have data. */
export function supportedLocales(locales: unknown, options: unknown): string[] {
  const requested = canonicalLocales(locales);
  if (options !== undefined) choice(Object(options) as Options, "localeMatcher", ["lookup", "best fit"]);
  return requested.filter((tag) => bestLocale(baseName(tag)) !== undefined);
}

/** Validates `localeMatcher`, an option of all constructors that has no effect here. */
export function readMatcher(options: Options): void {
  choice(options, "localeMatcher", ["lookup", "best fit"]);
}
