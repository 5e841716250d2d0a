// Converts the checks of a zod schema (lengths, bounds, patterns) to JSON Schema. Checks that mean the same
// in JSON Schema become keywords; the others become a note in the description.
import { z } from "zod";

import { note, type JsonObject } from "./schema-text.js";

/** The members of a zod check that are used here. */
interface Check {
  check?: string;
  type?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  length?: number;
  value?: unknown;
  inclusive?: boolean;
  pattern?: RegExp;
  /** Options of `z.iso.datetime()`: without an offset, or without seconds. */
  local?: boolean;
  precision?: number | null;
  /** An error message set by the author. */
  error?: unknown;
}

/**
 * Returns the checks of a schema in order. The check of a format schema, such as `z.email()`, comes first.
 */
export function checksOf(schema: z.ZodType): Check[] {
  const definition = schema._zod.def as unknown as Check & { checks?: { _zod: { def: Check } }[] };
  const checks = (definition.checks ?? []).map((check) => check._zod.def);
  const own = definition.check === undefined ? [] : [definition];
  if (definition.type !== "template_literal") return [...own, ...checks];
  return [{ check: "string_format", pattern: (schema._zod as unknown as { pattern: RegExp }).pattern }, ...checks];
}

const KEYWORDS = [
  "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "allOf",
];

/**
 * Replaces the keywords of the checks in the JSON Schema with those that hold for `io`, and adds notes for
 * the rest.
 */
export function loosenChecks(checks: Check[], json: JsonObject, io: "input" | "output"): void {
  const changes = checks.map(({ check }) => check === "overwrite");
  const [first, last] = [changes.indexOf(true), changes.lastIndexOf(true)];
  // An overwrite such as `.trim()` changes the value: checks after it say nothing about the input, and checks
  // before it nothing about the output.
  const holds = (index: number) => first === -1 || (io === "input" ? index < first : index > last);

  for (const keyword of KEYWORDS) delete json[keyword];
  if (json.type === "integer" && !checks.some((check, index) => holds(index) && isInteger(check))) json.type = "number";
  keepFormat(checks, json, io);
  checks.forEach((check, index) => {
    // A check with the author's own message is left to zod: the server would report another message.
    const isExpressed = holds(index) && check.error == null && addKeywords(json, check);
    if (!isExpressed) note(json, textOf(check, json));
  });
}

function isInteger({ check, format }: Check): boolean {
  return check === "number_format" && format?.includes("int") === true;
}

const RANGES: Record<string, [number, number]> = { int32: [-(2 ** 31), 2 ** 31 - 1], uint32: [0, 2 ** 32 - 1] };

/** Adds the keywords of a check; returns false if they do not express all of it. */
function addKeywords(json: JsonObject, check: Check): boolean {
  const isList = json.type === "array";
  const setMin = (keyword: string, limit: number) => (json[keyword] = Math.max(limit, (json[keyword] as number | undefined) ?? limit));
  const setMax = (keyword: string, limit: number) => (json[keyword] = Math.min(limit, (json[keyword] as number | undefined) ?? limit));
  const { minimum = check.length, maximum = check.length, inclusive, value } = check;
  switch (check.check) {
    case "length_equals":
    case "min_length":
    case "max_length": {
      if (check.check !== "min_length") setMax(isList ? "maxItems" : "maxLength", maximum!);
      if (check.check === "max_length") return true;
      if (isList) return setMin("minItems", minimum!) === minimum;
      // JSON Schema counts code points. Where zod counts UTF-16 code units, half as many code points may be
      // enough.
      const points = countsCodeUnits() ? Math.ceil(minimum! / 2) : minimum!;
      setMin("minLength", points);
      return points === minimum;
    }
    case "greater_than":
      if (typeof value !== "number") return false;
      setMin(inclusive ? "minimum" : "exclusiveMinimum", value);
      return true;
    case "less_than":
      if (typeof value !== "number") return false;
      setMax(inclusive ? "maximum" : "exclusiveMaximum", value);
      return true;
    case "multiple_of":
      // For fractions, zod and the server's validator round differently.
      if (!Number.isSafeInteger(value) || (value as number) <= 0 || json.multipleOf !== undefined) return false;
      json.multipleOf = value as number;
      return true;
    case "number_format": {
      const range = RANGES[check.format ?? ""];
      if (range !== undefined) [setMin("minimum", range[0]), setMax("maximum", range[1])];
      return true;
    }
    default:
      return false;
  }
}

let codeUnitsAreCounted: boolean | undefined;

/** Whether this release of zod measures strings in UTF-16 code units; later ones count code points. */
function countsCodeUnits(): boolean {
  return (codeUnitsAreCounted ??= z.string().min(2).safeParse("\u{1F600}").success);
}

/** Formats that zod and the clients that validate results understand in the same way. */
const PORTABLE_FORMATS = ["date", "date-time", "uuid", "ipv4", "ipv6"];
/** Values of zod's `format` that are not formats of JSON Schema. */
const PSEUDO_FORMATS = ["regex", "includes", "starts_with", "ends_with", "lowercase", "uppercase"];

/**
 * Removes a `format` that does not hold. The server ignores formats, but clients may check those of a result.
 */
function keepFormat(checks: Check[], json: JsonObject, io: "input" | "output"): void {
  const format = json.format as string | undefined;
  if (format === undefined) return;
  const isLax = checks.some(({ local, precision }) => local === true || precision === -1);
  if (PSEUDO_FORMATS.includes(format) || (io === "output" && (isLax || !PORTABLE_FORMATS.includes(format)))) delete json.format;
}

/** Longer regular expressions are not quoted: they do not help a model. */
const MAX_PATTERN_LENGTH = 100;

function textOf({ check, format, minimum, maximum, length, value, inclusive, pattern }: Check, json: JsonObject): string | undefined {
  const unit = json.type === "array" ? "items" : "characters";
  switch (check) {
    case "min_length":
      return `at least ${minimum} ${unit}`;
    case "max_length":
      return `at most ${maximum} ${unit}`;
    case "length_equals":
      return `exactly ${length} ${unit}`;
    case "greater_than":
      return `${inclusive ? "at least" : "more than"} ${String(value)}`;
    case "less_than":
      return `${inclusive ? "at most" : "less than"} ${String(value)}`;
    case "multiple_of":
      return `a multiple of ${String(value)}`;
    case "string_format": {
      const isNamed = json.format !== undefined && !PSEUDO_FORMATS.includes(format ?? "");
      const isShort = pattern !== undefined && String(pattern).length <= MAX_PATTERN_LENGTH;
      return isShort && !isNamed ? `matches ${String(pattern)}` : undefined;
    }
    default:
      return undefined;
  }
}
