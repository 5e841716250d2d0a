// The locale-sensitive methods of other classes (ECMA-402, section 20).
import { caseMap } from "kitbag:intl";

import { Collator } from "./collator.js";
import { DateFormatter, type Defaults, type Required } from "./date-time-format.js";
import { baseName, canonicalLocales } from "./locales.js";
import { NumberFormat } from "./number-format.js";

type Method = (this: unknown, first?: unknown, second?: unknown, third?: unknown) => unknown;

/** Replaces the engine's methods, which ignore locales. */
export function installMethods(): void {
  define(Number.prototype, {
    toLocaleString(this: unknown, locales: unknown, options: unknown) {
      return new NumberFormat(locales, options).format(Number.prototype.valueOf.call(this));
    },
  });
  define(BigInt.prototype, {
    toLocaleString(this: unknown, locales: unknown, options: unknown) {
      return new NumberFormat(locales, options).format(BigInt.prototype.valueOf.call(this));
    },
  });
  define(Date.prototype, {
    toLocaleString(this: unknown, locales: unknown, options: unknown) {
      return formatDate(this, locales, options, "any", "all");
    },
    toLocaleDateString(locales, options) {
      return formatDate(this, locales, options, "date", "date");
    },
    toLocaleTimeString(locales, options) {
      return formatDate(this, locales, options, "time", "time");
    },
  });
  define(String.prototype, {
    localeCompare(that, locales, options) {
      return new Collator(locales, options).compare(textOf(this), `${that as string}`);
    },
    toLocaleUpperCase(locales) {
      return changeCase(textOf(this), locales, true);
    },
    toLocaleLowerCase(locales) {
      return changeCase(textOf(this), locales, false);
    },
  });
  const array: Record<string, Method> = {
    toLocaleString(this: unknown, locales: unknown, options: unknown) {
      const items = Array.from(this as ArrayLike<unknown>);
      const text = (item: unknown): string => {
        if (item === undefined || item === null) return "";
        return `${(item as { toLocaleString(...args: unknown[]): string }).toLocaleString(locales, options)}`;
      };
      return items.map(text).join(",");
    },
  };
  define(Array.prototype, array);
  define(Object.getPrototypeOf(Uint8Array.prototype) as object, array);
}

function define(prototype: object, methods: Record<string, Method>): void {
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

function formatDate(date: unknown, locales: unknown, options: unknown, required: Required, defaults: Defaults): string {
  const time = Date.prototype.getTime.call(date as Date);
  if (Number.isNaN(time)) return "Invalid Date";
  return new DateFormatter(locales, options, required, defaults).format(time);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) throw new TypeError("String.prototype method called on null or undefined");
  return `${value as string}`;
}

/** Changes the case of a text. The native module is used only for the few languages with special rules. */
function changeCase(text: string, locales: unknown, upper: boolean): string {
  const [first] = canonicalLocales(locales);
  const language = first === undefined ? "" : (baseName(first).split("-")[0] ?? "");
  if (!["az", "el", "hy", "lt", "nl", "tr"].includes(language) && !text.includes("\u0130")) return upper ? text.toUpperCase() : text.toLowerCase();
  return caseMap(text.toWellFormed(), language === "" ? "und" : language, upper);
}
