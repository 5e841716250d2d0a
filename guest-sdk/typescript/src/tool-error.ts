/** Options of a {@link ToolError}. */
export interface ToolErrorOptions {
  /** Whether a retry may succeed. By default false. */
  retryable?: boolean | undefined;
  /** Data for the toolkit's log, as JSON; the model does not see it. */
  data?: unknown;
}

// A bundle may contain two copies of this module; errors of both must be recognised.
const BRAND = Symbol.for("kitbag.ToolError");

/**
 * An error whose message is sent to the model. Thrown by a handler, directly or as a `cause` of another
 * error, it ends the call with the code `TOOL_ERROR`.
 */
export class ToolError extends Error {
  /** Whether a retry may succeed. */
  readonly retryable: boolean;
  /** Data for the toolkit's log, as JSON; the model does not see it. */
  readonly data: unknown;

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message);
    this.name = "ToolError";
    this.retryable = options.retryable ?? false;
    this.data = options.data;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** The user cannot be asked: their client does not support forms, or the call does not come through MCP. */
export class CannotAskError extends ToolError {
  constructor(message: string) {
    super(message);
    this.name = "CannotAskError";
  }
}

/** Returns a thrown `ToolError`, or the first one among the causes of a thrown value. */
export function toolErrorWithin(thrown: unknown): ToolError | undefined {
  const seen = new Set<unknown>();
  let error = thrown;
  while (typeof error === "object" && error !== null && !seen.has(error)) {
    if (BRAND in error) return error as unknown as ToolError;
    seen.add(error);
    error = (error as { cause?: unknown }).cause;
  }
  return undefined;
}
