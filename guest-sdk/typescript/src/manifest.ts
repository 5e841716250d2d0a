import type { ManifestConfigField, ToolAnnotations, ToolkitAuth } from "./types.js";

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A toolkit's declaration as plain data with all defaults filled in: the content of `manifest.json`. */
export interface Manifest {
  /** Version of Kitbag that the declaration was written for. */
  kitbag: string;
  id: string;
  name: string;
  description: string;
  icon: string;
  version: string;
  author?: string;
  tools: ManifestTool[];
  prompts?: ManifestPrompt[];
  resources?: ManifestResource[];
  secrets: string[];
  egress: string[];
  scopes: string[];
  config: Record<string, ManifestField>;
  visibility: "private" | "shared";
  auth?: ToolkitAuth | ToolkitAuth[];
}

/** One tool of a manifest. */
export interface ManifestTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: Json;
  outputSchema?: Json;
  annotations: ToolAnnotations;
  mutating: boolean;
  alwaysOn: boolean;
}

/** One prompt of a manifest. */
export interface ManifestPrompt {
  name: string;
  title?: string;
  description: string;
  arguments?: ({ title?: string; description?: string; required: boolean } & ManifestProposals)[];
}

/** One resource of a manifest. */
export interface ManifestResource {
  name: string;
  title?: string;
  description: string;
  uri: string;
  mediaType?: string;
  variables?: ManifestProposals[];
}

/** Completion of an argument or a variable: fixed values, or a handler. */
export interface ManifestProposals {
  name: string;
  values?: string[];
  completes: boolean;
}

/** One setting of a manifest. */
export type ManifestField = Omit<ManifestConfigField, "required"> & { required: boolean };
