/**
 * Returns one argument of `ctx.log` as JSON text; a value that cannot be converted is replaced with a notice.
 */
export function logArgument(value: unknown): string {
  try {
    return JSON.stringify(value, readable) ?? JSON.stringify(String(value));
  } catch (error) {
    return JSON.stringify(`(not representable as JSON: ${error instanceof Error ? error.message : String(error)})`);
  }
}

/** Replaces values that JSON would show as `{}` (errors, maps, sets) or that throw (BigInt). */
function readable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return Object.assign({ name: value.name, message: value.message }, value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}
