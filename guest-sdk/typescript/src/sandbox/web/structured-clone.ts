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

/** Classes of the web platform whose objects cannot be cloned. */
const PLATFORM_CLASSES = [URL, URLSearchParams, Headers, Request, Response, FormData, EventTarget, Event, AbortController, AbortSignal]
  .map((it): Function => it)
  .concat(ReadableStream, WritableStream, TransformStream);
/** Classes of the language whose objects cannot be cloned. */
const OPAQUE_CLASSES: Function[] = [Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry];
const ERROR_NAMES = ["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"];

/**
 * Transfers an object and returns the new one; undefined if it cannot be transferred. The old one is
 * detached.
 */
type Move = (object: object) => object | undefined;
const movable: [Function, Move][] = [];

/** Registers a class whose objects can be transferred. */
export function makeTransferable(made: Function, move: Move): void {
  movable.push([made, move]);
}

export function structuredClone(value: unknown, options?: { transfer?: Iterable<object> }): unknown {
  if (arguments.length === 0) throw new TypeError("structuredClone: 1 argument required");
  return cloneWith(value, options?.transfer === undefined ? [] : [...options.transfer]).value;
}

/** Clones a value. `received` are the new objects for those in `transfer`, in the same order. */
export function cloneWith(value: unknown, transfer: object[]): { value: unknown; received: object[] } {
  const seen: Seen = { copies: new Map(), views: new Map() };
  if (transfer.length === 0) return { value: clone(value, seen), received: [] };
  // Everything is checked first, so that either all objects are transferred or none.
  if (new Set(transfer).size !== transfer.length) throw notCloneable("an object is transferred twice");
  for (const object of transfer) {
    const isMovable = object instanceof ArrayBuffer ? !isDetached(object) : movable.some(([made]) => object instanceof made);
    if (!isMovable) throw notCloneable(`an object of the class ${className(object)} cannot be transferred`);
  }
  clone(value, { copies: new Map(transfer.map((object) => [object, object])), views: seen.views });
  const received = transfer.map((object) => {
    const moved =
      object instanceof ArrayBuffer ? object.transfer() : movable.find(([made]) => object instanceof made)![1](object);
    if (moved === undefined) throw notCloneable(`an object of the class ${className(object)} cannot be transferred`);
    seen.copies.set(object, moved);
    return moved;
  });
  return { value: clone(value, seen), received };
}

interface Seen {
  readonly copies: Map<object, unknown>;
  /** Offset and length of each view, saved because they are lost when its buffer is transferred. */
  readonly views: Map<ArrayBufferView, readonly [number, number]>;
}

function clone(value: unknown, seen: Seen): unknown {
  if (typeof value === "symbol" || typeof value === "function")
    throw notCloneable(`${String(value).slice(0, 60)} could not be cloned.`);
  if (typeof value !== "object" || value === null) return value;
  if (seen.copies.has(value)) return seen.copies.get(value);
  const keep = <T>(made: T): T => {
    seen.copies.set(value, made);
    return made;
  };
  const into = (made: object, from: object = value): object => {
    for (const key of Object.keys(from)) define(made, key, clone((from as Record<string, unknown>)[key], seen));
    return made;
  };
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype === Object.prototype || prototype === null) return into(keep({}));
  if (Array.isArray(value)) return into(keep(new Array(value.length)));
  if (value instanceof Map) {
    const made = keep(new Map());
    for (const [key, item] of [...value]) made.set(clone(key, seen), clone(item, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set());
    for (const item of [...value]) made.add(clone(item, seen));
    return made;
  }
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(cloneView(value, seen));
  if (value instanceof Error) return cloneError(value, seen, keep);
  if (value instanceof Number || value instanceof String || value instanceof Boolean)
    return keep(Object(value.valueOf()) as object);
  if (value instanceof BigInt) return keep(Object(BigInt.prototype.valueOf.call(value)) as object);
  // Blobs are immutable, so no copy is needed.
  if (value instanceof Blob) return keep(value);
  if ([...PLATFORM_CLASSES, ...OPAQUE_CLASSES].some((it) => value instanceof it) || value instanceof Symbol) {
    throw notCloneable(`an object of the class ${className(value)} could not be cloned`);
  }
  return into(keep({}));
}

function cloneView(view: ArrayBufferView, seen: Seen): ArrayBufferView {
  const [offset, length] = seen.views.get(view) ?? [
    view.byteOffset,
    view instanceof DataView ? view.byteLength : (view as Uint8Array).length,
  ];
  seen.views.set(view, [offset, length]);
  const buffer = clone(view.buffer, seen) as ArrayBuffer;
  // Found by the tag, because the constructor may be an author's subclass.
  const Kind = (globalThis as unknown as Record<string, unknown>)[tagOf(view)] as new (
    buffer: ArrayBuffer,
    offset: number,
    length: number,
  ) => ArrayBufferView;
  return new Kind(buffer, offset, length);
}

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object;
const tag = Object.getOwnPropertyDescriptor(TYPED_ARRAY, Symbol.toStringTag)!.get!;

function tagOf(view: ArrayBufferView): string {
  return (tag.call(view) as string | undefined) ?? "DataView";
}

function cloneError(error: Error, seen: Seen, keep: (made: Error) => Error): Error {
  if (error instanceof DOMException) return keep(new DOMException(error.message, error.name));
  const name = ERROR_NAMES.includes(error.name) ? error.name : "Error";
  const Kind = (globalThis as unknown as Record<string, ErrorConstructor>)[name]!;
  const copy = keep(new Kind(error.message));
  hide(copy, "stack", error.stack);
  if (Object.hasOwn(error, "cause")) hide(copy, "cause", clone(error.cause, seen));
  return copy;
}

function hide(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function define(target: object, key: string, value: unknown): void {
  // Assigning to `__proto__` would set the prototype.
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
