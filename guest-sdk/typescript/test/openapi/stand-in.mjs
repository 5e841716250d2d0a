// A server that stands in for the API of an OpenAPI document: checks each request against the document. It shares no code
// with src/openapi, so that a mistake there is not repeated here.
import Ajv from "ajv";

/**
 * Returns a function that checks a request and returns what is wrong with it. The document has no references to other files.
 * `ignored` are names of query parameters that are not the document's, such as a key.
 */
export function standIn(given, { base, ignored = [] }) {
  const document = prepared(given);
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: false, coerceTypes: false, logger: false, validateSchema: false, inlineRefs: false });
  ajv.addSchema({ $id: "doc:", ...document });
  const isSwagger = document.swagger !== undefined;
  const compiled = new Map();
  const schemas = new Map();

  const follow = (value) => {
    for (let it = value, steps = 0; steps < 20; steps++) {
      if (typeof it?.$ref !== "string") return it;
      it = it.$ref.slice(2).split("/").map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")).reduce((at, name) => at?.[name], document);
    }
    throw new Error("a cycle of references");
  };
  const problemsOf = (schema, value, where) => {
    if (!compiled.has(schema)) compiled.set(schema, ajv.compile(absolute(schema)));
    const validate = compiled.get(schema);
    return validate(value) ? [] : [`${where}: ${ajv.errorsText(validate.errors.slice(0, 3))} (${JSON.stringify(value)?.slice(0, 200)})`];
  };

  const operations = Object.entries(document.paths).flatMap(([path, item]) => {
    const resolved = follow(item);
    return Object.entries(resolved).filter(([method]) => METHODS.includes(method)).map(([method, operation]) => ({ path: path.replace(/#.*$/, ""), method, item: resolved, operation: follow(operation) }));
  });
  const basesOf = ({ item, operation }) => {
    const own = (operation.servers ?? item.servers ?? []).map((it) => it.url.replaceAll(/\{([^{}]*)\}/g, (_, name) => it.variables?.[name]?.default ?? ""));
    return own.length > 0 ? own.filter((it) => URL.canParse(it)) : [base];
  };
  const pathsOf = (operation) => basesOf(operation).map((it) => new URL(it).origin + new URL(it).pathname.replace(/\/$/, ""));

  return function check(request) {
    const url = new URL(request.url);
    const target = url.origin + url.pathname;
    const fitting = operations.filter((it) => it.method === request.method.toLowerCase()).flatMap((it) => {
      const match = pathsOf(it).map((prefix) => matchPath(prefix + it.path, target)).find((found) => found !== undefined);
      return match === undefined ? [] : [{ ...it, values: match }];
    });
    if (fitting.length === 0) return [`${request.method} ${request.url}: no operation has this path`];
    // Where templates overlap (/a/{b} and /a/c), or operations share a path, one has to accept the request.
    const outcomes = fitting.map((it) => checkOperation(it, request, url));
    return outcomes.find((it) => it.length === 0) ?? outcomes[0];
  };

  function checkOperation({ path, method, item, operation, values }, request, url) {
    const parameters = new Map();
    for (const it of [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(follow)) parameters.set(`${it.in} ${it.name}`, it);
    const problems = [];
    const query = rawQuery(url.search);
    for (const name of ignored) query.delete(name);
    const used = new Set();
    for (const parameter of parameters.values()) {
      const where = `${method.toUpperCase()} ${path} ${parameter.in} ${parameter.name}`;
      const schema = isSwagger ? schemaOf(parameter) : (parameter.schema ?? parameter.content?.["application/json"]?.schema ?? {});
      const isJson = !isSwagger && parameter.content !== undefined;
      if (parameter.in === "path") problems.push(...checkText([values.get(parameter.name)], schema, where, { style: "simple", separator: "," }));
      if (parameter.in === "header" && !["accept", "content-type", "authorization"].includes(parameter.name.toLowerCase())) {
        const value = request.headers.get(parameter.name);
        if (value === null) problems.push(...(parameter.required === true && !isIgnoredHeader(parameter.name) ? [`${where}: is missing`] : []));
        else problems.push(...checkText([value], schema, where, { style: "simple", separator: "," }));
      }
      if (parameter.in === "query") {
        const style = styleOf(parameter, isSwagger);
        const found = isJson ? query.get(parameter.name) : queryValues(query, parameter.name, schema, style, used);
        used.add(parameter.name);
        if (found === undefined) problems.push(...(parameter.required === true && !ignored.includes(parameter.name) ? [`${where}: is missing`] : []));
        else if (isJson) problems.push(...problemsOf(schema, JSON.parse(decodeURIComponent(found[0])), where));
        else if (style.style === "deepObject") problems.push(...(found === null ? [] : []));
        else problems.push(...checkText(found, schema, where, style));
      }
    }
    for (const name of query.keys()) {
      const isDeep = [...used].some((it) => name.startsWith(`${it}[`));
      const isExploded = [...parameters.values()].some((it) => it.in === "query" && mayBeObject(isSwagger ? it : it.schema));
      if (!used.has(name) && !isDeep && !isExploded) problems.push(`${method} ${path}: the document has no query parameter ${name}`);
    }
    return [...problems, ...checkBody(operation, parameters, request, `${method.toUpperCase()} ${path} body`)];
  }

  function mayBeObject(schema) {
    const it = follow(schema ?? {});
    return it.type === "object" || it.properties !== undefined || it.additionalProperties !== undefined || it.oneOf !== undefined || it.anyOf !== undefined || it.allOf !== undefined;
  }

  /** Checks a value that was written as text. */
  function checkText(texts, schema, where, { separator }) {
    const resolved = follow(schema);
    const candidates = [];
    const parts = separator === undefined ? texts : texts.flatMap((text) => text.split(separator));
    const decoded = parts.map((it) => decodeURIComponent(it));
    for (const one of typed(decoded.length === 1 ? decoded[0] : undefined)) candidates.push(one);
    if (texts.length === 1) for (const one of typed(decodeURIComponent(texts[0]))) candidates.push(one);
    for (const number of [true, false]) candidates.push(decoded.map((it) => (number ? typed(it)[0] : it)));
    candidates.push(Object.fromEntries(decoded.flatMap((it, index) => (index % 2 === 0 ? [[it, decoded[index + 1]]] : []))));
    const outcomes = candidates.filter((it) => it !== undefined).map((it) => problemsOf(resolved, it, where));
    return outcomes.some((it) => it.length === 0) ? [] : (outcomes[0] ?? [`${where}: has no value`]);
  }

  function checkBody(operation, parameters, request, where) {
    const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
    if (isSwagger) {
      const body = [...parameters.values()].find((it) => it.in === "body");
      const form = [...parameters.values()].filter((it) => it.in === "formData");
      if (body === undefined && form.length === 0) return request.body.length > 0 ? [`${where}: is not expected`] : [];
      if (body !== undefined) {
        if (request.body.length === 0) return body.required === true ? [`${where}: is missing`] : [];
        return problemsOf(body.schema ?? {}, JSON.parse(request.body.toString()), where);
      }
      const fields = request.fields ?? new Map();
      const names = [...fields.keys()];
      return [
        ...form.filter((it) => it.required === true && !names.includes(it.name)).map((it) => `${where}: ${it.name} is missing`),
        ...names.filter((name) => !form.some((it) => it.name === name)).map((name) => `${where}: there is no field ${name}`),
        ...form.filter((it) => names.includes(it.name) && it.type !== "file").flatMap((it) => checkText(fields.get(it.name), schemaOf(it), `${where} ${it.name}`, styleOf(it, true))),
      ];
    }
    const body = follow(operation.requestBody);
    if (body === undefined) return request.body.length > 0 ? [`${where}: is not expected`] : [];
    if (request.body.length === 0) return body.required === true ? [`${where}: is missing`] : [];
    const [, media] = Object.entries(body.content).find(([it]) => it.split(";")[0].trim().toLowerCase() === type || it === "*/*" || (it.endsWith("/*") && type.startsWith(it.slice(0, -1)))) ?? [];
    if (media === undefined) return [`${where}: the document has no ${type}`];
    const schema = follow(media).schema ?? {};
    if (/json$/.test(type)) return problemsOf(schema, JSON.parse(request.body.toString()), where);
    if (request.fields === undefined) return [];
    return checkFields(schema, request.fields, where);
  }

  function checkFields(given, fields, where) {
    const properties = new Map();
    const required = new Set();
    const collect = (schema) => {
      const it = follow(schema);
      for (const part of it.allOf ?? []) collect(part);
      for (const [name, property] of Object.entries(it.properties ?? {})) properties.set(name, property);
      for (const name of it.required ?? []) required.add(name);
    };
    collect(given);
    if (properties.size === 0) return [];
    const roots = [...fields.keys()].map((name) => name.split("[")[0]);
    return [
      ...[...required].filter((name) => properties.has(name) && !roots.includes(name)).map((name) => `${where}: ${name} is missing`),
      ...roots.filter((name) => !properties.has(name)).map((name) => `${where}: there is no field ${name}`),
    ];
  }

  /** In Swagger 2.0 a parameter has the keywords of its schema. */
  function schemaOf(parameter) {
    if (!schemas.has(parameter)) schemas.set(parameter, Object.fromEntries(Object.entries(parameter).filter(([name]) => !["required", "name", "in", "description"].includes(name))));
    return schemas.get(parameter);
  }

  /** Makes references of a schema those of the registered document. */
  function absolute(schema) {
    return JSON.parse(JSON.stringify(schema), (name, value) => (name === "$ref" && typeof value === "string" && value.startsWith("#") ? `doc:${value}` : value));
  }
}

const METHODS = ["get", "put", "post", "delete", "patch"];

/** Reads a request into plain data. */
export async function readRequest(url, init) {
  const request = new Request(url, init);
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  const body = Buffer.from(await request.clone().arrayBuffer());
  let fields;
  if (type === "application/x-www-form-urlencoded") fields = rawQuery(`?${body.toString()}`);
  if (type === "multipart/form-data") {
    fields = new Map();
    for (const [name, value] of await request.formData()) fields.set(name, [...(fields.get(name) ?? []), typeof value === "string" ? encodeURIComponent(value) : "bytes"]);
  }
  return { method: request.method, url: String(url), headers: request.headers, body, fields };
}

function matchPath(template, target) {
  const names = [];
  const pattern = template.replaceAll(/\{([^{}]*)\}|[^{}]+/g, (text, name) => {
    if (name === undefined) return new URL(`http://a/${text}`).pathname.slice(1).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/^(https?):\\?\/?/, (it) => it);
    names.push(name);
    return "([^/]+)";
  });
  const match = new RegExp(`^${pattern.replace(/^(https?:)\/*/, "$1//")}$`).exec(target);
  return match === null ? undefined : new Map(names.map((name, index) => [name, match[index + 1]]));
}

/** Returns the names, decoded, and values, as they are. */
function rawQuery(search) {
  const found = new Map();
  for (const pair of search.slice(1).split("&").filter((it) => it !== "")) {
    const [name, value = ""] = pair.split("=");
    const key = decodeURIComponent(name);
    found.set(key, [...(found.get(key) ?? []), value]);
  }
  return found;
}

function queryValues(query, name, schema, { style }, used) {
  if (query.has(name)) return query.get(name);
  if (style !== "deepObject" && style !== "form") return undefined;
  const inner = [...query.keys()].filter((it) => it.startsWith(`${name}[`));
  inner.forEach((it) => used.add(it));
  return inner.length > 0 && style === "deepObject" ? null : undefined;
}

function styleOf(parameter, isSwagger) {
  if (isSwagger) {
    const formats = { csv: ",", ssv: "%20", pipes: "%7C" };
    return { style: "form", separator: parameter.type === "array" ? formats[parameter.collectionFormat ?? "csv"] : undefined };
  }
  const style = parameter.style ?? "form";
  const explode = parameter.explode ?? style === "form";
  return { style, separator: explode ? undefined : { form: ",", spaceDelimited: "%20", pipeDelimited: "%7C" }[style] };
}

/** Returns what a text may mean. */
function typed(text) {
  if (text === undefined) return [];
  const number = text.trim() !== "" && Number.isFinite(Number(text)) ? [Number(text)] : [];
  const flag = text === "true" ? [true] : text === "false" ? [false] : [];
  return [...number, ...flag, text];
}

function isIgnoredHeader(name) {
  return ["host", "connection", "content-length"].includes(name.toLowerCase());
}

/** Turns the schemas of OpenAPI 3.0 and Swagger 2.0 into JSON Schema; a request has no read-only members. */
function prepared(document) {
  const visit = (value) => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    const made = Object.fromEntries(Object.entries(value).filter(([name]) => !["example", "examples", "x-examples", "discriminator", "id", "$id", "$schema"].includes(name) || isSchemaLike(value[name])).map(([name, it]) => [name, visit(it)]));
    for (const [flag, bound] of [["exclusiveMinimum", "minimum"], ["exclusiveMaximum", "maximum"]]) {
      if (typeof made[flag] !== "boolean") continue;
      if (made[flag] && made[bound] !== undefined) made[flag] = made[bound];
      else delete made[flag];
    }
    if (made["x-nullable"] === true) made.nullable = true;
    if (typeof made.type !== "string") delete made.nullable;
    if (made.nullable === true && Array.isArray(made.enum)) made.enum = [...made.enum, null];
    if (made.type === "file") made.type = "string";
    if (typeof made.required === "boolean" && made.in === undefined) delete made.required;
    if (Array.isArray(made.required) && typeof made.properties === "object") {
      made.required = made.required.filter((name) => made.properties[name]?.readOnly !== true);
    }
    return made;
  };
  return visit(document);
}

function isSchemaLike(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && (typeof value.type === "string" || typeof value.$ref === "string");
}
