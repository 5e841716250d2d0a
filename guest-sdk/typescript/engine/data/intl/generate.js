// Writes the locale data of `Intl` from the npm packages of CLDR: one JSON file per locale, and
// `supplemental.json` for data that no locale owns. `build.rs` packs them; `src/intl/schema.rs` documents the
// fields.
//
//     npm ci && node generate.js
//
// The version of CLDR is the one in Node.js 20 (ICU 78.2), so that both format alike.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LOCALES = [
  "ar", "bg", "ca", "cs", "da", "de", "de-AT", "de-CH", "el", "en", "en-AU", "en-CA", "en-GB", "en-IN", "es", "es-419",
  "es-MX", "fi", "fr", "fr-CA", "he", "hi", "hr", "hu", "id", "it", "ja", "ko", "nb", "nl", "pl", "pt", "pt-PT", "ro",
  "ru", "sk", "sv", "th", "tr", "uk", "vi", "zh", "zh-Hant",
];

/** The units of ECMA-402, section 6.6.2, with their categories in CLDR. */
const UNITS = {
  acre: "area", hectare: "area", bit: "digital", byte: "digital", kilobit: "digital", kilobyte: "digital",
  megabit: "digital", megabyte: "digital", gigabit: "digital", gigabyte: "digital", terabit: "digital",
  terabyte: "digital", petabyte: "digital", celsius: "temperature", fahrenheit: "temperature", degree: "angle",
  centimeter: "length", foot: "length", inch: "length", kilometer: "length", meter: "length", mile: "length",
  "mile-scandinavian": "length", millimeter: "length", yard: "length", "fluid-ounce": "volume", gallon: "volume",
  liter: "volume", milliliter: "volume", gram: "mass", kilogram: "mass", ounce: "mass", pound: "mass", stone: "mass",
  nanosecond: "duration", microsecond: "duration", millisecond: "duration", second: "duration", minute: "duration",
  hour: "duration", day: "duration", week: "duration", month: "duration", year: "duration", percent: "concentr",
};
/** Compound units with their own pattern in CLDR. */
const COMPOUND_UNITS = {
  "kilometer-per-hour": "speed", "meter-per-second": "speed", "mile-per-hour": "speed",
  "mile-per-gallon": "consumption", "liter-per-kilometer": "consumption",
};
const FIELDS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];
const WIDTHS = ["wide", "abbreviated", "narrow"];

const here = new URL("./", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(`node_modules/${path}`, here), "utf8"));
const supplemental = (name) => read(`cldr-core/supplemental/${name}.json`).supplemental;
const sorted = (pairs) => pairs.sort(([a], [b]) => (a < b ? -1 : 1));
const write = (name, value) => writeFileSync(new URL(`${name}.json`, here), `${lines(value)}\n`);

for (const file of readdirSync(fileURLToPath(here))) {
  if (file.endsWith(".json") && !file.startsWith("package")) rmSync(new URL(file, here));
}
const tenders = currentTenders();
const locales = new Map(LOCALES.map((locale) => [locale, extract(locale)]));
for (const [locale, data] of locales) write(locale, data);
write("supplemental", shared());

/** Returns all data of one locale. */
function extract(locale) {
  const main = (name, file) => read(`cldr-${name}-full/main/${locale}/${file}.json`).main[locale];
  return {
    numbers: numbers(main("numbers", "numbers").numbers, main("numbers", "currencies").numbers.currencies),
    currency_names: currencyNames(main("numbers", "currencies").numbers.currencies),
    units: units(main("units", "units").units),
    dates: dates(locale, main("dates", "ca-gregorian").dates.calendars.gregorian, main),
    zones: zones(main("dates", "timeZoneNames").dates.timeZoneNames),
    phrases: phrases(main("dates", "dateFields").dates.fields, main("misc", "listPatterns").listPatterns),
  };
}

function numbers(from, currencies) {
  const systems = Object.keys(from).filter((key) => key.startsWith("symbols-numberSystem-"));
  return {
    numbering: from.defaultNumberingSystem,
    native: from.otherNumberingSystems.native,
    min_grouping: Number(from.minimumGroupingDigits),
    systems: systems.map((key) => {
      const id = key.slice("symbols-numberSystem-".length);
      const symbols = from[key];
      const decimal = from[`decimalFormats-numberSystem-${id}`];
      const currency = from[`currencyFormats-numberSystem-${id}`];
      const misc = from[`miscPatterns-numberSystem-${id}`];
      return {
        id,
        decimal: symbols.decimal,
        group: symbols.group,
        percent: symbols.percentSign,
        plus: symbols.plusSign,
        minus: symbols.minusSign,
        approximately: symbols.approximatelySign ?? "~",
        exponential: symbols.exponential,
        infinity: symbols.infinity,
        nan: symbols.nan,
        currency_decimal: symbols.currencyDecimal ?? "",
        currency_group: symbols.currencyGroup ?? "",
        decimal_pattern: decimal.standard,
        percent_pattern: from[`percentFormats-numberSystem-${id}`].standard,
        currency_pattern: currency.standard,
        accounting_pattern: currency.accounting,
        currency_names: counts(currency, "unitPattern"),
        compact_short: compact(decimal.short.decimalFormat),
        compact_long: compact(decimal.long.decimalFormat),
        compact_currency: compact(currency.short?.standard ?? {}),
        range: misc.range,
      };
    }),
    currencies: sorted(
      Object.entries(currencies)
        .map(([code, { symbol = code, "symbol-alt-narrow": narrow = symbol }]) => [code, symbol, narrow])
        .filter(([code, symbol, narrow]) => symbol !== code || narrow !== code),
    ),
  };
}

function currencyNames(from) {
  return {
    currencies: sorted(
      Object.entries(from)
        .filter(([code]) => tenders.has(code))
        .map(([code, names]) => [code, [["", names.displayName ?? code], ...counts(names, "displayName")]]),
    ),
  };
}

function compact(from) {
  return Object.entries(from)
    .filter(([key]) => /^10+-count-[a-z0-9]+$/.test(key))
    .map(([key, pattern]) => {
      const [digits, count] = key.split("-count-");
      return [digits.length - 1, count, pattern];
    });
}

/** Returns `[plural category, text]` for each key `NAME-count-CATEGORY`. */
function counts(from, name) {
  return Object.entries(from)
    .filter(([key]) => key.startsWith(`${name}-count-`) && !key.includes("-alt-"))
    .map(([key, text]) => [key.slice(name.length + 7), text]);
}

function units(from) {
  const widths = ["long", "short", "narrow"];
  const patterns = (unit) => [unit.perUnitPattern ?? "", counts(unit, "unitPattern").filter(([count]) => !count.includes("-"))];
  return {
    units: sorted(
      Object.entries({ ...UNITS, ...COMPOUND_UNITS })
        .filter(([unit, category]) => from.long[`${category}-${unit}`])
        .map(([unit, category]) => [unit, widths.map((width) => patterns(from[width][`${category}-${unit}`]))]),
    ),
    per: widths.map((width) => from[width].per.compoundUnitPattern),
  };
}

function dates(locale, from, main) {
  const names = (table, keys) => WIDTHS.map((width) => keys.map((key) => table[width]?.[key] ?? ""));
  const months = Array.from({ length: 12 }, (_, index) => String(index + 1));
  const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
  const quarters = ["1", "2", "3", "4"];
  const styles = ["full", "long", "medium", "short"];
  const { availableFormats, appendItems, intervalFormats } = from.dateTimeFormats;
  const text = (pattern) => (typeof pattern === "string" ? pattern : pattern._value);
  const append = ["Era", "Year", "Quarter", "Month", "Week", "Week", "Day-Of-Week", "Day", "Day", "Day-Of-Week", "Hour", "Hour", "Minute", "Second", "Second", "Timezone"];
  const fields = main("dates", "dateFields").dates.fields;
  const fieldNames = ["era", "year", "quarter", "month", "week", "weekOfMonth", "weekday", "day", "dayOfYear", "weekdayOfMonth", "dayperiod", "hour", "minute", "second", "second", "zone"];
  const period = (table) => WIDTHS.map((width) => Object.entries(table[width]).filter(([key]) => !key.includes("-alt-")));
  const zone = main("dates", "timeZoneNames").dates.timeZoneNames;
  const intervals = (of) =>
    sorted(
      Object.entries(of)
        .filter(([key, value]) => typeof value === "object" && !/[QW]/.test(key))
        .map(([key, value]) => [key, Object.entries(value).filter(([difference]) => !difference.includes("-"))]),
    );
  const available = (of) =>
    sorted(Object.entries(of).filter(([key]) => !key.includes("-")).map(([key, pattern]) => [key, text(pattern)]));
  const calendar = (of) => ({
    date_formats: styles.map((style) => text(of.dateFormats[style])),
    available: available(of.dateTimeFormats.availableFormats),
    intervals: intervals(of.dateTimeFormats.intervalFormats),
  });
  const gregorian = calendar({ ...from, dateTimeFormats: { availableFormats, intervalFormats } });
  return {
    gregorian,
    generic: locale === "th" ? thai(gregorian) : calendar(main("dates", "ca-generic").dates.calendars.generic),
    months: names(from.months.format, months),
    months_alone: names(from.months["stand-alone"], months),
    days: names(from.days.format, days),
    days_alone: names(from.days["stand-alone"], days),
    days_short: [days.map((day) => from.days.format.short[day]), days.map((day) => from.days["stand-alone"].short[day])],
    quarters: names(from.quarters.format, quarters),
    periods: period(from.dayPeriods.format),
    periods_alone: period(from.dayPeriods["stand-alone"]),
    eras: ["eraNames", "eraAbbr", "eraNarrow"].map((width) => [from.eras[width]["0"], from.eras[width]["1"]]),
    time_formats: styles.map((style) => text(from.timeFormats[style])),
    date_time_formats: styles.map((style) => text(from.dateTimeFormats[style])),
    at_time_formats: styles.map((style) => text(from["dateTimeFormats-atTime"].standard[style])),
    append: append.map((item) => appendItems[item] ?? "{0} ({2}: {1})"),
    field_names: fieldNames.map((field) => fields[field]?.displayName ?? ""),
    interval_fallback: intervalFormats.intervalFormatFallback,
    hour_format: zone.hourFormat,
    gmt_format: zone.gmtFormat,
    gmt_zero: zone.gmtZeroFormat,
  };
}

/** Patterns of the Buddhist calendar in Thai: no era, except for a year alone. CLDR's package for it has no data. */
function thai({ date_formats: [full, long, ...others], available, intervals }) {
  return {
    date_formats: [full, long.replace("G ", ""), ...others],
    available: available.map(([skeleton, pattern]) => [skeleton, skeleton === "y" ? "G y" : pattern]),
    intervals,
  };
}

function zones(from) {
  const six = (entry) => ["long", "short"].flatMap((width) => ["generic", "standard", "daylight"].map((kind) => {
    const name = entry[width]?.[kind] ?? "";
    return name === "∅∅∅" ? "" : name;
  }));
  const own = [];
  const visit = (path, node) => {
    if (node.long || node.short) own.push([path.join("/"), six(node)]);
    for (const [key, child] of Object.entries(node)) {
      if (typeof child === "object" && key !== "long" && key !== "short") visit([...path, key], child);
    }
  };
  visit([], from.zone ?? {});
  return {
    metazones: sorted(Object.entries(from.metazone ?? {}).map(([id, entry]) => [id, six(entry)])),
    zones: sorted(own.filter(([, names]) => names.some((name) => name !== ""))),
  };
}

function phrases(fields, lists) {
  const styles = ["", "-short", "-narrow"];
  const types = ["standard", "or", "unit"];
  const name = (type, width) => `listPattern-type-${type}${width}`;
  return {
    relative: FIELDS.flatMap((field) => styles.map((style) => {
      const from = fields[`${field}${style}`];
      return {
        name: `${field}${style}`,
        fixed: Object.entries(from)
          .filter(([key]) => key.startsWith("relative-type-"))
          .map(([key, text]) => [Number(key.slice(14)), text]),
        future: counts(from["relativeTime-type-future"], "relativeTimePattern"),
        past: counts(from["relativeTime-type-past"], "relativeTimePattern"),
      };
    })),
    lists: types.flatMap((type) => styles.map((width) => {
      const from = lists[name(type, width)];
      return [from.start, from.middle, from.end, from["2"]];
    })),
  };
}

function currentTenders() {
  const codes = new Set();
  for (const uses of Object.values(supplemental("currencyData").currencyData.region)) {
    for (const use of uses) {
      for (const [code, { _to, _tender }] of Object.entries(use)) if (!_to && _tender !== "false") codes.add(code);
    }
  }
  return codes;
}

/** Returns the data that no locale owns. */
function shared() {
  const { fractions, region } = supplemental("currencyData").currencyData;
  const codes = new Set(Object.values(region).flatMap((uses) => uses.flatMap((use) => Object.keys(use))));
  const systems = Object.entries(supplemental("numberingSystems").numberingSystems);
  const hours = supplemental("timeData").timeData;
  const rules = supplemental("dayPeriods").dayPeriodRuleSet;
  const minutes = (time) => Number(time.split(":")[0]);
  const languages = new Set([...locales.keys()].map((locale) => locale.split("-")[0]));
  return {
    same: sameAs(),
    parents: sorted(
      Object.entries(supplemental("parentLocales").parentLocales.parentLocale).filter(([, parent]) => locales.has(parent)),
    ),
    digits: sorted(systems.filter(([, system]) => system._type === "numeric").map(([id, system]) => [id, system._digits])),
    currencies: [...codes].sort(),
    fractions: sorted(Object.entries(fractions).map(([code, { _digits }]) => [code, Number(_digits)])),
    hours: sorted(
      Object.entries(hours).map(([place, { _allowed, _preferred }]) => [place.replace("_", "-"), _preferred, _allowed.split(" ")[0]]),
    ),
    day_periods: sorted(
      Object.entries(rules)
        .filter(([language]) => languages.has(language))
        .map(([language, of]) => [
          language,
          Object.entries(of).map(([period, rule]) =>
            rule._at ? [period, minutes(rule._at), minutes(rule._at)] : [period, minutes(rule._from), minutes(rule._before)]),
        ]),
    ),
    ...timeZones(),
  };
}

/** Returns locales of CLDR that have the same data as the locale in `LOCALES` that they inherit from. */
function sameAs() {
  const parents = supplemental("parentLocales").parentLocales.parentLocale;
  // "no" is the macrolanguage, for which CLDR has Bokmål's data.
  const found = [["no", "nb"]];
  for (const locale of readdirSync(fileURLToPath(new URL("node_modules/cldr-dates-full/main", here)))) {
    if (locales.has(locale) || !existsSync(new URL(`node_modules/cldr-units-full/main/${locale}/units.json`, here))) continue;
    const parent = parents[locale] ?? locale.replace(/-[^-]*$/, "");
    if (!locales.has(parent)) continue;
    if (JSON.stringify(extract(locale)) === JSON.stringify(locales.get(parent))) found.push([locale, parent]);
  }
  return sorted(found);
}

/** Returns the aliases of time zones with their canonical ids in CLDR, and the metazones of each with their ends. */
function timeZones() {
  const { u: { tz } } = read("cldr-bcp47/bcp47/timezone.json").keyword;
  const aliases = Object.values(tz)
    .filter((zone) => zone?._alias && !zone._deprecated)
    .map(({ _alias, _iana }) => [_alias.split(" "), _iana])
    .flatMap(([[canonical, ...others]]) => others.map((other) => [other, canonical]));
  const uses = [];
  const visit = (path, node) => {
    if (Array.isArray(node)) {
      const seconds = (time) => (time ? Date.parse(`${time.replace(" ", "T")}:00Z`) / 1000 : null);
      uses.push([path.join("/"), node.map(({ usesMetazone: { _mzone, _to } }) => [_mzone, seconds(_to)])]);
    } else {
      for (const [key, child] of Object.entries(node)) visit([...path, key], child);
    }
  };
  visit([], supplemental("metaZones").metaZones.metazoneInfo.timezone);
  return { zone_aliases: sorted(aliases), metazones: sorted(uses) };
}

/** Formats JSON with one entry per line, for readable diffs when CLDR changes. */
function lines(value) {
  const entry = (key, item) => {
    const text = JSON.stringify(item);
    if (text.length < 4000 || typeof item !== "object") return `${JSON.stringify(key)}:${text}`;
    if (Array.isArray(item)) return `${JSON.stringify(key)}:[\n${item.map((each) => JSON.stringify(each)).join(",\n")}\n]`;
    return `${JSON.stringify(key)}:{\n${Object.entries(item).map((each) => entry(...each)).join(",\n")}\n}`;
  };
  return `{\n${Object.entries(value).map((each) => entry(...each)).join(",\n")}\n}`;
}
