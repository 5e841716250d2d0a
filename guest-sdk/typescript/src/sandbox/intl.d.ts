// The native module of Intl, in the variant of the engine that has it.

/** Locale data of CLDR, and ICU4X. A text must be well-formed. */
declare module "kitbag:intl" {
  /** The canonical form of a language tag; undefined where it is not well-formed. */
  export function canonicalize(tag: string): string | undefined;
  export function maximize(tag: string): string | undefined;
  export function minimize(tag: string): string | undefined;
  export function direction(tag: string): string;
  /** The available locale for a tag without extensions, and the name of the one with its data. */
  export function bestLocale(tag: string): string[] | undefined;
  /** The usual numbering system of a locale with data, and that of its script. */
  export function defaultNumbering(data: string): string[];
  /** The letter of the hour cycle that the locale's region prefers. */
  export function defaultHour(tag: string): string;
  /** The digits that amounts of a currency have after the decimal sign. */
  export function fractionDigits(currency: string): number;
  export function knows(kind: "numberingSystem", name: string): boolean;
  export function supported(kind: string): string[];
  /** The canonical name of a time zone; undefined where there is none. */
  export function timeZone(name: string): string | undefined;
  export function caseMap(text: string, tag: string, upper: boolean): string;
  /** With `parts`, kinds and texts in turns. */
  export function numberFormat(data: string, options: object): (value: number | string, parts: boolean) => string | string[];
  export function dateTimeFormat(
    data: string,
    options: object,
  ): {
    timeZone: string;
    /** A letter of the pattern and its count. */
    fields: string[];
    format: (time: number, parts: boolean) => string | string[];
    /** With `parts`, kinds, texts and sources in turns. */
    formatRange: (start: number, end: number, parts: boolean) => string | string[];
  };
  export function pluralRules(data: string, ordinal: boolean, digits: object): { pluralCategories: string[]; select: (value: number) => string };
  /** `keywords` follow the `u` of a tag, such as "-kn-true". */
  export function collator(data: string, keywords: string, sensitivity: string, ignorePunctuation: boolean): (left: string, right: string) => number;
  /** `type`: 0 for conjunctions, 1 for disjunctions, 2 for units. */
  export function list(data: string, type: number, style: string, items: string[], parts: boolean): string | string[];
  export function relativeTimeFormat(
    data: string,
    style: string,
    digits: object,
  ): (value: number, unit: string, words: boolean, parts: boolean) => string | string[];
  /** The ends of segments in code units, doubled, and one more where a segment is like a word. */
  export function segment(text: string, granularity: string): Uint32Array;
}
