import { z } from "zod";

import type { Json } from "./manifest.js";

type JsonObject = { [key: string]: Json };

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

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const made = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    override: ({ zodSchema, jsonSchema }) => {
      if (io === "input") acceptWhatIsCoerced(zodSchema._zod.def, jsonSchema as JsonObject);
      forgetPatternsWithFlags(zodSchema._zod.def, jsonSchema as JsonObject);
    },
  });
  // Through JSON, which is how it travels. The draft is the protocol's business and tells a model nothing.
  const plain = JSON.parse(JSON.stringify(made)) as JsonObject;
  delete plain.$schema;
  return withObjectRoot(plain);
}

/** `z.coerce.number()` takes "5" as well; so must the schema that arguments are checked against first. */
function acceptWhatIsCoerced(definition: object, json: JsonObject): void {
  const coerced = "coerce" in definition && definition.coerce === true;
  if (!coerced || typeof json.type !== "string") return;
  const accepted = { number: ["string"], integer: ["string"], string: ["number", "boolean"], boolean: ["string", "number"] };
  json.type = [json.type, ...(accepted[json.type as keyof typeof accepted] ?? [])];
}

/** A pattern of JSON Schema has no flags: one that ignores case would refuse what the author accepts. */
function forgetPatternsWithFlags(definition: object, json: JsonObject): void {
  const { pattern, checks = [] } = definition as { pattern?: RegExp; checks?: { _zod: { def: { pattern?: RegExp } } }[] };
  const all = [pattern, ...checks.map((check) => check._zod.def.pattern)];
  const flagged = new Set(all.flatMap((it) => (it instanceof RegExp && /[ims]/.test(it.flags) ? [it.source] : [])));
  if (flagged.size === 0) return;
  if (flagged.has(json.pattern as string)) delete json.pattern;
  if (!Array.isArray(json.allOf)) return;
  const others = json.allOf.filter((part) => !flagged.has((part as JsonObject).pattern as string));
  if (others.length > 0) json.allOf = others;
  else delete json.allOf;
}

/** A choice between objects is an object too, and MCP wants to be told so. */
function withObjectRoot(json: JsonObject): JsonObject {
  const branches = json.anyOf ?? json.oneOf;
  if (json.type !== undefined || !Array.isArray(branches) || branches.length === 0) return json;
  const objects = branches.every((it) => typeof it === "object" && it !== null && !Array.isArray(it) && it.type === "object");
  return objects ? { type: "object", ...json } : json;
}
