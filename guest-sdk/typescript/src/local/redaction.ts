import { limitsOfCalls } from "../rules.js";

const REPLACEMENT = "[redacted]";

/**
 * Returns a function that takes the values of secrets out of every text of a value. The host also finds
 * them in other encodings (base64, percent-encoded, in hexadecimal); a test sees the plain ones go.
 */
export function redactor(values: string[]): <T>(value: T) => T {
  const lines = values.flatMap((value) => value.split(/\r?\n/)).map((line) => line.trim());
  const { redactedBytes } = limitsOfCalls();
  // Shorter ones are left alone, as the host leaves them.
  const found = lines.filter((line) => new TextEncoder().encode(line).length >= redactedBytes);
  const clean = (text: string) => found.reduce((cleaned, line) => cleaned.replaceAll(line, REPLACEMENT), text);
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return clean(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), walk(inner)]));
  };
  return <T>(value: T) => (found.length === 0 ? value : (walk(value) as T));
}
