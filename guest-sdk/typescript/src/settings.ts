import type { ManifestConfigField } from "./types.js";

/** Settings that a toolkit declares as `config`, by key. */
export type ToolkitSettings = Readonly<Record<string, Readonly<Omit<ManifestConfigField, "options">> & { readonly options?: readonly string[] | undefined }>>;

/** Type of `ctx.config`. A setting without a default is absent until the user sets it. */
export type SettingValues<Settings extends ToolkitSettings> = {
  readonly [Key in keyof Settings]: SettingValue<Settings[Key]> | (Settings[Key] extends { readonly default: string | number | boolean } ? never : undefined);
};

type SettingValue<Field> =
  Field extends { readonly type: "number" } ? number
  : Field extends { readonly type: "boolean" } ? boolean
  : Field extends { readonly type: "select"; readonly options: readonly (infer Option)[] } ? Option
  : string;
