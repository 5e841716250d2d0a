// WebAssembly modules of this package. A published package contains them; a checkout builds them on first use.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PACKAGE = new URL("../", import.meta.url);
const CHECKOUT = new URL("../../", PACKAGE);

/** Recipe in the checkout's justfile that builds each module. */
const RECIPES: Record<string, string> = {
  "rules.wasm": "build-rules",
  "engine.wasm": "build-engine",
  "engine-full.wasm": "build-engine",
  "componentizer.wasm": "build-engine",
};

/** Reads a module of the package. Builds it if a checkout lacks it, with a message on standard error. */
export function readModule(name: string): Uint8Array<ArrayBuffer> {
  makeMissing(name);
  const file = new URL(name, PACKAGE);
  try {
    return new Uint8Array(readFileSync(file));
  } catch (cause) {
    throw new Error(`${name} is missing in the package kitbag: install the package again`, { cause });
  }
}

/**
 * Builds those of these modules that a checkout lacks. For what a thread reads, before it starts: threads of a build have
 * an empty environment and a time limit.
 */
export function makeMissing(...names: string[]): void {
  const isInCheckout = existsSync(new URL("guest-sdk/typescript/engine/Cargo.toml", CHECKOUT));
  if (!isInCheckout) return;
  for (const name of names) {
    const recipe = RECIPES[name];
    if (recipe !== undefined && !existsSync(new URL(name, PACKAGE))) make(name, recipe);
  }
}

function make(name: string, recipe: string): void {
  const command = ["npx", "-y", "rust-just", recipe] as const;
  console.error(`kitbag: making ${name}, which this checkout does not have yet; that takes some minutes, once`);
  const { status, error } = spawnSync(command[0], command.slice(1), { cwd: fileURLToPath(CHECKOUT), stdio: ["ignore", 2, 2] });
  if (status !== 0) {
    throw new Error(`${name} cannot be made: \`${command.join(" ")}\` in ${fileURLToPath(CHECKOUT)} says why`, { cause: error });
  }
}
