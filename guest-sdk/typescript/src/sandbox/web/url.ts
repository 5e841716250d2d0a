// URL and URLSearchParams (URL Standard, sections 6.1 and 6.2).
import { get, parse, parseQuery, serializeQuery, set } from "kitbag:url";

import { namesAndValues, pairIterators } from "./iterators.js";

// Numbers of the components, as in the native module.
const ORIGIN = 0;
const PROTOCOL = 1;
const USERNAME = 2;
const PASSWORD = 3;
const HOST = 4;
const HOSTNAME = 5;
const PORT = 6;
const PATHNAME = 7;
const SEARCH = 8;
const HASH = 9;

/** Replaces the pairs of `searchParams` after the URL's query has changed. */
let replacePairs: (params: URLSearchParams, query: string) => void;
/** Registers the function that updates the URL when its `searchParams` change. */
let connect: (params: URLSearchParams, changed: (query: string) => void) => void;

export class URL {
  #href: string;
  #params: URLSearchParams | undefined;

  constructor(url: string, base?: string) {
    if (arguments.length === 0) throw new TypeError("URL: 1 argument required");
    const href = parse(`${url}`, base === undefined ? undefined : `${base}`);
    if (href === undefined) throw invalid(url, base);
    this.#href = href;
  }

  static canParse(url: string, base?: string): boolean {
    return parse(`${url}`, base === undefined ? undefined : `${base}`) !== undefined;
  }

  static parse(url: string, base?: string): URL | null {
    const href = parse(`${url}`, base === undefined ? undefined : `${base}`);
    return href === undefined ? null : new URL(href);
  }

  get href(): string {
    return this.#href;
  }

  set href(value: string) {
    const href = parse(`${value}`, undefined);
    if (href === undefined) throw invalid(value);
    this.#change(href);
  }

  get origin(): string {
    return get(this.#href, ORIGIN);
  }

  get protocol(): string {
    return get(this.#href, PROTOCOL);
  }

  set protocol(value: string) {
    this.#href = set(this.#href, PROTOCOL, `${value}`);
  }

  get username(): string {
    return get(this.#href, USERNAME);
  }

  set username(value: string) {
    this.#href = set(this.#href, USERNAME, `${value}`);
  }

  get password(): string {
    return get(this.#href, PASSWORD);
  }

  set password(value: string) {
    this.#href = set(this.#href, PASSWORD, `${value}`);
  }

  get host(): string {
    return get(this.#href, HOST);
  }

  set host(value: string) {
    this.#href = set(this.#href, HOST, `${value}`);
  }

  get hostname(): string {
    return get(this.#href, HOSTNAME);
  }

  set hostname(value: string) {
    this.#href = set(this.#href, HOSTNAME, `${value}`);
  }

  get port(): string {
    return get(this.#href, PORT);
  }

  set port(value: string) {
    this.#href = set(this.#href, PORT, `${value}`);
  }

  get pathname(): string {
    return get(this.#href, PATHNAME);
  }

  set pathname(value: string) {
    this.#href = set(this.#href, PATHNAME, `${value}`);
  }

  get search(): string {
    return get(this.#href, SEARCH);
  }

  set search(value: string) {
    this.#change(set(this.#href, SEARCH, `${value}`));
  }

  get searchParams(): URLSearchParams {
    if (this.#params === undefined) {
      this.#params = new URLSearchParams(get(this.#href, SEARCH));
      connect(this.#params, (query) => (this.#href = set(this.#href, SEARCH, query)));
    }
    return this.#params;
  }

  get hash(): string {
    return get(this.#href, HASH);
  }

  set hash(value: string) {
    this.#href = set(this.#href, HASH, `${value}`);
  }

  toString(): string {
    return this.#href;
  }

  toJSON(): string {
    return this.#href;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash } = this;
    const shown = { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash };
    return Object.assign(Object.create({ constructor: URL }) as object, shown);
  }

  #change(href: string): void {
    this.#href = href;
    if (this.#params !== undefined) replacePairs(this.#params, get(href, SEARCH));
  }
}

function invalid(input: unknown, base?: unknown): TypeError {
  const error = new TypeError("Invalid URL") as TypeError & { code: string; input: string; base?: string };
  // As in Node.js: some packages use these properties.
  error.code = "ERR_INVALID_URL";
  error.input = `${input}`;
  if (base !== undefined) error.base = `${base}`;
  return error;
}

const iterator = pairIterators("URLSearchParams");

type Init = string | Iterable<readonly string[]> | Record<string, string>;

export class URLSearchParams {
  /** Alternating names and values. */
  #pairs: string[];
  #changed: ((query: string) => void) | undefined;

  static {
    replacePairs = (params, query) => (params.#pairs = parseQuery(query.startsWith("?") ? query.slice(1) : query));
    connect = (params, changed) => (params.#changed = changed);
  }

  constructor(init?: Init) {
    this.#pairs = pairsOf(init ?? "");
  }

  get size(): number {
    return this.#pairs.length / 2;
  }

  append(name: string, value: string): void {
    this.#pairs.push(`${name}`.toWellFormed(), `${value}`.toWellFormed());
    this.#update();
  }

  delete(name: string, value?: string): void {
    const pairs = this.#pairs;
    const wanted = `${name}`.toWellFormed();
    const withValue = value === undefined ? undefined : `${value}`.toWellFormed();
    for (let at = pairs.length - 2; at >= 0; at -= 2) {
      if (pairs[at] === wanted && (withValue === undefined || pairs[at + 1] === withValue)) pairs.splice(at, 2);
    }
    this.#update();
  }

  get(name: string): string | null {
    const at = this.#find(`${name}`);
    return at === -1 ? null : this.#pairs[at + 1]!;
  }

  getAll(name: string): string[] {
    const wanted = `${name}`.toWellFormed();
    return this.#pairs.filter((_, at) => at % 2 === 1 && this.#pairs[at - 1] === wanted);
  }

  has(name: string, value?: string): boolean {
    if (value === undefined) return this.#find(`${name}`) !== -1;
    return this.getAll(name).includes(`${value}`.toWellFormed());
  }

  set(name: string, value: string): void {
    const first = this.#find(`${name}`);
    if (first === -1) return this.append(name, value);
    const pairs = this.#pairs;
    pairs[first + 1] = `${value}`.toWellFormed();
    for (let at = pairs.length - 2; at > first; at -= 2) {
      if (pairs[at] === pairs[first]) pairs.splice(at, 2);
    }
    this.#update();
  }

  /** Sorts by the names' UTF-16 code units; pairs with the same name keep their order. */
  sort(): void {
    const entries = [...this].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#pairs = entries.flat();
    this.#update();
  }

  toString(): string {
    return serializeQuery(this.#pairs);
  }

  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, thisArg?: unknown): void {
    if (typeof callback !== "function") throw new TypeError("forEach: the callback is not a function");
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    return iterator((at) => this.#entry(at), "entries");
  }

  keys(): IterableIterator<string> {
    return iterator((at) => this.#entry(at), "keys");
  }

  values(): IterableIterator<string> {
    return iterator((at) => this.#entry(at), "values");
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;

  [Symbol.for("nodejs.util.inspect.custom")](_depth: number, _options: object, inspect: (value: unknown) => string): string {
    const pairs = [...this].map(([name, value]) => `${inspect(name)} => ${inspect(value)}`);
    return pairs.length === 0 ? "URLSearchParams {}" : `URLSearchParams { ${pairs.join(", ")} }`;
  }

  #entry(at: number): [string, string] | undefined {
    const pairs = this.#pairs;
    return 2 * at < pairs.length ? [pairs[2 * at]!, pairs[2 * at + 1]!] : undefined;
  }

  #find(name: string): number {
    const wanted = name.toWellFormed();
    const pairs = this.#pairs;
    for (let at = 0; at < pairs.length; at += 2) if (pairs[at] === wanted) return at;
    return -1;
  }

  #update(): void {
    this.#changed?.(serializeQuery(this.#pairs));
  }
}

Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
});

function pairsOf(init: unknown): string[] {
  if ((typeof init === "object" && init !== null) || typeof init === "function") {
    const isRecord = !(Symbol.iterator in init);
    const pairs = namesAndValues(init, "URLSearchParams").map(([name, value]): [string, string] => [
      `${name as string}`.toWellFormed(),
      `${value as string}`.toWellFormed(),
    ]);
    return isRecord ? [...new Map(pairs)].flat() : pairs.flat();
  }
  const query = `${init as string}`;
  return parseQuery(query.startsWith("?") ? query.slice(1) : query);
}
