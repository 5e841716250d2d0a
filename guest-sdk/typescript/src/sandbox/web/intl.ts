// The global Intl, in the full variant of the engine: numbers, dates, lists, collation, plural rules and
// segmentation for the locales of `supportedLocales`. Importing this also installs the methods of other
// classes that use it, such as `toLocaleString`.
import { supported } from "kitbag:intl";

import { Collator } from "./intl/collator.js";
import { DateTimeFormat } from "./intl/date-time-format.js";
import { ListFormat } from "./intl/list-format.js";
import { Locale } from "./intl/locale.js";
import { canonicalLocales } from "./intl/locales.js";
import { installMethods } from "./intl/methods.js";
import { NumberFormat } from "./intl/number-format.js";
import { PluralRules } from "./intl/plural-rules.js";
import { RelativeTimeFormat } from "./intl/relative-time-format.js";
import { Segmenter } from "./intl/segmenter.js";

const KINDS = ["calendar", "collation", "currency", "numberingSystem", "timeZone", "unit"];

const namespace = {
  Collator,
  DateTimeFormat,
  ListFormat,
  Locale,
  NumberFormat,
  PluralRules,
  RelativeTimeFormat,
  Segmenter,
  getCanonicalLocales: (locales?: unknown): string[] => canonicalLocales(locales),
  supportedValuesOf: (key: unknown): string[] => {
    const kind = `${key as string}`;
    if (!KINDS.includes(kind)) throw new RangeError(`Invalid key : ${kind}`);
    if (kind === "calendar") return ["buddhist", "gregory"];
    return [...supported(kind)].sort();
  },
};

const intl = {};
for (const [name, value] of Object.entries(namespace)) {
  Object.defineProperty(intl, name, { value, writable: true, configurable: true });
}
Object.defineProperty(intl, Symbol.toStringTag, { value: "Intl", configurable: true });
Object.defineProperty(globalThis, "Intl", { value: intl, writable: true, configurable: true });
installMethods();
