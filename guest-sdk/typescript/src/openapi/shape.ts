// Intermediate representation of types, between JSON Schema and zod.

/** Type of an argument, a result, or a part of one. */
export type Shape = ShapeKind & {
  nullable?: true;
  description?: string;
  /** Name of the schema in the document; becomes the name of a constant in the generated code. */
  name?: string;
  /** Example value from the document. */
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
  /** Treatment of other members: rejected, removed, accepted, or accepted if they have this type. */
  rest: "strict" | "strip" | "loose" | Shape;
}

/** One member of an object. */
export interface Member {
  name: string;
  required: boolean;
  shape: Shape;
}

/** Formats whose meaning in zod is the same as in documents. */
export type StringFormat = "date" | "date-time" | "uuid" | "email" | "base64";

export type Scalar = string | number | boolean;

/** Returns the number of types within a type, itself included. */
export function sizeOf(shape: Shape): number {
  return 1 + childrenOf(shape).reduce((sum, child) => sum + sizeOf(child), 0);
}

/** Returns the direct inner types of a type. */
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
