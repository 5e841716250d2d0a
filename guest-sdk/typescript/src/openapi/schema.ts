// Reads the schemas of a document, in the JSON Schema dialects of OpenAPI 3.0, 3.1 and Swagger 2.0.
//
// Invariant: the type of an argument accepts every value that the schema accepts. Schemas that cannot be expressed, are
// recursive, too deep or too large become wider types; the API itself checks the rest.
import type { Node, OpenApiDocument } from "./document.js";
import { isRecord, listAt, member, members, numberAt, recordAt, textAt } from "./json.js";
import { CannotMake } from "./problem.js";
import type { Member, ObjectShape, Scalar, Shape, ShapeKind, StringFormat } from "./shape.js";
import { isInherited, prose } from "./words.js";

/** Maximum number of types in one schema. Each costs the model some ten tokens. */
const MAX_INPUT_TYPES = 200;
const MAX_OUTPUT_TYPES = 25;
/** Maximum nesting depths of types, tried in this order until the schema is small enough. */
const LEVELS = [12, 8, 6, 5, 4, 3, 2, 1];
/** Maximum number of values of the document to read for one schema. */
const MAX_VISITS = 20_000;
const MAX_DESCRIPTION = 300;
const MAX_ENUM = 300;
const MAX_ENUM_TEXT = 200;
const MAX_PATTERN = 200;

/** Use of a schema: `input` for arguments, `output` for results, which must accept whatever the API returns. */
export type Direction = "input" | "output";

/** Type read from a schema, and the reasons why parts of it were widened. */
export interface ReadShape {
  shape: Shape;
  widened: Set<Widening>;
}

export type Widening = "refers to itself" | "is nested too deep or too large" | "has variants that the document names elsewhere";

/** Parts of a schema, merged with those of its `allOf`. */
export interface SchemaView {
  /** Schemas of each member. If several parts describe a member, all of its schemas apply. */
  properties: ReadonlyMap<string, Node[]>;
  required: ReadonlySet<string>;
  rest: { kind: "open" | "closed" | "any" } | { kind: "schema"; node: Node };
  alternatives: { options: Node[]; discriminator: unknown }[];
  /** All other keywords; the first part that has a keyword wins. */
  keywords: ReadonlyMap<string, Node>;
  refs: string[];
  isDiscriminated: boolean;
}

/** Reads a schema to the maximum depth that the size limit allows. */
export function readShape(document: OpenApiDocument, node: Node, direction: Direction): ReadShape {
  const limit = direction === "input" ? MAX_INPUT_TYPES : MAX_OUTPUT_TYPES;
  for (const levels of LEVELS) {
    const reader = new Reader(document, direction, levels, limit);
    try {
      return { shape: reader.shape([node], 0, []), widened: reader.widened };
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
    }
  }
  throw new CannotMake(`a schema has more than ${limit} members`);
}

/** Returns the parts of a schema. */
export function viewOf(document: OpenApiDocument, nodes: Node[]): SchemaView {
  return new Reader(document, "input", 1, MAX_VISITS).view(nodes);
}

class TooLarge extends Error {}

class Reader {
  readonly widened = new Set<Widening>();
  #visits = 0;
  #types = 0;

  constructor(
    readonly document: OpenApiDocument,
    readonly direction: Direction,
    readonly levels: number,
    readonly limit: number,
  ) {}

  /** Returns the type of a value that all of the schemas describe. `path` has the references followed so far. */
  shape(nodes: Node[], level: number, path: readonly string[]): Shape {
    if (++this.#types > this.limit) throw new TooLarge();
    const view = this.view(nodes);
    const here = [...path, ...view.refs];
    const made: Shape = this.#isCut(view, level, path) ? this.#widest(view) : this.#kind(view, level, here);
    return this.#annotated(made, view, nodes);
  }

  /** Whether to widen the schema instead of reading its inner schemas: it is recursive or too deep. */
  #isCut(view: SchemaView, level: number, path: readonly string[]): boolean {
    const isChoice = view.alternatives.some(({ options }) => options.filter((it) => !isNull(it)).length > 1);
    const isNested = view.properties.size > 0 || isChoice || view.rest.kind === "schema" || view.keywords.has("items");
    if (view.refs.some((ref) => path.includes(ref))) {
      this.widened.add("refers to itself");
      return true;
    }
    if (!isNested || level < this.levels) return false;
    this.widened.add("is nested too deep or too large");
    return true;
  }

  #widest(view: SchemaView): Shape {
    const types = this.#typesOf(view);
    const isObject = types.length === 1 ? types[0] === "object" : types.length === 0 && view.properties.size > 0 && view.alternatives.length === 0;
    if (isObject) return { kind: "record", values: { kind: "unknown" } };
    if (types.length === 1 && types[0] === "array") return { kind: "array", items: { kind: "unknown" } };
    return { kind: "unknown" };
  }

  view(nodes: Node[]): SchemaView {
    const properties = new Map<string, Node[]>();
    const required = new Set<string>();
    const alternatives: SchemaView["alternatives"] = [];
    const keywords = new Map<string, Node>();
    const refs: string[] = [];
    let rest: SchemaView["rest"] = { kind: "any" };
    let isDiscriminated = false;

    const add = (given: Node, isPart: boolean, isTop: boolean, within: readonly string[]): void => {
      if (++this.#visits > MAX_VISITS) throw new CannotMake("its schemas are too large");
      const node = this.document.resolve(given);
      const value = node.value;
      if (node.ref !== undefined) {
        if (within.includes(node.ref)) return;
        if (isTop) refs.push(node.ref);
      }
      // Only 3.1 allows other keywords beside a `$ref`; a description there is common in all versions.
      if (node.value !== given.value) addKeywords(given, this.document.version === "3.1" ? undefined : ["description"]);
      if (!isRecord(value)) return;
      addKeywords(node);
      const parts = listAt(value, "allOf");
      const inner = node.ref === undefined ? within : [...within, node.ref];
      // In 3.0, an `allOf` with one part adds members to a reference.
      for (const part of parts) add({ value: part, file: node.file }, true, isTop && parts.length === 1, inner);
      for (const [name, property] of members(recordAt(value, "properties"))) {
        properties.set(name, [...(properties.get(name) ?? []), { value: property, file: node.file }]);
      }
      for (const name of listAt(value, "required")) if (typeof name === "string") required.add(name);
      for (const quantifier of ["oneOf", "anyOf"]) {
        const options = listAt(value, quantifier);
        const discriminator = member(value, "discriminator");
        if (options.length > 0) alternatives.push({ options: options.map((it) => ({ value: it, file: node.file })), discriminator });
      }
      // A base type whose variants refer to it by `allOf`. As a part of a variant it is not a choice.
      const hasVariants = member(value, "discriminator") !== undefined && listAt(value, "oneOf").length + listAt(value, "anyOf").length === 0;
      isDiscriminated ||= hasVariants && !isPart;
      rest = merged(rest, node, isPart || parts.length > 0);
    };
    const addKeywords = (node: Node, only?: string[]): void => {
      for (const [name, value] of members(node.value)) {
        if (STRUCTURE.includes(name) || keywords.has(name) || (only !== undefined && !only.includes(name))) continue;
        keywords.set(name, { value, file: node.file });
      }
    };
    for (const node of nodes) add(node, nodes.length > 1, true, []);
    return { properties, required, rest, alternatives, keywords, refs, isDiscriminated };
  }

  #kind(view: SchemaView, level: number, path: readonly string[]): Shape {
    const alternatives = view.alternatives.filter(({ options }) => !options.every((it) => this.#isConstraint(it)));
    const constants = constantsOf(view);
    if (constants !== undefined) return this.#enum(view, constants);
    if (alternatives.length === 0) return this.#plain(view, level, path);

    const unions = alternatives.map((it) => this.#union(it.options, it.discriminator, level, path));
    const hasOwn = view.properties.size > 0 || view.rest.kind === "schema";
    const own = hasOwn ? [this.#object(view, level, path, "loose")] : [];
    return [...own, ...unions].reduce((left, right) => ({ kind: "both", left, right }));
  }

  /** Whether an alternative only lists members that are required together. */
  #isConstraint(node: Node): boolean {
    const { value } = node;
    return isRecord(value) && Object.keys(value).length > 0 && Object.keys(value).every((name) => CONSTRAINTS.includes(name));
  }

  #union(nodes: Node[], discriminator: unknown, level: number, path: readonly string[]): Shape {
    const given = nodes.filter((node) => !isNull(node));
    const property = textAt(discriminator, "propertyName");
    const options = given.map((node) => {
      // `anyOf: [X, null]` counts as a nullable X, without a further level.
      const shape = this.shape([node], given.length > 1 ? level + 1 : level, path);
      return property === undefined ? opened(shape) : this.#variant(shape, node, property, recordAt(discriminator, "mapping"));
    });
    const nullable = given.length < nodes.length || options.some((it) => it.nullable === true);
    const distinct = withoutDuplicates(options);
    if (distinct.some((it) => it.kind === "unknown")) return { kind: "unknown" };
    const union: Shape =
      distinct.length === 0
        ? { kind: "null" }
        : distinct.length === 1
          ? { ...distinct[0]! }
          : { kind: "union", options: distinct, ...(property !== undefined && areVariants(distinct, property) && { discriminator: property }) };
    return nullable && union.kind !== "null" ? { ...union, nullable: true } : union;
  }

  /** Adds the discriminator's constant to a variant, if the variant lacks it. */
  #variant(shape: Shape, node: Node, property: string, mapping: object): Shape {
    if (shape.kind !== "object" || this.direction === "output") return opened(shape);
    const own = shape.members.find((it) => it.name === property);
    // Most variants declare the constant themselves. Without a mapping, the schema's name could differ from it.
    if (own?.shape.kind === "enum") return opened({ ...shape, members: shape.members.map((it) => (it === own ? { ...it, required: true } : it)) });
    const ref = this.document.resolve(node).ref;
    if (ref === undefined || isInherited(property)) return opened(shape);
    const values = members(mapping).flatMap(([value, target]) => (typeof target === "string" && this.#leadsTo(target, node.file, ref) ? [value] : []));
    const constants = values.length > 0 ? values : [nameOf(ref)];
    const others = shape.members.filter((it) => it.name !== property);
    const description = own?.shape.description;
    const constant: Member = { name: property, required: true, shape: { kind: "enum", values: constants, ...(description !== undefined && { description }) } };
    const { name: _, ...rest } = shape;
    return opened({ ...rest, members: [constant, ...others] });
  }

  #leadsTo(target: string, file: string, ref: string): boolean {
    const pointer = /[#/.]/.test(target) ? target : `#/components/schemas/${target}`;
    try {
      return this.document.resolve({ value: { $ref: pointer }, file }).ref === ref;
    } catch {
      return false;
    }
  }

  #enum(view: SchemaView, values: unknown[]): Shape {
    const scalars = [...new Set(values.filter((it): it is Scalar => ["string", "number", "boolean"].includes(typeof it)))];
    const nullable = values.includes(null) && { nullable: true as const };
    const isShown = scalars.length <= MAX_ENUM && scalars.every((it) => String(it).length <= MAX_ENUM_TEXT) && values.every((it) => it === null || typeof it !== "object");
    if (isShown && scalars.length === 0) return { kind: "null" };
    if (isShown && this.direction === "input") return { kind: "enum", values: scalars, ...nullable };
    // An API may return new values before its document lists them: a result must not be refused for that.
    const types = new Set(scalars.map((it) => typeof it));
    if (!isShown || types.size !== 1) return { kind: "unknown" };
    return { ...this.#ofType([...types][0]!, view, 0, []), ...nullable };
  }

  #plain(view: SchemaView, level: number, path: readonly string[]): Shape {
    const types = this.#typesOf(view);
    const kinds = types.filter((it) => it !== "null");
    const nullable = types.includes("null") && { nullable: true as const };
    if (types.length > 0 && kinds.length === 0) return { kind: "null" };
    if (kinds.length === 1) return { ...this.#ofType(kinds[0]!, view, level, path), ...nullable };
    if (kinds.length > 1) {
      const options = withoutDuplicates(kinds.map((it) => opened(this.#ofType(it, view, level + 1, path))));
      if (options.some((it) => it.kind === "unknown")) return { kind: "unknown" };
      return { ...(options.length === 1 ? options[0]! : { kind: "union" as const, options }), ...nullable };
    }
    if (view.properties.size > 0 || view.rest.kind === "schema") return this.#object(view, level, path);
    if (view.keywords.has("items")) return this.#ofType("array", view, level, path);
    return { kind: "unknown" };
  }

  #typesOf(view: SchemaView): string[] {
    const given = view.keywords.get("type")?.value;
    return (Array.isArray(given) ? given : [given]).filter((it): it is string => typeof it === "string");
  }

  #ofType(type: string, view: SchemaView, level: number, path: readonly string[]): Shape {
    const { direction } = this;
    switch (type) {
      case "string":
      case "file":
        return stringShape(view, direction);
      case "integer":
      case "number":
        return numberShape(view, type === "integer", direction);
      case "boolean":
        return { kind: "boolean" };
      case "array": {
        const node = view.keywords.get("items");
        const isTuple = node === undefined || Array.isArray(node.value) || view.keywords.has("prefixItems");
        const items: Shape = isTuple ? { kind: "unknown" } : this.shape([node], level + 1, path);
        return { kind: "array", items, ...(direction === "input" && range(view, "minItems", "maxItems")) };
      }
      case "object":
        return this.#object(view, level, path);
      default:
        // Not a type of JSON Schema.
        return { kind: "unknown" };
    }
  }

  #object(view: SchemaView, level: number, path: readonly string[], asPart?: "loose"): Shape {
    const { direction } = this;
    const ownRest = view.rest;
    if (view.properties.size === 0 && ownRest.kind !== "closed") {
      const values: Shape = ownRest.kind === "schema" ? this.shape([ownRest.node], level + 1, path) : { kind: "unknown" };
      return { kind: "record", values };
    }
    const made: Member[] = [];
    let isWidened = asPart !== undefined;
    for (const [name, nodes] of view.properties) {
      const property = this.view(nodes);
      const hidden = property.keywords.get(direction === "input" ? "readOnly" : "writeOnly")?.value === true;
      if (hidden) continue;
      // Every object inherits a member of this name, and zod would read it.
      if (isInherited(name)) isWidened = true;
      else made.push({ name, required: view.required.has(name), shape: this.shape(nodes, level + 1, path) });
    }
    if (view.isDiscriminated) {
      this.widened.add("has variants that the document names elsewhere");
      isWidened = true;
    }
    // Members that are required but not described.
    const undescribed = [...view.required].filter((name) => !view.properties.has(name) && !isInherited(name));
    if (direction === "input" && asPart === undefined) made.push(...undescribed.map((name): Member => ({ name, required: true, shape: { kind: "unknown" } })));
    const isLoose = direction === "output" || isWidened || ownRest.kind === "open";
    const rest: ObjectShape["rest"] =
      ownRest.kind === "schema" && !isWidened && direction === "input"
        ? this.shape([ownRest.node], level + 1, path)
        : isLoose
          ? "loose"
          : ownRest.kind === "closed"
            ? "strict"
            : "strip";
    return { kind: "object", members: made, rest };
  }

  #annotated(shape: Shape, view: SchemaView, nodes: Node[]): Shape {
    const text = (name: string) => textOf(view.keywords.get(name)?.value);
    const initial = view.keywords.get("default")?.value;
    const notes = [
      view.keywords.get("deprecated")?.value === true ? "Deprecated." : "",
      sentence(prose(text("description") ?? (shape.kind === "object" ? undefined : text("title")), MAX_DESCRIPTION)),
      this.direction === "input" && isShort(initial) ? `Default: ${prose(String(initial), 60)}.` : "",
    ];
    const description = notes.filter((it) => it !== "").join(" ");
    const example = view.keywords.get("example")?.value ?? listOf(view.keywords.get("examples")?.value)[0];
    const isNullable = shape.nullable === true || ["nullable", "x-nullable"].some((name) => view.keywords.get(name)?.value === true);
    const [ref] = view.refs;
    const { nullable: _, ...rest } = shape;
    return {
      ...rest,
      ...(isNullable && shape.kind !== "unknown" && shape.kind !== "null" && { nullable: true as const }),
      ...(description !== "" && { description }),
      ...(ref !== undefined && nodes.length === 1 && { name: nameOf(ref) }),
      ...(example !== undefined && { example }),
    } as Shape;
  }
}

/** Whether an alternative is only `null`. */
function isNull({ value }: Node): boolean {
  const values = listAt(value, "enum");
  return member(value, "type") === "null" || (values.length === 1 && values[0] === null);
}

/** Keywords that have their own members in `SchemaView`. */
const STRUCTURE = ["$ref", "allOf", "oneOf", "anyOf", "properties", "required", "additionalProperties", "discriminator"];
/** Keywords of alternatives that only restrict what other parts describe. */
const CONSTRAINTS = ["required", "not", "title", "description"];

function merged(rest: SchemaView["rest"], node: Node, isPart: boolean): SchemaView["rest"] {
  const given = member(node.value, "additionalProperties");
  if (member(node.value, "patternProperties") !== undefined || given === true) return { kind: "open" };
  // In a part of an `allOf`, `false` would refuse the members of the other parts.
  if (given === false) return isPart || rest.kind !== "any" ? rest : { kind: "closed" };
  if (!isRecord(given) || rest.kind !== "any") return rest;
  return Object.keys(given).length === 0 ? { kind: "open" } : { kind: "schema", node: { value: given, file: node.file } };
}

function constantsOf(view: SchemaView): unknown[] | undefined {
  const constant = view.keywords.get("const");
  if (constant !== undefined) return [constant.value];
  const values = listOf(view.keywords.get("enum")?.value);
  return values.length > 0 ? [...values] : undefined;
}

const FORMATS: Record<string, StringFormat> = { date: "date", "date-time": "date-time", uuid: "uuid", email: "email" };

function stringShape(view: SchemaView, direction: Direction): ShapeKind {
  // A result is not refused because of a format, length or pattern.
  if (direction === "output") return { kind: "string" };
  const name = textOf(view.keywords.get("format")?.value);
  const format = name !== undefined && Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  const pattern = textOf(view.keywords.get("pattern")?.value);
  return {
    kind: "string",
    ...(format !== undefined && { format }),
    ...(format === undefined && range(view, "minLength", "maxLength")),
    ...(format === undefined && pattern !== undefined && isPattern(pattern) && { pattern }),
  };
}

/** Whether a pattern is a valid regular expression of JavaScript. Does not run it. */
function isPattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

function numberShape(view: SchemaView, int: boolean, direction: Direction): ShapeKind {
  const number = (name: string) => numberAt(Object.fromEntries([["it", view.keywords.get(name)?.value]]), "it");
  if (direction === "output") return { kind: "number", int };
  // In 3.0 and 2.0, `exclusiveMinimum` and `exclusiveMaximum` are booleans.
  const [minimum, maximum] = [number("minimum"), number("maximum")];
  const above = view.keywords.get("exclusiveMinimum")?.value === true ? minimum : number("exclusiveMinimum");
  const below = view.keywords.get("exclusiveMaximum")?.value === true ? maximum : number("exclusiveMaximum");
  const step = number("multipleOf");
  return {
    kind: "number",
    int,
    ...(minimum !== undefined && minimum !== above && isUseful(minimum) && { min: minimum }),
    ...(maximum !== undefined && maximum !== below && isUseful(maximum) && { max: maximum }),
    ...(above !== undefined && { above }),
    ...(below !== undefined && { below }),
    ...(step !== undefined && Number.isSafeInteger(step) && step > 1 && { step }),
  };
}

/** Whether a bound is exact in JSON. Bounds of 64-bit integers are not. */
function isUseful(bound: number): boolean {
  return Math.abs(bound) <= Number.MAX_SAFE_INTEGER;
}

function range(view: SchemaView, minName: string, maxName: string): { min?: number; max?: number } {
  const [min, max] = [minName, maxName].map((name) => {
    const value = view.keywords.get(name)?.value;
    return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
  });
  return { ...(min !== undefined && min > 0 && { min }), ...(max !== undefined && { max }) };
}

/** Makes a variant accept unknown members: zod takes the first matching variant, and would strip members of others. */
function opened(shape: Shape): Shape {
  return shape.kind === "object" && shape.rest === "strip" ? { ...shape, rest: "loose" } : shape;
}

function areVariants(options: Shape[], property: string): boolean {
  const constants = options.map((it) => (it.kind === "object" ? it.members.find(({ name }) => name === property)?.shape : undefined));
  const values = constants.flatMap((it) => (it?.kind === "enum" ? it.values : []));
  return constants.every((it) => it?.kind === "enum") && new Set(values).size === values.length;
}

function withoutDuplicates(shapes: Shape[]): Shape[] {
  const seen = new Set<string>();
  return shapes.filter((shape) => {
    const { description: _, example: __, name: ___, nullable: ____, ...type } = shape;
    const text = JSON.stringify(type);
    return seen.has(text) ? false : seen.add(text);
  });
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1).replace(/\.(json|ya?ml)$/i, "");
}

function sentence(text: string): string {
  return text === "" || /[.!?…:)]$/.test(text) ? text : `${text}.`;
}

function isShort(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value) && String(value) !== "" && String(value).length <= 60;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
