import type { Manifest, ManifestTool } from "../manifest.js";

/** The record `toolkit-definition`, as far as this side cares. */
export type WitToolkit = Record<string, unknown>;

/** Brings a manifest into the contract's types. */
export function describe(manifest: Manifest): WitToolkit {
  return {
    id: manifest.id,
    name: manifest.name,
    description: manifest.description,
    icon: manifest.icon,
    version: manifest.version,
    author: manifest.author,
    tools: manifest.tools.map(describeTool),
    secrets: manifest.secrets,
    egress: manifest.egress,
    scopes: manifest.scopes,
    config: Object.entries(manifest.config).map(([key, field]) => ({
      key,
      kind: field.type,
      label: field.label,
      description: field.description,
      defaultValue: field.default === undefined ? undefined : JSON.stringify(field.default),
      required: field.required,
      options: field.options ?? [],
    })),
    visibility: manifest.visibility,
    auth: manifest.auth,
  };
}

function describeTool(tool: ManifestTool): Record<string, unknown> {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: JSON.stringify(tool.inputSchema),
    outputSchema: tool.outputSchema === undefined ? undefined : JSON.stringify(tool.outputSchema),
    annotations: tool.annotations,
    mutating: tool.mutating,
    alwaysOn: tool.alwaysOn,
  };
}
