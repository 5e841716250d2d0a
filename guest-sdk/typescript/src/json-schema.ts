// From a schema of the library to JSON Schema. The server checks values against it before and after a call, and
// the schema itself looks inside.
//
// Invariant: the JSON Schema accepts every value that the schema may accept. What it cannot say exactly it leaves
// out, and tells the model in the description instead. docs/decisions/0021 has the reasons.
import { z } from "zod";

import type { Json } from "./manifest.js";
import { checksOf, loosenChecks } from "./schema-checks.js";
import { inlineRoot, noted, type JsonObject } from "./schema-text.js";

type Direction = "input" | "output";

/** A definition of the library's, as far as it matters here. */
interface Definition {
  type: string;
  coerce?: boolean;
  shape?: Record<string, z.ZodType>;
  values?: unknown[];
  options?: z.ZodType[];
  left?: z.ZodType;
  right?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  innerType?: z.ZodType;
  keyType?: z.ZodType;
  valueType?: z.ZodType;
  defaultValue?: unknown;
  catchValue?: (ctx: unknown) => unknown;
  getter?: () => z.ZodType;
}

/** Returns the JSON Schema (draft 2020-12) of what the schema accepts; what JSON cannot hold throws. */
export function inputSchema(schema: z.ZodType): Json {
  return jsonSchema(schema, "input");
}

/** Returns the JSON Schema (draft 2020-12) of what the schema makes of it; what JSON cannot hold throws. */
export function outputSchema(schema: z.ZodType): Json {
  return jsonSchema(schema, "output");
}

/** Whether a value is a schema of the library, of whichever copy. */
export function isSchema(value: unknown): value is z.ZodType {
  return typeof value === "object" && value !== null && "_zod" in value && "safeParse" in value;
}

function jsonSchema(schema: z.ZodType, io: Direction): Json {
  const made = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => loosen(zodSchema as unknown as z.ZodType, jsonSchema as JsonObject, io),
  });
  // Through JSON, which is how it travels. The draft is the protocol's business and tells a model nothing.
  const plain = JSON.parse(JSON.stringify(made)) as JsonObject;
  delete plain.$schema;
  return noted(inlineRoot(plain, io));
}

function loosen(schema: z.ZodType, json: JsonObject, io: Direction): void {
  const definition = definitionOf(schema);
  refuseWhatJsonCannotHold(definition, io);
  switch (definition.type) {
    case "string":
    case "number":
    case "array":
    case "template_literal":
      loosenChecks(checksOf(schema), json, io);
      break;
    case "undefined":
    case "void":
      json.not = {};
      break;
    case "object":
      require(json, Object.entries(definition.shape ?? {}).flatMap(([key, field]) => (isOptional(field, io) ? [] : [key])));
      break;
    case "record":
      // Names that a pattern describes are left to the schema: what is allowed for them is allowed for all.
      delete json.patternProperties;
      if (mayBeAbsent(definition.valueType!, io)) delete json.required;
      break;
    case "union":
      // Loosened choices may overlap.
      if (json.oneOf !== undefined) json.anyOf = json.oneOf;
      delete json.oneOf;
      break;
    case "pipe":
      if (io === "input" && definitionOf(definition.in!).type === "transform") suggest(json);
      break;
    case "catch":
      if (io === "input" || !fits(definition.innerType!, constantOf(definition))) suggest(json);
      break;
    case "default":
      if (io === "output" && !fits(definition.innerType!, definition.defaultValue)) suggest(json);
      break;
  }
  if (io === "input" && definition.coerce === true) json.type = coercible(definition.type, json.type);
}

const UNHELD: Record<string, string> = {
  bigint: "BigInt",
  symbol: "Symbols",
  date: "Date",
  map: "Map",
  set: "Set",
  nan: "NaN",
  function: "Function types",
};

function refuseWhatJsonCannotHold({ type, coerce, values = [] }: Definition, io: Direction): void {
  const isMade = io === "input" && coerce === true;
  const what = type === "literal" && values.some((value) => typeof value === "bigint") ? "BigInt literals" : UNHELD[type];
  if (what !== undefined && !isMade) throw new Error(`${what} cannot be represented in JSON Schema`);
}

/** What JavaScript converts to the type; the first is what the model should send. */
function coercible(type: string, first: Json | undefined): Json {
  const number = typeof first === "string" ? first : "number";
  switch (type) {
    case "string":
      return ["string", "number", "boolean", "null", "array", "object"];
    case "boolean":
      return ["boolean", "string", "number", "null", "array", "object"];
    case "date":
      return ["string", "number", "boolean", "null", "array", "object"];
    default:
      // `[5]` is 5 as well.
      return [type === "bigint" ? "integer" : number, "string", "boolean", "null", "array"];
  }
}

/** The model reads what the value should be, and every value is accepted. */
function suggest(json: JsonObject): void {
  const suggested: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    if (ANNOTATIONS.includes(key)) continue;
    suggested[key] = value;
    delete json[key];
  }
  if (Object.keys(suggested).length > 0) json.anyOf = [suggested, {}];
}

const ANNOTATIONS = ["title", "description", "default", "examples", "deprecated", "readOnly", "id"];

function require(json: JsonObject, keys: string[]): void {
  if (keys.length > 0) json.required = keys;
  else delete json.required;
}

let anyIsRequired: boolean | undefined;

/** Whether an object may lack this member. */
function isOptional(schema: z.ZodType, io: Direction): boolean {
  // Later releases of the library ask for every member that does not say itself that it may be absent.
  anyIsRequired ??= !z.object({ any: z.any() }).safeParse({}).success;
  return io === "input" && anyIsRequired ? schema._zod.optin !== undefined : mayBeAbsent(schema, io);
}

/** Whether a schema accepts that nothing is there, or returns nothing. */
function mayBeAbsent(schema: z.ZodType, io: Direction, seen = new Set<z.ZodType>()): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  const definition = definitionOf(schema);
  const within = (inner: z.ZodType | undefined) => inner !== undefined && mayBeAbsent(inner, io, seen);
  if (io === "input" && (definition.coerce === true || schema._zod.optin !== undefined)) return true;
  switch (definition.type) {
    case "any":
    case "unknown":
    case "undefined":
    case "void":
    case "custom":
    case "transform":
    case "optional":
      return true;
    case "literal":
      return definition.values?.includes(undefined) === true;
    case "nullable":
    case "readonly":
    case "promise":
    case "catch":
      return within(definition.innerType);
    case "default":
    case "prefault":
      return io === "input" || within(definition.innerType);
    case "lazy":
      return within(definition.getter?.());
    case "union":
      return definition.options?.some(within) === true;
    case "intersection":
      return within(definition.left) && within(definition.right);
    case "pipe":
      return within(io === "input" ? definition.in : definition.out);
    default:
      return false;
  }
}

/** What a `.catch()` puts in a wrong value's place, where it is always the same. */
function constantOf({ catchValue }: Definition): unknown {
  return catchValue !== undefined && catchValue.length === 0 ? catchValue(undefined) : undefined;
}

/** Whether a value that the library puts in unchecked is one that the schema returns as well. */
function fits(schema: z.ZodType, value: unknown): boolean {
  try {
    const checked = schema.safeParse(value);
    return checked.success && JSON.stringify(checked.data) === JSON.stringify(value);
  } catch {
    // It waits for something, or a refinement throws: nothing is known.
    return false;
  }
}

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}
