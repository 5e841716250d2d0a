/** How a {@link ToolError} differs from the default. */
export interface ToolErrorOptions {
  /** Whether the model should consider trying again. By default not. */
  retryable?: boolean | undefined;
  /** For the log; the model does not see it. */
  data?: unknown;
}

// A bundle may hold two copies of this module; an error of either is one that the model reads.
const BRAND = Symbol.for("kitbag.ToolError");

/** An error that the author means the model to read. */
export class ToolError extends Error {
  /** Whether the model should consider trying again. */
  readonly retryable: boolean;
  /** For the log; the model does not see it. */
  readonly data: unknown;

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message);
    this.name = "ToolError";
    this.retryable = options.retryable ?? false;
    this.data = options.data;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Finds what the model may read of anything thrown: a `ToolError`, or one among its causes. */
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
