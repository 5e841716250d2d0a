// Runs the bundle in the engine, in Node.js. The resulting memory of the engine becomes the initial memory of
// every instance. engine/src/sandbox/exports.rs and componentizer/src/exports.rs document the exports of the
// two modules.

import { readModule } from "../checkout.js";

/** Exports of a WebAssembly module that receives data through its memory. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize?(): void;
  allocate(length: number): number;
}

interface Engine extends Exports {
  compile(...bundle: number[]): bigint;
  reserve(bytes: number): void;
  start(...bytecodeAndManifestAndSurvivors: number[]): bigint;
}

interface Componentizer extends Exports {
  componentize(...engineAndMemoryAndGranted: number[]): bigint;
}

/** The bundle's top level failed. The message is the exception, with its stack in lines of the bundle. */
export class StartFailure extends Error {}

/** File name of the module that makes components, in this package. */
export const COMPONENTIZER = "componentizer.wasm";

/** First byte of a successful result; otherwise an error message follows. */
const STATUS_OK = 0;

/** The parts of a component. */
export interface Parts {
  /** File name of the engine variant in this package. */
  engine: string;
  /** Source of the JavaScript module. */
  bundle: string;
  /** Text of the manifest. */
  text: string;
}

/** The arguments of `componentize`. */
export interface ComponentizeRequest extends Parts {
  /** Interfaces that the component may import, without versions. */
  granted: readonly string[];
}

/** A component, and the memory that each call starts with. */
export interface Made {
  component: Uint8Array;
  /** Initial memory of a call, in bytes. */
  memory: number;
}

/** Makes a component; calls `print` with each log entry that the bundle prints. */
export async function componentize({ engine: variant, bundle, text, granted }: ComponentizeRequest, print: (line: string) => void): Promise<Made> {
  const engine = readModule(variant);
  const module = await WebAssembly.compile(engine);
  const memory = await memoryAfterStart(module, bundle, text, print);

  const names = grantedImports(module, granted).join("\n");
  const componentizer = await instantiate<Componentizer>(await WebAssembly.compile(readModule(COMPONENTIZER)));
  const location = componentizer.componentize(...copyIn(componentizer, engine, memory, encoded(names)));
  return { component: resultOf(componentizer, location, Error).slice(), memory: memory.length };
}

/**
 * Returns the granted interfaces with the versions that the engine imports. Of two versions it returns the
 * newer one, which the engine's own code uses; the older one belongs to Rust's standard library, which the
 * engine does not print with.
 */
function grantedImports(module: WebAssembly.Module, granted: readonly string[]): string[] {
  const interfaces = WebAssembly.Module.imports(module).map((it) => it.module);
  interfaces.sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const newest = new Map(interfaces.map((name) => [name.split("@")[0]!, name]));
  return granted.flatMap((name) => newest.get(name) ?? []);
}

/**
 * Runs the top level of the bundle, and returns the engine's memory afterwards. It runs twice: the first run finds
 * which allocations remain at the end ("survivors"), and the second run places them next to each other.
 */
async function memoryAfterStart(module: WebAssembly.Module, bundle: string, manifest: string, print: (line: string) => void): Promise<Uint8Array> {
  // Compiling leaves data in memory that calls do not need, so the bytecode runs in other instances.
  const compiler = await instantiate<Engine>(module);
  const bytecode = resultOf(compiler, catchingTraps(() => compiler.compile(...copyIn(compiler, encoded(bundle)))), StartFailure).slice();
  const start = (engine: Engine, survivors: Uint8Array) =>
    resultOf(engine, catchingTraps(() => engine.start(...copyIn(engine, bytecode, encoded(manifest), survivors))), StartFailure).slice();

  const first: Engine = await instantiate<Engine>(module, (list, length) => print(logEntryText(first, list, length)));
  const survivors = start(first, new Uint8Array());
  if (survivors.length > 0) {
    const second = await instantiate<Engine>(module, () => {});
    second.reserve(littleEndianU32(survivors.subarray(4)));
    const end = lengthOfSnapshot(() => start(second, survivors));
    if (end !== undefined) return new Uint8Array(second.memory.buffer, 0, end);
  }
  return new Uint8Array(first.memory.buffer);
}

/**
 * Returns the second run's answer: the length of the snapshot; `undefined` if the run differed from the first. After a
 * difference its behaviour is undefined, so every failure counts as one.
 */
function lengthOfSnapshot(start: () => Uint8Array): number | undefined {
  try {
    const end = start();
    return end.length > 0 ? littleEndianU32(end) : undefined;
  } catch (error) {
    if (error instanceof StartFailure) return undefined;
    throw error;
  }
}

function littleEndianU32(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
}

/**
 * Turns a trap or a stack overflow of the engine into a `StartFailure`: the bundle causes it, for example by
 * recursion in the engine's parser.
 */
function catchingTraps<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw new StartFailure(`the engine gave up: ${error.message}`);
    throw error;
  }
}

/** Creates an instance whose only working import is the log. */
async function instantiate<E extends Exports>(module: WebAssembly.Module, log?: (list: number, length: number) => void): Promise<E> {
  const imports: Record<string, Record<string, Function>> = {};
  const emptyList = (place: number) => new Uint32Array(exports.memory.buffer, place >>> 0, 2).fill(0);
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] =
      name === "write" && log !== undefined && from.startsWith("kitbag:toolkit/log@") ? log
      // The seed of hash tables: the function writes nothing, so the seed is the current content of the memory.
      : name === "insecure-seed" ? () => {}
      : name === "get-environment" ? emptyList
      : () => {
          throw new Error(`${from}#${name} is asked for while a component is made`);
        };
  }
  const exports = (await WebAssembly.instantiate(module, imports as WebAssembly.Imports)).exports as unknown as E;
  exports._initialize?.();
  return exports;
}

/**
 * Copies data into an instance's memory; returns the address and length of each piece, as arguments for an
 * export.
 */
function copyIn(instance: Exports, ...pieces: Uint8Array[]): number[] {
  return pieces.flatMap((piece) => {
    const address = instance.allocate(piece.length) >>> 0;
    new Uint8Array(instance.memory.buffer, address, piece.length).set(piece);
    return [address, piece.length];
  });
}

/**
 * Returns the result of an export; throws `Failure` if it is an error. The export returns the result's
 * address in the upper 32 bits and its length in the lower ones.
 */
function resultOf({ memory }: Exports, location: bigint, Failure: new (message: string) => Error): Uint8Array {
  const [address, length] = [Number(BigInt.asUintN(64, location) >> 32n), Number(BigInt.asUintN(32, location))];
  const result = new Uint8Array(memory.buffer, address, length);
  if (result[0] !== STATUS_OK) throw new Failure(decoded(result.subarray(1)));
  return result.subarray(1);
}

/** Returns the text of a log entry: a list of strings, each an address and a length. */
function logEntryText({ memory }: Exports, list: number, length: number): string {
  const words = new Uint32Array(memory.buffer, list >>> 0, 2 * length);
  return Array.from({ length }, (_, index) => decoded(new Uint8Array(memory.buffer, words[2 * index]!, words[2 * index + 1]!))).join(" ");
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
