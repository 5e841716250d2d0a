import type { ManifestConfigField, OAuth2ClientCredentials, ToolAnnotations, ToolkitConfig } from "./types.js";
import { inputSchema, outputSchema } from "./json-schema.js";

/** JSON, as far as types can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A toolkit's declaration as plain data, every default explicit: what `manifest.json` holds. */
export interface Manifest {
  id: string;
  name: string;
  description: string;
  icon: string;
  version: string;
  author?: string;
  tools: ManifestTool[];
  secrets: string[];
  egress: string[];
  scopes: string[];
  config: Record<string, ManifestField>;
  visibility: "private" | "shared";
  auth?: OAuth2ClientCredentials;
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

/** One setting of a manifest. */
export type ManifestField = Omit<ManifestConfigField, "required"> & { required: boolean };

/** Returns the manifest of a declaration that keeps every rule. */
export function manifestOf(config: ToolkitConfig): Manifest {
  const scopes = [...(config.scopes ?? [])];
  const mayIngest = scopes.includes("svc:ingest");
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    icon: config.icon,
    version: config.version,
    ...present("author", config.author),
    tools: config.tools.map((tool) => ({
      name: tool.name,
      ...present("title", tool.title),
      description: tool.description,
      inputSchema: inputSchema(tool.input),
      ...present("outputSchema", tool.output && outputSchema(tool.output)),
      annotations: resolveAnnotations(tool.annotations ?? {}, tool.mutating ?? false, mayIngest),
      mutating: tool.mutating ?? false,
      alwaysOn: tool.alwaysOn ?? false,
    })),
    secrets: [...(config.secrets ?? [])],
    egress: [...(config.egress ?? [])],
    scopes,
    config: Object.fromEntries(
      Object.entries(config.config ?? {})
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, field]) => [key, manifestField(field)]),
    ),
    visibility: config.visibility ?? "private",
    ...present("auth", config.auth && manifestAuth(config.auth)),
  };
}

/**
 * Fills in the defaults of the hints; one that the author set always stays. A tool is read-only unless
 * it is `mutating` or its toolkit may ingest. A read-only tool is neither destructive nor open-world by
 * default; for a write tool nothing is claimed.
 */
export function resolveAnnotations(own: ToolAnnotations, mutating: boolean, mayIngest: boolean): ToolAnnotations {
  const readOnlyHint = own.readOnlyHint ?? (!mutating && !mayIngest);
  const ofReadOnly = readOnlyHint ? false : undefined;
  return {
    readOnlyHint,
    ...present("destructiveHint", own.destructiveHint ?? ofReadOnly),
    ...present("idempotentHint", own.idempotentHint),
    ...present("openWorldHint", own.openWorldHint ?? ofReadOnly),
  };
}

/** Spells `manifest.json` as `kitbag toolkit build` does, byte for byte. */
export function spellManifest(manifest: Manifest): string {
  // The members of both schemas in order of their names; everything else as declared.
  const tools = manifest.tools.map((tool) => {
    const { inputSchema, outputSchema } = tool;
    const schemas = { inputSchema: sorted(inputSchema), ...present("outputSchema", outputSchema && sorted(outputSchema)) };
    return { ...tool, ...schemas };
  });
  return `${JSON.stringify({ ...manifest, tools }, null, 2)}\n`;
}

/** Orders the members of every object by name, as the host keeps JSON. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
  return Object.fromEntries(members.map(([key, inner]) => [key, sorted(inner)]));
}

/** Orders two texts by their code points, which is the order of their UTF-8. */
export function compareUtf8(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = (left[index] as string).codePointAt(0)! - (right[index] as string).codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function manifestField(field: ManifestConfigField): ManifestField {
  return {
    type: field.type,
    label: field.label,
    ...present("description", field.description),
    ...present("default", field.default),
    required: field.required ?? false,
    ...(field.options?.length ? { options: [...field.options] } : {}),
  };
}

function manifestAuth(auth: OAuth2ClientCredentials): OAuth2ClientCredentials {
  return {
    type: "oauth2_client_credentials",
    tokenUrl: auth.tokenUrl,
    clientIdSecret: auth.clientIdSecret,
    clientSecretSecret: auth.clientSecretSecret,
    ...present("scope", auth.scope),
    apiHost: auth.apiHost,
  };
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
