// Intl.NumberFormat (ECMA-402, section 16).
import { fractionDigits, numberFormat } from "kitbag:intl";

import { canonicalLocales, numberingSystem, readMatcher, resolveLocale, supportedLocales } from "./locales.js";
import { callable, choice, looseOptions, type Options, type Part, parts, integerOption } from "./options.js";

const INCREMENTS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000];
/** Maximum length in characters of a number given as a string or BigInt. */
const MAX_DIGITS = 2000;
const MODES = ["ceil", "floor", "expand", "trunc", "halfCeil", "halfFloor", "halfExpand", "halfTrunc", "halfEven"] as const;
const UNITS = new Set(
  (
    "acre bit byte celsius centimeter day degree fahrenheit fluid-ounce foot gallon gigabit gigabyte gram hectare hour inch kilobit " +
    "kilobyte kilogram kilometer liter megabit megabyte meter microsecond mile mile-scandinavian milliliter millimeter millisecond " +
    "minute month nanosecond ounce percent petabyte pound second stone terabit terabyte week yard year"
  ).split(" "),
);

/** Digit options, as `resolvedOptions` returns them and the native module takes them. */
export interface DigitOptions {
  minimumIntegerDigits: number;
  minimumFractionDigits?: number;
  maximumFractionDigits?: number;
  minimumSignificantDigits?: number;
  maximumSignificantDigits?: number;
  roundingIncrement: number;
  roundingMode: string;
  roundingPriority: string;
  roundingType: string;
  trailingZeroDisplay: string;
}

/**
 * Reads the digit options (ECMA-402, section 16.1.3, whose mnfdDefault and mxfdDefault the two numbers are).
 */
export function digitOptions(options: Options, minFractionDefault: number, maxFractionDefault: number, notation: string): DigitOptions {
  const minimumIntegerDigits = integerOption(options["minimumIntegerDigits"], "minimumIntegerDigits", 1, 21, 1);
  let minFraction = options["minimumFractionDigits"];
  let maxFraction = options["maximumFractionDigits"];
  const minSignificant = options["minimumSignificantDigits"];
  const maxSignificant = options["maximumSignificantDigits"];
  const roundingIncrement = integerOption(options["roundingIncrement"], "roundingIncrement", 1, 5000, 1);
  if (!INCREMENTS.includes(roundingIncrement)) throw new RangeError("roundingIncrement value is out of range.");
  const roundingMode = choice(options, "roundingMode", MODES, "halfExpand");
  const priority = choice(options, "roundingPriority", ["auto", "morePrecision", "lessPrecision"], "auto");
  const trailingZeroDisplay = choice(options, "trailingZeroDisplay", ["auto", "stripIfInteger"], "auto");
  if (roundingIncrement !== 1) maxFractionDefault = minFractionDefault;

  const hasSignificant = minSignificant !== undefined || maxSignificant !== undefined;
  const hasFraction = minFraction !== undefined || maxFraction !== undefined;
  let needSignificant = true;
  let needFraction = true;
  if (priority === "auto") {
    needSignificant = hasSignificant;
    if (needSignificant || (!hasFraction && notation === "compact")) needFraction = false;
  }
  const digits: DigitOptions = {
    minimumIntegerDigits,
    roundingIncrement,
    roundingMode,
    roundingPriority: priority,
    roundingType: priority,
    trailingZeroDisplay,
  };
  if (needSignificant) {
    digits.minimumSignificantDigits = integerOption(minSignificant, "minimumSignificantDigits", 1, 21, 1);
    digits.maximumSignificantDigits = integerOption(maxSignificant, "maximumSignificantDigits", digits.minimumSignificantDigits, 21, 21);
  }
  if (needFraction) {
    minFraction = integerOption(minFraction, "minimumFractionDigits", 0, 100, undefined);
    maxFraction = integerOption(maxFraction, "maximumFractionDigits", 0, 100, undefined);
    if (minFraction === undefined) minFraction = maxFraction === undefined ? minFractionDefault : Math.min(minFractionDefault, maxFraction as number);
    if (maxFraction === undefined) maxFraction = Math.max(maxFractionDefault, minFraction as number);
    if ((minFraction as number) > (maxFraction as number)) throw new RangeError("maximumFractionDigits value is out of range.");
    digits.minimumFractionDigits = minFraction as number;
    digits.maximumFractionDigits = maxFraction as number;
  }
  if (!needSignificant && !needFraction) {
    Object.assign(digits, { minimumFractionDigits: 0, maximumFractionDigits: 0, minimumSignificantDigits: 1, maximumSignificantDigits: 2 });
    digits.roundingType = digits.roundingPriority = "morePrecision";
  } else if (priority === "auto") {
    digits.roundingType = hasSignificant ? "significantDigits" : "fractionDigits";
  }
  if (roundingIncrement !== 1) {
    if (digits.roundingType !== "fractionDigits") throw new TypeError("roundingIncrement value is invalid.");
    if (digits.maximumFractionDigits !== digits.minimumFractionDigits) throw new RangeError("roundingIncrement value is out of range.");
  }
  return digits;
}

/** Returns the digit properties of `resolvedOptions` that follow one another. */
export function shownDigits(digits: DigitOptions): Record<string, unknown> {
  const shown: Record<string, unknown> = { minimumIntegerDigits: digits.minimumIntegerDigits };
  for (const name of ["minimumFractionDigits", "maximumFractionDigits", "minimumSignificantDigits", "maximumSignificantDigits"] as const) {
    if (digits[name] !== undefined) shown[name] = digits[name];
  }
  return shown;
}

/**
 * Returns a number, or a string of digits to keep the precision of a BigInt or string (ECMA-402, section
 * 16.5.16).
 */
function mathematicalValue(value: unknown): number | string {
  const primitive = typeof value === "object" && value !== null ? toPrimitive(value) : value;
  if (typeof primitive === "bigint") return bounded(`${primitive}`);
  if (typeof primitive === "string") {
    const text = bounded(primitive.trim());
    return /^[+-]?\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text)) ? text : Number(text);
  }
  return Number(primitive);
}

function bounded(digits: string): string {
  if (digits.length > MAX_DIGITS) throw new RangeError(`A number of more than ${MAX_DIGITS} digits cannot be formatted`);
  return digits;
}

function toPrimitive(value: object): unknown {
  const exotic = (value as Record<symbol, unknown>)[Symbol.toPrimitive];
  if (typeof exotic === "function") return Reflect.apply(exotic, value, ["number"]);
  const own = value.valueOf();
  return typeof own === "object" ? String(value) : own;
}

function isUnit(unit: string): boolean {
  if (UNITS.has(unit)) return true;
  const [numerator, denominator, more] = unit.split("-per-");
  return more === undefined && denominator !== undefined && UNITS.has(numerator!) && UNITS.has(denominator);
}

class Formatter {
  readonly #resolved: Record<string, unknown>;
  readonly #native: (value: number | string, parts: boolean) => string | string[];
  #bound: ((value: unknown) => string) | undefined;

  constructor(locales?: unknown, given?: unknown) {
    const requested = canonicalLocales(locales);
    const options = looseOptions(given);
    readMatcher(options);
    const { locale, data, values } = resolveLocale(requested, { nu: numberingSystem(options) });

    const style = choice(options, "style", ["decimal", "percent", "currency", "unit"], "decimal");
    const currency = choice(options, "currency")?.toUpperCase();
    if (currency === undefined && style === "currency") throw new TypeError("Currency code is required with currency style.");
    if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${currency}`);
    const currencyDisplay = choice(options, "currencyDisplay", ["code", "symbol", "narrowSymbol", "name"], "symbol");
    const currencySign = choice(options, "currencySign", ["standard", "accounting"], "standard");
    const unit = choice(options, "unit");
    if (unit === undefined && style === "unit") throw new TypeError("Required option unit is missing");
    if (unit !== undefined && !isUnit(unit)) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${unit}'`);
    const unitDisplay = choice(options, "unitDisplay", ["short", "narrow", "long"], "short");
    const notation = choice(options, "notation", ["standard", "scientific", "engineering", "compact"], "standard");
    const money = style === "currency" && notation === "standard" ? fractionDigits(currency!) : undefined;
    const digits = digitOptions(options, money ?? 0, money ?? (style === "percent" ? 0 : 3), notation);
    const compactDisplay = choice(options, "compactDisplay", ["short", "long"], "short");
    const useGrouping = grouping(options["useGrouping"], notation === "compact" ? "min2" : "auto");
    const signDisplay = choice(options, "signDisplay", ["auto", "never", "always", "exceptZero", "negative"], "auto");

    const { roundingType, ...shown } = digits;
    this.#resolved = {
      locale,
      numberingSystem: values["nu"],
      style,
      ...(style === "currency" && { currency, currencyDisplay, currencySign }),
      ...(style === "unit" && { unit, unitDisplay }),
      ...shownDigits(digits),
      useGrouping,
      notation,
      ...(notation === "compact" && { compactDisplay }),
      signDisplay,
      roundingIncrement: shown.roundingIncrement,
      roundingMode: shown.roundingMode,
      roundingPriority: shown.roundingPriority,
      trailingZeroDisplay: shown.trailingZeroDisplay,
    };
    this.#native = numberFormat(data, { ...this.#resolved, useGrouping: `${useGrouping}`, roundingType });
  }

  static supportedLocalesOf(locales?: unknown, options?: unknown): string[] {
    return supportedLocales(locales, options);
  }

  get format(): (value: unknown) => string {
    this.#bound ??= (value) => this.#native(mathematicalValue(value), false) as string;
    return this.#bound;
  }

  formatToParts(value?: unknown): Part[] {
    return parts(this.#native(mathematicalValue(value), true) as string[]);
  }

  resolvedOptions(): Record<string, unknown> {
    return { ...this.#resolved };
  }

  get [Symbol.toStringTag](): string {
    return "Intl.NumberFormat";
  }
}

function grouping(value: unknown, fallback: string): string | false {
  if (value === undefined) return fallback;
  if (value === true) return "always";
  if (value === false || value === null || value === 0 || value === "") return false;
  const text = `${value as string}`;
  if (text === "true" || text === "false") return fallback;
  if (!["min2", "auto", "always"].includes(text)) throw new RangeError(`Value ${text} out of range for Intl.NumberFormat options property useGrouping`);
  return text;
}

Object.defineProperty(Formatter, "name", { value: "NumberFormat" });
export const NumberFormat = callable(Formatter);
