import type { z } from "zod";

/** Maximum number of problems reported for one value; more would repeat the same information. */
const MAX_REPORTED = 10;

type Checked<S extends z.ZodType> = z.ZodSafeParseResult<z.output<S>>;

/** Validates a value. Returns a promise only for a schema with asynchronous refinements or transforms. */
export function check<S extends z.ZodType>(schema: S, value: unknown): Checked<S> | Promise<Checked<S>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if ((error as { constructor?: { name?: string } } | null)?.constructor?.name !== "$ZodAsyncError") throw error;
    return schema.safeParseAsync(value);
  }
}

/** Returns the problems as `path: message`, without duplicates and at most `MAX_REPORTED`. */
export function issueLines(error: z.ZodError): string[] {
  const lines = error.issues.flatMap((issue) => linesOf(issue as Issue, []));
  return [...new Set(lines)].slice(0, MAX_REPORTED);
}

/** The members of a zod issue that are used here. */
interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  /** For a union: the issues of each branch. */
  errors?: Issue[][];
  /** For an invalid key or element: its own issues. */
  issues?: Issue[];
}

/** zod's message for a union without a message of the author's; the branches have the details. */
const GENERIC_UNION_MESSAGE = "Invalid input";

function linesOf(issue: Issue, within: PropertyKey[]): string[] {
  const path = [...within, ...issue.path];
  const { errors = [], issues = [] } = issue;
  if (issues.length > 0) return issues.flatMap((it) => linesOf(it, path));
  if (issue.message !== GENERIC_UNION_MESSAGE || errors.length === 0) return [`${pointer(path)}: ${issue.message}`];
  const distances = errors.map(distanceOf);
  const smallest = Math.min(...distances);
  const nearest = errors.filter((_, index) => distances[index] === smallest);
  const isClear = nearest.length === 1 || nearest[0]!.some((it) => it.path.length > 0);
  if (smallest < OTHER_TYPE_DISTANCE && isClear) return nearest[0]!.flatMap((it) => linesOf(it, path));
  return [`${pointer(path)}: ${choices(nearest)}`];
}

/** Maximum number of choices listed in a message; a longer list does not help a model. */
const MAX_CHOICES = 5;

/**
 * Describes what each branch expects. Many choices are only counted, as in kitbag-manifest's
 * schema/violation.rs.
 */
function choices(branches: Issue[][]): string {
  const lines = branches.flat().flatMap((it) => linesOf({ ...it, path: [] }, []));
  const messages = [...new Set(lines.map((line) => line.slice("/: ".length)))];
  return messages.length > MAX_CHOICES ? `value fits none of ${branches.length} choices` : messages.join(", or ");
}

/**
 * Distance of a value from a branch that expects a different type or constant: the branch was not intended.
 */
const OTHER_TYPE_DISTANCE = 1000;

/**
 * Returns how far a value is from a branch of a union: a different type counts most, then a different
 * discriminator.
 */
function distanceOf(branch: Issue[]): number {
  const weights = branch.map(({ code, path }) => {
    if (path.length === 0 && (code === "invalid_type" || code === "invalid_value" || code === "invalid_union")) return OTHER_TYPE_DISTANCE;
    return code === "invalid_value" && path.length === 1 ? MAX_REPORTED : 1;
  });
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** Returns a path as a JSON Pointer (RFC 6901), except that the root is `/`. */
export function pointer(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "/";
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
