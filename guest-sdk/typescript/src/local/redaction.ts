// Redaction of secrets in what a call produces.
import { host } from "./host.js";

/**
 * Returns a function that removes the values of secrets from all strings and numbers of a value, in every encoding that
 * the host of a server finds. Binary data stays as it is.
 */
export function redactor(values: Iterable<string>): <T>(value: T) => T {
  return <T>(value: T): T => {
    const secrets = [...values];
    if (secrets.length === 0) return value;
    const leaves: (string | number)[] = [];
    walk(value, (leaf) => leaves.push(leaf));
    const clean = host("redact", { secrets, values: leaves });
    let next = 0;
    return walk(value, () => clean[next++]) as T;
  };
}

/** Copies a value with `change` of each string, number and key, always in the same order. */
function walk(value: unknown, change: (leaf: string | number) => unknown): unknown {
  if (typeof value === "string" || Number.isFinite(value)) return change(value as string | number);
  if (Array.isArray(value)) return value.map((it) => walk(it, change));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), walk(inner, change)]));
}
