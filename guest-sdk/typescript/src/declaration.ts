// Converts the argument of `defineToolkit` to plain data. Only types are checked here, for authors who write
// JavaScript; the rules of declarations are checked in `rules.ts`.
import { inputSchema, isSchema, outputSchema } from "./json-schema.js";
import type { Json } from "./manifest.js";
import { DeclarationError, type Problem } from "./problems.js";
import type { ToolAnnotations, ToolkitAuth } from "./types.js";

/** A declaration as plain data. Fields that the author left out are absent. */
export interface Declaration {
  id: string;
  tools: { name: string; inputSchema: Json; outputSchema?: Json; annotations?: ToolAnnotations }[];
  auth?: ToolkitAuth | ToolkitAuth[];
  [field: string]: unknown;
}

/** Returns the value at `path` as plain data, and adds any problems with it to `problems`. */
type Reader = (value: unknown, path: string, problems: Problem[]) => unknown;

/** Converts a declaration; throws one `DeclarationError` that lists all values of a wrong type. */
export function declarationOf(config: unknown): Declaration {
  const problems: Problem[] = [];
  const declaration = TOOLKIT(config, "", problems) as Declaration;
  if (problems.length > 0) throw new DeclarationError((config as { id?: unknown } | null)?.id, problems);
  return declaration;
}

const text = typed("string", "must be a string");
const flag = optional(typed("boolean", "must be true or false"));
const texts = optional(list(text, "strings"));

const HINTS = object({ readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag });

const TOOL = object({
  name: text,
  title: optional(text),
  description: text,
  input: schema(inputSchema),
  output: optional(schema(outputSchema)),
  annotations: optional(HINTS),
  mutating: flag,
  alwaysOn: flag,
  handler: (value, path, problems) => {
    if (typeof value !== "function") problems.push({ path, message: "must be a function (args, ctx)" });
  },
});

const FUNCTION: Reader = (value, path, problems) => {
  if (typeof value !== "function") problems.push({ path, message: "must be a function" });
};
const PROPOSALS = { values: texts, complete: optional(FUNCTION) };
const ARGUMENT = object({ title: optional(text), description: optional(text), required: flag, ...PROPOSALS });
const PROMPT = object({ name: text, title: optional(text), description: text, arguments: optional(named(ARGUMENT)), handler: FUNCTION });
const RESOURCE = object({
  name: text,
  title: optional(text),
  description: text,
  uri: text,
  mimeType: optional(text),
  variables: optional(named(object(PROPOSALS))),
  handler: FUNCTION,
});

const FIELD = object({
  type: choice("must be one of: string, number, boolean, select", "string", "number", "boolean", "select"),
  label: text,
  description: optional(text),
  default: optional((value, path, problems) => {
    if (["string", "number", "boolean"].includes(typeof value)) return value;
    problems.push({ path, message: "must be a string, a number or a boolean" });
    return undefined;
  }),
  required: flag,
  options: texts,
});

/** The types of `auth`, each with its members. */
const AUTHS: { [type: string]: Reader } = {
  oauth2_client_credentials: object({
    type: text,
    tokenUrl: text,
    clientIdSecret: text,
    clientSecretSecret: text,
    scope: optional(text),
    apiHost: text,
  }),
  oauth2_authorization_code: object({
    type: text,
    authorizationUrl: text,
    tokenUrl: text,
    clientIdSecret: text,
    clientSecretSecret: optional(text),
    scope: optional(text),
    clientAuth: optional(choice('must be "basic" or "post"', "basic", "post")),
    authorizationParams: optional(record(text)),
    revocationUrl: optional(text),
    accountName: optional(object({ url: text, pointer: text })),
    apiHost: text,
  }),
  api_key: object({
    type: text,
    secret: text,
    in: optional(choice('must be "header" or "query"', "header", "query")),
    name: optional(text),
    prefix: optional(text),
    apiHost: text,
  }),
  basic: object({ type: text, usernameSecret: text, passwordSecret: text, apiHost: text }),
};

/** Reads one sign-in. If `type` is unknown, only `type` is checked. */
const AUTH: Reader = (value, path, problems) => {
  if (!isRecord(value)) return void problems.push({ path, message: "must be an object" });
  const { type } = value;
  if (typeof type === "string" && Object.hasOwn(AUTHS, type)) return AUTHS[type]!(value, path, problems);
  const message = type === undefined ? "is required" : `must be one of: ${Object.keys(AUTHS).join(", ")}`;
  return void problems.push({ path: `${path}.type`, message });
};

const TOOLKIT = object({
  id: text,
  name: text,
  description: text,
  icon: text,
  version: text,
  author: optional(text),
  tools: list((value, path, problems) => {
    const { input, output, ...tool } = (TOOL(value, path, problems) ?? {}) as { [field: string]: unknown };
    return { ...tool, inputSchema: input, ...(output !== undefined && { outputSchema: output }) };
  }, "tools"),
  prompts: optional(list(PROMPT, "prompts")),
  resources: optional(list((value, path, problems) => {
    const { mimeType, ...resource } = (RESOURCE(value, path, problems) ?? {}) as { [field: string]: unknown };
    return { ...resource, ...(mimeType !== undefined && { mediaType: mimeType }) };
  }, "resources")),
  secrets: texts,
  egress: texts,
  scopes: texts,
  config: optional((value, path, problems) => {
    if (!isRecord(value)) return void problems.push({ path, message: "must be an object" });
    const keys = Object.keys(value).sort();
    return Object.fromEntries(keys.map((key) => [key, FIELD(value[key], `${path}.${key}`, problems)]));
  }),
  visibility: optional(choice('must be "shared" or "private"', "shared", "private")),
  auth: optional((value, path, problems) => (Array.isArray(value) ? list(AUTH, "sign-ins") : AUTH)(value, path, problems)),
});

function typed(type: "string" | "boolean", expected: string): Reader {
  return (value, path, problems) => {
    if (typeof value === type) return value;
    problems.push({ path, message: value === undefined ? "is required" : expected });
    return undefined;
  };
}

function choice(expected: string, ...choices: string[]): Reader {
  return (value, path, problems) => {
    if (choices.includes(value as string)) return value;
    problems.push({ path, message: expected });
    return undefined;
  };
}

function optional(read: Reader): Reader {
  return (value, path, problems) => (value === undefined ? undefined : read(value, path, problems));
}

function list(read: Reader, what: string): Reader {
  return (value, path, problems) => {
    if (Array.isArray(value)) return value.map((entry: unknown, index) => read(entry, `${path}[${index}]`, problems));
    problems.push({ path, message: value === undefined ? "is required" : `must be a list of ${what}` });
    return undefined;
  };
}

/** Reads an object with any members of one type. */
function record(read: Reader): Reader {
  return (value, path, problems) => {
    if (!isRecord(value)) return void problems.push({ path, message: "must be an object" });
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, read(member, `${path}.${name}`, problems)]));
  };
}

/** Reads a record of arguments or variables as a list in the same order, each with its name. */
function named(read: Reader): Reader {
  return (value, path, problems) => {
    if (!isRecord(value)) return void problems.push({ path, message: "must be an object" });
    return Object.entries(value).map(([name, member]) => {
      const made = (read(member, `${path}.${name}`, problems) ?? {}) as { [field: string]: unknown };
      return { name, ...made, ...((member as { complete?: unknown } | null)?.complete !== undefined && { completes: true }) };
    });
  };
}

/** Reads an object with these members. Unknown members, usually misspelled ones, are problems too. */
function object(members: { [name: string]: Reader }): Reader {
  return (value, path, problems) => {
    if (!isRecord(value)) return void problems.push({ path: path || "(root)", message: "must be an object" });
    const at = (name: string) => [path, name].filter((part) => part !== "").join(".");
    const made = Object.entries(members).map(([name, read]) => [name, read(value[name], at(name), problems)]);
    for (const [name, given] of Object.entries(value)) {
      if (Object.hasOwn(members, name) || given === undefined) continue;
      problems.push({ path: at(name), message: `there is no such field; there are ${Object.keys(members).join(", ")}` });
    }
    return Object.fromEntries(made.filter(([, read]) => read !== undefined));
  };
}

function schema(convert: (schema: never) => Json): Reader {
  return (value, path, problems) => {
    if (!isSchema(value)) {
      const message = value === undefined ? "is required" : "must be a schema made with z, such as z.object({})";
      return void problems.push({ path, message });
    }
    try {
      return convert(value as never);
    } catch (error) {
      return void problems.push({ path, message: `has no JSON Schema: ${error instanceof Error ? error.message : String(error)}` });
    }
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
