/**
 * Gives an error the stack of `call`, an error that was created when the failed operation began: when a promise is settled
 * later, the stack has no frames of the caller.
 */
export function withCallerStack<E extends Error>(error: E, call: Error): E {
  const { stack = "" } = call;
  // In Node.js a stack begins with the error's name and message, in the sandbox with the first frame.
  const value = stack.startsWith("Error\n") ? `${error.name}: ${error.message}${stack.slice("Error".length)}` : stack;
  return Object.defineProperty(error, "stack", { value, writable: true, configurable: true });
}
