// A short way through plain schemas. The schema library goes through dozens of functions for each field,
// which costs more in an interpreter than everything else that a call does.
//
// Invariant: what goes through here is what the schema itself would return. Whatever is not plain, and every
// value that does not fit, is left to the schema.
import type { z } from "zod";

/** Says that the schema has to be asked. */
export const NOT_PLAIN: unique symbol = Symbol("ask");

type Pass = (value: unknown) => unknown;

/** A definition, as far as it matters here. */
interface Definition {
  type: string;
  checks?: { _zod: { def: Check } }[];
  check?: string;
  format?: string;
  coerce?: boolean;
  shape?: { [key: string]: z.ZodType };
  catchall?: unknown;
  element?: z.ZodType;
  innerType?: z.ZodType;
  entries?: { [key: string]: unknown };
  values?: unknown[];
}

interface Check {
  check: string;
  value?: unknown;
  inclusive?: boolean;
  minimum?: number;
  maximum?: number;
}

const passes = new WeakMap<z.ZodType, Pass | typeof NOT_PLAIN>();

/** Returns what the schema makes of a value that fits, or {@link NOT_PLAIN}. */
export function plain(schema: z.ZodType, value: unknown): unknown {
  let pass = passes.get(schema);
  if (pass === undefined) passes.set(schema, (pass = passOf(schema) ?? NOT_PLAIN));
  return pass === NOT_PLAIN ? NOT_PLAIN : pass(value);
}

function passOf(schema: z.ZodType): Pass | undefined {
  const definition = schema._zod.def as unknown as Definition;
  if (definition.coerce === true) return undefined;
  switch (definition.type) {
    case "string":
      return bare(definition, (value) => typeof value === "string");
    case "number":
      return number(definition);
    case "boolean":
      return bare(definition, (value) => typeof value === "boolean");
    case "enum":
    case "literal": {
      const allowed: unknown[] = definition.values ?? Object.values(definition.entries ?? {});
      // An enum of TypeScript has its names among the values.
      if (allowed.some((value) => typeof value !== "string")) return undefined;
      return bare(definition, (value) => allowed.includes(value));
    }
    case "nullable": {
      const inner = bareInner(definition);
      return inner && ((value) => (value === null ? null : inner(value)));
    }
    case "array":
      return array(definition);
    case "object":
      return object(definition);
    default:
      return undefined;
  }
}

function bare(definition: Definition, fits: (value: unknown) => boolean): Pass | undefined {
  if ((definition.checks ?? []).length > 0 || definition.check !== undefined) return undefined;
  return (value) => (fits(value) ? value : NOT_PLAIN);
}

function bareInner({ checks = [], innerType }: Definition): Pass | undefined {
  return checks.length > 0 || innerType === undefined ? undefined : passOf(innerType);
}

/** Lists of a length between bounds. */
function sized({ checks = [] }: Definition): ((value: unknown) => boolean) | undefined {
  let [least, most] = [0, Infinity];
  for (const { _zod } of checks) {
    const { check, minimum, maximum } = _zod.def;
    if (check === "min_length" && minimum !== undefined) least = Math.max(least, minimum);
    else if (check === "max_length" && maximum !== undefined) most = Math.min(most, maximum);
    else return undefined;
  }
  return (value) => Array.isArray(value) && value.length >= least && value.length <= most;
}

function number({ checks = [], check, format }: Definition): Pass | undefined {
  if (check !== undefined && !(check === "number_format" && format === "safeint")) return undefined;
  const fits: (value: unknown) => boolean = check === undefined ? Number.isFinite : Number.isSafeInteger;
  const bounds: ((value: number) => boolean)[] = [];
  for (const { _zod } of checks) {
    const { check: bound, value: limit, inclusive } = _zod.def;
    if (typeof limit !== "number") return undefined;
    if (bound === "greater_than") bounds.push(inclusive ? (value) => value >= limit : (value) => value > limit);
    else if (bound === "less_than") bounds.push(inclusive ? (value) => value <= limit : (value) => value < limit);
    else return undefined;
  }
  return (value) => {
    if (!fits(value)) return NOT_PLAIN;
    for (const within of bounds) if (!within(value as number)) return NOT_PLAIN;
    return value;
  };
}

function array(definition: Definition): Pass | undefined {
  const fits = sized(definition);
  const element = definition.element && passOf(definition.element);
  if (fits === undefined || element === undefined) return undefined;
  return (value) => {
    if (!fits(value)) return NOT_PLAIN;
    const made: unknown[] = [];
    for (const item of value as unknown[]) {
      const passed = element(item);
      if (passed === NOT_PLAIN) return NOT_PLAIN;
      made.push(passed);
    }
    return made;
  };
}

function object({ checks = [], catchall, shape }: Definition): Pass | undefined {
  if (checks.length > 0 || catchall !== undefined || shape === undefined) return undefined;
  const fields: { key: string; pass: Pass; mayBeAbsent: boolean }[] = [];
  for (const [key, schema] of Object.entries(shape)) {
    const definition = schema._zod.def as unknown as Definition;
    const mayBeAbsent = definition.type === "optional";
    const pass = mayBeAbsent ? bareInner(definition) : passOf(schema);
    if (pass === undefined || key === "__proto__") return undefined;
    fields.push({ key, pass, mayBeAbsent });
  }
  return (value) => {
    if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return NOT_PLAIN;
    const made: { [key: string]: unknown } = {};
    for (const { key, pass, mayBeAbsent } of fields) {
      if (mayBeAbsent && !(key in value)) continue;
      const passed = pass((value as { [key: string]: unknown })[key]);
      if (passed === NOT_PLAIN) return NOT_PLAIN;
      made[key] = passed;
    }
    return made;
  };
}
