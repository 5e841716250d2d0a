// The engine runs the bundle here, in Node.js; what its memory holds then is what every instance begins with.
// The exports of both modules are described in engine/src/sandbox/exports.rs and componentizer/src/exports.rs.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { PACKAGE } from "./package.js";

/** A module that is handed memory. */
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

/** Why a bundle does not start: what was thrown, with its stack in the bundle. */
export class StartFailure extends Error {}

/** The first byte of an answer, unless it says why there is none. */
const MADE = 0;

/** What a component is made of. */
export interface Parts {
  /** The variant of the engine: a file of this package. */
  engine: string;
  /** A module of JavaScript. */
  bundle: string;
  /** The manifest's text. */
  text: string;
}

/** What to make. */
export interface Order extends Parts {
  /** Interfaces, without their versions. */
  granted: readonly string[];
}

/** Makes a component; `print` hears what the bundle prints. */
export async function componentize({ engine: variant, bundle, text, granted }: Order, print: (line: string) => void): Promise<Uint8Array> {
  const engine = await readFile(join(PACKAGE, variant));
  const module = await WebAssembly.compile(engine);
  const memory = await started(module, bundle, text, print);

  const names = imported(module, granted).join("\n");
  const maker = await instantiate<Componentizer>(await WebAssembly.compile(await readFile(join(PACKAGE, "componentizer.wasm"))));
  return answerOf(maker, maker.componentize(...handed(maker, engine, memory, encoded(names))), Error).slice();
}

/**
 * Returns the granted interfaces as the engine imports them, with their versions: of two versions the newer, which is
 * the engine's own. The older one belongs to the standard library of Rust, which the engine does not print with.
 */
function imported(module: WebAssembly.Module, granted: readonly string[]): string[] {
  const interfaces = WebAssembly.Module.imports(module).map((it) => it.module);
  interfaces.sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const newest = new Map(interfaces.map((name) => [name.split("@")[0]!, name]));
  return granted.flatMap((name) => newest.get(name) ?? []);
}

/**
 * Runs the bundle, and returns what the engine's memory holds then. It is run twice: the first time shows which
 * allocations are still there at the end, and the second time those are laid together.
 */
async function started(module: WebAssembly.Module, bundle: string, manifest: string, print: (line: string) => void): Promise<Uint8Array> {
  // Compiling leaves much in memory that no call needs: another instance runs what this one compiled.
  const compiler = await instantiate<Engine>(module);
  const bytecode = answerOf(compiler, surviving(() => compiler.compile(...handed(compiler, encoded(bundle)))), StartFailure).slice();
  const start = (engine: Engine, survivors: Uint8Array) =>
    answerOf(engine, surviving(() => engine.start(...handed(engine, bytecode, encoded(manifest), survivors))), StartFailure).slice();

  const first: Engine = await instantiate<Engine>(module, (list, length) => print(printed(first, list, length)));
  const survivors = start(first, new Uint8Array());
  if (survivors.length > 0) {
    const second = await instantiate<Engine>(module, () => {});
    second.reserve(number(survivors.subarray(4)));
    const end = start(second, survivors);
    if (end.length > 0) return new Uint8Array(second.memory.buffer, 0, number(end));
  }
  return new Uint8Array(first.memory.buffer);
}

/** Four bytes, little-endian. */
function number(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
}

/** What ends the engine itself is the bundle's doing, such as recursion in its own parser. */
function surviving<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw new StartFailure(`the engine gave up: ${error.message}`);
    throw error;
  }
}

/** Makes an instance that reaches nothing but the log. */
async function instantiate<E extends Exports>(module: WebAssembly.Module, log?: (list: number, length: number) => void): Promise<E> {
  const imports: Record<string, Record<string, Function>> = {};
  const emptyList = (place: number) => new Uint32Array(exports.memory.buffer, place >>> 0, 2).fill(0);
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] =
      name === "write" && log !== undefined && from.startsWith("kitbag:toolkit/log@") ? log
      // What tables of hashes begin with: whatever stands in memory will do.
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

/** Copies each piece into an instance's memory; returns addresses and lengths as its functions take them. */
function handed(instance: Exports, ...pieces: Uint8Array[]): number[] {
  return pieces.flatMap((piece) => {
    const address = instance.allocate(piece.length) >>> 0;
    new Uint8Array(instance.memory.buffer, address, piece.length).set(piece);
    return [address, piece.length];
  });
}

/** What a function answers, where it says: the address is in the upper half, the length in the lower one. */
function answerOf({ memory }: Exports, place: bigint, Failure: new (why: string) => Error): Uint8Array {
  const [address, length] = [Number(BigInt.asUintN(64, place) >> 32n), Number(BigInt.asUintN(32, place))];
  const answer = new Uint8Array(memory.buffer, address, length);
  if (answer[0] !== MADE) throw new Failure(decoded(answer.subarray(1)));
  return answer.subarray(1);
}

/** An entry of the log: a list of strings, each an address and a length. */
function printed({ memory }: Exports, list: number, length: number): string {
  const words = new Uint32Array(memory.buffer, list >>> 0, 2 * length);
  return Array.from({ length }, (_, index) => decoded(new Uint8Array(memory.buffer, words[2 * index]!, words[2 * index + 1]!))).join(" ");
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
