/**
 * Passes the result of `first` to `next`, after awaiting it if it is a promise. If either throws or rejects,
 * returns the result of `failed`.
 *
 * A synchronous result creates no promise, because in the interpreter a promise costs more than the rest of
 * the step.
 */
export function step<T, R>(
  first: () => T | PromiseLike<T>,
  next: (value: T) => R | Promise<R>,
  failed: (thrown: unknown) => R,
): R | Promise<R> {
  const guarded = (value: T): R | Promise<R> => {
    try {
      return next(value);
    } catch (thrown) {
      return failed(thrown);
    }
  };
  let value: T | PromiseLike<T>;
  try {
    value = first();
    if (isThenable(value)) return Promise.resolve(value).then(guarded, failed);
  } catch (thrown) {
    return failed(thrown);
  }
  return guarded(value);
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
