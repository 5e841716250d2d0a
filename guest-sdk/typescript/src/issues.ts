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
  const lines = error.issues.flatMap((issue) => linesOf(issue as Issue, []));
  return [...new Set(lines)].slice(0, MAX_REPORTED);
}

/** An issue of the library's, as far as it matters here. */
interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  /** Of a union: the issues of each branch. */
  errors?: Issue[][];
  /** Of a key or an element: what is wrong with it. */
  issues?: Issue[];
}

/** How the library words what it says more about in the issues of branches. */
const UNTOLD = "Invalid input";

function linesOf(issue: Issue, within: PropertyKey[]): string[] {
  const path = [...within, ...issue.path];
  const { errors = [], issues = [] } = issue;
  if (issues.length > 0) return issues.flatMap((it) => linesOf(it, path));
  if (issue.message !== UNTOLD || errors.length === 0) return [`${pointer(path)}: ${issue.message}`];
  const distances = errors.map(distanceOf);
  const nearest = Math.min(...distances);
  const meant = errors.filter((_, index) => distances[index] === nearest);
  const isTold = meant.length === 1 || meant[0]!.some((it) => it.path.length > 0);
  if (nearest < NOT_MEANT && isTold) return meant[0]!.flatMap((it) => linesOf(it, path));
  return [`${pointer(path)}: ${choices(meant)}`];
}

/** How many choices are told; more would tell a model nothing. */
const MAX_CHOICES = 5;

/** Says what each of several choices asks for; of many as the host does (kitbag-manifest's schema/violation.rs). */
function choices(branches: Issue[][]): string {
  const lines = branches.flat().flatMap((it) => linesOf({ ...it, path: [] }, []));
  const messages = [...new Set(lines.map((line) => line.slice("/: ".length)))];
  return messages.length > MAX_CHOICES ? `value fits none of ${branches.length} choices` : messages.join(", or ");
}

/** No value of another kind was meant for a branch. */
const NOT_MEANT = 1000;

/** How far a value is from what a branch of a union accepts: another kind is farthest, then another discriminator. */
function distanceOf(branch: Issue[]): number {
  const weights = branch.map(({ code, path }) => {
    if (path.length === 0 && (code === "invalid_type" || code === "invalid_value" || code === "invalid_union")) return NOT_MEANT;
    return code === "invalid_value" && path.length === 1 ? MAX_REPORTED : 1;
  });
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** Spells a path as a JSON Pointer (RFC 6901); the root is `/`. */
export function pointer(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "/";
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
