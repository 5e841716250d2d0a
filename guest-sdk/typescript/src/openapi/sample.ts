// Sample values for tests: the document's examples if they fit, else the simplest fitting values.
import { runInNewContext } from "node:vm";

import { isRecord } from "./json.js";
import { textLike } from "./pattern.js";
import type { Shape } from "./shape.js";

const MAX_EXAMPLE_CHARS = 2000;
const MAX_EXAMPLE_VALUES = 300;
const MAX_EXAMPLE_DEPTH = 12;
/** Time limit for a pattern of the document, in milliseconds: a hostile one could run forever. */
const PATTERN_TIMEOUT_MS = 50;

/** Returns a value that fits the type, with required members and those with an example. Throws `NoSample` otherwise. */
export function sampleOf(shape: Shape): unknown {
  const example = smallCopy(shape.example);
  if (example !== undefined && accepts(shape, example)) return ordered(shape, example);
  if (shape.nullable === true && shape.kind === "unknown") return null;
  const made = simplest(shape);
  if (!accepts(shape, made)) throw new NoSample();
  return made;
}

/** Error if no fitting value is found, for example for a pattern. */
export class NoSample extends Error {}

function simplest(shape: Shape): unknown {
  switch (shape.kind) {
    case "unknown":
      return "a value";
    case "null":
      return null;
    case "boolean":
      return true;
    case "enum":
      return shape.values[0];
    case "number": {
      const step = shape.step ?? 1;
      const least = Math.max(shape.min ?? -Infinity, shape.above === undefined ? -Infinity : shape.above + (shape.int ? 1 : 0.5));
      const most = Math.min(shape.max ?? Infinity, shape.below === undefined ? Infinity : shape.below - (shape.int ? 1 : 0.5));
      const start = Number.isFinite(least) ? Math.max(least, most >= step ? step : least) : Math.min(step, most);
      return shape.step === undefined ? (shape.int ? Math.ceil(start) : start) : Math.ceil(start / step) * step;
    }
    case "string":
      return simplestText(shape);
    case "array":
      return Array.from({ length: Math.min(shape.min ?? 1, 20) || 1 }, () => sampleOf(shape.items)).slice(0, shape.max ?? 20);
    case "record":
      return { key: sampleOf(shape.values) };
    case "object": {
      const chosen = shape.members.filter((it) => it.required || it.shape.example !== undefined);
      const entries = chosen.flatMap(({ name, required, shape: it }): [string, unknown][] => {
        try {
          return [[name, sampleOf(it)]];
        } catch (error) {
          if (required || !(error instanceof NoSample)) throw error;
          return [];
        }
      });
      return Object.fromEntries(entries);
    }
    case "union":
      return firstOf(shape.options);
    case "both": {
      const [left, right] = [sampleOf(shape.left), sampleOf(shape.right)];
      return isRecord(left) && isRecord(right) ? { ...left, ...right } : left;
    }
  }
}

function firstOf(options: Shape[]): unknown {
  for (const option of options) {
    try {
      return sampleOf(option);
    } catch (error) {
      if (!(error instanceof NoSample)) throw error;
    }
  }
  throw new NoSample();
}

function simplestText(shape: Shape & { kind: "string" }): string {
  const formats = {
    date: "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    uuid: "6f1b3c1e-3b1c-4d5e-8f00-1a2b3c4d5e6f",
    email: "ana@example.com",
    base64: "aGVsbG8=",
  };
  if (shape.format !== undefined) return formats[shape.format];
  const { min = 0, max = 10_000 } = shape;
  if (min > 1000) throw new NoSample();
  if (shape.pattern !== undefined) return textLike(shape.pattern, min) ?? "text";
  return "text".padEnd(min, "x").slice(0, max);
}

/** Whether the generated schema accepts a value, and names all its members. */
export function accepts(shape: Shape, value: unknown): boolean {
  if (value === null && shape.nullable === true) return true;
  switch (shape.kind) {
    case "unknown":
      return true;
    case "null":
      return value === null;
    case "boolean":
      return typeof value === "boolean";
    case "enum":
      return shape.values.some((it) => it === value);
    case "number":
      return (
        typeof value === "number" &&
        Number.isFinite(value) &&
        (!shape.int || Number.isSafeInteger(value)) &&
        value >= (shape.min ?? -Infinity) &&
        value <= (shape.max ?? Infinity) &&
        value > (shape.above ?? -Infinity) &&
        value < (shape.below ?? Infinity) &&
        (shape.step === undefined || value % shape.step === 0)
      );
    case "string":
      return typeof value === "string" && acceptsText(shape, value);
    case "array":
      return Array.isArray(value) && value.length >= (shape.min ?? 0) && value.length <= (shape.max ?? Infinity) && value.every((it) => accepts(shape.items, it));
    case "record":
      return isRecord(value) && Object.values(value).every((it) => accepts(shape.values, it));
    case "object": {
      if (!isRecord(value)) return false;
      const names = shape.members.map((it) => it.name);
      const others = Object.keys(value).filter((it) => !names.includes(it));
      const areKept = others.length === 0 || shape.rest === "loose" || (typeof shape.rest === "object" && others.every((it) => accepts(shape.rest as Shape, value[it])));
      return areKept && shape.members.every((it) => (Object.hasOwn(value, it.name) ? accepts(it.shape, value[it.name]) : !it.required));
    }
    case "union":
      return shape.options.some((it) => accepts(it, value));
    case "both":
      return accepts(shape.left, value) && accepts(shape.right, value);
  }
}

/** Returns the value with its members in zod's output order. */
function ordered(shape: Shape, value: unknown): unknown {
  if (shape.kind === "array" && Array.isArray(value)) return value.map((it) => ordered(shape.items, it));
  if (shape.kind === "union") {
    const option = shape.options.find((it) => accepts(it, value));
    return option === undefined ? value : ordered(option, value);
  }
  if (!isRecord(value)) return value;
  if (shape.kind === "record") return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, ordered(shape.values, it)]));
  if (shape.kind !== "object") return value;
  const known = shape.members.filter((it) => Object.hasOwn(value, it.name)).map((it): [string, unknown] => [it.name, ordered(it.shape, value[it.name])]);
  const others = Object.entries(value).filter(([name]) => !shape.members.some((it) => it.name === name));
  return Object.fromEntries([...known, ...others]);
}

const FORMATS = {
  date: /^(20\d\d|19\d\d)-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$/,
  "date-time": /^(20\d\d|19\d\d)-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  email: /^[a-z0-9]+@[a-z0-9]+\.[a-z]{2,6}$/,
  base64: /^([A-Za-z0-9+/]{4}){1,200}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
};

/** Whether a text surely fits the type. Examples that zod might judge differently are rejected. */
function acceptsText({ format, min, max, pattern }: Shape & { kind: "string" }, text: string): boolean {
  if (format !== undefined) return FORMATS[format].test(text);
  const length = [...text].length;
  if (length < (min ?? 0) || text.length > (max ?? Infinity)) return false;
  return pattern === undefined || matches(pattern, text);
}

function matches(pattern: string, text: string): boolean {
  try {
    return runInNewContext("new RegExp(pattern, 'u').test(text)", { pattern, text }, { timeout: PATTERN_TIMEOUT_MS }) === true;
  } catch {
    return false;
  }
}

/** Returns a copy of a document's example; `undefined` if it is large or has names such as `__proto__`. */
export function smallCopy(value: unknown): unknown {
  let values = MAX_EXAMPLE_VALUES;
  let chars = MAX_EXAMPLE_CHARS;
  const copy = (it: unknown, depth: number): unknown => {
    if (--values < 0 || chars < 0 || depth > MAX_EXAMPLE_DEPTH) throw new NoSample();
    if (typeof it === "string") {
      chars -= it.length;
      return it.toWellFormed();
    }
    if (Array.isArray(it)) return it.map((inner) => copy(inner, depth + 1));
    if (!isRecord(it)) {
      if (it === null || typeof it === "boolean" || (typeof it === "number" && Number.isFinite(it))) return it;
      throw new NoSample();
    }
    if (!isPlainObject(it)) throw new NoSample();
    return Object.fromEntries(
      Object.entries(it).map(([name, inner]) => {
        chars -= name.length;
        if (name in Object.prototype) throw new NoSample();
        return [name, copy(inner, depth + 1)];
      }),
    );
  };
  if (value === undefined) return undefined;
  try {
    return copy(value, 0);
  } catch (error) {
    if (error instanceof NoSample) return undefined;
    throw error;
  }
}

/** Whether an object is a plain object: YAML also has dates and other objects. */
function isPlainObject(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}
