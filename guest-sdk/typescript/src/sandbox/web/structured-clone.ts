// structuredClone (HTML Standard, section 2.7).
import { AbortController, AbortSignal } from "./abort.js";
import { Blob } from "./blob.js";
import { Event, EventTarget } from "./events.js";
import { FormData } from "./form-data.js";
import { Headers } from "./headers.js";
import { Request } from "./request.js";
import { Response } from "./response.js";
import { ReadableStream, TransformStream, WritableStream } from "./streams.js";
import { URL, URLSearchParams } from "./url.js";

/** Objects of the platform that cannot be cloned. */
const PLATFORM = [URL, URLSearchParams, Headers, Request, Response, FormData, EventTarget, Event, AbortController, AbortSignal]
  .map((it): Function => it)
  .concat(ReadableStream, WritableStream, TransformStream);
/** Objects of the language that cannot be cloned. */
const OPAQUE: Function[] = [Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry];
const ERROR_NAMES = ["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"];

export function structuredClone(value: unknown, options?: { transfer?: Iterable<object> }): unknown {
  if (arguments.length === 0) throw new TypeError("structuredClone: 1 argument required");
  const transfer = options?.transfer === undefined ? [] : [...options.transfer];
  return cloneWith(value, transfer, () => undefined);
}

/**
 * Clones a value. `receive` gives what stands for a transferred object that is not an ArrayBuffer, and undefined
 * where it cannot be transferred.
 */
export function cloneWith(value: unknown, transfer: object[], receive: (object: object) => object | undefined): unknown {
  const seen = new Map<object, unknown>();
  if (new Set(transfer).size !== transfer.length) throw notCloneable("an object is transferred twice");
  for (const object of transfer) {
    if (object instanceof ArrayBuffer) {
      if (object.byteLength === 0 && isDetached(object)) throw notCloneable("an ArrayBuffer that is detached");
      continue;
    }
    const received = receive(object);
    if (received === undefined) throw notCloneable(`an object of the class ${className(object)} cannot be transferred`);
    seen.set(object, received);
  }
  // Nothing is transferred before all could be cloned.
  const moved = transfer.filter((object) => object instanceof ArrayBuffer);
  if (moved.length === 0) return clone(value, seen, false);
  clone(value, new Map<object, unknown>([...seen, ...moved.map((buffer) => [buffer, buffer] as const)]), true);
  for (const buffer of moved) seen.set(buffer, buffer.transfer());
  return clone(value, seen, false);
}

/** On a trial nothing is transferred yet: views of what will be are left as they are. */
function clone(value: unknown, seen: Map<object, unknown>, isTrial: boolean): unknown {
  if (typeof value === "symbol" || typeof value === "function") throw notCloneable(`${String(value).slice(0, 60)} could not be cloned.`);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = <T>(made: T): T => {
    seen.set(value, made);
    return made;
  };
  const into = (made: object, from: object = value): object => {
    for (const key of Object.keys(from)) define(made, key, clone((from as Record<string, unknown>)[key], seen, isTrial));
    return made;
  };
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype === Object.prototype || prototype === null) return into(keep({}));
  if (Array.isArray(value)) return into(keep(new Array(value.length)));
  if (value instanceof Map) {
    const made = keep(new Map());
    for (const [key, item] of [...value]) made.set(clone(key, seen, isTrial), clone(item, seen, isTrial));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set());
    for (const item of [...value]) made.add(clone(item, seen, isTrial));
    return made;
  }
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(cloneView(value, seen, isTrial));
  if (value instanceof Error) return cloneError(value, seen, keep, isTrial);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return keep(Object(value.valueOf()) as object);
  if (value instanceof BigInt) return keep(Object(BigInt.prototype.valueOf.call(value)) as object);
  // What a blob holds never changes.
  if (value instanceof Blob) return keep(value);
  if ([...PLATFORM, ...OPAQUE].some((it) => value instanceof it) || value instanceof Symbol) {
    throw notCloneable(`an object of the class ${className(value)} could not be cloned`);
  }
  return into(keep({}));
}

function cloneView(view: ArrayBufferView, seen: Map<object, unknown>, isTrial: boolean): ArrayBufferView {
  if (isTrial && seen.has(view.buffer)) return view;
  const buffer = clone(view.buffer, seen, isTrial) as ArrayBuffer;
  // By the tag: the constructor may be an author's subclass.
  const Kind = (globalThis as unknown as Record<string, unknown>)[tagOf(view)] as new (buffer: ArrayBuffer, offset: number, length: number) => ArrayBufferView;
  const length = view instanceof DataView ? view.byteLength : (view as Uint8Array).length;
  return new Kind(buffer, view.byteOffset, length);
}

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object;
const tag = Object.getOwnPropertyDescriptor(TYPED_ARRAY, Symbol.toStringTag)!.get!;

function tagOf(view: ArrayBufferView): string {
  return (tag.call(view) as string | undefined) ?? "DataView";
}

function cloneError(error: Error, seen: Map<object, unknown>, keep: (made: Error) => Error, isTrial: boolean): Error {
  if (error instanceof DOMException) return keep(new DOMException(error.message, error.name));
  const name = ERROR_NAMES.includes(error.name) ? error.name : "Error";
  const Kind = (globalThis as unknown as Record<string, ErrorConstructor>)[name]!;
  const copy = keep(new Kind(error.message));
  hide(copy, "stack", error.stack);
  if (Object.hasOwn(error, "cause")) hide(copy, "cause", clone(error.cause, seen, isTrial));
  return copy;
}

function hide(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function define(target: object, key: string, value: unknown): void {
  // A key may be __proto__.
  if (key === "__proto__") Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else (target as Record<string, unknown>)[key] = value;
}

function isDetached(buffer: ArrayBuffer): boolean {
  return (buffer as ArrayBuffer & { detached?: boolean }).detached === true;
}

function className(value: object): string {
  return (value.constructor as { name?: string } | undefined)?.name ?? "Object";
}

function notCloneable(message: string): DOMException {
  return new DOMException(message, "DataCloneError");
}
