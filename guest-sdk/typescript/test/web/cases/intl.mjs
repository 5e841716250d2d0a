// Intl for the locales that the engine has data of. Node.js has the same version of CLDR, so texts are the
// same. Where they are not, the locale is left out of the comparison, and a case at the end has the engine's
// result.
const LOCALES = [
  "en", "en-US", "en-GB", "en-AU", "en-CA", "en-IN", "de", "de-AT", "de-CH", "fr", "fr-CA", "es", "es-419", "es-MX", "it", "pt", "pt-PT",
  "nl", "pl", "sv", "da", "nb", "no", "fi", "cs", "sk", "tr", "ru", "uk", "bg", "ar", "he", "hi", "ja", "ko", "zh", "zh-Hant", "zh-TW",
  "id", "vi", "th", "el", "hu", "ro", "hr", "ca",
];
const TIME = Date.UTC(2026, 0, 5, 15, 4, 9, 78);
const SUMMER = Date.UTC(2026, 6, 25, 3, 30, 0, 0);
const zone = { timeZone: "Europe/Berlin" };

const without = (...locales) => LOCALES.filter((locale) => !locales.includes(locale));
/** Korean has "PM" in CLDR 48.1, which Node.js 20 carries, and "오후" in 48.2 of Node.js 22. */
const KOREAN = ["ko"];
/** ICU has its own formats for the Thai calendar, which the packages of CLDR lack. */
const THAI = ["th"];

/** Returns one case per locale. */
function each(name, run, locales = LOCALES) {
  return Object.fromEntries(locales.map((locale) => [`${name}, ${locale}`, () => run(locale)]));
}

const date = (locale, options, time = TIME) => new Intl.DateTimeFormat(locale, { ...zone, ...options }).format(time);
const number = (locale, options, ...values) => {
  const format = new Intl.NumberFormat(locale, options);
  return values.map((value) => format.format(value));
};
const styles = ["full", "long", "medium", "short"];

const COMPONENTS = [
  {}, { weekday: "long" }, { weekday: "short", day: "numeric" }, { year: "numeric" }, { month: "long" }, { month: "short" }, { month: "narrow" }, { day: "numeric" },
  { year: "numeric", month: "long" }, { year: "numeric", month: "short" }, { year: "numeric", month: "2-digit" }, { year: "numeric", month: "numeric" },
  { month: "long", day: "numeric" }, { month: "short", day: "numeric" }, { month: "numeric", day: "numeric" }, { month: "2-digit", day: "2-digit" },
  { year: "numeric", month: "2-digit", day: "2-digit" }, { year: "2-digit", month: "2-digit", day: "2-digit" },
  { year: "numeric", month: "short", day: "numeric" }, { year: "numeric", month: "long", day: "numeric" }, { year: "numeric", month: "long", day: "2-digit" },
  { weekday: "long", year: "numeric", month: "long", day: "numeric" }, { weekday: "short", year: "numeric", month: "short", day: "numeric" },
  { weekday: "short", month: "short", day: "numeric" }, { weekday: "long", month: "long", day: "numeric" }, { weekday: "short", year: "numeric", month: "numeric", day: "numeric" },
  { era: "short", year: "numeric" }, { era: "long", year: "numeric", month: "long", day: "numeric" },
];
const TIMES = [
  { hour: "numeric" }, { hour: "2-digit" }, { hour: "numeric", minute: "numeric" }, { hour: "2-digit", minute: "2-digit" }, { minute: "2-digit", second: "2-digit" },
  { hour: "numeric", minute: "numeric", second: "numeric" }, { hour: "2-digit", minute: "2-digit", second: "2-digit" }, { minute: "numeric" }, { second: "numeric" },
  { hour: "numeric", hour12: true }, { hour: "numeric", minute: "numeric", hour12: true }, { hour: "numeric", minute: "2-digit", hour12: false },
  { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, { hour: "numeric", minute: "numeric", hourCycle: "h12" }, { hour: "numeric", minute: "numeric", second: "numeric", fractionalSecondDigits: 3 },
  { hour: "numeric", minute: "numeric", timeZoneName: "short" }, { hour: "numeric", minute: "2-digit", dayPeriod: "short" }, { hour: "numeric", dayPeriod: "long", hour12: true },
];
const BOTH = [
  { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" },
  { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
  { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "numeric" }, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "numeric" },
  { weekday: "long", year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "numeric" }, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  { weekday: "short", hour: "numeric" }, { weekday: "long", hour: "numeric", minute: "numeric" },
];

export default {
  ...each("date components", (locale) => COMPONENTS.map((options) => date(locale, options))),
  ...each("time components", (locale) => TIMES.map((options) => date(locale, options)), without(...KOREAN, ...THAI)),
  ...each("times after midnight and at noon", (locale) => [0, 60, 720, 1439].map((minutes) => date(locale, { hour: "numeric", minute: "2-digit", hour12: true, timeZone: "UTC" }, minutes * 60_000)), ["en", "en-US", "en-AU", "en-CA", "en-IN", "es-419", "es-MX", "ar", "hi", "el"]),
  ...each("date and time components", (locale) => BOTH.map((options) => date(locale, options)), without(...KOREAN, ...THAI)),
  ...each("date styles", (locale) => styles.map((dateStyle) => date(locale, { dateStyle }))),
  ...each("time styles", (locale) => styles.map((timeStyle) => date(locale, { timeStyle })), without(...KOREAN)),
  ...each("date and time styles", (locale) => styles.map((style) => date(locale, { dateStyle: style, timeStyle: style })), without(...KOREAN)),
  ...each("time styles in another hour cycle", (locale) => [true, false].map((hour12) => date(locale, { dateStyle: "medium", timeStyle: "short", hour12 })), without(...KOREAN)),
  ...each("parts of dates", (locale) => new Intl.DateTimeFormat(locale, { ...zone, dateStyle: "full", timeStyle: "long" }).formatToParts(TIME), without(...KOREAN)),
  ...each("months", (locale) => Array.from({ length: 12 }, (_, month) => ["long", "short", "narrow"].map((width) => date(locale, { month: width }, Date.UTC(2026, month, 5))))),
  ...each("weekdays", (locale) => Array.from({ length: 7 }, (_, day) => ["long", "short", "narrow"].map((weekday) => date(locale, { weekday }, Date.UTC(2026, 1, 1 + day))))),
  ...each("zone names", (locale) =>
    ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Europe/London", "UTC"].flatMap((timeZone) =>
      ["short", "long", "shortOffset", "longOffset"].flatMap((timeZoneName) => [TIME, SUMMER].map((time) => date(locale, { timeZone, hour: "numeric", timeZoneName }, time))),
    ),
  ),
  ...each("long generic zone names", (locale) => ["Europe/Berlin", "America/New_York", "America/Los_Angeles"].map((timeZone) => date(locale, { timeZone, timeZoneName: "longGeneric" }))),
  ...each("resolved date options", (locale) => [{}, { dateStyle: "short" }, ...BOTH].map((options) => new Intl.DateTimeFormat(locale, { ...zone, ...options }).resolvedOptions()), without(...THAI, "es", "es-419", "es-MX", "pt", "pt-PT", "cs", "ca")),
  ...each("methods of Date", (locale) => [
    new Date(TIME).toLocaleString(locale, zone), new Date(TIME).toLocaleDateString(locale, zone), new Date(TIME).toLocaleTimeString(locale, zone),
    new Date(TIME).toLocaleDateString(locale, { ...zone, hour: "numeric" }), new Date(TIME).toLocaleTimeString(locale, { ...zone, day: "numeric" }),
  ], without(...KOREAN)),
  ...each("ranges of dates", (locale) => [
    [{ dateStyle: "medium" }, 3], [{ year: "numeric", month: "short", day: "numeric" }, 3], [{ year: "numeric", month: "short", day: "numeric" }, 40],
    [{ year: "numeric", month: "long", day: "numeric" }, 400], [{ hour: "numeric", minute: "numeric" }, 0.1], [{}, 3],
  ].map(([options, days]) => new Intl.DateTimeFormat(locale, { ...zone, ...options }).formatRange(TIME, TIME + days * 86_400_000)), without(...KOREAN, ...THAI)),

  ...each("numbers", (locale) => number(locale, {}, 0, -0, 1, -1, 0.5, 1234, 12345, 1234567.891, -1234567.891, 1e21, NaN, Infinity, -Infinity, 0.000001234)),
  ...each("percentages", (locale) => number(locale, { style: "percent" }, 0, 0.256, -1.5, 12.34)),
  ...each("money", (locale) => ["EUR", "USD", "JPY", "GBP", "CHF", "INR", "KWD", "SEK"].flatMap((currency) => number(locale, { style: "currency", currency }, 0, 1234.5, -1234567.891))),
  ...each("accounting", (locale) => number(locale, { style: "currency", currency: "USD", currencySign: "accounting" }, 1234.5, -1234.5)),
  ...each("names of money", (locale) => ["EUR", "USD", "JPY"].flatMap((currency) => number(locale, { style: "currency", currency, currencyDisplay: "name" }, 1, 2, 5, -1234.5))),
  ...each("codes and narrow symbols", (locale) => ["code", "narrowSymbol"].flatMap((currencyDisplay) => number(locale, { style: "currency", currency: "CAD", currencyDisplay }, 12.3))),
  ...each("compact numbers", (locale) => number(locale, { notation: "compact" }, 0, 12.34, 999, 1000, 1234, 12345, 123456, 999999, 1234567, -12345678, 123456789, 1e9, 1e12, 1e15, 1e16)),
  ...each("long compact numbers", (locale) => number(locale, { notation: "compact", compactDisplay: "long" }, 1000, 1234, 12345, 999999, 1e6, 2e6, 5e6, 1234567, 1e9)),
  ...each("compact money", (locale) => number(locale, { notation: "compact", style: "currency", currency: "EUR" }, 1234, 12345, 1234567, -1e9)),
  ...each("scientific numbers", (locale) => ["scientific", "engineering"].flatMap((notation) => number(locale, { notation }, 0, 12345, -0.00012345, 1e100))),
  ...each("units", (locale) =>
    ["kilometer", "celsius", "day", "hour", "liter", "megabyte", "percent", "kilometer-per-hour", "meter-per-second", "liter-per-kilometer", "byte-per-second", "mile-per-gallon"].flatMap((unit) =>
      ["short", "long", "narrow"].flatMap((unitDisplay) => number(locale, { style: "unit", unit, unitDisplay }, 1, 2, 5, -1234.5)),
    ),
  ),
  ...each("signs", (locale) => ["auto", "always", "never", "exceptZero", "negative"].flatMap((signDisplay) => number(locale, { signDisplay }, 1, 0, -0, -1))),
  ...each("groups", (locale) => [true, false, "min2", "auto"].flatMap((useGrouping) => number(locale, { useGrouping }, 1234, 12345, 12345678))),
  ...each("parts of numbers", (locale) =>
    [{}, { style: "percent" }, { style: "currency", currency: "EUR" }, { notation: "compact" }, { notation: "compact", compactDisplay: "long" }, { style: "unit", unit: "kilometer-per-hour" }, { notation: "scientific" }, { style: "currency", currency: "USD", currencyDisplay: "name" }].map(
      (options) => new Intl.NumberFormat(locale, options).formatToParts(-1234567.5),
    ),
  ),
  ...each("resolved number options", (locale) => [{}, { style: "currency", currency: "jpy" }, { style: "unit", unit: "day" }, { notation: "compact" }].map((options) => new Intl.NumberFormat(locale, options).resolvedOptions())),

  ...each("plural rules", (locale) => {
    const [cardinal, ordinal] = [new Intl.PluralRules(locale), new Intl.PluralRules(locale, { type: "ordinal" })];
    const numbers = [0, 1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 20, 21, 22, 23, 25, 80, 100, 101, 102, 111, 1e6, 0.5, 1.5, -1];
    return [numbers.map((value) => cardinal.select(value)), numbers.map((value) => ordinal.select(value)), new Intl.PluralRules(locale, { minimumFractionDigits: 1 }).select(1)];
  }, without("es", "es-419", "es-MX", "bg", "vi")),
  ...each("lists", (locale) =>
    ["conjunction", "disjunction", "unit"].flatMap((type) =>
      ["long", "short", "narrow"].flatMap((style) => [[], ["A"], ["A", "B"], ["A", "B", "C"], ["A", "B", "C", "D"]].map((items) => new Intl.ListFormat(locale, { type, style }).format(items))),
    ),
  ),
  ...each("relative times", (locale) =>
    ["long", "short", "narrow"].flatMap((style) =>
      ["always", "auto"].flatMap((numeric) =>
        ["second", "minute", "hour", "day", "week", "month", "quarter", "year"].flatMap((unit) => [-1234, -2, -1, -0, 0, 1, 2, 1.5, 5].map((value) => new Intl.RelativeTimeFormat(locale, { style, numeric }).format(value, unit))),
      ),
    ),
  ),
  ...each("collation", (locale) => {
    const words = ["z", "a", "ä", "Ä", "A", "ö", "o", "å", "aa", "Z", "ch", "c", "d", "h", "ll", "l", "ñ", "n", "ž", "ё", "е", "ж", "é", "e", "ı", "i", "I", "İ", "1", "10", "2", "_", "-", " ", "ß", "ss", "あ", "ア", "か", "中", "一", "ب", "ا", "א", "α", "β", "한", "가"];
    return [words.toSorted(new Intl.Collator(locale).compare), words.toSorted(new Intl.Collator(locale, { numeric: true, caseFirst: "upper" }).compare), words.toSorted((left, right) => left.localeCompare(right, locale))];
  }),
  ...each("case", (locale) => ["istanbul IİIı", "ὈΔΥΣΣΕΎΣ Άνθρωπος", "ijs straße"].flatMap((text) => [text.toLocaleUpperCase(locale), text.toLocaleLowerCase(locale)])),

  "sensitivity": () => ["base", "accent", "case", "variant"].map((sensitivity) => [["a", "b"], ["a", "á"], ["a", "A"], ["a", "a"]].map(([left, right]) => new Intl.Collator("en", { sensitivity }).compare(left, right))),
  "punctuation is ignored on demand": () => [false, true].map((ignorePunctuation) => new Intl.Collator("en", { ignorePunctuation }).compare("a-b", "ab")),
  "keywords of collation": () => ["de-u-co-phonebk", "es-u-co-trad", "en-u-kn-true", "en-u-kf-upper", "da", "th"].map((tag) => new Intl.Collator(tag).resolvedOptions()),
  "phone book and traditional order": () => [["Ärger", "Arzt", "Adler"].toSorted(new Intl.Collator("de-u-co-phonebk").compare), ["churro", "cosa", "dado"].toSorted(new Intl.Collator("es-u-co-trad").compare)],

  "canonical tags": () => ["EN-us", "zh-hant-tw", "iw", "de-DE-u-co-phonebk", "sr-latn-rs", "x-private", "en-u-ca-gregory-nu-latn", "art-lojban"].map((tag) => { try { return Intl.getCanonicalLocales(tag); } catch (error) { return error.name; } }),
  "malformed tags": () => ["", "en_US", "e", "en-", "123", "de-u", "en-a"].map((tag) => { try { return Intl.getCanonicalLocales(tag); } catch (error) { return error.name; } }),
  "supported locales": () => Intl.NumberFormat.supportedLocalesOf(["en-US", "xx", "de", "tlh", "pt-BR", "zh-Hant-TW"]),
  "unknown locales fall back": () => ["tlh", "xx-YY"].map((tag) => new Intl.NumberFormat(tag).format(1234.5)),
  "the resolved locale": () => ["de-DE", "en-US", "en", "ja-JP", "pt-BR", "zh-CN", "zh-TW", "zh-Hans-CN", "ko-KR", "fr-FR", "de-DE-u-nu-arab", "th-u-ca-gregory", "en-u-hc-h23", "de-u-xx-foo"].map((tag) => new Intl.DateTimeFormat(tag).resolvedOptions().locale),
  "Intl.Locale": () => ["zh-Hant-TW", "en", "sr-Latn", "de-u-co-phonebk-kn-nu-latn-hc-h23-ca-gregory-kf-upper"].map((tag) => {
    const locale = new Intl.Locale(tag);
    const { baseName, language, script, region, calendar, collation, hourCycle, caseFirst, numeric, numberingSystem } = locale;
    return [`${locale}`, baseName, language, script, region, calendar, collation, hourCycle, caseFirst, numeric, numberingSystem, `${locale.maximize()}`, `${locale.minimize()}`];
  }),
  "Intl.Locale with options": () => [`${new Intl.Locale("en", { region: "GB", hourCycle: "h23", numberingSystem: "latn", calendar: "buddhist", numeric: true })}`, new Intl.NumberFormat(new Intl.Locale("de")).format(1.5)],

  "graphemes": () => ["e\u0301a", "👨‍👩‍👧🇩🇪x", "각", "\r\n", "नमस्ते", ""].map((text) => [...new Intl.Segmenter("en").segment(text)].map(({ segment, index }) => [segment, index])),
  "words": () => ["Hello, world! It's 3.14 o'clock.", "Die Straße—lang.", "foo_bar a@b.c", "здравствуй мир"].map((text) => [...new Intl.Segmenter("en", { granularity: "word" }).segment(text)].map(({ segment, isWordLike }) => [segment, isWordLike])),
  "sentences": () => [...new Intl.Segmenter("en", { granularity: "sentence" }).segment("Hello there. How are you? Fine! 3.14 is pi.")].map(({ segment }) => segment),
  "a segment by its index": () => [0, 4, 5, 6, 100, -1].map((index) => new Intl.Segmenter("en", { granularity: "word" }).segment("Hello world").containing(index)),

  "zones through the year": () => ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "America/Sao_Paulo", "Pacific/Apia", "utc", "europe/paris"].map((timeZone) =>
    [TIME, SUMMER, Date.UTC(2026, 2, 29, 0, 59, 59), Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 0, 59), Date.UTC(2026, 9, 25, 1), Date.UTC(1970, 0, 1), Date.UTC(2050, 6, 1)].map((time) =>
      new Intl.DateTimeFormat("en-US", { timeZone, dateStyle: "short", timeStyle: "long" }).format(time),
    ),
  ),
  "zones before 1970": () => ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Europe/Dublin"].map((timeZone) =>
    [Date.UTC(1950, 5, 1), Date.UTC(1941, 6, 1), Date.UTC(1916, 7, 1)].map((time) => new Intl.DateTimeFormat("en-US", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(time)),
  ),
  "years before the era and far ones": () => [-62198755200000, -8.64e15, 8.64e15, Date.UTC(-1, 0, 1)].map((time) => new Intl.DateTimeFormat("en", { timeZone: "UTC", era: "short", year: "numeric", month: "short", day: "numeric" }).format(time)),
  "numbering systems": () => ["ar-u-nu-latn", "hi-u-nu-deva", "th-u-nu-thai", "zh-u-nu-hanidec"].flatMap((tag) => [new Intl.NumberFormat(tag).format(-12345.6), new Intl.DateTimeFormat(tag, { timeZone: "UTC", dateStyle: "short", timeStyle: "short" }).format(TIME)]),
  "digits": () => [
    { minimumFractionDigits: 2 }, { maximumFractionDigits: 1 }, { maximumSignificantDigits: 3 }, { minimumSignificantDigits: 5 }, { minimumIntegerDigits: 4 }, { maximumFractionDigits: 0 },
    { maximumFractionDigits: 2, roundingIncrement: 5, minimumFractionDigits: 2 }, { roundingPriority: "morePrecision", maximumSignificantDigits: 2, maximumFractionDigits: 1 },
    { roundingPriority: "lessPrecision", maximumSignificantDigits: 2, maximumFractionDigits: 1 }, { trailingZeroDisplay: "stripIfInteger", minimumFractionDigits: 2 },
  ].map((options) => number("en", options, 0, 1.005, 1.255, 1234.5678, -0.05, 12, 0.0001)),
  "rounding modes": () => ["ceil", "floor", "expand", "trunc", "halfCeil", "halfFloor", "halfExpand", "halfTrunc", "halfEven"].map((roundingMode) => number("en", { maximumFractionDigits: 0, roundingMode }, 1.5, 2.5, -1.5, -2.5, 1.4, -1.6)),
  "large numbers": () => number("en", {}, 12345678901234567890n, -1n, "12345678901234567890.5", "0x10", "abc", "", null, "1e3", true),
  "methods of numbers": () => [(1234.5).toLocaleString("de"), (1234n).toLocaleString("en"), [1234.5, null, new Date(TIME)].toLocaleString("de", { timeZone: "UTC" }), (0.25).toLocaleString("en", { style: "percent" })],
  "invalid options": () => [
    () => new Intl.NumberFormat("en", { style: "currency" }), () => new Intl.NumberFormat("en", { style: "odd" }), () => new Intl.NumberFormat("en", { style: "currency", currency: "EURO" }),
    () => new Intl.NumberFormat("en", { style: "unit", unit: "parsec" }), () => new Intl.NumberFormat("en", { maximumFractionDigits: 101 }), () => new Intl.NumberFormat("en", { minimumFractionDigits: 5, maximumFractionDigits: 2 }),
    () => new Intl.DateTimeFormat("en", { timeZone: "Mars/Olympus" }), () => new Intl.DateTimeFormat("en", { dateStyle: "full", year: "numeric" }), () => new Intl.DateTimeFormat("en", { month: "odd" }),
    () => new Intl.DateTimeFormat("en").format(NaN), () => new Intl.DateTimeFormat("en", null), () => new Intl.NumberFormat(null), () => new Intl.NumberFormat([1]), () => new Intl.RelativeTimeFormat("en").format(1, "fortnight"),
    () => new Intl.RelativeTimeFormat("en").format(Infinity, "day"), () => Intl.PluralRules("en"), () => new Intl.ListFormat("en", "x"), () => new Intl.ListFormat("en").format([1]), () => new Intl.Segmenter("en", { granularity: "line" }),
    () => new Intl.Locale(), () => new Intl.Locale("en", { region: "nowhere" }), () => new Intl.Collator("en", { sensitivity: "odd" }), () => new Date(0).toLocaleDateString("en", { timeStyle: "short" }),
  ].map((run) => { try { return typeof run(); } catch (error) { return error.name; } }),
  "constructors without new": () => [Intl.NumberFormat("de").format(1.5), Intl.DateTimeFormat("en", { timeZone: "UTC" }).format(TIME), Intl.Collator("en").compare("a", "b"), Intl.NumberFormat("de") instanceof Intl.NumberFormat],
  "bound functions": () => [[1.5, 2.5].map(new Intl.NumberFormat("de").format), [TIME].map(new Intl.DateTimeFormat("en", { timeZone: "UTC" }).format)],
  "names and tags": () => ["Collator", "DateTimeFormat", "ListFormat", "Locale", "NumberFormat", "PluralRules", "RelativeTimeFormat", "Segmenter"].map((name) => [Intl[name].name, Object.prototype.toString.call(new Intl[name]("en"))]),

  // V8 of Node.js 20 follows an older edition of ECMA-402, in which Germany's half days begin at 0.
  "half days begin at 12": {
    expected: ["12:00 AM", "1:00 AM", "12:00 PM", "午前12:00"],
    run: () => [...[0, 60, 720].map((minutes) => date("de", { hour: "numeric", minute: "2-digit", hour12: true, timeZone: "UTC" }, minutes * 60_000)), date("ja", { hour: "numeric", minute: "2-digit", hour12: true, timeZone: "UTC" }, 0)],
  },
  "times of day in Korean": {
    expected: ["PM 4:04", "2026. 1. 5. PM 4:04:09"],
    run: () => [date("ko", { timeStyle: "short" }), new Date(TIME).toLocaleString("ko", zone)],
  },
  "times in Thai": {
    expected: ["16:04 น.", "5 มกราคม 2569 เวลา 16:04 น."],
    run: () => [{ hour: "numeric", minute: "numeric" }, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "numeric" }].map((options) => date("th", options)),
  },
  // V8 also takes letters in the literal text of a pattern for fields: it finds seconds in "a las".
  "words of a pattern are no fields": {
    expected: [undefined, "numeric"].map((value) => value ?? null),
    run: () => {
      const { second, minute } = new Intl.DateTimeFormat("es", { month: "long", day: "numeric", hour: "numeric", minute: "numeric", timeZone: "UTC" }).resolvedOptions();
      return [second ?? null, minute === "2-digit" ? "numeric" : minute];
    },
  },
  // ICU4X has the plural rules of a newer CLDR.
  "newer plural rules": {
    expected: ["one", "other", "one"],
    run: () => [new Intl.PluralRules("es", { type: "ordinal" }).select(1), new Intl.PluralRules("es", { type: "ordinal" }).select(2), new Intl.PluralRules("vi").select(0)],
  },
  "offsets as zones": {
    expected: ["+05:30", "1/5/26, 8:34 PM", "-08:00", "RangeError"],
    run: () => [
      new Intl.DateTimeFormat("en", { timeZone: "+0530" }).resolvedOptions().timeZone, date("en", { timeZone: "+05:30", dateStyle: "short", timeStyle: "short" }),
      new Intl.DateTimeFormat("en", { timeZone: "-08" }).resolvedOptions().timeZone, (() => { try { return date("en", { timeZone: "+24:00" }); } catch (error) { return error.name; } })(),
    ],
  },
  // The given name of a zone is kept, as in ECMA-402 since 2024; Node.js 20 returns the name that CLDR
  // prefers.
  "names of zones are kept": {
    expected: ["Asia/Kolkata", "Asia/Calcutta", "US/Eastern", "UTC", "UTC"],
    run: () => ["asia/kolkata", "Asia/Calcutta", "US/Eastern", "Etc/UTC", "GMT"].map((timeZone) => new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone),
  },
  "the symbols of another script's digits are those of the locale": { expected: ["-١٢,٣٤٥.٦"], run: () => number("en-u-nu-arab", {}, -12345.6) },
  "locales without data fall back to what CLDR inherits from": {
    expected: ["es-419", "en-US", "zh-Hant", "fr", "de-DE", "no"],
    run: () => ["es-AR", "sw", "zh-Hant-MO", "fr-BE", "de-DE", "no"].map((tag) => new Intl.NumberFormat(tag).resolvedOptions().locale),
  },
  "the words of Thai and Chinese are not found": {
    expected: [["สวัสดีครับ"], ["你好世界"]],
    run: () => ["สวัสดีครับ", "你好世界"].map((text) => [...new Intl.Segmenter("en", { granularity: "word" }).segment(text)].map(({ segment }) => segment)),
  },
};
