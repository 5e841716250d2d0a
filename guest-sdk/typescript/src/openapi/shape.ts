// The types of arguments and results, between JSON Schema and zod.

/** A type. */
export type Shape = ShapeKind & {
  nullable?: true;
  description?: string;
  /** The name of the schema in the document, for a constant in the generated code. */
  name?: string;
  /** A value that the document gives as an example. */
  example?: unknown;
};

export type ShapeKind =
  | { kind: "unknown" | "boolean" | "null" }
  | { kind: "string"; format?: StringFormat; min?: number; max?: number; pattern?: string }
  | { kind: "number"; int: boolean; min?: number; max?: number; above?: number; below?: number; step?: number }
  | { kind: "enum"; values: Scalar[] }
  | { kind: "array"; items: Shape; min?: number; max?: number }
  | { kind: "record"; values: Shape }
  | ObjectShape
  | { kind: "union"; options: Shape[]; discriminator?: string }
  | { kind: "both"; left: Shape; right: Shape };

export interface ObjectShape {
  kind: "object";
  members: Member[];
  /** Other members are refused, dropped, kept, or kept if they have this type. */
  rest: "strict" | "strip" | "loose" | Shape;
}

/** One member of an object. */
export interface Member {
  name: string;
  required: boolean;
  shape: Shape;
}

/** Formats that zod checks as documents mean them. */
export type StringFormat = "date" | "date-time" | "uuid" | "email" | "base64";

export type Scalar = string | number | boolean;

/** Returns how many types a type consists of. */
export function sizeOf(shape: Shape): number {
  return 1 + childrenOf(shape).reduce((sum, child) => sum + sizeOf(child), 0);
}

/** Returns the types within a type. */
export function childrenOf(shape: Shape): Shape[] {
  switch (shape.kind) {
    case "array":
      return [shape.items];
    case "record":
      return [shape.values];
    case "object":
      return [...shape.members.map((it) => it.shape), ...(typeof shape.rest === "object" ? [shape.rest] : [])];
    case "union":
      return shape.options;
    case "both":
      return [shape.left, shape.right];
    default:
      return [];
  }
}
