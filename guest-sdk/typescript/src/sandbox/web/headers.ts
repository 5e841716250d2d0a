// Headers (Fetch Standard, section 5.2).
import { namesAndValues, pairIterators } from "./iterators.js";

export type HeadersInit = Headers | Iterable<readonly string[]> | Record<string, string>;

/** Creates headers without checks, from the network or from a list that was checked before. */
export let trustedHeaders: (list: [string, string][]) => Headers;
/** Returns the list of lower-case names and values, in the order in which they were added. */
export let headerList: (headers: Headers) => [string, string][];
/** Makes headers immutable. */
export let freezeHeaders: (headers: Headers) => void;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Printable ASCII without leading or trailing spaces: valid without further checks. */
const SIMPLE_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;
const WHITESPACE = "\t\n\r ";
/** Common names in their usual spelling and in lower case, which need no check. */
const KNOWN_NAMES = new Map<string, string>();
for (const name of [
  "Accept",
  "Authorization",
  "Content-Encoding",
  "Content-Length",
  "Content-Type",
  "ETag",
  "If-None-Match",
  "Link",
  "Location",
  "Retry-After",
  "User-Agent",
  "X-API-Key",
]) {
  KNOWN_NAMES.set(name, name.toLowerCase()).set(name.toLowerCase(), name.toLowerCase());
}
const iterator = pairIterators("Headers");

export class Headers {
  /** Lower-case names and values, in the order in which they were added. */
  #list: [string, string][] = [];
  /** Cached entries for iterators; cleared by changes. */
  #sorted: [string, string][] | undefined;
  #immutable = false;

  static {
    trustedHeaders = (list) => {
      const headers = new Headers();
      headers.#list = list;
      return headers;
    };
    headerList = (headers) => headers.#list;
    freezeHeaders = (headers) => (headers.#immutable = true);
  }

  constructor(init?: HeadersInit) {
    if (init === undefined) return;
    if ((typeof init !== "object" && typeof init !== "function") || init === null) {
      throw new TypeError("Headers: this is neither a record nor a list of pairs");
    }
    if (init instanceof Headers && init[Symbol.iterator] === Headers.prototype[Symbol.iterator]) {
      this.#list = init.#list.map(([name, value]) => [name, value]);
      return;
    }
    for (const [name, value] of namesAndValues(init, "Headers")) this.#list.push([checkName(name), checkValue(value)]);
  }

  append(name: string, value: string): void {
    if (arguments.length < 2) throw new TypeError("Headers.append: 2 arguments required");
    const [checkedName, checkedValue] = [checkName(name), checkValue(value)];
    this.#willChange();
    this.#list.push([checkedName, checkedValue]);
  }

  delete(name: string): void {
    const wanted = checkName(name);
    this.#willChange();
    this.#list = this.#list.filter(([other]) => other !== wanted);
  }

  get(name: string): string | null {
    const wanted = checkName(name);
    let found: string | null = null;
    for (const [other, value] of this.#list) {
      if (other === wanted) found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  getSetCookie(): string[] {
    return this.#list.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  }

  has(name: string): boolean {
    const wanted = checkName(name);
    return this.#list.some(([other]) => other === wanted);
  }

  set(name: string, value: string): void {
    if (arguments.length < 2) throw new TypeError("Headers.set: 2 arguments required");
    const [wanted, checkedValue] = [checkName(name), checkValue(value)];
    this.#willChange();
    const first = this.#list.findIndex(([other]) => other === wanted);
    if (first === -1) {
      this.#list.push([wanted, checkedValue]);
    } else {
      this.#list = this.#list.filter(([other], at) => at === first || other !== wanted);
      this.#list[first] = [wanted, checkedValue];
    }
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void {
    if (typeof callback !== "function") throw new TypeError("Headers.forEach: the callback is not a function");
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    return iterator((at) => this.#entries()[at], "entries");
  }

  keys(): IterableIterator<string> {
    return iterator((at) => this.#entries()[at], "keys");
  }

  values(): IterableIterator<string> {
    return iterator((at) => this.#entries()[at], "values");
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return Object.assign(Object.create({ constructor: Headers }) as object, Object.fromEntries(this.#entries()));
  }

  #willChange(): void {
    if (this.#immutable) throw new TypeError("these headers cannot be changed");
    this.#sorted = undefined;
  }

  /** Returns one entry per name, sorted; values of `set-cookie` are not combined. */
  #entries(): [string, string][] {
    if (this.#sorted !== undefined) return this.#sorted;
    const joined = new Map<string, string>();
    const cookies: [string, string][] = [];
    for (const [name, value] of this.#list) {
      if (name === "set-cookie") cookies.push([name, value]);
      else joined.set(name, joined.has(name) ? `${joined.get(name)}, ${value}` : value);
    }
    this.#sorted = [...joined, ...cookies].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return this.#sorted;
  }
}

Object.defineProperty(Headers.prototype, Symbol.iterator, {
  value: Headers.prototype.entries,
  writable: true,
  configurable: true,
});

function checkName(name: unknown): string {
  const known = KNOWN_NAMES.get(name as string);
  if (known !== undefined) return known;
  const text = `${name as string}`;
  if (!NAME.test(text)) throw new TypeError(`${JSON.stringify(text)} is not a valid header name`);
  return text.toLowerCase();
}

function checkValue(value: unknown): string {
  const text = `${value as string}`;
  if (SIMPLE_VALUE.test(text)) return text;
  let [start, end] = [0, text.length];
  while (start < end && WHITESPACE.includes(text[start]!)) start += 1;
  while (start < end && WHITESPACE.includes(text[end - 1]!)) end -= 1;
  const trimmed = text.slice(start, end);
  if (/[\0\r\n]|[^\0-\xff]/.test(trimmed)) throw new TypeError("a header's value has a character that HTTP does not allow");
  return trimmed;
}
