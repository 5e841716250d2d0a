// JSON Schema as a text: what its root must be, and what a model reads in it.
import type { Json } from "./manifest.js";

export type JsonObject = { [key: string]: Json };

/** Notes of one schema, until they are in its description: wrappers of a schema inherit them as they do keywords. */
const NOTES = "kitbag:notes";

/** Adds what no keyword says. */
export function note(json: JsonObject, text: string | undefined): void {
  if (text === undefined) return;
  const notes = (json[NOTES] as string[] | undefined) ?? [];
  if (!notes.includes(text)) json[NOTES] = [...notes, text];
}

/** Returns the schema with all notes in descriptions. */
export function noted(json: JsonObject): JsonObject {
  return eachSchema(json, (schema) => {
    const { [NOTES]: notes, ...rest } = schema;
    if (!Array.isArray(notes)) return schema;
    const text = notes.join(", ");
    const { description } = rest;
    if (typeof description === "string" && description !== "") return { ...rest, description: `${description} (${text})` };
    return { ...rest, description: text[0]!.toUpperCase() + text.slice(1) };
  });
}

/** Brings the schema of an object into the form that MCP asks for: `"type": "object"` stands at the root. */
export function inlineRoot(json: JsonObject, io: "input" | "output"): JsonObject {
  const root = suggestedMembers(withoutReference(json));
  if (io === "output") return withObjectType(pooled(root), "every");
  // Arguments are always an object: choices that are none can never be meant.
  return withObjectType(root, "some");
}

/** Calls `change` for every schema within a schema, the innermost first. */
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

/** A root with an id of its own is a reference to itself. */
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

/** Of members that are only suggested (a `z.preprocess` around the object) each is named, and none is asked for. */
function suggestedMembers(json: JsonObject): JsonObject {
  const { anyOf, ...rest } = json;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || !isObject(anyOf[1]) || Object.keys(anyOf[1]).length > 0) return json;
  const suggested = isObject(anyOf[0]) ? (referenced(anyOf[0].$ref, json) ?? anyOf[0]) : {};
  if (!isObject(suggested.properties)) return json;
  const members = Object.entries(suggested.properties).map(([name, schema]) => [name, { anyOf: [schema, {}] }]);
  return { type: "object", ...rest, properties: Object.fromEntries(members) as JsonObject };
}

/** In an intersection each side would refuse the members of the other. */
function pooled(json: JsonObject): JsonObject {
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

/** A choice between objects is an object too, and MCP wants to be told so. */
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

/** The name that a reference into `$defs` ends with, a JSON Pointer (RFC 6901). */
function nameOf(reference: Json): string {
  const [, name = ""] = /^#\/\$defs\/(.+)$/.exec(String(reference)) ?? [];
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
