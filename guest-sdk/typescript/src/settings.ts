import type { ManifestField } from "./manifest.js";

/** Says why `value` does not fit `field`, or nothing when it does. */
export function mismatch(field: Pick<ManifestField, "type" | "options">, value: unknown): string | undefined {
  switch (field.type) {
    case "string":
      return typeof value === "string" ? undefined : "must be a string";
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? undefined : "must be a number";
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "select": {
      const options = field.options ?? [];
      return options.includes(value as string) ? undefined : `must be one of: ${options.join(", ")}`;
    }
  }
}

/**
 * Returns what a handler sees as `ctx.config`: the user's values over the declared defaults. Keys that
 * are not declared, and values that do not fit, are left out.
 */
export function effective(
  fields: Record<string, ManifestField>,
  values: Record<string, unknown>,
): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) {
    const chosen = Object.hasOwn(values, key) && mismatch(field, values[key]) === undefined;
    const value = chosen ? values[key] : field.default;
    if (value !== undefined) config[key] = value;
  }
  return config;
}
