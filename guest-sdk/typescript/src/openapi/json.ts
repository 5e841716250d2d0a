// Values of a document that a stranger wrote: nothing is assumed about their types.

/** A JSON object of a document. Read its members with {@link member}. */
export type JsonRecord = { readonly [name: string]: unknown };

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an own member of an object; `undefined` of anything else, also for names such as `constructor`. */
export function member(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Returns the own members of an object; none of anything else. */
export function members(value: unknown): [string, unknown][] {
  return isRecord(value) ? Object.entries(value) : [];
}

/** Returns a member that is an object, or an empty one. */
export function recordAt(value: unknown, name: string): JsonRecord {
  const found = member(value, name);
  return isRecord(found) ? found : {};
}

/** Returns a member that is a list, or an empty one. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

/** Returns a member that is a text with something in it. Numbers, such as an unquoted version in YAML, are texts too. */
export function textAt(value: unknown, name: string): string | undefined {
  const found = member(value, name);
  if (typeof found === "number") return String(found);
  return typeof found === "string" && found.trim() !== "" ? found : undefined;
}

/** Returns a member that is a finite number. */
export function numberAt(value: unknown, name: string): number | undefined {
  const found = member(value, name);
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}
