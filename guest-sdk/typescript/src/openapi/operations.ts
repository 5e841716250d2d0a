// Reads the operations of a document in a common form for OpenAPI 3.0, 3.1 and Swagger 2.0.
import { isRecord, listAt, member, members, recordAt, textAt, type JsonRecord } from "./json.js";
import type { Node, OpenApiDocument } from "./document.js";
import { CannotMake, DocumentError } from "./problem.js";

/** Maximum number of operations in a document. */
export const MAX_OPERATIONS = 20_000;
const MAX_PARAMETERS = 300;
const MAX_PATH_LENGTH = 1000;

/** Location of a parameter in a request. */
export type Place = "path" | "query" | "header";

/** Serialization style of a list or an object in a path, a query or a form. */
export type Style = "form" | "simple" | "spaceDelimited" | "pipeDelimited" | "deepObject" | "json";

export interface Parameter {
  name: string;
  in: Place;
  required: boolean;
  description: string | undefined;
  deprecated: boolean;
  schema: Node;
  style: Style;
  explode: boolean;
  example: unknown;
}

export interface Encoding {
  style: Style;
  explode: boolean;
  contentType: string | undefined;
}

export type BodyKind = "json" | "form" | "multipart" | "text" | "binary";

export interface Body {
  kind: BodyKind;
  mediaType: string;
  /** Whether the body is required; `undefined` if the document does not say. */
  required: boolean | undefined;
  description: string | undefined;
  schema: Node;
  /** Declared encodings of a form's members, by name. */
  encoding: ReadonlyMap<string, Encoding>;
  example: unknown;
}

/** Documented success response with JSON. */
export interface Answer {
  /** Whether this is the only documented success response. */
  isOnly: boolean;
  schema: Node;
  example: unknown;
}

/** Operation whose parts have not been read yet. */
export interface OperationSite {
  method: string;
  path: string;
  /** `operationId` of the document, if there is one. */
  id: string | undefined;
  tags: string[];
  summary: string | undefined;
  description: string | undefined;
  deprecated: boolean;
  item: Node;
  operation: Node;
}

/** One operation. */
export interface Operation extends OperationSite {
  parameters: Parameter[];
  body: Body | undefined;
  answer: Answer | undefined;
  /** Alternative sign-in requirements. Empty if the operation needs no sign-in. */
  security: Requirement[];
  /** Servers declared for this operation; empty if it uses those of the document. */
  servers: readonly unknown[];
  /** Optional parameters that cannot be sent, with the reason. */
  leftOut: string[];
}

/** Security schemes that are needed together: scopes by the scheme's name. */
export type Requirement = ReadonlyMap<string, readonly string[]>;

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** Operations of a document. */
export interface Operations {
  sites: OperationSite[];
  /** Paths and operations with references that cannot be resolved, with the reason. */
  unreadable: { operation: string; reason: string }[];
}

/** Returns the operations in the order of the document. */
export function operationsOf(document: OpenApiDocument): Operations {
  const found: Operations = { sites: [], unreadable: [] };
  const attempt = (operation: string, action: () => void): void => {
    if (found.sites.length + found.unreadable.length > MAX_OPERATIONS) throw new DocumentError(`the document has more than ${MAX_OPERATIONS} operations`);
    try {
      action();
    } catch (error) {
      if (!(error instanceof CannotMake)) throw error;
      found.unreadable.push({ operation, reason: error.message });
    }
  };
  for (const [path, value] of members(document.root["paths"])) {
    if (path.startsWith("x-")) continue;
    attempt(path, () => {
      const item = document.resolve({ value, file: document.url });
      for (const method of METHODS) {
        const given = member(item.value, method);
        if (given === undefined) continue;
        const title = `${method.toUpperCase()} ${path}`;
        // Some documents distinguish operations of one path by a fragment, which is not part of a request.
        attempt(title, () => found.sites.push(siteOf(document, path.replace(/#.*$/s, ""), method, item, { value: given, file: item.file })));
      }
    });
  }
  return found;
}

function siteOf(document: OpenApiDocument, path: string, method: string, item: Node, node: Node): OperationSite {
  const operation = document.resolve(node);
  const tags = listAt(operation.value, "tags").filter((tag): tag is string => typeof tag === "string" && tag !== "");
  return {
    method: method.toUpperCase(),
    path,
    id: textAt(operation.value, "operationId"),
    tags,
    summary: textAt(operation.value, "summary") ?? textAt(item.value, "summary"),
    description: textAt(operation.value, "description") ?? textAt(item.value, "description"),
    deprecated: member(operation.value, "deprecated") === true,
    item,
    operation,
  };
}

/** Reads an operation. Throws `CannotMake` with the reason if a tool for it would be wrong. */
export function readOperation(document: OpenApiDocument, site: OperationSite): Operation {
  checkTarget(site);
  const leftOut: string[] = [];
  const { parameters, form, body } = parametersOf(document, site, leftOut);
  checkPathParameters(site.path, parameters);
  const own = document.version === "2.0" ? swaggerBody(document, site, form, body) : bodyOf(document, site);
  return {
    ...site,
    parameters,
    body: own,
    answer: answerOf(document, site),
    security: securityOf(document, site.operation),
    servers: serversOf(site),
    leftOut,
  };
}

function checkTarget({ method, path }: OperationSite): void {
  if (method === "TRACE" || method === "OPTIONS") throw new CannotMake(`a toolkit cannot send ${method}`);
  if (method === "HEAD") throw new CannotMake("an answer to HEAD has no content");
  if (!path.startsWith("/") || path.length > MAX_PATH_LENGTH) throw new CannotMake("the path is not valid");
  if (/[?\\\s\p{C}]/u.test(path)) throw new CannotMake("the path has a character that no path may have, such as ?");
  const segments = path.split("/").map((it) => it.replaceAll(/%2e/gi, "."));
  if (segments.includes("..") || segments.includes(".")) throw new CannotMake("the path has a segment . or ..");
}

function checkPathParameters(path: string, parameters: Parameter[]): void {
  const named = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!);
  if (/[{}]/.test(path.replaceAll(/\{[^{}]*\}/g, ""))) throw new CannotMake("the path has a { without its }");
  const given = new Set(parameters.filter((it) => it.in === "path").map((it) => it.name));
  const missing = named.find((name) => !given.has(name));
  if (missing !== undefined) throw new CannotMake(`the path has {${missing}}, which is no parameter of the operation`);
  for (const name of given) {
    if (!named.includes(name)) throw new CannotMake(`the parameter ${JSON.stringify(name)} is not in the path`);
  }
}

interface Parameters {
  parameters: Parameter[];
  /** Form fields (Swagger 2.0). */
  form: Node[];
  /** Body parameter (Swagger 2.0). */
  body: Node | undefined;
}

function parametersOf(document: OpenApiDocument, { item, operation }: OperationSite, leftOut: string[]): Parameters {
  const nodes = [item, operation].flatMap((node) => listAt(node.value, "parameters").map((value) => ({ value, file: node.file })));
  if (nodes.length > MAX_PARAMETERS) throw new CannotMake(`it has more than ${MAX_PARAMETERS} parameters`);
  // A parameter of the operation replaces one of the path.
  const byPlace = new Map<string, Node>();
  for (const node of nodes) {
    const parameter = document.resolve(node);
    byPlace.set(`${textAt(parameter.value, "in")} ${textAt(parameter.value, "name")}`, parameter);
  }
  const made: Parameters = { parameters: [], form: [], body: undefined };
  for (const node of byPlace.values()) {
    const place = textAt(node.value, "in");
    if (document.version === "2.0" && place === "body") made.body = node;
    else if (document.version === "2.0" && place === "formData") made.form.push(node);
    else addParameter(document, node, made.parameters, leftOut);
  }
  return made;
}

/** Headers that OpenAPI describes elsewhere (`Accept`, `Content-Type`, `Authorization`) or only HTTP clients set. */
const OTHER_HEADERS = ["accept", "content-type", "authorization", "host", "connection", "content-length", "transfer-encoding", "expect", "te", "upgrade"];

function addParameter(document: OpenApiDocument, node: Node, parameters: Parameter[], leftOut: string[]): void {
  const name = textAt(node.value, "name");
  if (name === undefined) throw new CannotMake("a parameter has no name");
  try {
    const parameter = parameterOf(document, node, name);
    if (parameter !== undefined) parameters.push(parameter);
  } catch (error) {
    if (!(error instanceof CannotMake) || member(node.value, "required") === true) throw error;
    leftOut.push(error.message);
  }
}

function parameterOf(document: OpenApiDocument, node: Node, name: string): Parameter | undefined {
  const label = `the parameter ${JSON.stringify(name.slice(0, 100))}`;
  const place = textAt(node.value, "in");
  if (place === "cookie") throw new CannotMake(`${label} is a cookie`);
  if (place !== "path" && place !== "query" && place !== "header") throw new CannotMake(`${label} is in ${JSON.stringify(place ?? "nothing")}`);
  if (name === "__proto__" || name.length > 200) throw new CannotMake(`${label} has a name that cannot be used`);
  if (place === "header") {
    if (OTHER_HEADERS.includes(name.toLowerCase())) return undefined;
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new CannotMake(`${label} has a name that no header may have`);
  }
  const { schema, style, explode, example } = document.version === "2.0" ? swaggerFormat(node, place, label) : format(document, node, place, label);
  return {
    name,
    in: place,
    required: place === "path" || member(node.value, "required") === true,
    description: textAt(node.value, "description"),
    deprecated: member(node.value, "deprecated") === true,
    schema,
    style,
    explode,
    example,
  };
}

type Format = Pick<Parameter, "schema" | "style" | "explode" | "example">;

function format(document: OpenApiDocument, node: Node, place: Place, label: string): Format {
  const example = member(node.value, "example") ?? firstExample(document, node);
  const [content] = members(recordAt(node.value, "content"));
  if (content !== undefined) {
    const [mediaType, media] = content;
    if (!isJson(mediaType)) throw new CannotMake(`${label} is ${JSON.stringify(mediaType.slice(0, 100))}`);
    const inner = document.resolve({ value: media, file: node.file });
    const found = example ?? member(inner.value, "example") ?? firstExample(document, inner);
    return { schema: { value: member(inner.value, "schema") ?? {}, file: inner.file }, style: "json", explode: false, example: found };
  }
  const style = textAt(node.value, "style") ?? (place === "query" ? "form" : "simple");
  const allowed = place === "query" ? ["form", "spaceDelimited", "pipeDelimited", "deepObject"] : ["simple"];
  if (!allowed.includes(style)) throw new CannotMake(`${label} has the style ${JSON.stringify(style.slice(0, 100))}`);
  const explode = member(node.value, "explode");
  return {
    schema: { value: member(node.value, "schema") ?? {}, file: node.file },
    style: style as Style,
    explode: typeof explode === "boolean" ? explode : style === "form",
    example,
  };
}

/** Reads the format of a Swagger 2.0 parameter, which contains the keywords of its schema itself. */
function swaggerFormat(node: Node, place: Place, label: string): Format {
  const collection = textAt(node.value, "collectionFormat") ?? "csv";
  const styles: Record<string, [Style, boolean]> = {
    csv: [place === "query" ? "form" : "simple", false],
    multi: ["form", true],
    ssv: ["spaceDelimited", false],
    pipes: ["pipeDelimited", false],
  };
  const found = Object.hasOwn(styles, collection) ? styles[collection] : undefined;
  if (found === undefined || (place !== "query" && collection !== "csv")) {
    throw new CannotMake(`${label} has the format ${JSON.stringify(collection.slice(0, 100))}`);
  }
  return { schema: node, style: found[0], explode: found[1], example: member(node.value, "x-example") };
}

function bodyOf(document: OpenApiDocument, { operation, method }: OperationSite): Body | undefined {
  if (member(operation.value, "requestBody") === undefined) return undefined;
  const node = document.member(operation, "requestBody");
  const content = members(recordAt(node.value, "content"));
  const flag = member(node.value, "required");
  const required = typeof flag === "boolean" ? flag : undefined;
  const found = chosenBody(content.map(([mediaType]) => mediaType));
  if (method === "GET") {
    if (required !== true) return undefined;
    throw new CannotMake("a GET request cannot have a body");
  }
  if (found === undefined) {
    if (content.length === 0) return undefined;
    throw new CannotMake(`its body is ${content.map(([mediaType]) => JSON.stringify(mediaType.slice(0, 100))).join(" or ")}`);
  }
  const media = document.resolve({ value: content.find(([it]) => it === found.mediaType)![1], file: node.file });
  const encoding = new Map(members(recordAt(media.value, "encoding")).map(([name, it]) => [name, encodingOf(it)]));
  return {
    ...found,
    required,
    description: textAt(node.value, "description"),
    schema: { value: member(media.value, "schema") ?? {}, file: media.file },
    encoding,
    example: member(media.value, "example") ?? firstExample(document, media),
  };
}

function encodingOf(value: unknown): Encoding {
  const style = textAt(value, "style");
  const explode = member(value, "explode");
  const known = ["form", "spaceDelimited", "pipeDelimited", "deepObject"].includes(style ?? "form");
  if (!known) throw new CannotMake(`a field of its form has the style ${JSON.stringify(style?.slice(0, 100))}`);
  return {
    style: (style ?? "form") as Style,
    explode: typeof explode === "boolean" ? explode : (style ?? "form") === "form",
    contentType: textAt(value, "contentType"),
  };
}

function swaggerBody(document: OpenApiDocument, { operation, method }: OperationSite, form: Node[], body: Node | undefined): Body | undefined {
  if (form.length === 0 && body === undefined) return undefined;
  if (method === "GET") throw new CannotMake("a GET request cannot have a body");
  const consumes = mediaTypes(operation.value, "consumes") ?? mediaTypes(document.root, "consumes");
  if (body !== undefined) {
    const found = chosenBody(consumes ?? ["application/json"]);
    if (found === undefined) throw new CannotMake(`its body is ${consumes?.map((it) => JSON.stringify(it.slice(0, 100))).join(" or ")}`);
    const schema = { value: member(body.value, "schema") ?? {}, file: body.file };
    const required = member(body.value, "required") === true;
    return { ...found, required, description: textAt(body.value, "description"), schema, encoding: new Map(), example: undefined };
  }
  const hasFile = form.some((it) => textAt(it.value, "type") === "file");
  const kind = hasFile || (consumes?.includes("multipart/form-data") === true && !consumes.includes("application/x-www-form-urlencoded")) ? "multipart" : "form";
  const properties = Object.fromEntries(form.map((it) => [textAt(it.value, "name") ?? "", it.value]));
  const required = form.filter((it) => member(it.value, "required") === true).map((it) => textAt(it.value, "name"));
  const encoding = new Map(
    form.map((it) => {
      const { style, explode } = swaggerFormat(it, "query", `the field ${JSON.stringify(textAt(it.value, "name"))}`);
      return [textAt(it.value, "name") ?? "", { style, explode, contentType: undefined }];
    }),
  );
  return {
    kind,
    mediaType: kind === "form" ? "application/x-www-form-urlencoded" : "multipart/form-data",
    required: required.length > 0,
    description: undefined,
    schema: { value: { type: "object", properties, required }, file: operation.file },
    encoding,
    example: undefined,
  };
}

function mediaTypes(value: unknown, name: string): string[] | undefined {
  const found = listAt(value, name).filter((it): it is string => typeof it === "string");
  return found.length > 0 ? found : undefined;
}

/** Chooses a media type for the body: JSON first, then forms, then bytes. */
function chosenBody(offered: string[]): { kind: BodyKind; mediaType: string } | undefined {
  const kinds: [BodyKind, (mediaType: string) => boolean][] = [
    ["json", isJson],
    ["form", (it) => it === "application/x-www-form-urlencoded"],
    ["multipart", (it) => it === "multipart/form-data"],
    ["json", (it) => it === "*/*"],
    ["text", (it) => it.startsWith("text/") && it !== "text/xml"],
    ["binary", (it) => it === "application/octet-stream" || /^(image|audio|video)\//.test(it) || /^application\/(pdf|zip|gzip|x-tar)$/.test(it)],
  ];
  for (const [kind, fits] of kinds) {
    const original = offered.find((mediaType) => fits(bare(mediaType)));
    if (original === undefined) continue;
    const mediaType = bare(original) === "*/*" ? "application/json" : bare(original).endsWith("/*") ? defaultOf(kind) : bare(original);
    return { kind, mediaType: kind === "binary" || kind === "text" || kind === "json" ? mediaType : bare(original) };
  }
  return undefined;
}

function defaultOf(kind: BodyKind): string {
  return kind === "text" ? "text/plain" : "application/octet-stream";
}

function bare(mediaType: string): string {
  return mediaType.split(";")[0]!.trim().toLowerCase();
}

/** Whether a media type is JSON. */
export function isJson(mediaType: string): boolean {
  return /^[a-z0-9.+-]+\/([a-z0-9.-]+\+)?json$/.test(bare(mediaType));
}

/** Returns the success response with JSON; `undefined` if there is none. */
function answerOf(document: OpenApiDocument, { operation }: OperationSite): Answer | undefined {
  const responses = members(recordAt(operation.value, "responses")).filter(([status]) => /^2(\d\d|XX)$/i.test(status));
  try {
    const answers = responses.map(([, value]) => successOf(document, operation, { value, file: operation.file }));
    const found = answers.find((it) => it !== undefined);
    return found === undefined ? undefined : { ...found, isOnly: answers.length === 1 };
  } catch (error) {
    // The response is then returned without a schema.
    if (error instanceof CannotMake) return undefined;
    throw error;
  }
}

function successOf(document: OpenApiDocument, operation: Node, node: Node): Omit<Answer, "isOnly"> | undefined {
  const response = document.resolve(node);
  if (document.version === "2.0") {
    const produces = mediaTypes(operation.value, "produces") ?? mediaTypes(document.root, "produces") ?? ["application/json"];
    const schema = member(response.value, "schema");
    if (schema === undefined || !produces.some(isJson)) return undefined;
    const [, example] = members(recordAt(response.value, "examples")).find(([mediaType]) => isJson(mediaType)) ?? [];
    return { schema: { value: schema, file: response.file }, example };
  }
  const content = members(recordAt(response.value, "content"));
  const [, media] = content.find(([mediaType]) => isJson(mediaType)) ?? [];
  if (media === undefined) return undefined;
  const found = document.resolve({ value: media, file: response.file });
  return {
    schema: { value: member(found.value, "schema") ?? {}, file: found.file },
    example: member(found.value, "example") ?? firstExample(document, found),
  };
}

function firstExample(document: OpenApiDocument, node: Node): unknown {
  const [first] = members(recordAt(node.value, "examples"));
  if (first === undefined) return undefined;
  try {
    return member(document.resolve({ value: first[1], file: node.file }).value, "value");
  } catch {
    return undefined;
  }
}

function securityOf(document: OpenApiDocument, operation: Node): Requirement[] {
  const given = member(operation.value, "security") ?? document.root["security"];
  if (!Array.isArray(given)) return [];
  return given.filter(isRecord).map((requirement: JsonRecord) => {
    return new Map(members(requirement).map(([name]) => [name, listAt(requirement, name).filter((it) => typeof it === "string")]));
  });
}

function serversOf({ operation, item }: OperationSite): readonly unknown[] {
  const own = listAt(operation.value, "servers");
  return own.length > 0 ? own : listAt(item.value, "servers");
}
