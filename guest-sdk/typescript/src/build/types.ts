// Type-checks the toolkit with the author's TypeScript compiler, if one is installed.
import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { BuildFailure } from "./failure.js";
import { findUpwards, locate, PACKAGE } from "./package.js";
import type { Reporter } from "./reporter.js";

/** Compiler options without a tsconfig.json: strict mode, as in a generated one. */
const DEFAULTS = {
  strict: true,
  module: "esnext",
  moduleResolution: "bundler",
  types: [],
  skipLibCheck: true,
  esModuleInterop: true,
  resolveJsonModule: true,
};
/** Declaration file of the sandbox's APIs. */
const SANDBOX_TYPES = join(PACKAGE, "dist/web.d.ts");

/** Returns the compiler options and files with the types of the sandbox. TypeScript before 5.7 lacks those of ES2024. */
function platformTypes(version: string): { options: object; files: string[] } {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < 5 || (major === 5 && minor < 7);
  if (!isOld) return { options: { target: "es2024", lib: ["es2024"] }, files: [SANDBOX_TYPES] };
  return { options: { target: "es2022", lib: ["es2023", "webworker", "webworker.iterable", "webworker.asynciterable"] }, files: [] };
}

/** Throws a `BuildFailure` with the compiler's messages if there are type errors. */
export async function checkTypes(entry: string, report: Reporter): Promise<void> {
  if (!/\.[mc]?tsx?$/.test(entry)) return;
  const root = dirname(entry);
  const compiler = locate("typescript/package.json", root);
  if (compiler === undefined) {
    return report.warning("types are not checked: TypeScript is not installed (npm install --save-dev typescript)");
  }
  const directory = await temporaryFolder(root);
  try {
    const project = join(directory, "tsconfig.json");
    const { bin, version } = createRequire(import.meta.url)(compiler) as { bin: { tsc: string }; version: string };
    const tsc = (...args: string[]) => run(join(dirname(compiler), bin.tsc), ["-p", project, ...args], root);
    const own = findUpwards("tsconfig.json", root);
    const write = (paths?: Paths) => writeFile(project, JSON.stringify(configuration(entry, version, own, paths)));
    await write();
    const missing = fallbacks(root);
    // Path mappings would replace the author's, which only the compiler can resolve.
    if (missing !== undefined) await write({ ...(own && ownPaths(await tsc("--showConfig"), dirname(own))), ...missing });
    await tsc("--pretty", "false");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Creates the folder for the check's configuration. The compiler resolves `types` relative to it. */
async function temporaryFolder(root: string): Promise<string> {
  const packages = findUpwards("node_modules", root);
  const inside = packages === undefined ? undefined : await mkdtemp(join(packages, ".kitbag-types-")).catch(() => undefined);
  return realpath(inside ?? (await mkdtemp(join(tmpdir(), "kitbag-types-"))));
}

type Paths = Record<string, string[]>;

/** Returns the configuration of the check. `own` is the author's tsconfig.json, if there is one. */
function configuration(entry: string, version: string, own: string | undefined, paths: Paths | undefined): object {
  const platform = own === undefined ? platformTypes(version) : undefined;
  return {
    extends: own,
    compilerOptions: {
      ...(platform && { ...DEFAULTS, ...platform.options }),
      noEmit: true,
      composite: false,
      incremental: false,
      paths,
    },
    files: [entry, ...(platform?.files ?? [])],
    include: [],
  };
}

/** Returns the `paths` of a configuration that the compiler has printed, with absolute targets. */
function ownPaths(shown: string, root: string): Paths {
  const { compilerOptions } = JSON.parse(shown) as { compilerOptions: { paths?: Paths } };
  const entries = Object.entries(compilerOptions.paths ?? {});
  return Object.fromEntries(entries.map(([name, targets]) => [name, targets.map((target) => resolve(root, target))]));
}

/** Returns path mappings to this SDK and its zod, for whichever of them the author has not installed. */
function fallbacks(root: string): Paths | undefined {
  const paths: Paths = {};
  const from = createRequire(`${root}/_`);
  const missing = (name: string) => {
    try {
      from.resolve(name);
      return false;
    } catch {
      return true;
    }
  };
  if (missing("kitbag/extend/toolkit")) {
    paths["kitbag/extend/toolkit"] = [join(PACKAGE, "dist/toolkit.d.ts")];
    paths["kitbag/extend/openapi"] = [join(PACKAGE, "dist/openapi/request.d.ts")];
  }
  if (missing("zod")) {
    const library = locate("zod/package.json", PACKAGE);
    if (library !== undefined) {
      paths.zod = [dirname(library)];
      paths["zod/*"] = [join(dirname(library), "*")];
    }
  }
  return Object.keys(paths).length === 0 ? undefined : paths;
}

/** Runs the compiler, and returns what it prints. */
function run(compiler: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [compiler, ...args], { cwd, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const output = `${stdout}${stderr}`.trimEnd();
      reject(new BuildFailure("types", output === "" ? `the compiler failed: ${error.message}` : `the types are wrong:\n${output}`));
    });
  });
}
