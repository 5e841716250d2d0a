import { maxReported, meant, type Violation } from "#handler-rules";
import type { z } from "zod";

import { closest, describeChoices, notOneOf } from "./texts.js";

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

/** Returns the problems as `path: message`, without duplicates and at most `maxReported()`. */
export function issueLines(error: z.ZodError): string[] {
  const lines = error.issues.flatMap((issue) => linesOf(issue as Issue, []));
  return [...new Set(lines)].slice(0, maxReported());
}

/** The members of a zod issue that are used here. */
interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  /** Issues of each branch of a union. */
  errors?: Issue[][];
  /** Issues of an invalid key or element. */
  issues?: Issue[];
  /** Accepted constants, if the value is another one. */
  values?: unknown[];
}

/** zod's message for a union without a message of the author's; the branches have the details. */
const GENERIC_UNION_MESSAGE = "Invalid input";

function linesOf(issue: Issue, within: PropertyKey[]): string[] {
  const path = [...within, ...issue.path];
  const { errors = [], issues = [] } = issue;
  if (issues.length > 0) return issues.flatMap((it) => linesOf(it, path));
  if (issue.message !== GENERIC_UNION_MESSAGE || errors.length === 0) return [`${pointer(path)}: ${issue.message}`];
  const answer = meant(errors.map((issues) => issues.map(violationOf)));
  if (answer.branch !== undefined) return errors[answer.branch]!.flatMap((it) => linesOf(it, path)).map((line) => closest(line, answer.of));
  if (answer.discriminator !== undefined) return discriminators(answer.discriminator.flatMap((index) => errors[index]!), path);
  return [`${pointer(path)}: ${choices(answer.anyOf.map((index) => errors[index]!))}`];
}

/** Names, for each discriminator, the values that the branches expect. */
function discriminators(issues: Issue[], within: PropertyKey[]): string[] {
  const expected = new Map<string, unknown[]>();
  for (const { code, path, values = [] } of issues) {
    if (code !== "invalid_value" || path.length !== 1) continue;
    const at = pointer([...within, ...path]);
    expected.set(at, [...(expected.get(at) ?? []), ...values]);
  }
  return [...expected].map(([at, values]) => `${at}: ${notOneOf(values)}`);
}

/** Describes what each branch expects. */
function choices(branches: Issue[][]): string {
  const lines = branches.flat().flatMap((it) => linesOf({ ...it, path: [] }, []));
  return describeChoices(lines.map((line) => line.slice("/: ".length)), branches.length);
}

function violationOf({ code, path }: Issue): Violation {
  if (code === "invalid_value") return [path.length, "constant"];
  return [path.length, code === "invalid_type" || code === "invalid_union" ? "type" : "other"];
}

/** Returns a path as a JSON Pointer (RFC 6901), except that the root is `/`. */
export function pointer(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "/";
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
