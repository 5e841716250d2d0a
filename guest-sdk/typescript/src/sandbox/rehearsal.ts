// First import of a rehearsal, a run of the toolkit's modules as at the beginning of a call. Time, randomness and timers
// have substitutes, and each use is recorded. Nothing of a rehearsal becomes part of a component.

/** Prefix of the error message that ends a rehearsal; the recorded uses follow as JSON. */
export const REHEARSED = "kitbag rehearsal: ";

/** Use of an operation that is allowed in calls only. */
export interface Use {
  /** Description of the operation, such as "asks for the time". */
  action: string;
  /** Stack in lines of the bundle. */
  stack: string;
}

/** Maximum number of different uses recorded. */
const MAX_USES = 500;

const uses = new Map<string, Use>();
let clock = 0;
let seed = 1;

/** Ends the rehearsal: throws an error with the recorded uses. */
export function endRehearsal(_call: unknown): never {
  throw new Error(REHEARSED + JSON.stringify([...uses.values()]));
}

function record(action: string): void {
  if (uses.size >= MAX_USES) return;
  const stack = new Error().stack ?? "";
  uses.set(action + stack, { action, stack });
}

/** Returns a time that advances with each use: loops may wait for it. */
function now(): number {
  record("asks for the time");
  return (clock += 1);
}

/** Returns a number that differs with each use: loops may wait for another value. */
function random(): number {
  record("asks for randomness");
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return seed / 2 ** 32;
}

const bytes = () => Math.floor(random() * 256);

function randomUUID(): string {
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, () => (bytes() & 15).toString(16));
}

function getRandomValues(array: ArrayBufferView): ArrayBufferView {
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).forEach((_, index, all) => (all[index] = bytes()));
  return array;
}

function timer(): number {
  record("sets a timer");
  return 1;
}

function replace(target: object, members: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(members)) Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

const OriginalDate = Date;
const SubstituteDate = new Proxy(OriginalDate, {
  apply: () => new OriginalDate(now()).toString(),
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
});
// A truncated stack might not include the code that started it.
Error.stackTraceLimit = 64;
replace(OriginalDate, { now });
replace(OriginalDate.prototype, { constructor: SubstituteDate });
replace(Math, { random });
replace(performance, { now });
replace(crypto, { getRandomValues, randomUUID });
replace(globalThis, { Date: SubstituteDate, setTimeout: timer, setInterval: timer });
