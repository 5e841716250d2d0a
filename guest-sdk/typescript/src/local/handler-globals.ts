// Hides the globals of Node.js that the sandbox lacks from handlers in tests. They stay visible to all other code in the
// process: the test itself, its mocks, the test runner and Node.js.
import { MISSING_LANGUAGE_GLOBALS, MISSING_NODE_GLOBALS } from "../sandbox-globals.js";
import { currentCall, handlerFetch } from "./current-call.js";

/** Globals that are different in a handler. */
const REPLACED: Record<string, unknown> = {
  fetch: handlerFetch,
  navigator: Object.freeze({ userAgent: "Kitbag" }),
  reportError: (error: unknown) => console.error("Uncaught", error),
  self: globalThis,
};
const NAMES: ReadonlySet<PropertyKey> = new Set([...MISSING_LANGUAGE_GLOBALS, ...MISSING_NODE_GLOBALS, ...Object.keys(REPLACED)]);

const PACKAGE = new URL("../..", import.meta.url).href;
/** Files of Node.js and test runners, which handlers call indirectly, for example through a console or module loader. */
const PLATFORM_FILE = /^node:|[\\/]node_modules[\\/](?:@jest|@vitest|esbuild|jest[\w-]*|tsx|vite|vite-node|vitest)[\\/]/;

/** The hidden properties of the global object. */
const hidden = new Map<PropertyKey, PropertyDescriptor>();
let running = 0;
let isInstalled = false;

/**
 * Runs an action that includes calls. Meanwhile the globals are removed, and the prototype of the global object serves
 * them to other code. So handlers find that a global does not exist: `typeof` and `in` work, and its use is a
 * `ReferenceError`.
 */
export async function withHandlerGlobals<T>(action: () => Promise<T>): Promise<T> {
  if (running === 0) hide();
  running += 1;
  try {
    return await action();
  } finally {
    running -= 1;
    if (running === 0) restore();
  }
}

function hide(): void {
  // Fails for special global objects, as in some test runners: handlers then see all globals.
  isInstalled ||= Reflect.setPrototypeOf(globalThis, new Proxy(Object.getPrototypeOf(globalThis) as object, traps));
  if (!isInstalled) return;
  // Reads all before deleting any: some are created on first read, by code of Node.js that needs others.
  const properties = [...NAMES].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  for (const [name, property] of properties) {
    if (property !== undefined && Reflect.deleteProperty(globalThis, name)) hidden.set(name, property);
  }
}

function restore(): void {
  for (const [name, property] of hidden) {
    // Keeps globals that the test has defined meanwhile.
    if (!Object.hasOwn(globalThis, name)) Object.defineProperty(globalThis, name, property);
  }
  hidden.clear();
}

const traps: ProxyHandler<object> = {
  has(target, name) {
    if (running === 0 || !NAMES.has(name)) return Reflect.has(target, name);
    const globals = handlersGlobals(traps.has!);
    return globals === undefined ? hidden.has(name) : globals.has(name) || Object.hasOwn(REPLACED, name);
  },
  get(target, name, receiver) {
    if (running === 0 || !NAMES.has(name)) return Reflect.get(target, name, receiver) as unknown;
    const globals = handlersGlobals(traps.get!);
    if (globals === undefined) return valueOf(hidden.get(name));
    return globals.has(name) ? globals.get(name) : REPLACED[name as string];
  },
  set(target, name, value, receiver) {
    if (running === 0 || !NAMES.has(name)) return Reflect.set(target, name, value, receiver);
    const globals = handlersGlobals(traps.set!);
    if (globals !== undefined) globals.set(name, value);
    else setHidden(name, value);
    return true;
  },
};

/** Returns the globals defined by the handler that triggered `trap`; `undefined` if other code triggered it. */
function handlersGlobals(trap: Function): Map<PropertyKey, unknown> | undefined {
  const call = currentCall();
  return call === undefined || isPlatform(callerFile(trap)) ? undefined : call.globals;
}

function isPlatform(file: string): boolean {
  return PLATFORM_FILE.test(file) || file.startsWith(`${PACKAGE}dist/`);
}

/** Returns the file of the code that called `callee`, or an empty string. */
function callerFile(callee: Function): string {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const captured: { stack?: NodeJS.CallSite[] } = {};
  Error.prepareStackTrace = (_, frames) => frames;
  // Functions of the language, such as Array.prototype.filter, have frames without a file.
  Error.stackTraceLimit = 3;
  Error.captureStackTrace(captured, callee);
  const files = captured.stack?.map((frame) => frame.getFileName());
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return files?.find((file) => file != null) ?? "";
}

function valueOf(property: PropertyDescriptor | undefined): unknown {
  return property?.get === undefined ? property?.value : property.get.call(globalThis);
}

function setHidden(name: PropertyKey, value: unknown): void {
  const property = hidden.get(name);
  if (property?.set !== undefined) property.set.call(globalThis, value);
  else hidden.set(name, { configurable: true, enumerable: property?.enumerable ?? true, writable: true, value });
}
