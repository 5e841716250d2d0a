// Intl.DateTimeFormat (ECMA-402, section 11).
import { dateTimeFormat, defaultHour, timeZone as findTimeZone } from "kitbag:intl";

import { canonicalLocales, numberingSystem, readMatcher, resolveLocale, supportedLocales, typeOption } from "./locales.js";
import { callable, choice, flag, looseOptions, type Options, type Part, parts, integerOption } from "./options.js";

type Native = ReturnType<typeof dateTimeFormat>;

const DEFAULT_TIME_ZONE = "UTC";
const HOUR_LETTERS: Record<string, string> = { h11: "K", h12: "h", h23: "H", h24: "k" };
const CYCLES: Record<string, string> = { K: "h11", h: "h12", H: "h23", k: "h24" };

/** The components in the order of the specification; for each value, the letters of a skeleton. */
const COMPONENTS: Record<string, Record<string, string>> = {
  weekday: { narrow: "EEEEE", short: "EEE", long: "EEEE" },
  era: { narrow: "GGGGG", short: "GGG", long: "GGGG" },
  year: { "2-digit": "yy", numeric: "y" },
  month: { "2-digit": "MM", numeric: "M", narrow: "MMMMM", short: "MMM", long: "MMMM" },
  day: { "2-digit": "dd", numeric: "d" },
  dayPeriod: { narrow: "BBBBB", short: "B", long: "BBBB" },
  hour: { "2-digit": "jj", numeric: "j" },
  minute: { "2-digit": "mm", numeric: "m" },
  second: { "2-digit": "ss", numeric: "s" },
  fractionalSecondDigits: { 1: "S", 2: "SS", 3: "SSS" },
  timeZoneName: { short: "z", long: "zzzz", shortOffset: "O", longOffset: "OOOO", shortGeneric: "v", longGeneric: "vvvv" },
};
const DATE = ["weekday", "year", "month", "day"];
const TIME = ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"];

/**
 * The arguments of CreateDateTimeFormat: which components are required, and which are used if none are given.
 */
export type Required = "date" | "time" | "any";
export type Defaults = "date" | "time" | "all";

class Formatter {
  readonly #resolved: Record<string, unknown>;
  readonly #native: Native;
  #bound: ((date?: unknown) => string) | undefined;

  constructor(locales?: unknown, given?: unknown, required: Required = "any", defaults: Defaults = "date") {
    const requested = canonicalLocales(locales);
    const options = looseOptions(given);
    readMatcher(options);
    const hour12 = flag(options, "hour12");
    const hourCycle = hour12 === undefined ? choice(options, "hourCycle", ["h11", "h12", "h23", "h24"]) : undefined;
    const { locale, data, values } = resolveLocale(requested, {
      ca: {
        option: typeOption(options, "calendar"),
        fallback: (_, name) => (name === "th" || name.endsWith("-TH") ? "buddhist" : "gregory"),
        valid: (value) => value === "gregory" || value === "buddhist",
      },
      hc: { option: hourCycle, fallback: () => "", valid: (value) => value in HOUR_LETTERS },
      nu: numberingSystem(options),
    });
    const timeZone = zoneOf(options["timeZone"]);
    const { shown, skeleton } = components(options);
    const dateStyle = choice(options, "dateStyle", ["full", "long", "medium", "short"]);
    const timeStyle = choice(options, "timeStyle", ["full", "long", "medium", "short"]);
    const styled = dateStyle !== undefined || timeStyle !== undefined;
    if (styled) {
      const first = Object.keys(shown)[0];
      if (first !== undefined) throw new TypeError(`Can't set option ${first} when ${dateStyle === undefined ? "timeStyle" : "dateStyle"} is used`);
      if (required === "date" && timeStyle !== undefined) throw new TypeError("Invalid option : timeStyle");
      if (required === "time" && dateStyle !== undefined) throw new TypeError("Invalid option : dateStyle");
    }

    const hour = hourLetter(defaultHour(locale), hour12, values["hc"]!);
    const letters = styled ? "" : withDefaults(shown, skeleton, required, defaults).replace(/j/g, hour);
    const native = dateTimeFormat(data, {
      numberingSystem: values["nu"],
      calendar: values["ca"],
      timeZone,
      hour,
      skeleton: letters,
      ...(dateStyle !== undefined && { dateStyle }),
      ...(timeStyle !== undefined && { timeStyle }),
    });
    const fields = resolvedFields(native.fields);
    // A pattern may contain a day period although the options have none.
    if (shown["dayPeriod"] === undefined) delete fields["dayPeriod"];
    this.#native = native;
    this.#resolved = {
      locale,
      calendar: values["ca"],
      numberingSystem: values["nu"],
      timeZone: native.timeZone,
      ...(fields["hour"] !== undefined && { hourCycle: CYCLES[hour], hour12: hour === "h" || hour === "K" }),
      ...(styled ? {} : fields),
      ...(dateStyle !== undefined && { dateStyle }),
      ...(timeStyle !== undefined && { timeStyle }),
    };
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  get format(): (date?: unknown) => string {
    this.#bound ??= (date) => this.#native.format(timeValue(date), false) as string;
    return this.#bound;
  }

  formatToParts(date?: unknown): Part[] {
    return parts(this.#native.format(timeValue(date), true) as string[]);
  }

  formatRange(start: unknown, end: unknown): string {
    return this.#native.formatRange(...rangeOf(start, end), false) as string;
  }

  formatRangeToParts(start: unknown, end: unknown): (Part & { source: string })[] {
    const flat = this.#native.formatRange(...rangeOf(start, end), true) as string[];
    const found: (Part & { source: string })[] = [];
    for (let at = 0; at < flat.length; at += 3) found.push({ type: flat[at]!, value: flat[at + 1]!, source: flat[at + 2]! });
    return found;
  }

  resolvedOptions(): Record<string, unknown> {
    return { ...this.#resolved };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.DateTimeFormat";
  }
}

function zoneOf(value: unknown): string {
  if (value === undefined) return DEFAULT_TIME_ZONE;
  const name = `${value as string}`;
  const zone = findTimeZone(name.toWellFormed());
  if (zone === undefined) throw new RangeError(`Invalid time zone specified: ${name}`);
  return zone;
}

/** Returns the components that the options request, and the skeleton of their letters. */
function components(options: Options): { shown: Record<string, string>; skeleton: string } {
  const shown: Record<string, string> = {};
  let skeleton = "";
  for (const [name, letters] of Object.entries(COMPONENTS)) {
    const value =
      name === "fractionalSecondDigits"
        ? integerOption(options[name], name, 1, 3, undefined)?.toString()
        : choice(options, name, Object.keys(letters));
    if (value === undefined) continue;
    shown[name] = value;
    skeleton += letters[value];
  }
  choice(options, "formatMatcher", ["basic", "best fit"]);
  return { shown, skeleton };
}

function withDefaults(shown: Record<string, string>, skeleton: string, required: Required, defaults: Defaults): string {
  const has = (names: readonly string[]): boolean => names.some((name) => shown[name] !== undefined);
  if ((required !== "time" && has(DATE)) || (required !== "date" && has(TIME))) return skeleton;
  return skeleton + (defaults === "time" ? "" : "yMd") + (defaults === "date" ? "" : "jms");
}

/** Returns the letter of the hour cycle (ECMA-402, section 11.1.2, steps 32 to 36). */
function hourLetter(localeDefault: string, hour12: boolean | undefined, cycle: string): string {
  if (hour12 === true) return "h";
  if (hour12 === false) return "H";
  return HOUR_LETTERS[cycle] ?? localeDefault;
}

/** Returns the components of a pattern from its letters and their counts. */
function resolvedFields(fields: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const field of fields) {
    const [letter, count] = [field[0]!, Number(field.slice(1))];
    const name = count === 5 ? "narrow" : count === 4 ? "long" : "short";
    const number = count === 2 ? "2-digit" : "numeric";
    if ("Eec".includes(letter)) found["weekday"] = name;
    else if (letter === "G") found["era"] = name;
    else if ("yYur".includes(letter)) found["year"] = number;
    else if ("ML".includes(letter)) found["month"] = count > 2 ? name : number;
    else if (letter === "d") found["day"] = number;
    else if (letter === "B") found["dayPeriod"] = name;
    else if ("hHkK".includes(letter)) found["hour"] = number;
    else if (letter === "m") found["minute"] = number;
    else if (letter === "s") found["second"] = number;
    else if (letter === "S") found["fractionalSecondDigits"] = count;
    else if (letter === "z") found["timeZoneName"] = name;
    else if (letter === "O") found["timeZoneName"] = `${name}Offset`;
    else if (letter === "v") found["timeZoneName"] = `${name}Generic`;
  }
  const ordered: Record<string, unknown> = {};
  for (const component of Object.keys(COMPONENTS)) if (found[component] !== undefined) ordered[component] = found[component];
  return ordered;
}

function timeValue(date: unknown): number {
  const time = date === undefined ? Date.now() : Number(date);
  if (!(Math.abs(time) <= 8.64e15)) throw new RangeError("Invalid time value");
  return Math.trunc(time);
}

function rangeOf(start: unknown, end: unknown): [number, number] {
  if (start === undefined || end === undefined) throw new TypeError("startDate or endDate cannot be undefined");
  return [timeValue(start), timeValue(end)];
}

/**
 * The constructor with the parameters `required` and `defaults`, for `toLocaleDateString` and similar
 * methods.
 */
export const DateFormatter = Formatter;

// The public constructor does not have the parameters `required` and `defaults`.
class Public extends Formatter {
  constructor(locales?: unknown, options?: unknown) {
    super(locales, options);
  }
}
Object.defineProperty(Public, "name", { value: "DateTimeFormat" });
export const DateTimeFormat = callable(Public);
