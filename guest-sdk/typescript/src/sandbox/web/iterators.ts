// The iterators over names and values of Headers, FormData and URLSearchParams (Web IDL).

const ITERATOR_PROTOTYPE: object = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));

export type Kind = "entries" | "keys" | "values";

/**
 * Returns the entry at an index; undefined after the last. Entries may be added and removed during iteration.
 */
export type EntryAt = (at: number) => readonly [string, unknown] | undefined;

export type MakeIterator = <T>(entryAt: EntryAt, kind: Kind) => IterableIterator<T>;

/** Returns a function that creates the iterators of one class. */
export function pairIterators(className: string): MakeIterator {
  class PairIterator {
    readonly #entryAt: EntryAt;
    readonly #kind: Kind;
    #at = 0;

    constructor(entryAt: EntryAt, kind: Kind) {
      this.#entryAt = entryAt;
      this.#kind = kind;
    }

    next(): IteratorResult<unknown> {
      const entry = this.#entryAt(this.#at);
      if (entry === undefined) return { value: undefined, done: true };
      this.#at += 1;
      const value = this.#kind === "entries" ? [entry[0], entry[1]] : this.#kind === "keys" ? entry[0] : entry[1];
      return { value, done: false };
    }
  }
  const { prototype } = PairIterator;
  Object.setPrototypeOf(prototype, ITERATOR_PROTOTYPE);
  Object.defineProperty(prototype, "next", { enumerable: true });
  Object.defineProperty(prototype, Symbol.toStringTag, { value: `${className} Iterator`, configurable: true });
  Reflect.deleteProperty(prototype, "constructor");
  return ((entryAt: EntryAt, kind: Kind) => new PairIterator(entryAt, kind)) as unknown as MakeIterator;
}

/** Reads the `[name, value]` pairs or the record that a constructor is given; values are not converted. */
export function namesAndValues(init: object, className: string): [unknown, unknown][] {
  const iterate = (init as { [Symbol.iterator]?: unknown })[Symbol.iterator];
  if (iterate === undefined || iterate === null) {
    const record = init as Record<string, unknown>;
    const symbols = Object.getOwnPropertySymbols(record).filter((it) => Object.prototype.propertyIsEnumerable.call(record, it));
    // The caller's conversion of a symbol to a string throws the right error.
    return symbols.length === 0 ? Object.entries(record) : [[symbols[0], ""]];
  }
  const pairs: [unknown, unknown][] = [];
  for (const pair of init as Iterable<unknown>) {
    const isObject = (typeof pair === "object" && pair !== null) || typeof pair === "function";
    if (!isObject || typeof (pair as { [Symbol.iterator]?: unknown })[Symbol.iterator] !== "function") {
      throw new TypeError(`${className}: each pair must be iterable`);
    }
    const items = [...(pair as Iterable<unknown>)];
    if (items.length !== 2) throw new TypeError(`${className}: each pair must be a name and a value`);
    pairs.push(items as [unknown, unknown]);
  }
  return pairs;
}
