// How the platform's classes and values become globals.

/** Makes a value what a global name stands for. */
export function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

/** Makes a class of the platform what a global name stands for. */
export function defineClass(name: string, made: Function): void {
  asPlatformClass(name, made);
  defineGlobal(name, made);
}

/** The members of a class of the platform are enumerable, and its objects say what they are (Web IDL, section 3.7). */
export function asPlatformClass(name: string, made: Function): void {
  // A bundler may have named it otherwise.
  Object.defineProperty(made, "name", { value: name, configurable: true });
  const prototype = made.prototype as object;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member !== "constructor") Object.defineProperty(prototype, member, { enumerable: true });
  }
  if (!Object.hasOwn(prototype, Symbol.toStringTag)) {
    Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
