import { inputSchema, isSchema, outputSchema } from "../json-schema.js";
import type { Json } from "../manifest.js";
import { mismatch } from "../settings.js";
import type { Report } from "./problems.js";
import { versionProblem } from "./semver.js";

/** A document's source is the toolkit that brought it, or this. */
const USERS_OWN_SOURCE = "user";

/** MCP's bound on a tool's listed name, `{id}__{tool}`, in bytes. */
const MAX_LISTED_NAME = 128;

export function identity(config: Record<string, unknown>, report: Report): void {
  const id = report.text("id", config.id);
  if (id !== undefined && !/^[a-z0-9-]+$/.test(id)) report.add("id", "must match ^[a-z0-9-]+$");
  if (id === USERS_OWN_SOURCE) report.add("id", "is the source of what users keep themselves: choose another");
  report.notBlank("name", config.name);
  const description = report.notBlank("description", config.description);
  if (description !== undefined && /[\n\r]/.test(description)) report.add("description", "must be one line");
  const icon = report.text("icon", config.icon);
  if (icon !== undefined && !isIcon(icon)) {
    report.add("icon", "must be a single emoji or an https:// URL of a square picture");
  }
  const version = report.text("version", config.version);
  const problem = version === undefined ? undefined : versionProblem(version);
  if (problem !== undefined) report.add("version", `must be a semantic version such as 1.0.0 (${problem})`);
  if (config.author !== undefined) report.notBlank("author", config.author);
}

export function visibility(value: unknown, report: Report): void {
  if (value !== undefined && value !== "shared" && value !== "private") {
    report.add("visibility", 'must be "shared" or "private"');
  }
}

export function tools(value: unknown, id: unknown, report: Report): void {
  if (value === undefined) return report.add("tools", "is required");
  if (!Array.isArray(value)) return report.add("tools", "must be a list of tools");
  if (value.length === 0) report.add("tools", "must have at least one tool");
  const seen = new Set<unknown>();
  value.forEach((entry: unknown, index) => {
    const path = `tools[${index}]`;
    const declared = report.object(path, entry);
    if (declared === undefined) return;
    tool(path, typeof id === "string" ? id : "", declared, report);
    if (typeof declared.name === "string" && seen.has(declared.name)) {
      report.add(`${path}.name`, `${JSON.stringify(declared.name)} is the name of another tool too`);
    }
    seen.add(declared.name);
  });
}

const TOOL_FIELDS = [
  "name", "title", "description", "input", "output", "annotations", "mutating", "alwaysOn", "handler",
];
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

function tool(path: string, id: string, declared: Record<string, unknown>, report: Report): void {
  const name = report.text(`${path}.name`, declared.name);
  if (name !== undefined) {
    const listed = `${id}__${name}`;
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) report.add(`${path}.name`, "must match [a-zA-Z0-9_-]+");
    else if (new TextEncoder().encode(listed).length > MAX_LISTED_NAME) {
      report.add(`${path}.name`, `${listed} is longer than ${MAX_LISTED_NAME} characters`);
    }
  }
  if (declared.title !== undefined) report.notBlank(`${path}.title`, declared.title);
  report.notBlank(`${path}.description`, declared.description);
  schema(`${path}.input`, declared.input, inputSchema, report);
  if (declared.output !== undefined) schema(`${path}.output`, declared.output, outputSchema, report);
  if (declared.annotations !== undefined) {
    const hints = report.object(`${path}.annotations`, declared.annotations);
    for (const hint of HINTS) report.flag(`${path}.annotations.${hint}`, hints?.[hint]);
    if (hints !== undefined) report.unknown(`${path}.annotations.`, hints, HINTS);
  }
  report.flag(`${path}.mutating`, declared.mutating);
  report.flag(`${path}.alwaysOn`, declared.alwaysOn);
  if (typeof declared.handler !== "function") report.add(`${path}.handler`, "must be a function (args, ctx)");
  report.unknown(`${path}.`, declared, TOOL_FIELDS);
}

function schema(path: string, value: unknown, convert: (schema: never) => Json, report: Report): void {
  if (!isSchema(value)) {
    return report.add(path, value === undefined ? "is required" : "must be a schema made with z, such as z.object({})");
  }
  let json: Json;
  try {
    json = convert(value as never);
  } catch (error) {
    return report.add(path, `has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
  }
  const root = typeof json === "object" && json !== null && !Array.isArray(json) ? json.type : undefined;
  if (root !== "object") report.add(path, 'the root of the schema must have "type": "object"');
}

export function secrets(value: unknown, report: Report): string[] {
  const entries = report.texts("secrets", value);
  const seen = new Set<string>();
  for (const { path, text } of entries) {
    if (!isUpperSnakeCase(text)) report.add(path, `${JSON.stringify(text)} must be in UPPER_SNAKE_CASE`);
    if (seen.has(text)) report.add(path, `${JSON.stringify(text)} is listed twice`);
    seen.add(text);
  }
  return [...seen];
}

export function scopes(value: unknown, report: Report): void {
  const seen = new Set<string>();
  for (const { path, text } of report.texts("scopes", value)) {
    if (text !== "svc:search" && text !== "svc:ingest") {
      report.add(path, `${JSON.stringify(text)} is unknown; there are svc:search and svc:ingest`);
    }
    if (seen.has(text)) report.add(path, `${JSON.stringify(text)} is listed twice`);
    seen.add(text);
  }
}

const FIELD_FIELDS = ["type", "label", "description", "default", "required", "options"];
const KINDS = ["string", "number", "boolean", "select"] as const;

export function config(value: unknown, report: Report): void {
  if (value === undefined) return;
  const fields = report.object("config", value);
  for (const key of Object.keys(fields ?? {}).sort()) {
    const path = `config.${key}`;
    const field = report.object(path, fields![key]);
    if (field === undefined) continue;
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)) report.add(path, "the key must match ^[a-zA-Z_][a-zA-Z0-9_]*$");
    const kind = KINDS.find((it) => it === field.type);
    if (kind === undefined) report.add(`${path}.type`, `must be one of: ${KINDS.join(", ")}`);
    report.notBlank(`${path}.label`, field.label);
    if (field.description !== undefined) report.text(`${path}.description`, field.description);
    report.flag(`${path}.required`, field.required);
    const options = report.texts(`${path}.options`, field.options).map(({ text }) => text);
    if (kind !== undefined) {
      fieldOptions(`${path}.options`, kind, options, report);
      const message = field.default === undefined ? undefined : mismatch({ type: kind, options }, field.default);
      if (message !== undefined) report.add(`${path}.default`, message);
    }
    report.unknown(`${path}.`, field, FIELD_FIELDS);
  }
}

function fieldOptions(path: string, kind: string, options: string[], report: Report): void {
  if (kind !== "select") {
    if (options.length > 0) report.add(path, "only a select has options");
  } else if (options.length === 0) {
    report.add(path, "a select needs at least one option");
  } else if (new Set(options).size < options.length) {
    report.add(path, "an option is listed twice");
  }
}

function isUpperSnakeCase(name: string): boolean {
  return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(name);
}

function isIcon(icon: string): boolean {
  if (isEmoji(icon)) return true;
  try {
    const url = new URL(icon);
    return url.protocol === "https:" && url.hostname !== "";
  } catch {
    return false;
  }
}

/** Also one whose variation selector was left out, as many keyboards do. */
function isEmoji(text: string): boolean {
  // Not a literal: older targets of the compiler do not know the flag.
  const emoji = new RegExp("^\\p{RGI_Emoji}$", "v");
  const [first, ...rest] = Array.from(text);
  return first !== undefined && (emoji.test(text) || emoji.test(`${first}\uFE0F${rest.join("")}`));
}
