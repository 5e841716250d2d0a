// Parts of AbortSignal that the engine has otherwise.

/** The engine's own asks for a reason. */
export function abort(reason?: unknown): AbortSignal {
  const control = new AbortController();
  control.abort(reason);
  return control.signal;
}

/** The engine's own ends the whole call. */
export function throwIfAborted(this: AbortSignal): void {
  if (this.aborted) throw this.reason;
}

/** The engine's own loses the reason. */
export function any(signals: Iterable<AbortSignal>): AbortSignal {
  const control = new AbortController();
  const all = [...signals];
  const stop = (event: Event) => {
    for (const signal of all) signal.removeEventListener("abort", stop);
    control.abort((event.target as AbortSignal).reason);
  };
  const stopped = all.find(({ aborted }) => aborted);
  if (stopped !== undefined) control.abort(stopped.reason);
  else for (const signal of all) signal.addEventListener("abort", stop);
  return control.signal;
}
