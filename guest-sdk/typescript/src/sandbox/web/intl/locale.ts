// Intl.Locale (ECMA-402, section 15).
import { direction, maximize, minimize } from "kitbag:intl";

import { baseName, canonicalTag, keywords, registerLocaleClass, typeOption } from "./locales.js";
import { choice, flag, looseOptions } from "./options.js";

let isTag: (value: unknown) => value is Tag;

class Tag {
  readonly #tag: string;

  constructor(tag: unknown, given?: unknown) {
    if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) {
      throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    }
    const options = looseOptions(given);
    const start = canonicalTag(isTag(tag) ? tag.#tag : `${tag as string}`);
    const language = subtag(choice(options, "language"), /^([a-z]{2,3}|[a-z]{5,8})$/i, "language");
    const script = subtag(choice(options, "script"), /^[a-z]{4}$/i, "script");
    const region = subtag(choice(options, "region"), /^([a-z]{2}|[0-9]{3})$/i, "region");
    const old = split(baseName(start));
    const base = [language ?? old.language, script ?? old.script, region ?? old.region, ...old.variants].filter((part) => part !== undefined).join("-");
    const asked: [string, string | undefined][] = [
      ["ca", typeOption(options, "calendar")],
      ["co", typeOption(options, "collation")],
      ["hc", choice(options, "hourCycle", ["h11", "h12", "h23", "h24"])],
      ["kf", choice(options, "caseFirst", ["upper", "lower", "false"])],
      ["kn", flag(options, "numeric")?.toString()],
      ["nu", typeOption(options, "numberingSystem")],
    ];
    const known = keywords(start);
    for (const [key, value] of asked) if (value !== undefined) known.set(key, value === "true" ? "" : value);
    const rest = start.slice(baseName(start).length).replace(/-u(-[a-z0-9]{2,8})+/, "");
    const pairs = [...known].sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, value]) => `-${key}${value === "" ? "" : `-${value}`}`);
    this.#tag = canonicalTag(base + (pairs.length === 0 ? "" : `-u${pairs.join("")}`) + rest);
  }

  static {
    isTag = (value): value is Tag => typeof value === "object" && value !== null && #tag in value;
    registerLocaleClass((value) => (isTag(value) ? value.#tag : undefined));
  }

  get baseName(): string {
    return baseName(this.#tag);
  }

  get language(): string {
    return split(this.baseName).language;
  }

  get script(): string | undefined {
    return split(this.baseName).script;
  }

  get region(): string | undefined {
    return split(this.baseName).region;
  }

  get calendar(): string | undefined {
    return keywords(this.#tag).get("ca");
  }

  get collation(): string | undefined {
    return keywords(this.#tag).get("co");
  }

  get hourCycle(): string | undefined {
    return keywords(this.#tag).get("hc");
  }

  get caseFirst(): string | undefined {
    return keywords(this.#tag).get("kf");
  }

  get numeric(): boolean {
    return ["", "true"].includes(keywords(this.#tag).get("kn") ?? "false");
  }

  get numberingSystem(): string | undefined {
    return keywords(this.#tag).get("nu");
  }

  getTextInfo(): { direction: string } {
    return { direction: direction(this.#tag) };
  }

  maximize(): Tag {
    return new Tag(maximize(this.#tag) ?? this.#tag);
  }

  minimize(): Tag {
    return new Tag(minimize(this.#tag) ?? this.#tag);
  }

  toString(): string {
    return this.#tag;
  }

  get [Symbol.toStringTag](): string {
    return "Intl.Locale";
  }
}

Object.defineProperty(Tag, "name", { value: "Locale" });
export const Locale = Tag;

function subtag(value: string | undefined, pattern: RegExp, name: string): string | undefined {
  if (value !== undefined && !pattern.test(value)) throw new RangeError(`Incorrect locale information provided: ${name}`);
  return value;
}

function split(base: string): { language: string; script: string | undefined; region: string | undefined; variants: string[] } {
  const [language, ...rest] = base.split("-");
  const script = /^[a-z]{4}$/i.test(rest[0] ?? "") ? rest.shift() : undefined;
  const region = /^([a-z]{2}|[0-9]{3})$/i.test(rest[0] ?? "") ? rest.shift() : undefined;
  return { language: language!, script, region, variants: rest };
}
