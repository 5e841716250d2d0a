// Arguments for a tool, from the JSON Schema that its manifest has.

import { textLike } from "../../dist/openapi/pattern.js";

/** Returns arguments with the required members alone, or with all. Throws if a value needs more than is known here. */
export function argumentsFor(schema, { all }) {
  const sample = (it, level) => {
    if (it.const !== undefined) return it.const;
    if (it.enum !== undefined) return it.enum[0];
    const choices = it.anyOf ?? it.oneOf;
    if (choices !== undefined) return sample(choices.find((one) => one.type !== "null") ?? choices[0], level);
    if (it.allOf !== undefined && it.properties === undefined) return Object.assign({}, ...it.allOf.map((part) => sample(part, level)));
    const [type] = Array.isArray(it.type) ? it.type : [it.type];
    switch (type) {
      case "object": {
        const names = Object.keys(it.properties ?? {}).filter((name) => (all && level < 6) || it.required?.includes(name));
        const made = Object.fromEntries(names.map((name) => [name, sample(it.properties[name], level + 1)]));
        if (names.length === 0 && typeof it.additionalProperties === "object" && Object.keys(it.additionalProperties).length > 0 && all) {
          made.key = sample(it.additionalProperties, level + 1);
        }
        return made;
      }
      case "array":
        return listIn(it, sample(it.items ?? {}, level + 1), all);
      case "integer":
      case "number":
        return numberIn(it, type === "integer");
      case "boolean":
        return true;
      case "null":
        return null;
      case "string":
        return textIn(it);
      default:
        return "a/value & more";
    }
  };
  return sample(schema, 0);
}

/** Two different items where that is easy: lists are often of unique ones. */
function listIn({ items = {}, minItems = 1, maxItems = 2 }, first, all) {
  const second = items.enum?.[1] ?? (items.type === "string" && items.format === undefined && items.maxLength === undefined && !/matches/i.test(items.description ?? "") ? `${first},b` : undefined);
  if (all && maxItems >= 2 && minItems < 3 && second !== undefined && items.const === undefined) return [first, second];
  return Array.from({ length: Math.max(minItems, 1) }, () => first);
}

function numberIn({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf = 1 }, isInteger) {
  const least = Math.max(minimum ?? -Infinity, exclusiveMinimum === undefined ? -Infinity : exclusiveMinimum + (isInteger ? 1 : 0.1));
  const most = Math.min(maximum ?? Infinity, exclusiveMaximum === undefined ? Infinity : exclusiveMaximum - (isInteger ? 1 : 0.1));
  const value = Math.min(Math.max(multipleOf, least), most);
  return Math.ceil(value / multipleOf) * multipleOf;
}

function textIn({ format, minLength = 0, maxLength = 1000, description = "" }) {
  const formats = { date: "2026-01-31", "date-time": "2026-01-31T12:00:00Z", uuid: "6f1b3c1e-3b1c-4d5e-8f00-1a2b3c4d5e6f", guid: "6f1b3c1e-3b1c-4d5e-8f00-1a2b3c4d5e6f", email: "ana@example.com", base64: "aGVsbG8=" };
  if (formats[format] !== undefined) return formats[format];
  const [, pattern] = /matches \/(.*)\/u?/i.exec(description) ?? [];
  if (pattern !== undefined) {
    const known = textLike(pattern, minLength);
    if (!new RegExp(pattern, "u").test(known ?? "") && !new RegExp(pattern, "u").test("text")) throw new Error(`no value is known for /${pattern}/`);
    return new RegExp(pattern, "u").test(known ?? "") ? known : "text";
  }
  return "a b/c".padEnd(minLength, "x").slice(0, maxLength);
}
