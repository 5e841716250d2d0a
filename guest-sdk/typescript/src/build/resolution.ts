// Resolution of imports in builds, under `kitbag dev` and in tests.
import type { BuildOptions } from "esbuild";

/**
 * esbuild's options for resolution: the conditions of a package's `exports`, and the fields of its package.json in
 * order. docs/authoring.md lists them. The `browser` field of packages applies, as in bundles for the Web.
 */
export const RESOLUTION = {
  platform: "browser",
  conditions: ["worker", "browser", "import"],
  mainFields: ["browser", "module", "main"],
} satisfies BuildOptions;
