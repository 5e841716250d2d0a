// The checks of a schema (lengths, bounds, patterns) in JSON Schema: those that mean the same there stay, the others
// become a note that the model reads.
import { z } from "zod";

import { note, type JsonObject } from "./schema-text.js";

/** One check of the library's, as far as it matters here. */
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
  /** `z.iso.datetime()` without an offset, or without seconds. */
  local?: boolean;
  precision?: number | null;
  /** The author's own message. */
  error?: unknown;
}

/** Returns the checks of a schema in their order; one with a format of its own is its first. */
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

/** Writes the checks into the JSON Schema anew. */
export function loosenChecks(checks: Check[], json: JsonObject, io: "input" | "output"): void {
  const changes = checks.map(({ check }) => check === "overwrite");
  const [first, last] = [changes.indexOf(true), changes.lastIndexOf(true)];
  // `.trim()` and its like change a value in between: what comes after says nothing of what goes in, and what comes
  // before nothing of what goes out.
  const holds = (index: number) => first === -1 || (io === "input" ? index < first : index > last);

  for (const keyword of KEYWORDS) delete json[keyword];
  if (json.type === "integer" && !checks.some((check, index) => holds(index) && isInteger(check))) json.type = "number";
  keepFormat(checks, json, io);
  checks.forEach((check, index) => {
    // A message of the author's own is better than any that names a keyword.
    const isSaid = holds(index) && check.error == null && narrow(json, check);
    if (!isSaid) note(json, textOf(check, json));
  });
}

function isInteger({ check, format }: Check): boolean {
  return check === "number_format" && format?.includes("int") === true;
}

const RANGES: Record<string, [number, number]> = { int32: [-(2 ** 31), 2 ** 31 - 1], uint32: [0, 2 ** 32 - 1] };

/** Says a check in keywords; false where they do not say all of it. */
function narrow(json: JsonObject, check: Check): boolean {
  const isList = json.type === "array";
  const least = (keyword: string, limit: number) => (json[keyword] = Math.max(limit, (json[keyword] as number | undefined) ?? limit));
  const most = (keyword: string, limit: number) => (json[keyword] = Math.min(limit, (json[keyword] as number | undefined) ?? limit));
  const { minimum = check.length, maximum = check.length, inclusive, value } = check;
  switch (check.check) {
    case "length_equals":
    case "min_length":
    case "max_length": {
      if (check.check !== "min_length") most(isList ? "maxItems" : "maxLength", maximum!);
      if (check.check === "max_length") return true;
      if (isList) return least("minItems", minimum!) === minimum;
      // JSON Schema counts code points. Where the library counts UTF-16 units, half of them may be enough.
      const points = countsUnits() ? Math.ceil(minimum! / 2) : minimum!;
      least("minLength", points);
      return points === minimum;
    }
    case "greater_than":
      if (typeof value !== "number") return false;
      least(inclusive ? "minimum" : "exclusiveMinimum", value);
      return true;
    case "less_than":
      if (typeof value !== "number") return false;
      most(inclusive ? "maximum" : "exclusiveMaximum", value);
      return true;
    case "multiple_of":
      // Of fractions each side has its own arithmetic.
      if (!Number.isSafeInteger(value) || (value as number) <= 0 || json.multipleOf !== undefined) return false;
      json.multipleOf = value as number;
      return true;
    case "number_format": {
      const range = RANGES[check.format ?? ""];
      if (range !== undefined) [least("minimum", range[0]), most("maximum", range[1])];
      return true;
    }
    default:
      return false;
  }
}

let unitsAreCounted: boolean | undefined;

/** Whether this release of the library counts UTF-16 units; later ones count code points. */
function countsUnits(): boolean {
  return (unitsAreCounted ??= z.string().min(2).safeParse("\u{1F600}").success);
}

/** Formats that mean the same to the library and to those that check results against `output`. */
const SAME_EVERYWHERE = ["date", "date-time", "uuid", "ipv4", "ipv6"];
/** What the library calls a format and is none. */
const NO_FORMATS = ["regex", "includes", "starts_with", "ends_with", "lowercase", "uppercase"];

/** The server does not check formats; clients may check those of a result. */
function keepFormat(checks: Check[], json: JsonObject, io: "input" | "output"): void {
  const format = json.format as string | undefined;
  if (format === undefined) return;
  const isLax = checks.some(({ local, precision }) => local === true || precision === -1);
  if (NO_FORMATS.includes(format) || (io === "output" && (isLax || !SAME_EVERYWHERE.includes(format)))) delete json.format;
}

/** Longer expressions tell a model nothing. */
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
      const isNamed = json.format !== undefined && !NO_FORMATS.includes(format ?? "");
      const isShort = pattern !== undefined && String(pattern).length <= MAX_PATTERN_LENGTH;
      return isShort && !isNamed ? `matches ${String(pattern)}` : undefined;
    }
    default:
      return undefined;
  }
}
