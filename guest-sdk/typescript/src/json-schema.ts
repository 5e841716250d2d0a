// Converts zod schemas to JSON Schema. The server validates arguments and results against the JSON Schema
// outside the sandbox; the zod schema validates them once more inside.
//
// Invariant: the JSON Schema accepts every value that the zod schema may accept. Constraints that JSON Schema
// cannot express exactly are left out, and described to the model in `description` instead.
// docs/decisions/0021 has the reasons.
import { z } from "zod";

import type { Json } from "./manifest.js";
import { checksOf, loosenChecks } from "./schema-checks.js";
import { inlineRoot, withNotesInDescriptions, type JsonObject } from "./schema-text.js";

type Direction = "input" | "output";

/** The members of a zod schema definition that are used here. */
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

/**
 * Returns the JSON Schema (draft 2020-12) of the schema's input; throws for types that JSON does not have.
 */
export function inputSchema(schema: z.ZodType): Json {
  return jsonSchema(schema, "input");
}

/**
 * Returns the JSON Schema (draft 2020-12) of the schema's output; throws for types that JSON does not have.
 */
export function outputSchema(schema: z.ZodType): Json {
  return jsonSchema(schema, "output");
}

/** Whether a value is a zod schema, from any installed copy of zod. */
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
  // Converted to plain JSON, as it is sent. MCP fixes the draft, so `$schema` gives the model no information.
  const plain = JSON.parse(JSON.stringify(made)) as JsonObject;
  delete plain.$schema;
  return withNotesInDescriptions(inlineRoot(plain, io));
}

function loosen(schema: z.ZodType, json: JsonObject, io: Direction): void {
  const definition = definitionOf(schema);
  rejectTypesNotInJson(definition, io);
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
      setRequired(json, Object.entries(definition.shape ?? {}).flatMap(([key, field]) => (isOptional(field, io) ? [] : [key])));
      break;
    case "record":
      // Names that must match a pattern are left to zod: the JSON Schema applies the value's schema to all
      // names.
      delete json.patternProperties;
      if (mayBeAbsent(definition.valueType!, io)) delete json.required;
      break;
    case "union":
      // Branches that were loosened may overlap, and `oneOf` would reject a value that matches two.
      if (json.oneOf !== undefined) json.anyOf = json.oneOf;
      delete json.oneOf;
      break;
    case "pipe":
      if (io === "input" && definitionOf(definition.in!).type === "transform") makeAdvisory(json);
      break;
    case "catch":
      if (io === "input" || !fits(definition.innerType!, constantOf(definition))) makeAdvisory(json);
      break;
    case "default":
      if (io === "output" && !fits(definition.innerType!, definition.defaultValue)) makeAdvisory(json);
      break;
  }
  if (io === "input" && definition.coerce === true) json.type = coercible(definition.type, json.type);
}

/** Types of zod that JSON does not have, with their names in the error message. */
const TYPES_NOT_IN_JSON: Record<string, string> = {
  bigint: "BigInt",
  symbol: "Symbols",
  date: "Date",
  map: "Map",
  set: "Set",
  nan: "NaN",
  function: "Function types",
};

function rejectTypesNotInJson({ type, coerce, values = [] }: Definition, io: Direction): void {
  const isCoerced = io === "input" && coerce === true;
  const name = type === "literal" && values.some((value) => typeof value === "bigint") ? "BigInt literals" : TYPES_NOT_IN_JSON[type];
  if (name !== undefined && !isCoerced) throw new Error(`${name} cannot be represented in JSON Schema`);
}

/** Returns the JSON types that JavaScript converts to the type, the preferred one first. */
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
      // JavaScript also converts `[5]` to 5.
      return [type === "bigint" ? "integer" : number, "string", "boolean", "null", "array"];
  }
}

/**
 * Makes a schema accept every value, and keeps the preferred schema as the first choice, for the model to
 * read.
 */
function makeAdvisory(json: JsonObject): void {
  const preferred: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    if (ANNOTATIONS.includes(key)) continue;
    preferred[key] = value;
    delete json[key];
  }
  if (Object.keys(preferred).length > 0) json.anyOf = [preferred, {}];
}

const ANNOTATIONS = ["title", "description", "default", "examples", "deprecated", "readOnly", "id"];

function setRequired(json: JsonObject, keys: string[]): void {
  if (keys.length > 0) json.required = keys;
  else delete json.required;
}

let anyIsRequired: boolean | undefined;

/** Whether this member of an object is optional. */
function isOptional(schema: z.ZodType, io: Direction): boolean {
  // Later releases of zod require every member that is not explicitly optional.
  anyIsRequired ??= !z.object({ any: z.any() }).safeParse({}).success;
  return io === "input" && anyIsRequired ? schema._zod.optin !== undefined : mayBeAbsent(schema, io);
}

/** Whether a schema accepts `undefined` (input), or may return it (output). */
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

/** Returns the replacement value of a `.catch()`; `undefined` if it depends on the invalid value. */
function constantOf({ catchValue }: Definition): unknown {
  return catchValue !== undefined && catchValue.length === 0 ? catchValue(undefined) : undefined;
}

/**
 * Whether a value that zod inserts without validation (a default, a `.catch()`) is also a valid output of the
 * schema.
 */
function fits(schema: z.ZodType, value: unknown): boolean {
  try {
    const checked = schema.safeParse(value);
    return checked.success && JSON.stringify(checked.data) === JSON.stringify(value);
  } catch {
    // The schema is asynchronous, or a refinement throws: the result is unknown.
    return false;
  }
}

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}
