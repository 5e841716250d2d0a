/**
 * Gives an error the stack of `call`, an error that was made when the failed operation began: of what settles a promise
 * later, engines have no frames of the caller.
 */
export function withCallerStack<E extends Error>(error: E, call: Error): E {
  const { stack = "" } = call;
  // In Node.js a stack begins with the error, in the sandbox with the first frame.
  const value = stack.startsWith("Error\n") ? `${error.name}: ${error.message}${stack.slice("Error".length)}` : stack;
  return Object.defineProperty(error, "stack", { value, writable: true, configurable: true });
}
