// Transformations of JSON Schemas: notes in descriptions, and the root that MCP requires.
import type { Json } from "./manifest.js";

export type JsonObject = { [key: string]: Json };

/** Temporary keyword for a schema's notes. Wrappers of a schema inherit it as they inherit other keywords. */
const NOTES = "kitbag:notes";

/** Adds a note: a constraint that is not expressed by keywords. */
export function note(json: JsonObject, text: string | undefined): void {
  if (text === undefined) return;
  const notes = (json[NOTES] as string[] | undefined) ?? [];
  if (!notes.includes(text)) json[NOTES] = [...notes, text];
}

/** Returns the schema with all notes moved into descriptions. */
export function withNotesInDescriptions(json: JsonObject): JsonObject {
  return eachSchema(json, (schema) => {
    const { [NOTES]: notes, ...rest } = schema;
    if (!Array.isArray(notes)) return schema;
    const text = notes.join(", ");
    const { description } = rest;
    if (typeof description === "string" && description !== "") return { ...rest, description: `${description} (${text})` };
    return { ...rest, description: text[0]!.toUpperCase() + text.slice(1) };
  });
}

/** Returns an object's schema in the form that MCP requires, with `"type": "object"` at the root. */
export function inlineRoot(json: JsonObject, io: "input" | "output"): JsonObject {
  const root = withAdvisoryMembers(withoutReference(json));
  if (io === "output") return withObjectType(withOpenIntersections(root), "every");
  // Arguments are always an object, so other choices at the root never apply.
  return withObjectType(root, "some");
}

/** Applies `change` to every subschema and to the schema itself, innermost first. */
function eachSchema(json: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const inside = (value: Json): Json => (isObject(value) ? eachSchema(value, change) : value);
  const changed: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    if (["properties", "patternProperties", "$defs"].includes(key) && isObject(value)) {
      changed[key] = Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inside(schema)]));
    } else if (["anyOf", "allOf", "oneOf", "prefixItems"].includes(key) && Array.isArray(value)) {
      changed[key] = value.map(inside);
    } else {
      changed[key] = ["items", "additionalProperties", "propertyNames", "not"].includes(key) ? inside(value) : value;
    }
  }
  return change(changed);
}

/** Inlines a root that is a `$ref`: zod makes the root of a schema with an id a reference into `$defs`. */
function withoutReference(json: JsonObject): JsonObject {
  const target = referenced(json.$ref, json);
  if (target === undefined) return json;
  const { $ref, $defs, ...rest } = json;
  const root = { ...target, ...rest };
  const others = { ...($defs as JsonObject) };
  const name = nameOf($ref!);
  const isUsed = JSON.stringify([root, others]).includes(JSON.stringify($ref));
  if (!isUsed) delete others[name];
  return Object.keys(others).length === 0 ? root : { ...root, $defs: others };
}

/**
 * Turns an advisory root (from `z.preprocess` around an object) into an object whose members are all
 * advisory.
 */
function withAdvisoryMembers(json: JsonObject): JsonObject {
  const { anyOf, ...rest } = json;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || !isObject(anyOf[1]) || Object.keys(anyOf[1]).length > 0) return json;
  const preferred = isObject(anyOf[0]) ? (referenced(anyOf[0].$ref, json) ?? anyOf[0]) : {};
  if (!isObject(preferred.properties)) return json;
  const members = Object.entries(preferred.properties).map(([name, schema]) => [name, { anyOf: [schema, {}] }]);
  return { type: "object", ...rest, properties: Object.fromEntries(members) as JsonObject };
}

/**
 * Removes `additionalProperties: false` from the parts of each `allOf`: each part would reject the others'
 * members.
 */
function withOpenIntersections(json: JsonObject): JsonObject {
  const shared = new Set<Json>();
  eachSchema(json, (schema) => {
    if (Array.isArray(schema.allOf)) for (const part of schema.allOf) if (isObject(part)) shared.add(part.$ref ?? null);
    return schema;
  });
  const open = (value: Json): Json => {
    if (!isObject(value) || value.additionalProperties !== false) return value;
    const { additionalProperties: _, ...rest } = value;
    return rest;
  };
  return eachSchema(json, (schema) => {
    const made = { ...schema };
    if (Array.isArray(made.allOf)) made.allOf = made.allOf.map(open);
    if (isObject(made.$defs)) {
      made.$defs = Object.fromEntries(
        Object.entries(made.$defs).map(([name, value]) => [name, shared.has(`#/$defs/${name}`) ? open(value) : value]),
      );
    }
    return made;
  });
}

/** Adds `"type": "object"` to a root that is a choice between objects: MCP requires the keyword. */
function withObjectType(json: JsonObject, quantifier: "some" | "every"): JsonObject {
  if (Array.isArray(json.type) && json.type.includes("object")) return { ...json, type: "object" };
  if (json.type !== undefined || !isObjects(json, json, quantifier, [])) return json;
  return { type: "object", ...json };
}

function isObjects(schema: Json, root: JsonObject, quantifier: "some" | "every", seen: Json[]): boolean {
  if (!isObject(schema) || seen.includes(schema)) return false;
  const next = (inner: Json) => isObjects(inner, root, quantifier, [...seen, schema]);
  if (schema.type !== undefined) return schema.type === "object" || (Array.isArray(schema.type) && schema.type.includes("object"));
  const target = referenced(schema.$ref, root);
  if (target !== undefined) return next(target);
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return choices.length > 0 && choices[quantifier](next);
  if (Array.isArray(schema.allOf)) return schema.allOf.some(next);
  return quantifier === "some" && schema.enum === undefined && schema.const === undefined && schema.not === undefined;
}

function referenced(reference: Json | undefined, root: JsonObject): JsonObject | undefined {
  if (typeof reference !== "string" || !isObject(root.$defs)) return undefined;
  const target = root.$defs[nameOf(reference)];
  return isObject(target) ? target : undefined;
}

/** Returns the name at the end of a reference into `$defs`, a JSON Pointer (RFC 6901). */
function nameOf(reference: Json): string {
  const [, name = ""] = /^#\/\$defs\/(.+)$/.exec(String(reference)) ?? [];
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
