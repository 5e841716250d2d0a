// Converts an operation to a tool: its arguments, and the location of each in the request.
import type { Node, OpenApiDocument } from "./document.js";
import { textAt } from "./json.js";
import type { Body, Encoding, Operation, Parameter } from "./operations.js";
import { CannotMake } from "./problem.js";
import { readShape, viewOf, type Widening } from "./schema.js";
import { sizeOf, type Member, type ObjectShape, type Shape } from "./shape.js";
import { identifier, isIdentifier, isInherited, Names, prose, snakeCase } from "./words.js";

/** Maximum number of types in the arguments of one tool. */
const MAX_ARGUMENT_TYPES = 500;
const MAX_TOOL_DESCRIPTION = 1000;
const MAX_TITLE = 80;
/** Maximum length of a property's name in model APIs. */
const MAX_ARGUMENT_NAME = 64;

/** Serialization of a value: the name of a function of `kitbag/extend/openapi`. */
export type Writer = "csv" | "spaced" | "piped" | "deep" | "jsonText" | "file";

/** Mapping of an argument to a name in the request. */
export interface Binding {
  /** Name of the argument in `input`. */
  argument: string;
  /** Name of the parameter, header or member in the request. */
  name: string;
  writer?: Writer | undefined;
  /** Media type of a file. */
  contentType?: string | undefined;
}

/** Construction of a request's body from arguments. */
export interface BodyPlan {
  kind: Body["kind"];
  mediaType: string;
  /** Arguments for the members of the body, or the one argument that is the whole body. */
  members: Binding[] | { whole: string };
  /** Whether no body is sent if no member has a value. */
  isOptional: boolean;
}

/** A tool to generate. */
export interface Tool {
  operation: Operation;
  /** Name of the tool. */
  name: string;
  /** Name of the constant in the generated code. */
  constant: string;
  title: string | undefined;
  description: string;
  input: ObjectShape;
  output: Shape | undefined;
  path: Binding[];
  query: Binding[];
  headers: Binding[];
  body: BodyPlan | undefined;
  hints: Record<string, boolean>;
  /** Base URL, if it differs from the document's. */
  server: string | undefined;
  /** Example response from the document. */
  answer: unknown;
  notes: string[];
}

/** Converts an operation to a tool with preliminary names. Throws `CannotMake`. */
export function makeTool(document: OpenApiDocument, operation: Operation): Tool {
  const widened = new Set<Widening>();
  const read = (node: Node) => {
    const made = readShape(document, node, "input");
    for (const it of made.widened) widened.add(it);
    return made.shape;
  };
  const names = new Names(MAX_ARGUMENT_NAME);
  const input: Member[] = [];
  const tool: Tool = {
    operation,
    name: nameOf(operation),
    constant: "",
    title: titleOf(operation),
    description: descriptionOf(operation),
    input: { kind: "object", members: input, rest: "strip" },
    output: outputOf(document, operation),
    path: [],
    query: [],
    headers: [],
    body: undefined,
    hints: hintsOf(operation.method),
    server: undefined,
    answer: operation.answer?.example,
    notes: operation.leftOut.map((reason) => `leaves out an optional parameter: ${reason}`),
  };
  // Path parameters first: the first place gets a name that several places use.
  const places = { path: tool.path, query: tool.query, header: tool.headers };
  for (const place of ["path", "query", "header"] as const) {
    for (const parameter of operation.parameters.filter((it) => it.in === place)) {
      try {
        const shape = described(read(parameter.schema), parameter);
        const writer = writerOf(parameter, shape, `the parameter ${JSON.stringify(parameter.name.slice(0, 100))}`);
        const argument = names.take(argumentName(parameter.name));
        places[place].push({ argument, name: parameter.name, writer });
        input.push({ name: argument, required: parameter.required, shape });
      } catch (error) {
        if (!(error instanceof CannotMake) || parameter.required) throw error;
        tool.notes.push(`leaves out an optional parameter: ${error.message}`);
      }
    }
  }
  if (operation.body !== undefined) tool.body = addBody(document, operation.body, read(operation.body.schema), input, names);
  if (input.reduce((sum, it) => sum + sizeOf(it.shape), 0) > MAX_ARGUMENT_TYPES) {
    throw new CannotMake(`its arguments have more than ${MAX_ARGUMENT_TYPES} members`);
  }
  for (const it of widened) tool.notes.push(`an argument ${it}, and is not described in full`);
  return tool;
}

function nameOf({ id, method, path }: Operation): string {
  const made = snakeCase(id ?? "");
  return made === "" ? snakeCase(`${method} ${path.replaceAll("{", " by ")}`) || method.toLowerCase() : made;
}

function titleOf({ summary }: Operation): string | undefined {
  const title = prose(summary, MAX_TITLE * 2).replace(/\.$/, "");
  return title === "" || title.length > MAX_TITLE ? undefined : title;
}

function descriptionOf({ summary, description, method, path, deprecated }: Operation): string {
  const [short, long] = [prose(summary, MAX_TOOL_DESCRIPTION), prose(description, MAX_TOOL_DESCRIPTION)];
  const head = short === "" || /[.!?…]$/.test(short) ? short : `${short}.`;
  const isRepeated = long.toLowerCase().startsWith(short.toLowerCase().replace(/\.$/, ""));
  const text = [isRepeated && long !== "" ? "" : head, long].filter((it) => it !== "").join(" ");
  return (deprecated ? "Deprecated. " : "") + (text === "" ? `${method} ${path}` : text);
}

/** Returns the hints that the HTTP method implies. Whether a POST changes anything cannot be known. */
function hintsOf(method: string): Record<string, boolean> {
  switch (method) {
    case "GET":
      return { openWorldHint: true };
    case "PUT":
    case "DELETE":
      return { destructiveHint: true, idempotentHint: true, openWorldHint: true };
    case "PATCH":
      return { destructiveHint: true, openWorldHint: true };
    default:
      return { openWorldHint: true };
  }
}

function outputOf(document: OpenApiDocument, { answer }: Operation): Shape | undefined {
  // With several success responses, a result may have any of their types.
  if (answer?.isOnly !== true) return undefined;
  try {
    const { shape, widened } = readShape(document, answer.schema, "output");
    const isSmall = !widened.has("is nested too deep or too large");
    return shape.kind === "object" && shape.members.length > 0 && shape.nullable !== true && isSmall ? shape : undefined;
  } catch (error) {
    if (error instanceof CannotMake) return undefined;
    throw error;
  }
}

function described(shape: Shape, { description, deprecated, example }: Parameter): Shape {
  const own = shape.description ?? "";
  const text = prose(description, 300);
  const initial = /Default: .*$/.exec(own)?.[0];
  const isDeprecated = deprecated || own.startsWith("Deprecated.");
  const made = text === "" ? own : [isDeprecated ? "Deprecated." : "", /[.!?…:)]$/.test(text) ? text : `${text}.`, initial ?? ""].filter((it) => it !== "").join(" ");
  return { ...shape, ...(made !== "" && { description: made }), ...(example !== undefined && { example }) };
}

function argumentName(name: string): string {
  if (isInherited(name)) return `${name.replaceAll("_", "")}_`;
  if (isIdentifier(name) && name.length <= MAX_ARGUMENT_NAME && !name.startsWith("$")) return name;
  return snakeCase(name) || "value";
}

/** Returns the serialization of a parameter; `undefined` for the default. */
function writerOf({ in: place, style, explode }: Pick<Parameter, "style" | "explode"> & { in: string }, shape: Shape, label: string): Writer | undefined {
  if (style === "json") return "jsonText";
  if (isPrimitive(shape)) return undefined;
  if (style === "deepObject") return "deep";
  if (hasNested(shape)) throw new CannotMake(`${label} has objects within a list or an object, which have no form there`);
  if (place !== "query") {
    if (explode && mayBeObject(shape)) throw new CannotMake(`${label} is an object, which has no form there`);
    return undefined;
  }
  if (style === "spaceDelimited" && !explode) return "spaced";
  if (style === "pipeDelimited" && !explode) return "piped";
  return explode ? undefined : "csv";
}

function isPrimitive(shape: Shape): boolean {
  if (shape.kind === "union") return shape.options.every(isPrimitive);
  return ["string", "number", "boolean", "enum", "null"].includes(shape.kind);
}

function mayBeObject(shape: Shape): boolean {
  if (shape.kind === "union") return shape.options.some(mayBeObject);
  return ["object", "record", "both", "unknown"].includes(shape.kind);
}

/** Whether a list or an object contains lists or objects. */
function hasNested(shape: Shape): boolean {
  const isInner = (it: Shape) => !isPrimitive(it) && it.kind !== "unknown";
  switch (shape.kind) {
    case "array":
      return isInner(shape.items);
    case "record":
      return isInner(shape.values);
    case "object":
      return shape.members.some((it) => isInner(it.shape));
    case "union":
      return shape.options.some(hasNested);
    case "both":
      return true;
    default:
      return false;
  }
}

function addBody(document: OpenApiDocument, body: Body, shape: Shape, input: Member[], names: Names): BodyPlan {
  const plan = { kind: body.kind, mediaType: body.mediaType };
  const isForm = body.kind === "form" || body.kind === "multipart";
  const isFlat = shape.kind === "object" && shape.nullable !== true && (shape.rest === "strip" || shape.rest === "strict");
  // If the document does not say, a body with required members counts as required.
  const hasRequired = shape.kind === "object" && shape.members.some((it) => it.required);
  const isRequired = body.required ?? hasRequired;
  // Either no body, or all required members: flat arguments cannot express that.
  const isAllOrNone = !isRequired && hasRequired;
  const hasFreeNames = shape.kind === "object" && shape.members.every(({ name }) => !input.some((it) => it.name === argumentName(name)));
  const isObject = body.kind === "json" || isForm;
  if (isObject && isFlat && shape.kind === "object" && hasFreeNames && shape.members.length > 0 && !isAllOrNone) {
    const files = isForm ? filesOf(document, body.schema) : new Map<string, boolean>();
    const bindings = shape.members.map((it): Binding => {
      const isFile = body.kind === "multipart" && files.has(it.name);
      const argument = names.take(argumentName(it.name));
      const inner = isFile ? fileShape(it.shape, files.get(it.name) === true) : it.shape;
      input.push({ name: argument, required: it.required, shape: inner });
      const encoding = body.encoding.get(it.name);
      if (isFile) return { argument, name: it.name, writer: "file", contentType: fileType(encoding?.contentType) };
      return { argument, name: it.name, writer: fieldWriter(body, it, encoding) };
    });
    return { ...plan, members: bindings, isOptional: !isRequired };
  }
  if (isForm && shape.kind !== "object" && shape.kind !== "record" && shape.kind !== "both" && shape.kind !== "union") {
    throw new CannotMake("its form has no fields that the document describes");
  }
  if (isForm && filesOf(document, body.schema).size > 0) throw new CannotMake("its form has files among fields that depend on each other");
  const name = names.take("body");
  input.push({ name, required: isRequired, shape: wholeShape(body, shape) });
  return { ...plan, members: { whole: name }, isOptional: !isRequired };
}

function wholeShape(body: Body, shape: Shape): Shape {
  const description = shape.description ?? prose(body.description, 300);
  const text = (note: string) => ({ kind: "string" as const, description: description === "" ? note : `${description} ${note}` });
  if (body.kind === "text") return text(`As ${body.mediaType}.`);
  if (body.kind === "binary") return { ...text(`In base64.`), format: "base64" };
  return { ...shape, ...(description !== "" && { description }) };
}

/** Returns the binary fields of a form, each with whether it is a list. */
function filesOf(document: OpenApiDocument, schema: Node): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [name, nodes] of viewOf(document, [schema]).properties) {
    const { keywords } = viewOf(document, nodes);
    const items = keywords.get("items");
    if (isBytes(keywords)) found.set(name, false);
    else if (items !== undefined && isBytes(viewOf(document, [items]).keywords)) found.set(name, true);
  }
  return found;
}

function isBytes(keywords: ReadonlyMap<string, Node>): boolean {
  const text = (name: string) => textAt({ it: keywords.get(name)?.value }, "it");
  if (text("type") === "file" || text("format") === "binary") return true;
  return text("contentMediaType") !== undefined && text("contentEncoding") === undefined && !/json|^text\//.test(text("contentMediaType")!);
}

function fileShape(shape: Shape, isList: boolean): Shape {
  const description = [shape.description, "In base64."].filter((it) => it !== undefined).join(" ");
  return isList ? { kind: "array", items: { kind: "string", format: "base64" }, description } : { kind: "string", format: "base64", description };
}

function fileType(contentType: string | undefined): string | undefined {
  return contentType !== undefined && /^[a-z]+\/[a-z0-9.+-]+$/i.test(contentType) ? contentType : undefined;
}

/** Returns the serialization of a form's field; `undefined` for the default. */
function fieldWriter(body: Body, { name, shape }: Member, encoding: Encoding | undefined): Writer | undefined {
  if (body.kind === "json" || isPrimitive(shape)) return undefined;
  const label = `the field ${JSON.stringify(name.slice(0, 100))}`;
  const isJson = encoding?.contentType !== undefined && /json/.test(encoding.contentType);
  if (isJson) return "jsonText";
  // In multipart, an object becomes a JSON part, and each item of a list a part.
  if (body.kind === "multipart") return undefined;
  if (encoding !== undefined) return writerOf({ in: "query", ...encoding }, shape, label);
  // Without an encoding, an object is sent as JSON (OpenAPI 3.0.3, "Encoding Object").
  if (mayBeObject(shape) || hasNested(shape)) return "jsonText";
  return undefined;
}

/** Sets the final, unique names of tools and their constants. */
export function nameTools(id: string, tools: Tool[]): void {
  // Model APIs allow 64 characters, and clients add their own prefix to `id__name`.
  const names = new Names(Math.max(20, 49 - id.length));
  const constants = new Names();
  for (const tool of tools) {
    tool.name = names.take(tool.name, "_");
    tool.constant = constants.take(identifier(tool.name.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())));
  }
}
