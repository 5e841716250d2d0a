import type { z } from "zod";

/** How many problems of one value are reported; the rest would only repeat them. */
const MAX_REPORTED = 10;

type Checked<S extends z.ZodType> = z.ZodSafeParseResult<z.output<S>>;

/** Checks a value; most schemas answer at once, those that wait for something are waited for. */
export function check<S extends z.ZodType>(schema: S, value: unknown): Checked<S> | Promise<Checked<S>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if ((error as { constructor?: { name?: string } } | null)?.constructor?.name !== "$ZodAsyncError") throw error;
    return schema.safeParseAsync(value);
  }
}

/** Returns every problem as `path: what is wrong`. */
export function issueLines(error: z.ZodError): string[] {
  return error.issues.slice(0, MAX_REPORTED).map((issue) => `${pointer(issue.path)}: ${issue.message}`);
}

/** Spells a path as a JSON Pointer (RFC 6901); the root is `/`. */
export function pointer(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "/";
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
