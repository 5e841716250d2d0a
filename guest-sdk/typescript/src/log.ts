/** Maximum number of stack frames of a logged error. */
const MAX_FRAMES = 10;
/** Frames of Node.js and of packages, in tests and under `kitbag dev`. In the sandbox there are only the author's frames. */
const FOREIGN_FRAME = /node:internal|[\\/]node_modules[\\/]/;

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
  if (value instanceof Error) return readableError(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

/** Returns the error's own members, and those that JSON omits, such as `message`. */
function readableError(error: Error): object {
  const frames = (error.stack ?? "").split("\n").map((line) => line.trim()).filter((line) => line.startsWith("at ") && !FOREIGN_FRAME.test(line));
  return Object.assign(
    { name: error.name, message: error.message },
    error,
    error.cause !== undefined && { cause: error.cause },
    error instanceof AggregateError && { errors: error.errors as unknown[] },
    frames.length > 0 && { stack: frames.slice(0, MAX_FRAMES) },
  );
}
