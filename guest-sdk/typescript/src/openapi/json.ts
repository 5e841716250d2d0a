// Access to values of an untrusted document, without assumptions about their types.

/** A JSON object of a document. Read its members with {@link member}. */
export type JsonRecord = { readonly [name: string]: unknown };

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an own member of an object; `undefined` for inherited ones such as `constructor`, and for other values. */
export function member(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Returns the own members of an object; empty for any other value. */
export function members(value: unknown): [string, unknown][] {
  return isRecord(value) ? Object.entries(value) : [];
}

/** Returns a member that is an object; an empty object if it is not. */
export function recordAt(value: unknown, name: string): JsonRecord {
  const found = member(value, name);
  return isRecord(found) ? found : {};
}

/** Returns a member that is a list; an empty list if it is not. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

/** Returns a member that is a non-empty text. Numbers, such as an unquoted version in YAML, are converted to text. */
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
