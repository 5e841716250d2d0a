// The native module of Intl, in the full variant of the engine.

/** Locale data of CLDR, and ICU4X. Strings passed in must be well-formed Unicode. */
declare module "kitbag:intl" {
  /** Returns the canonical form of a language tag; undefined if it is not well-formed. */
  export function canonicalize(tag: string): string | undefined;
  export function maximize(tag: string): string | undefined;
  export function minimize(tag: string): string | undefined;
  export function direction(tag: string): string;
  /**
   * Returns the available locale for a tag without extensions, and the name of the locale whose data it uses.
   */
  export function bestLocale(tag: string): string[] | undefined;
  /** Returns the default numbering system of a locale with data, and the native one. */
  export function defaultNumbering(data: string): string[];
  /** Returns the pattern letter of the hour cycle that the locale's region prefers. */
  export function defaultHour(tag: string): string;
  /** Returns the number of decimal digits of a currency's amounts. */
  export function fractionDigits(currency: string): number;
  export function knows(kind: "numberingSystem", name: string): boolean;
  export function supported(kind: string): string[];
  /** Returns the canonical name of a time zone; undefined if there is none. */
  export function timeZone(name: string): string | undefined;
  export function caseMap(text: string, tag: string, upper: boolean): string;
  /** With `parts`, the formatter returns types and values alternately. */
  export function numberFormat(data: string, options: object): (value: number | string, parts: boolean) => string | string[];
  export function dateTimeFormat(
    data: string,
    options: object,
  ): {
    timeZone: string;
    /** Each field is a letter of the pattern followed by its count. */
    fields: string[];
    format: (time: number, parts: boolean) => string | string[];
    /** With `parts`, returns types, values and sources alternately. */
    formatRange: (start: number, end: number, parts: boolean) => string | string[];
  };
  export function pluralRules(data: string, ordinal: boolean, digits: object): { pluralCategories: string[]; select: (value: number) => string };
  /** `keywords` is the text after `-u` in a tag, such as "-kn-true". */
  export function collator(data: string, keywords: string, sensitivity: string, ignorePunctuation: boolean): (left: string, right: string) => number;
  /** `type`: 0 for conjunctions, 1 for disjunctions, 2 for units. */
  export function list(data: string, type: number, style: string, items: string[], parts: boolean): string | string[];
  export function relativeTimeFormat(
    data: string,
    style: string,
    digits: object,
  ): (value: number, unit: string, words: boolean, parts: boolean) => string | string[];
  /** Returns the end of each segment in code units, times two, plus one if the segment is word-like. */
  export function segment(text: string, granularity: string): Uint32Array;
}
