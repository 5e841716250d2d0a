// Validates a request before it is sent, so that errors are the same in all engines: their own messages
// differ, and some engines send a changed request instead of rejecting it.

const METHOD_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/**
 * Returns the options to send. Throws a `TypeError` for an invalid request; its message names the rule, never
 * a value, which could be a secret.
 */
export function checkedRequest(url: URL, input: string | URL | Request, init: RequestInit = {}): RequestInit {
  if (url.username !== "" || url.password !== "") {
    throw invalid("the URL must not hold a user name or a password: send them in an Authorization header");
  }
  const headers = checkedHeaders(init.headers);
  const { method = input instanceof Request ? input.method : "GET" } = init;
  if (!METHOD_TOKEN.test(method)) throw invalid("the method must be a word such as GET or POST");
  if (FORBIDDEN_METHODS.includes(method.toUpperCase())) throw invalid(`the method ${method.toUpperCase()} cannot be sent`);
  if (init.body != null && /^(get|head)$/i.test(method)) throw invalid(`a ${method.toUpperCase()} request has no body: set method`);
  return headers === init.headers ? init : { ...init, headers };
}

/**
 * Returns the headers as given; other iterables become `Headers`, because they may allow only one iteration.
 */
function checkedHeaders(given: RequestInit["headers"]): RequestInit["headers"] {
  if (given === undefined) return undefined;
  try {
    const made = new Headers(given);
    const isReusable = given instanceof Headers || Array.isArray(given) || !(Symbol.iterator in given);
    return isReusable ? given : made;
  } catch (cause) {
    throw invalid("a header has a name or a value that HTTP does not allow", cause);
  }
}

/** Returns the abort signal of a request. `signal: null` in the options removes that of a `Request`. */
export function signalOf(input: string | URL | Request, init?: RequestInit): AbortSignal | null | undefined {
  if (init?.signal !== undefined) return init.signal;
  return input instanceof Request ? input.signal : undefined;
}

function invalid(rule: string, cause?: unknown): TypeError {
  return new TypeError(`invalid request: ${rule}`, cause === undefined ? undefined : { cause });
}
