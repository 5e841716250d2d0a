// Defines the classes and values of the web platform as globals.

/** Defines a global. */
export function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

/** Defines a class of the web platform as a global. */
export function defineClass(name: string, made: Function): void {
  asPlatformClass(name, made);
  defineGlobal(name, made);
}

/** Gives a class the form of Web IDL: enumerable members, and `Symbol.toStringTag` (Web IDL, section 3.7). */
export function asPlatformClass(name: string, made: Function): void {
  // A bundler may have renamed the class.
  Object.defineProperty(made, "name", { value: name, configurable: true });
  const prototype = made.prototype as object;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member !== "constructor") Object.defineProperty(prototype, member, { enumerable: true });
  }
  if (!Object.hasOwn(prototype, Symbol.toStringTag)) {
    Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
