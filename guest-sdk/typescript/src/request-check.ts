// What is wrong with a request before it is sent. Engines word it differently, and some send something else.

const METHOD_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/** Returns what to send; throws where no request can be made of it. The message names the rule, and never a value. */
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

/** Returns the headers as they were given; an iterable can be gone through once, perhaps, and becomes what was made of it. */
function checkedHeaders(given: RequestInit["headers"]): RequestInit["headers"] {
  if (given === undefined) return undefined;
  try {
    const made = new Headers(given);
    const lasts = given instanceof Headers || Array.isArray(given) || !(Symbol.iterator in given);
    return lasts ? given : made;
  } catch (cause) {
    throw invalid("a header has a name or a value that HTTP does not allow", cause);
  }
}

/** Returns what may stop a request: null takes the signal of a Request away. */
export function signalOf(input: string | URL | Request, init?: RequestInit): AbortSignal | null | undefined {
  if (init?.signal !== undefined) return init.signal;
  return input instanceof Request ? input.signal : undefined;
}

function invalid(rule: string, cause?: unknown): TypeError {
  return new TypeError(`invalid request: ${rule}`, cause === undefined ? undefined : { cause });
}
