// Reading of options (ECMA-402, sections 9.2.10 to 9.2.13), and constructors that can be called without
// `new`.

export type Options = Readonly<Record<string, unknown>>;

/** Reads options that must be an object or undefined (GetOptionsObject). */
export function strictOptions(options: unknown): Options {
  if (options === undefined) return Object.create(null) as Options;
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  return options as Options;
}

/** Reads the options of older constructors: any value except null (CoerceOptionsToObject). */
export function looseOptions(options: unknown): Options {
  if (options === undefined) return Object.create(null) as Options;
  if (options === null) throw new TypeError("Cannot convert undefined or null to object");
  return Object(options) as Options;
}

/** Reads a string option; throws a RangeError if it is not one of `allowed`. */
export function choice<T extends string>(options: Options, name: string, allowed: readonly T[], fallback: T): T;
export function choice<T extends string>(options: Options, name: string, allowed?: readonly T[]): T | undefined;
export function choice(options: Options, name: string, allowed?: readonly string[], fallback?: string): string | undefined {
  const value = options[name];
  if (value === undefined) return fallback;
  const text = `${value as string}`;
  if (allowed !== undefined && !allowed.includes(text)) throw new RangeError(`Value ${text} out of range for Intl options property ${name}`);
  return text;
}

export function flag(options: Options, name: string): boolean | undefined {
  const value = options[name];
  return value === undefined ? undefined : Boolean(value);
}

/** Reads an integer option; throws a RangeError if it is not from `min` to `max` (DefaultNumberOption). */
export function integerOption<F extends number | undefined>(value: unknown, name: string, min: number, max: number, fallback: F): number | F {
  if (value === undefined) return fallback;
  const number = Number(value);
  if (!(number >= min && number <= max)) throw new RangeError(`${name} value is out of range.`);
  return Math.floor(number);
}

/** Returns a constructor for `constructed` that can also be called without `new`. */
export function callable<C extends abstract new (...args: never[]) => object>(constructed: C): C {
  const wrapper = function (this: unknown, ...args: unknown[]): object {
    return Reflect.construct(constructed, args, new.target ?? wrapper) as object;
  };
  for (const key of Object.getOwnPropertyNames(constructed)) {
    if (key === "prototype") continue;
    Object.defineProperty(wrapper, key, Object.getOwnPropertyDescriptor(constructed, key)!);
  }
  Object.defineProperty(wrapper, "prototype", { value: constructed.prototype, writable: false });
  Object.defineProperty(constructed.prototype, "constructor", { value: wrapper, writable: true, configurable: true });
  return wrapper as unknown as C;
}

export interface Part {
  type: string;
  value: string;
}

/** Converts the native module's list of alternating types and values to parts. */
export function parts(flat: readonly string[]): Part[] {
  const found: Part[] = [];
  for (let at = 0; at < flat.length; at += 2) found.push({ type: flat[at]!, value: flat[at + 1]! });
  return found;
}
