import type { Json } from "../manifest.js";

/** Deeper values add nothing; a schema that contains itself has no end. */
const MAX_DEPTH = 6;

/** Makes a value that keeps the plain keywords of a JSON Schema; patterns and formats are not looked at. */
export function sample(schema: Json | undefined, root = schema, depth = 0): Json {
  if (depth > MAX_DEPTH || typeof schema !== "object" || schema === null || Array.isArray(schema)) return null;
  const next = (inner: Json | undefined) => sample(inner, root, depth + 1);
  if (typeof schema.$ref === "string") return next(behind(schema.$ref, root));
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
  const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(choice) && schema.type !== "object") return next(choice[0]);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object": {
      const properties = Object.entries((schema.properties ?? {}) as { [key: string]: Json });
      return Object.fromEntries(properties.map(([key, inner]) => [key, next(inner)]));
    }
    case "array":
      return Array.isArray(schema.prefixItems) ? schema.prefixItems.map(next) : [next(schema.items)];
    case "string":
      return "sample".padEnd(typeof schema.minLength === "number" ? Math.min(schema.minLength, 100) : 0, "e");
    case "number":
    case "integer":
      return Math.max(1, typeof schema.minimum === "number" ? schema.minimum : 1);
    case "boolean":
      return true;
    default:
      return null;
  }
}

function behind(reference: string, root: Json | undefined): Json | undefined {
  let found: Json | undefined = root;
  for (const key of reference.replace(/^#\/?/, "").split("/").filter((part) => part !== "")) {
    found = (found as { [key: string]: Json } | undefined)?.[decodeURIComponent(key)];
  }
  return found;
}
