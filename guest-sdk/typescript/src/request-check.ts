// What is wrong with a request before it is sent. Engines word it differently, and some send something else.

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FORBIDDEN = ["CONNECT", "TRACE", "TRACK"];

/** Throws where no request can be made of it; the message names the rule, and never a value. */
export function checkRequest(url: URL, input: string | URL | Request, init: RequestInit = {}): void {
  if (url.username !== "" || url.password !== "") {
    throw invalid("the URL must not hold a user name or a password: send them in an Authorization header");
  }
  if (init.headers !== undefined) checkHeaders(init.headers);
  const { method = input instanceof Request ? input.method : "GET" } = init;
  if (!TOKEN.test(method)) throw invalid("the method must be a word such as GET or POST");
  if (FORBIDDEN.includes(method.toUpperCase())) throw invalid(`the method ${method.toUpperCase()} cannot be sent`);
  if (init.body != null && /^(get|head)$/i.test(method)) throw invalid(`a ${method.toUpperCase()} request has no body: set method`);
}

function checkHeaders(headers: RequestInit["headers"]): void {
  try {
    new Headers(headers);
  } catch (cause) {
    throw invalid("a header has a name or a value that HTTP does not allow", cause);
  }
}

function invalid(rule: string, cause?: unknown): TypeError {
  return new TypeError(`invalid request: ${rule}`, cause === undefined ? undefined : { cause });
}
