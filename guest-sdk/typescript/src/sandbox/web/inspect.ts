// Formats values as readable text, roughly as Node.js prints them.
//
// Invariant: the length of the text is limited for every value.

import { authorStack } from "../stack.js";

/** Default nesting depth. */
const DEFAULT_DEPTH = 2;
/** Maximum nesting depth, because the stack is small. */
const MAX_DEPTH = 32;
const MAX_ITEMS = 100;
const MAX_STRING_LENGTH = 10_000;
/** Approximate maximum length of the text. Beyond it, objects are shown by name only, and strings are truncated. */
const MAX_LENGTH = 64 * 1024;
/** Number of characters of a string that are shown even beyond `MAX_LENGTH`. */
const MIN_STRING_LENGTH = 16;
/**
 * Longer arrays are shown without properties other than their items: listing those would list all items too.
 */
const MAX_ARRAY_WITH_KEYS = 10_000;
/**
 * An object is shown on one line if it fits, and if fewer than `LINE_LEVELS` levels of objects are nested in
 * it.
 */
const LINE_LENGTH = 80;
const LINE_LEVELS = 3;
/** Array items up to this length share a line. */
const SHORT_ITEM_LENGTH = 16;

const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

export interface InspectOptions {
  depth?: number | null;
}

export function inspect(value: unknown, options?: InspectOptions): string {
  const depth = options?.depth === null ? MAX_DEPTH : Math.min(Number(options?.depth ?? DEFAULT_DEPTH), MAX_DEPTH);
  return new Inspector(depth).show(value, 0);
}

/**
 * Formats the arguments of `console.log`, including directives such as `%s` (Console Standard, section 2.2).
 */
export function format(args: readonly unknown[]): string {
  const [first, ...rest] = args;
  if (typeof first !== "string") return args.map(shown).join(" ");
  let used = 0;
  const text = first.replace(/%[sdifjoOc%]/g, (directive) => {
    if (directive === "%%") return rest.length === 0 ? directive : "%";
    if (used >= rest.length) return directive;
    const value = rest[used];
    used += 1;
    return substituted(directive, value);
  });
  return [text, ...rest.slice(used).map(shown)].join(" ");
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : inspect(value);
}

function substituted(directive: string, value: unknown): string {
  switch (directive) {
    case "%s":
      if (typeof value === "bigint") return `${value}n`;
      if (typeof value === "object" && value !== null) return hasOwnText(value) ? String(value) : inspect(value, { depth: 0 });
      return Object.is(value, -0) ? "-0" : String(value);
    case "%d":
      return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : numberText(Number(value));
    case "%i":
      return typeof value === "bigint"
        ? `${value}n`
        : typeof value === "symbol"
          ? "NaN"
          : numberText(parseInt(String(value), 10));
    case "%f":
      return typeof value === "symbol" ? "NaN" : numberText(parseFloat(String(value)));
    case "%j":
      try {
        return JSON.stringify(value) ?? "undefined";
      } catch {
        return "[Circular]";
      }
    case "%c":
      return "";
    default:
      return inspect(value, directive === "%o" ? { depth: 4 } : undefined);
  }
}

/** Whether an object has its own text representation, such as an error or a date. */
function hasOwnText(value: object): boolean {
  if (value instanceof Error || value instanceof Date) return true;
  const { toString } = value as { toString?: unknown };
  return typeof toString === "function" && toString !== Object.prototype.toString && toString !== Array.prototype.toString;
}

class Inspector {
  readonly #depth: number;
  /** Objects that contain the current one, outermost first. */
  readonly #path: object[] = [];
  /** Objects that contain themselves. */
  readonly #circular: object[] = [];
  /** Approximate number of characters so far. */
  #length = 0;
  /** Nesting level of the object that was shown last. */
  #lastLevel = 0;

  /** Nesting depth of running custom inspection functions. */
  #customDepth = 0;

  constructor(depth: number) {
    this.#depth = depth;
  }

  show(value: unknown, indentation: number): string {
    if ((typeof value === "object" && value !== null) || typeof value === "function") return this.#object(value, indentation);
    const text = typeof value === "string" ? quoted(value, this.#stringLimit) : primitive(value);
    this.#length += text.length;
    return text;
  }

  /** Maximum number of characters for the next string. */
  get #stringLimit(): number {
    return Math.max(Math.min(MAX_STRING_LENGTH, MAX_LENGTH - this.#length), MIN_STRING_LENGTH);
  }

  #object(value: object, indentation: number): string {
    if (this.#path.includes(value)) {
      if (!this.#circular.includes(value)) this.#circular.push(value);
      return `[Circular *${this.#circular.indexOf(value) + 1}]`;
    }
    const level = this.#path.length;
    try {
      return this.#unguarded(value, indentation);
    } catch {
      // A getter or a proxy threw.
      this.#path.length = level;
      return "[object that cannot be shown]";
    }
  }

  #unguarded(value: object, indentation: number): string {
    const custom = (value as Record<symbol, unknown>)[CUSTOM];
    if (typeof custom === "function" && this.#customDepth < MAX_DEPTH) {
      this.#customDepth += 1;
      const made: unknown = custom.call(value, this.#depth - this.#path.length, {}, inspect);
      const text = typeof made === "string" ? indented(made, indentation) : made === value ? undefined : this.show(made, indentation);
      this.#customDepth -= 1;
      if (text !== undefined) return text;
    }
    const level = this.#path.length;
    const isTooDeep = level > this.#depth || this.#length > MAX_LENGTH;
    if (isTooDeep && isPlain(value)) {
      if (isEmpty(value)) return Array.isArray(value) ? "[]" : "{}";
      return Array.isArray(value) ? "[Array]" : "[Object]";
    }
    const { prefix, base, items, braces, keys } = anatomy(value);
    if (base !== undefined && keys.length === 0) {
      this.#length += base.length;
      return indented(base, indentation);
    }
    if (isTooDeep) return base ?? `[${className(value) ?? "Object: null prototype"}]`;
    this.#lastLevel = level;
    this.#path.push(value);
    const parts = items === undefined ? [] : this.#items(items, indentation + 2);
    for (const key of keys.slice(0, MAX_ITEMS * 2)) parts.push(this.#property(value, key, indentation + 2));
    if (keys.length > MAX_ITEMS * 2) parts.push(`... ${keys.length - MAX_ITEMS * 2} more`);
    this.#path.pop();
    const mark = this.#circular.includes(value) ? `<ref *${this.#circular.indexOf(value) + 1}>` : undefined;
    const open = [mark, prefix, base, braces[0]].filter((part) => part !== undefined).join(" ");
    const isList = items !== undefined && keys.length === 0 && braces === SQUARE;
    return assembled(open, braces[1], parts, indentation, this.#lastLevel - level < LINE_LEVELS, isList);
  }

  #items(items: Items, indentation: number): string[] {
    const parts: string[] = [];
    let count = 0;
    for (const item of items.values) {
      if (count === MAX_ITEMS || this.#length > MAX_LENGTH) {
        const left = items.length - count;
        parts.push(`... ${left} more item${left === 1 ? "" : "s"}`);
        break;
      }
      count += 1;
      if (item instanceof Hole) {
        parts.push(`<${item.count} empty item${item.count === 1 ? "" : "s"}>`);
        count += item.count - 1;
      } else if (items.isMap) {
        const [key, value] = item as [unknown, unknown];
        parts.push(`${this.show(key, indentation)} => ${this.show(value, indentation)}`);
      } else {
        parts.push(this.show(item, indentation));
      }
    }
    return parts;
  }

  #property(of: object, key: PropertyKey, indentation: number): string {
    this.#length += String(key).length + 4;
    const { get, set, value, enumerable } = Object.getOwnPropertyDescriptor(of, key) ?? { value: undefined, enumerable: true };
    const plain =
      typeof key === "symbol"
        ? `[${String(key)}]`
        : IDENTIFIER.test(String(key))
          ? String(key)
          : quoted(String(key), MAX_STRING_LENGTH);
    const name = enumerable === false ? `[${plain}]` : plain;
    if (get !== undefined) return `${name}: ${set === undefined ? "[Getter]" : "[Getter/Setter]"}`;
    if (set !== undefined) return `${name}: [Setter]`;
    return `${name}: ${this.show(value, indentation)}`;
  }
}

/** Consecutive empty slots of an array. */
class Hole {
  constructor(readonly count: number) {}
}

interface Items {
  values: Iterable<unknown>;
  length: number;
  isMap?: boolean;
}

interface Anatomy {
  /** Text before the braces. */
  prefix?: string | undefined;
  /** Text of the object itself, such as a date. */
  base?: string | undefined;
  items?: Items | undefined;
  braces: readonly [string, string];
  keys: PropertyKey[];
}

const CURLY = ["{", "}"] as const;
const SQUARE = ["[", "]"] as const;

function anatomy(value: object): Anatomy {
  const name = className(value);
  const tag = Object.hasOwn(value, Symbol.toStringTag) ? undefined : (value as Record<symbol, unknown>)[Symbol.toStringTag];
  const tagged = typeof tag === "string" && tag !== "" && tag !== name ? ` [${tag}]` : "";
  const keys = ownKeys(value);
  const named = keys.filter((key) => typeof key === "symbol" || !/^(0|[1-9]\d*)$/.test(String(key)));
  if (Array.isArray(value)) {
    const prefix = name === "Array" ? undefined : `${name ?? "[Array: null prototype]"}(${value.length})`;
    return { prefix, items: { values: withHoles(value), length: value.length }, braces: SQUARE, keys: named };
  }
  if (value instanceof Map)
    return {
      prefix: `${name}(${value.size})${tagged}`,
      items: { values: value, length: value.size, isMap: true },
      braces: CURLY,
      keys,
    };
  if (value instanceof Set)
    return { prefix: `${name}(${value.size})${tagged}`, items: { values: value, length: value.size }, braces: CURLY, keys };
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const { length } = value as Uint8Array;
    return { prefix: `${name}(${length})${tagged}`, items: { values: value as Uint8Array, length }, braces: SQUARE, keys: named };
  }
  if (value instanceof ArrayBuffer) {
    const shown = new Uint8Array(value, 0, Math.min(value.byteLength, 50));
    const bytes = Array.from(shown, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const more = value.byteLength - shown.length;
    const base = `{ [Uint8Contents]: <${bytes}${more > 0 ? ` ... ${more} more byte${more === 1 ? "" : "s"}` : ""}>, byteLength: ${value.byteLength} }`;
    return { base: `${name} ${base}`, braces: CURLY, keys };
  }
  if (typeof value === "function") return { base: functionText(value as Function), braces: CURLY, keys };
  if (value instanceof Error) return { base: errorText(value), braces: CURLY, keys: errorKeys(value, keys) };
  if (value instanceof Date)
    return { base: Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString(), braces: CURLY, keys };
  if (value instanceof RegExp) return { base: String(value), braces: CURLY, keys };
  if (value instanceof Promise) return { prefix: "Promise", braces: CURLY, keys };
  if (value instanceof WeakMap || value instanceof WeakSet) return { base: `${name} { <items unknown> }`, braces: CURLY, keys };
  for (const [Kind, kind] of [
    [Number, "Number"],
    [String, "String"],
    [Boolean, "Boolean"],
    [BigInt, "BigInt"],
    [Symbol, "Symbol"],
  ] as const) {
    if (!(value instanceof Kind)) continue;
    const inner: unknown = value.valueOf();
    const base = `[${kind}: ${typeof inner === "string" ? quoted(inner, MAX_STRING_LENGTH) : primitive(inner)}]`;
    return { base, braces: CURLY, keys: kind === "String" ? named : keys };
  }
  const prefix = name === "Object" && tagged === "" ? undefined : `${name ?? "[Object: null prototype]"}${tagged}`;
  return { prefix, braces: CURLY, keys };
}

function ownKeys(value: object): PropertyKey[] {
  const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  const hasItemsAlone = ArrayBuffer.isView(value) || (Array.isArray(value) && value.length > MAX_ARRAY_WITH_KEYS);
  return hasItemsAlone ? symbols : [...Object.keys(value), ...symbols];
}

function* withHoles(array: unknown[]): Generator<unknown> {
  for (let at = 0, shown = 0; at < array.length && shown <= MAX_ITEMS; shown += 1) {
    const start = at;
    while (at < array.length && !(at in array) && at - start < MAX_ITEMS * 100) at += 1;
    if (at > start) {
      yield new Hole(at - start);
    } else {
      yield array[at];
      at += 1;
    }
  }
}

function className(value: object): string | undefined {
  for (let it: object | null = value; it !== null; it = Object.getPrototypeOf(it) as object | null) {
    const constructor = Object.getOwnPropertyDescriptor(it, "constructor")?.value as { name?: unknown } | undefined;
    if (typeof constructor?.name === "string" && constructor.name !== "") return constructor.name;
  }
  return undefined;
}

function functionText(value: Function): string {
  const source = Function.prototype.toString.call(value);
  if (source.startsWith("class")) {
    const parent = Object.getPrototypeOf(value) as { name?: string };
    return `[class ${value.name || "(anonymous)"}${parent.name ? ` extends ${parent.name}` : ""}]`;
  }
  const kind = className(value) ?? "Function";
  return value.name === "" ? `[${kind} (anonymous)]` : `[${kind}: ${value.name}]`;
}

/** Returns an error's name, message and frames. The engine's `stack` contains only the frames. */
function errorText(error: Error): string {
  const stack = typeof error.stack === "string" ? authorStack(error.stack).replace(/\n$/, "") : "";
  const name = className(error) ?? "Error";
  const shown = typeof error.name === "string" && error.name !== "" && error.name !== "Error" ? error.name : name;
  const head = error.message === "" || error.message === undefined ? shown : `${shown}: ${error.message}`;
  if (stack === "") return `[${head}]`;
  return stack.startsWith(head) ? stack : `${head}\n${stack}`;
}

function errorKeys(error: Error, keys: PropertyKey[]): PropertyKey[] {
  const hidden = ["stack", "message"];
  const own = keys.filter((key) => !hidden.includes(String(key)) && !(key === "name" && error.name === className(error)));
  for (const name of ["cause", "errors"]) if (Object.hasOwn(error, name) && !own.includes(name)) own.push(name);
  return own;
}

function assembled(
  open: string,
  close: string,
  parts: string[],
  indentation: number,
  isShallow: boolean,
  isList: boolean,
): string {
  if (parts.length === 0) return open + close;
  const isFlat = !parts.some((part) => part.includes("\n")) && !open.includes("\n");
  const filledLines = isList && isFlat && parts.length > 6 && parts.every(({ length }) => length <= SHORT_ITEM_LENGTH);
  // Includes commas, and 10 characters for the property's name.
  const length = parts.reduce((sum, part) => sum + part.length + 2, open.length + indentation + 10);
  if (isFlat && isShallow && !filledLines && length <= LINE_LENGTH) return `${open} ${parts.join(", ")} ${close}`;
  const line = `\n${" ".repeat(indentation + 2)}`;
  const lines = filledLines ? filled(parts, LINE_LENGTH - 8 - indentation) : parts;
  return `${open}${line}${lines.join(`,${line}`)}\n${" ".repeat(indentation)}${close}`;
}

/** Puts several short items on each line. */
function filled(parts: string[], width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}, ${part}`;
    if (line !== "" && longer.length > width) {
      lines.push(line);
      line = part;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

function indented(text: string, indentation: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(indentation)}`);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === Array.prototype;
}

function isEmpty(value: object): boolean {
  if (Array.isArray(value) && value.length > 0) return false;
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return Object.getOwnPropertySymbols(value).length === 0;
}

function primitive(value: unknown): string {
  if (typeof value === "number") return numberText(value);
  return typeof value === "bigint" ? `${value}n` : String(value);
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

const ESCAPES: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };

/** Returns a string in quotes that it does not contain, if possible. */
function quoted(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength) : text;
  const quote = !cut.includes("'") ? "'" : !cut.includes('"') ? '"' : !cut.includes("`") && !cut.includes("${") ? "`" : "'";
  const escaped = cut.replace(/[\0-\x1f\x7f-\x9f\\]/g, (it) => ESCAPES[it] ?? hexEscape(it));
  const more = text.length - cut.length;
  const rest = more > 0 ? `... ${more} more character${more === 1 ? "" : "s"}` : "";
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}${rest}`;
}

function hexEscape(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
