// Generates the source of zod schemas and tools.
import { childrenOf, sizeOf, type Shape } from "./shape.js";
import type { Binding, BodyPlan, Tool } from "./tools.js";
import { identifier, key, literal, Names, oneLine, pascalCase } from "./words.js";

const WIDTH = 120;
/** Minimum size of a repeated type that becomes a constant, in types. */
const MIN_SHARED_TYPES = 3;

/** Source of tools, and the functions that it imports. */
export interface ToolsSource {
  /** Source of constants and tools. */
  text: string;
  /** Imported functions of `kitbag/extend/openapi`. */
  writers: string[];
}

/** Returns the source of tools. Repeated types become constants. */
export function toolsSource(tools: Tool[]): ToolsSource {
  const shared = sharedShapes(tools);
  const constants = [...shared].map(([text, name]) => `const ${name} = ${constantSource(text, shared)};`);
  const writers = new Set<string>();
  const sources = tools.map((tool) => toolSource(tool, shared, writers));
  return { text: [...constants, ...sources].join("\n\n"), writers: [...writers].sort() };
}

type Shared = ReadonlyMap<string, string>;

/** Finds the named types that are used more than once. Inner types come first. */
function sharedShapes(tools: Tool[]): Shared {
  const counts = new Map<string, number>();
  const order: { key: string; name: string }[] = [];
  const visit = (shape: Shape): void => {
    const isCandidate = shape.name !== undefined && sizeOf(shape) >= MIN_SHARED_TYPES;
    const text = isCandidate ? shapeKey(shape) : "";
    const count = counts.get(text) ?? 0;
    if (isCandidate) counts.set(text, count + 1);
    // The inner types of a repeated type are already counted.
    if (isCandidate && count > 0) return;
    childrenOf(shape).forEach(visit);
    if (isCandidate) order.push({ key: text, name: pascalCase(shape.name!) });
  };
  for (const tool of tools) {
    tool.input.members.forEach((it) => visit(it.shape));
    if (tool.output !== undefined) visit(tool.output);
  }
  const names = new Names();
  for (const tool of tools) names.take(tool.constant);
  const shared = new Map<string, string>();
  for (const { key: text, name } of order) {
    if ((counts.get(text) ?? 0) < 2) continue;
    const started = /^[A-Za-z]/.test(name) ? name : `Type${name}`;
    shared.set(text, names.take(Object.hasOwn(globalThis, started) ? `${started}Type` : started));
  }
  return shared;
}

/** Returns a key that is equal for equal types. It ignores descriptions, examples, and whether the use is nullable. */
function shapeKey({ description: _, nullable: __, ...shape }: Shape): string {
  return JSON.stringify(shape, (name, value: unknown) => (name === "example" ? undefined : value));
}

/** Returns the source of a shared type's constant, without a reference to itself. */
function constantSource(text: string, shared: Shared): string {
  return baseSource(JSON.parse(text) as Shape, 0, shared);
}

/** Returns the source of a zod schema, for a line with this indentation level. */
export function schemaSource(shape: Shape, level: number, shared: Shared = new Map(), suffix = ""): string {
  const base = sharedName(shape, shared) ?? baseSource(shape, level, shared);
  const nullable = shape.nullable === true ? ".nullable()" : "";
  const description = shape.description === undefined ? "" : `.describe(${literal(shape.description)})`;
  // The description comes last, so that it applies to the member.
  return base + nullable + suffix + description;
}

function sharedName(shape: Shape, shared: Shared): string | undefined {
  return shape.name === undefined ? undefined : shared.get(shapeKey(shape));
}

function baseSource(shape: Shape, level: number, shared: Shared): string {
  const inner = (it: Shape, deeper = 0) => schemaSource(it, level + deeper, shared);
  switch (shape.kind) {
    case "unknown":
      return "z.unknown()";
    case "boolean":
      return "z.boolean()";
    case "null":
      return "z.null()";
    case "string":
      return stringSource(shape);
    case "number":
      return (
        `z.number()${shape.int ? ".int()" : ""}` +
        call("min", shape.min) + call("max", shape.max) + call("gt", shape.above) + call("lt", shape.below) + call("multipleOf", shape.step)
      );
    case "enum": {
      const values = shape.values.map((it) => (typeof it === "string" ? literal(it) : String(it)));
      if (values.length === 1) return `z.literal(${values[0]})`;
      return `${shape.values.every((it) => typeof it === "string") ? "z.enum" : "z.literal"}(${listSource(values, level)})`;
    }
    case "array":
      return `z.array(${inner(shape.items)})${call("min", shape.min)}${call("max", shape.max)}`;
    case "record":
      return `z.record(z.string(), ${inner(shape.values)})`;
    case "object": {
      const members = shape.members.map(({ name, required, shape: it }) => `${key(name)}: ${schemaSource(it, level + 1, shared, required ? "" : ".optional()")}`);
      const text = members.length === 0 ? "{}" : `{\n${members.map((it) => `${indent(level + 1)}${it},\n`).join("")}${indent(level)}}`;
      const maker = shape.rest === "strict" ? "z.strictObject" : shape.rest === "loose" ? "z.looseObject" : "z.object";
      return `${maker}(${text})${typeof shape.rest === "object" ? `.catchall(${inner(shape.rest)})` : ""}`;
    }
    case "union": {
      const options = listSource(shape.options.map((it) => inner(it, 1)), level);
      return shape.discriminator === undefined ? `z.union(${options})` : `z.discriminatedUnion(${literal(shape.discriminator)}, ${options})`;
    }
    case "both":
      return `z.intersection(${inner(shape.left)}, ${inner(shape.right)})`;
  }
}

function stringSource(shape: Shape & { kind: "string" }): string {
  const formats = { date: "z.iso.date()", "date-time": "z.iso.datetime({ offset: true })", uuid: "z.guid()", email: "z.email()", base64: "z.base64()" };
  if (shape.format !== undefined) return formats[shape.format];
  const pattern = shape.pattern === undefined ? "" : `.regex(${patternSource(shape.pattern)})`;
  return `z.string()${call("min", shape.min)}${call("max", shape.max)}${pattern}`;
}

function patternSource(pattern: string): string {
  const source = String(new RegExp(pattern, "u"));
  return /^[\x20-\x7e]+$/.test(source) ? source : `new RegExp(${literal(pattern)}, "u")`;
}

function call(method: string, value: number | undefined): string {
  return value === undefined ? "" : `.${method}(${String(value)})`;
}

function listSource(items: string[], level: number): string {
  const line = `[${items.join(", ")}]`;
  if (line.length + level * 2 < WIDTH - 20 && !line.includes("\n")) return line;
  return `[\n${items.map((it) => `${indent(level + 1)}${it},\n`).join("")}${indent(level)}]`;
}

function toolSource(tool: Tool, shared: Shared, writers: Set<string>): string {
  const lines = [
    `name: ${literal(tool.name)},`,
    ...(tool.title === undefined ? [] : [`title: ${literal(tool.title)},`]),
    `description: ${literal(tool.description)},`,
    `input: ${schemaSource(tool.input, 1, shared)},`,
    ...(tool.output === undefined ? [] : [`output: ${schemaSource(withoutDescription(tool.output), 1, shared)},`]),
    ...(tool.operation.method === "GET" ? [] : ["mutating: true,"]),
    `annotations: { ${Object.entries(tool.hints).map(([name, value]) => `${name}: ${value}`).join(", ")} },`,
    `handler: ${handlerSource(tool, writers)},`,
  ];
  return `export const ${tool.constant} = tool({\n${lines.map((line) => `  ${line}\n`).join("")}});`;
}

function withoutDescription({ description: _, ...shape }: Shape): Shape {
  return shape as Shape;
}

function handlerSource(tool: Tool, writers: Set<string>): string {
  const { operation, body } = tool;
  const locals = localsOf(tool);
  const entry = ({ argument, name, writer, contentType }: Binding): string => {
    const local = locals.get(argument)!;
    if (writer !== undefined) writers.add(writer);
    const value =
      writer === "file"
        ? `file(${[local, literal(name), ...(contentType === undefined ? [] : [literal(contentType)])].join(", ")})`
        : writer === undefined
          ? local
          : `${writer}(${local})`;
    return value === key(name) ? value : `${key(name)}: ${value}`;
  };
  const sections: string[] = [];
  const section = (name: string, bindings: Binding[]) => {
    if (bindings.length > 0) sections.push(`${name}: ${recordSource(bindings.map(entry), 3)}`);
  };
  if (tool.server !== undefined) sections.push(`server: ${literal(tool.server)}`);
  section("path", tool.path);
  section("query", tool.query);
  section("headers", tool.headers);
  const rest = body === undefined ? undefined : restOf(body);
  if (body !== undefined) sections.push(...bodySource(body, rest, entry, locals, writers));

  const plain = [...tool.path, ...tool.query, ...tool.headers, ...(body !== undefined && "length" in body.members ? body.members.filter((it) => !isPlain(it)) : [])];
  const whole = body !== undefined && !("length" in body.members) ? [body.members.whole] : [];
  const names = [...plain.map((it) => it.argument), ...whole].map((it) => (locals.get(it) === it ? it : `${key(it)}: ${locals.get(it)}`));
  const parameters = [...names, ...(rest === undefined ? [] : [`...${rest}`])];
  const pattern = parameters.length === 0 ? "_args" : parameters.length === 1 && rest !== undefined ? rest : recordSource(parameters, 1);
  const target = literal(`${operation.method} ${operation.path}`);
  const call = sections.length === 0 ? `request(ctx, ${target})` : `request(ctx, ${target}, { ${sections.join(", ")} })`;
  const head = `(${pattern}, ctx) =>`;
  const line = `${head} ${call}`;
  if (!line.includes("\n") && line.length < WIDTH - 12) return line;
  return `${head}\n    request(ctx, ${target}, {\n${sections.map((it) => `      ${it},\n`).join("")}    })`;
}

/** Returns the variable name for each argument. */
function localsOf(tool: Tool): Map<string, string> {
  const names = new Names();
  return new Map(tool.input.members.map(({ name }) => [name, names.take(identifier(name))]));
}

/** Whether a body's member has the name and the value of its argument, so that it is passed on unchanged. */
function isPlain({ argument, name, writer }: Binding): boolean {
  return argument === name && writer === undefined;
}

function restOf({ kind, members }: BodyPlan): string | undefined {
  if (!("length" in members) || !members.some(isPlain)) return undefined;
  return kind === "form" || kind === "multipart" ? kind : "json";
}

function bodySource(body: BodyPlan, rest: string | undefined, entry: (it: Binding) => string, locals: Map<string, string>, writers: Set<string>): string[] {
  const option = { json: "json", form: "form", multipart: "multipart", text: "text", binary: "base64" }[body.kind];
  const usual = { json: "application/json", form: "application/x-www-form-urlencoded", multipart: "multipart/form-data", text: "text/plain", binary: "application/octet-stream" };
  const type = body.mediaType === usual[body.kind] ? [] : [`contentType: ${literal(body.mediaType)}`];
  if (!("length" in body.members)) {
    const local = locals.get(body.members.whole)!;
    return [local === option ? option : `${option}: ${local}`, ...type];
  }
  const others = body.members.filter((it) => !isPlain(it)).map(entry);
  const members = rest === undefined ? recordSource(others, 3) : others.length === 0 ? rest : recordSource([`...${rest}`, ...others], 3);
  if (!body.isOptional) return [members === option ? option : `${option}: ${members}`, ...type];
  writers.add("given");
  return [`${option}: given(${members})`, ...type];
}

/** Returns an object literal or pattern. */
function recordSource(entries: string[], level: number): string {
  const line = `{ ${entries.join(", ")} }`;
  if (line.length + level * 2 < WIDTH - 12) return line;
  const lines: string[] = [];
  for (const it of entries) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + it.length + level * 2 < WIDTH - 10) lines[lines.length - 1] = `${last} ${it},`;
    else lines.push(`${it},`);
  }
  // A rest element of a pattern has no comma after it.
  const body = lines.map((it) => `${indent(level + 1)}${it}\n`).join("");
  const isPattern = entries.at(-1)!.startsWith("...");
  return `{\n${isPattern ? body.replace(/,\n$/, "\n") : body}${indent(level)}}`;
}

function indent(level: number): string {
  return "  ".repeat(level);
}

/** Returns a one-line comment. */
export function comment(text: string): string {
  return `// ${oneLine(text)}`;
}
