import { limitsOfCalls } from "../rules.js";

const REPLACEMENT = "[redacted]";

/**
 * Returns a function that replaces the values of secrets in all strings of a value. It finds only plain values; the host
 * also finds them in base64, percent-encoding and hexadecimal.
 */
export function redactor(values: Iterable<string>): <T>(value: T) => T {
  const lines = [...values].flatMap((value) => value.split(/\r?\n/)).map((line) => line.trim());
  const { redactedBytes } = limitsOfCalls();
  // Shorter lines are not redacted, as on the host.
  const redacted = lines.filter((line) => new TextEncoder().encode(line).length >= redactedBytes);
  const clean = (text: string) => redacted.reduce((cleaned, line) => cleaned.replaceAll(line, REPLACEMENT), text);
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return clean(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), walk(inner)]));
  };
  return <T>(value: T) => (redacted.length === 0 ? value : (walk(value) as T));
}
