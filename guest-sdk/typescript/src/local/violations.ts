// JSON Schema (draft 2020-12) as the host checks it: the same verdicts, in the same words and order,
// so that a test sees what a client will. Only for tests; in the sandbox the host itself does it.
import { compareUtf8, type Json } from "../manifest.js";
import { pointer } from "../issues.js";

type Path = (string | number)[];
type JsonObject = { [key: string]: Json };
type Keyword = (it: { schema: JsonObject; value: Json; path: Path; checker: Checker }) => void;

/** How many problems of one value are reported; the rest would only repeat them. */
const MAX_REPORTED = 10;

/** Returns every violation as `path: what is wrong`, without the offending value itself. */
export function violations(schema: Json, value: Json): string[] {
  const checker = new Checker(schema);
  checker.check(schema, value, []);
  return checker.found.slice(0, MAX_REPORTED);
}

class Checker {
  readonly found: string[] = [];

  constructor(readonly root: Json) {}

  check(schema: Json | undefined, value: Json, path: Path): void {
    if (schema === false) return this.add(path, "False schema does not allow value");
    if (!isObject(schema)) return;
    for (const keyword of KEYWORDS) keyword({ schema, value, path, checker: this });
  }

  add(path: Path, message: string): void {
    this.found.push(`${pointer(path)}: ${message}`);
  }

  fits(schema: Json, value: Json): boolean {
    const attempt = new Checker(this.root);
    attempt.check(schema, value, []);
    return attempt.found.length === 0;
  }
}

/** In the order in which the host looks: what is cheap to check comes first. */
const KEYWORDS: Keyword[] = [
  ({ schema, value, path, checker }) => {
    const types = schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
    if (types.length === 0 || types.some((type) => hasType(value, type))) return;
    const shown = [...types].map((type) => JSON.stringify(type));
    const several = Array.isArray(schema.type) && types.length > 1;
    checker.add(path, several ? `value is not of types ${shown.sort(byTypeOrder).join(", ")}` : `value is not of type ${shown[0]}`);
  },
  ({ schema, value, path, checker }) => {
    if (schema.const !== undefined && !same(schema.const, value)) checker.add(path, `${spell(schema.const)} was expected`);
  },
  ({ schema, value, path, checker }) => {
    const options = schema.enum;
    if (!Array.isArray(options) || options.some((option) => same(option, value))) return;
    checker.add(path, `value is not one of ${listed(options)}`);
  },
  number("minimum", (value, limit) => value >= limit, (limit) => `value is less than the minimum of ${limit}`),
  number("maximum", (value, limit) => value <= limit, (limit) => `value is greater than the maximum of ${limit}`),
  number("exclusiveMinimum", (value, limit) => value > limit, (limit) => `value is less than or equal to the minimum of ${limit}`),
  number("exclusiveMaximum", (value, limit) => value < limit, (limit) => `value is greater than or equal to the maximum of ${limit}`),
  number("multipleOf", (value, of) => isMultiple(value, of), (of) => `value is not a multiple of ${of}`),
  size("minLength", length, (count, limit) => count >= limit, (limit) => `value is shorter than ${plural(limit, "character")}`),
  size("maxLength", length, (count, limit) => count <= limit, (limit) => `value is longer than ${plural(limit, "character")}`),
  size("minItems", items, (count, limit) => count >= limit, (limit) => `value has less than ${plural(limit, "item")}`),
  size("maxItems", items, (count, limit) => count <= limit, (limit) => `value has more than ${plural(limit, "item")}`),
  size("minProperties", members, (count, limit) => count >= limit, (limit) => `value has less than ${limit} propert${limit === 1 ? "y" : "ies"}`),
  size("maxProperties", members, (count, limit) => count <= limit, (limit) => `value has more than ${limit} propert${limit === 1 ? "y" : "ies"}`),
  (it) => {
    if (!asksForOneOfAClosedObject(it.schema)) required(it);
  },
  ({ schema, value, path, checker }) => {
    if (typeof schema.pattern !== "string" || typeof value !== "string") return;
    if (!new RegExp(schema.pattern, "u").test(value)) checker.add(path, `value does not match ${JSON.stringify(schema.pattern).replaceAll("\\\\", "\\")}`);
  },
  ({ schema, value, path, checker }) => {
    if (schema.uniqueItems !== true || !Array.isArray(value)) return;
    const seen = value.map((item) => spell(item));
    if (new Set(seen).size < seen.length) checker.add(path, "value has non-unique elements");
  },
  properties,
  ({ schema, value, path, checker }) => {
    if (schema.propertyNames === undefined || !isObject(value)) return;
    for (const name of names(value)) checker.check(schema.propertyNames, name, path);
  },
  ({ schema, value, path, checker }) => {
    if (schema.items === undefined || !Array.isArray(value)) return;
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
    if (schema.items === false && prefix === 0 && value.length === 0) return;
    value.slice(prefix).forEach((item, index) => checker.check(schema.items, item, [...path, prefix + index]));
  },
  ({ schema, value, path, checker }) => {
    if (!Array.isArray(schema.prefixItems) || !Array.isArray(value)) return;
    schema.prefixItems.slice(0, value.length).forEach((inner, index) => checker.check(inner, value[index]!, [...path, index]));
  },
  ({ schema, value, path, checker }) => {
    if (!Array.isArray(schema.allOf)) return;
    for (const part of schema.allOf) checker.check(part, value, path);
  },
  ({ schema, value, path, checker }) => {
    if (!Array.isArray(schema.anyOf) || schema.anyOf.some((part) => checker.fits(part, value))) return;
    checker.add(path, "value is not valid under any of the schemas listed in the 'anyOf' keyword");
  },
  ({ schema, value, path, checker }) => {
    if (!Array.isArray(schema.oneOf)) return;
    const fitting = schema.oneOf.filter((part) => checker.fits(part, value)).length;
    if (fitting === 1) return;
    const which = fitting === 0 ? "not valid under any of" : "valid under more than one of";
    checker.add(path, `value is ${which} the schemas listed in the 'oneOf' keyword`);
  },
  ({ schema, value, path, checker }) => {
    if (schema.not !== undefined && checker.fits(schema.not, value)) {
      checker.add(path, `${spell(schema.not)} is not allowed for value`);
    }
  },
  ({ schema, value, path, checker }) => {
    if (typeof schema.$ref === "string") checker.check(behind(schema.$ref, checker.root), value, path);
  },
];

/** The host checks a closed object's members together, and its one required member last. */
function asksForOneOfAClosedObject(schema: JsonObject): boolean {
  return (
    Array.isArray(schema.required) &&
    schema.required.length === 1 &&
    schema.additionalProperties === false &&
    schema.properties !== undefined &&
    schema.patternProperties === undefined
  );
}

const required: Keyword = ({ schema, value, path, checker }) => {
  if (!Array.isArray(schema.required) || !isObject(value)) return;
  for (const name of schema.required as string[]) {
    if (!Object.hasOwn(value, name)) checker.add(path, `${JSON.stringify(name)} is a required property`);
  }
};

function properties(it: Parameters<Keyword>[0]): void {
  const { schema, value, path, checker } = it;
  if (!isObject(value)) return;
  const declared = isObject(schema.properties) ? schema.properties : {};
  const rest = schema.additionalProperties;
  const unexpected: string[] = [];
  for (const name of names(value)) {
    if (Object.hasOwn(declared, name)) checker.check(declared[name], value[name]!, [...path, name]);
    else if (rest === false) unexpected.push(name);
    else if (isObject(rest)) checker.check(rest, value[name]!, [...path, name]);
  }
  const quoted = unexpected.map((name) => `'${name}'`).join(", ");
  if (unexpected.length > 0 && schema.properties === undefined) {
    checker.add(path, `no properties are allowed (${quoted})`);
  } else if (unexpected.length > 0) {
    const were = unexpected.length === 1 ? "was" : "were";
    checker.add(path, `Additional properties are not allowed (${quoted} ${were} unexpected)`);
  }
  if (asksForOneOfAClosedObject(schema)) required(it);
}

function number(name: string, holds: (value: number, limit: number) => boolean, say: (limit: string) => string): Keyword {
  return ({ schema, value, path, checker }) => {
    const limit = schema[name];
    if (typeof limit !== "number" || typeof value !== "number" || holds(value, limit)) return;
    checker.add(path, say(name === "multipleOf" && Number.isInteger(limit) ? String(limit) : spell(limit)));
  };
}

function size(
  name: string,
  measure: (value: Json) => number | undefined,
  holds: (count: number, limit: number) => boolean,
  say: (limit: number) => string,
): Keyword {
  return ({ schema, value, path, checker }) => {
    const limit = schema[name];
    const count = measure(value);
    if (typeof limit === "number" && count !== undefined && !holds(count, limit)) checker.add(path, say(limit));
  };
}

function length(value: Json): number | undefined {
  return typeof value === "string" ? Array.from(value).length : undefined;
}

function items(value: Json): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function members(value: Json): number | undefined {
  return isObject(value) ? Object.keys(value).length : undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member's name, in the order in which the host keeps them. */
function names(value: JsonObject): string[] {
  return Object.keys(value).sort(compareUtf8);
}

function hasType(value: Json, type: Json): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return typeof value === type;
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"].map((type) => JSON.stringify(type));

function byTypeOrder(a: string, b: string): number {
  return TYPES.indexOf(a) - TYPES.indexOf(b);
}

function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Number.isInteger(quotient) || (!Number.isInteger(of) && Math.abs(quotient - Math.round(quotient)) < 1e-9);
}

function same(a: Json, b: Json): boolean {
  return spell(a) === spell(b);
}

/** JSON as the host writes it. */
function spell(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item) => spell(item)).join(",")}]`;
  if (isObject(value)) return `{${names(value).map((name) => `${JSON.stringify(name)}:${spell(value[name]!)}`).join(",")}}`;
  return JSON.stringify(value).replace("e+", "e");
}

/** The first few of many choices. */
function listed(options: Json[]): string {
  const shown = options.map((option) => spell(option));
  if (shown.length > 3) return `${shown.slice(0, 2).join(", ")} or ${shown.length - 2} other candidates`;
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function behind(reference: string, root: Json): Json | undefined {
  let found: Json | undefined = root;
  for (const key of reference.replace(/^#\/?/, "").split("/").filter((part) => part !== "")) {
    const name = decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) ? found[name] : Array.isArray(found) ? found[Number(name)] : undefined;
  }
  return found;
}
