//! The module `kitbag:intl`: the native part of the global `Intl`. Numbers, dates, lists and relative times
//! are formatted with patterns of CLDR that `build.rs` packs; plural rules, collation, segmentation, case
//! mapping and language tags are implemented by ICU4X.
//!
//! JavaScript checks the options and passes their resolved values; a formatter is a closure over these.

mod collator;
mod data;
mod datetime;
mod locale;
mod number;
mod parts;
mod pattern;
mod phrases;
mod plural;
#[allow(dead_code, reason = "build.rs writes what is only read here")]
mod schema;
mod segmenter;
mod skeleton;
mod zone;

use icu_casemap::CaseMapper;
use icu_locale::LanguageIdentifier;
use icu_plurals::PluralRuleType;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Array, Ctx, Exception, Function, Object, Result, TypedArray, Value};

use data::LocaleData;
use datetime::DateTimeFormat;
use number::{Digits, Number, NumberFormat};
use plural::Plurals;
use zone::Zone;

/// The module `kitbag:intl`.
pub(crate) struct Intl;

const EXPORTS: &[&str] = &[
    "bestLocale",
    "canonicalize",
    "caseMap",
    "collator",
    "dateTimeFormat",
    "defaultHour",
    "defaultNumbering",
    "direction",
    "fractionDigits",
    "knows",
    "list",
    "maximize",
    "minimize",
    "numberFormat",
    "pluralRules",
    "relativeTimeFormat",
    "segment",
    "supported",
    "timeZone",
];

impl ModuleDef for Intl {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        EXPORTS.iter().try_for_each(|name| declarations.declare(*name).map(|_| ()))
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        let text = |function: fn(&str) -> Option<String>| {
            Function::new(ctx.clone(), move |tag: String| function(&tag))
        };
        exports.export("canonicalize", text(locale::canonicalize)?)?;
        exports.export("maximize", text(locale::maximize)?)?;
        exports.export("minimize", text(locale::minimize)?)?;
        exports.export("timeZone", text(|name| Zone::named(name).map(|zone| zone.name().to_owned()))?)?;
        exports.export("direction", Function::new(ctx.clone(), |tag: String| locale::direction(&tag))?)?;
        exports.export(
            "defaultHour",
            Function::new(ctx.clone(), |tag: String| locale::hour(&tag).to_string())?,
        )?;
        exports.export("bestLocale", Function::new(ctx.clone(), best_locale)?)?;
        exports.export("defaultNumbering", Function::new(ctx.clone(), default_numbering)?)?;
        exports.export(
            "fractionDigits",
            Function::new(ctx.clone(), |code: String| number::fraction_digits(&code))?,
        )?;
        exports
            .export("knows", Function::new(ctx.clone(), |kind: String, name: String| knows(&kind, &name))?)?;
        exports.export("supported", Function::new(ctx.clone(), |kind: String| supported(&kind))?)?;
        exports.export("caseMap", Function::new(ctx.clone(), case_map)?)?;
        exports.export("numberFormat", Function::new(ctx.clone(), number_format)?)?;
        exports.export("dateTimeFormat", Function::new(ctx.clone(), date_time_format)?)?;
        exports.export("pluralRules", Function::new(ctx.clone(), plural_rules)?)?;
        exports.export("collator", Function::new(ctx.clone(), collator)?)?;
        exports.export("list", Function::new(ctx.clone(), list)?)?;
        exports.export("relativeTimeFormat", Function::new(ctx.clone(), relative_time_format)?)?;
        exports.export("segment", Function::new(ctx.clone(), segment)?)?;
        Ok(())
    }
}

/// Returns the available locale for a tag, and the name of the locale whose data it uses.
fn best_locale(tag: String) -> Option<Vec<String>> {
    locale::best(&tag).map(|found| vec![found.name, String::from(found.data.name())])
}

fn locale_data(ctx: &Ctx<'_>, name: &str) -> Result<LocaleData> {
    LocaleData::named(name).ok_or_else(|| Exception::throw_range(ctx, "no data for this locale"))
}

/// Returns the default numbering system of a locale with data, and that of its script.
fn default_numbering(ctx: Ctx<'_>, name: String) -> Result<Vec<&'static str>> {
    let numbers = locale_data(&ctx, &name)?.numbers();
    Ok(vec![numbers.numbering, numbers.native])
}

fn knows(kind: &str, name: &str) -> bool {
    let shared = data::supplemental();
    match kind {
        "numberingSystem" => data::find(&shared.digits, name).is_some(),
        _ => false,
    }
}

/// Returns the values of `Intl.supportedValuesOf`.
fn supported(kind: &str) -> Vec<&'static str> {
    let shared = data::supplemental();
    match kind {
        "currency" => shared.currencies.clone(),
        "numberingSystem" => shared.digits.iter().map(|(id, _)| *id).collect(),
        "timeZone" => data::time_zones()
            .filter(|name| name.contains('/') && !name.starts_with("Etc/"))
            .chain(["UTC"])
            .collect(),
        "locale" => data::locales().collect(),
        _ => Vec::new(),
    }
}

/// Converts a text to upper or lower case by the rules of a language.
fn case_map(text: String, tag: String, upper: bool) -> String {
    let id = LanguageIdentifier::try_from_str(&tag).unwrap_or(LanguageIdentifier::UNKNOWN);
    let mapper = CaseMapper::new();
    if upper { mapper.uppercase_to_string(&text, &id) } else { mapper.lowercase_to_string(&text, &id) }
        .into_owned()
}

/// Reads a number: a JavaScript number, or a text with the digits of a large one. Anything else is `NaN`.
fn number_of(value: &Value<'_>) -> Result<Number> {
    Ok(match (value.as_number(), value.as_string()) {
        (Some(number), _) => Number::from_f64(number),
        (None, Some(text)) => Number::from_text(&text.to_string()?),
        (None, None) => Number::NaN,
    })
}

fn number_digits(options: &Object<'_>) -> Result<Digits> {
    let pair = |low: &str, high: &str| -> Result<(i16, i16)> {
        Ok((
            options.get::<_, Option<i16>>(low)?.unwrap_or(0),
            options.get::<_, Option<i16>>(high)?.unwrap_or(0),
        ))
    };
    Ok(Digits {
        integer: options.get::<_, Option<i16>>("minimumIntegerDigits")?.unwrap_or(1),
        fraction: pair("minimumFractionDigits", "maximumFractionDigits")?,
        significant: pair("minimumSignificantDigits", "maximumSignificantDigits")?,
        rounding: match options.get::<_, String>("roundingType")?.as_str() {
            "significantDigits" => number::Rounding::Significant,
            "morePrecision" => number::Rounding::MorePrecision,
            "lessPrecision" => number::Rounding::LessPrecision,
            _ => number::Rounding::Fraction,
        },
        mode: number::rounding_mode(&options.get::<_, String>("roundingMode")?),
        increment: options.get::<_, Option<u16>>("roundingIncrement")?.unwrap_or(1),
        strip_if_integer: options.get::<_, Option<String>>("trailingZeroDisplay")?.as_deref()
            == Some("stripIfInteger"),
    })
}

fn number_options(options: &Object<'_>) -> Result<number::Options> {
    let text = |name: &str| options.get::<_, Option<String>>(name).map(Option::unwrap_or_default);
    let style = match text("style")?.as_str() {
        "percent" => number::Style::Percent,
        "currency" => number::Style::Currency {
            code: text("currency")?,
            display: match text("currencyDisplay")?.as_str() {
                "code" => number::CurrencyDisplay::Code,
                "narrowSymbol" => number::CurrencyDisplay::NarrowSymbol,
                "name" => number::CurrencyDisplay::Name,
                _ => number::CurrencyDisplay::Symbol,
            },
            accounting: text("currencySign")? == "accounting",
        },
        "unit" => number::Style::Unit { unit: text("unit")?, width: width(&text("unitDisplay")?) },
        _ => number::Style::Decimal,
    };
    Ok(number::Options {
        numbering: text("numberingSystem")?,
        style,
        notation: match (text("notation")?.as_str(), text("compactDisplay")?.as_str()) {
            ("scientific", _) => number::Notation::Scientific,
            ("engineering", _) => number::Notation::Engineering,
            ("compact", "long") => number::Notation::CompactLong,
            ("compact", _) => number::Notation::CompactShort,
            _ => number::Notation::Standard,
        },
        sign: match text("signDisplay")?.as_str() {
            "never" => number::SignDisplay::Never,
            "always" => number::SignDisplay::Always,
            "exceptZero" => number::SignDisplay::ExceptZero,
            "negative" => number::SignDisplay::Negative,
            _ => number::SignDisplay::Auto,
        },
        grouping: match text("useGrouping")?.as_str() {
            "false" => number::Grouping::Never,
            "always" => number::Grouping::Always,
            "min2" => number::Grouping::MinTwo,
            _ => number::Grouping::Auto,
        },
        digits: number_digits(options)?,
    })
}

/// Returns the index of a width: 0 for long, 1 for short, 2 for narrow.
fn width(name: &str) -> usize {
    match name {
        "long" => 0,
        "narrow" => 2,
        _ => 1,
    }
}

/// Returns a function `(number, parts)` that formats a number: to text, or to parts if `parts` is `true`.
fn number_format<'js>(ctx: Ctx<'js>, name: String, options: Object<'js>) -> Result<Function<'js>> {
    let format = NumberFormat::new(locale_data(&ctx, &name)?, number_options(&options)?);
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: Value<'js>, parts: bool| {
        let formatted = format.format(&number_of(&value)?);
        output(&ctx, formatted, parts)
    })
}

fn output<'js>(ctx: &Ctx<'js>, formatted: parts::Parts, parts: bool) -> Result<Value<'js>> {
    if parts {
        formatted.to_array(ctx).map(Array::into_value)
    } else {
        rquickjs::String::from_str(ctx.clone(), &formatted.into_text()).map(rquickjs::String::into_value)
    }
}

/// Returns an object with `format`, `formatRange`, the zone's name and the pattern's fields.
fn date_time_format<'js>(ctx: Ctx<'js>, name: String, options: Object<'js>) -> Result<Object<'js>> {
    let text = |name: &str| options.get::<_, Option<String>>(name).map(Option::unwrap_or_default);
    let style = |name: &str| -> Result<Option<usize>> {
        Ok(["full", "long", "medium", "short"]
            .iter()
            .position(|style| text(name).is_ok_and(|text| text == *style)))
    };
    let zone = text("timeZone")?;
    let zone = Zone::named(&zone).ok_or_else(|| Exception::throw_range(&ctx, "no such time zone"))?;
    let skeleton = text("skeleton")?;
    let format = datetime::Options {
        numbering: text("numberingSystem")?,
        buddhist: text("calendar")? == "buddhist",
        zone,
        hour: text("hour")?.chars().next().unwrap_or('H'),
        format: if skeleton.is_empty() {
            datetime::Format::Styles(style("dateStyle")?, style("timeStyle")?)
        } else {
            datetime::Format::Skeleton(skeleton)
        },
    };
    let format = std::rc::Rc::new(DateTimeFormat::new(locale_data(&ctx, &name)?, format));
    let object = Object::new(ctx.clone())?;
    object.set("timeZone", format.zone())?;
    object.set("fields", format.fields())?;
    let range = format.clone();
    let one = Function::new(ctx.clone(), move |ctx: Ctx<'js>, time: f64, parts: bool| {
        let formatted = format.format(time);
        if parts {
            return formatted.to_array(&ctx).map(Array::into_value);
        }
        // As in V8: scripts that parse formatted times expect a plain space before "PM".
        rquickjs::String::from_str(ctx, &formatted.into_text().replace('\u{202f}', " "))
            .map(rquickjs::String::into_value)
    })?;
    object.set("format", one)?;
    let range = Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, start: f64, end: f64, parts: bool| -> Result<Value<'js>> {
            let (formatted, sources) = range.format_range(start, end);
            if !parts {
                return output(&ctx, formatted, false);
            }
            let array = Array::new(ctx.clone())?;
            for (index, ((kind, text), source)) in formatted.iter().zip(sources).enumerate() {
                array.set(3 * index, kind)?;
                array.set(3 * index + 1, text)?;
                array.set(3 * index + 2, source)?;
            }
            Ok(array.into_value())
        },
    )?;
    object.set("formatRange", range)?;
    Ok(object)
}

/// Returns an object with `select`, a function of a number, and the plural categories.
fn plural_rules<'js>(
    ctx: Ctx<'js>,
    name: String,
    ordinal: bool,
    options: Object<'js>,
) -> Result<Object<'js>> {
    let digits = number_digits(&options)?;
    let plurals =
        Plurals::new(&name, if ordinal { PluralRuleType::Ordinal } else { PluralRuleType::Cardinal });
    let object = Object::new(ctx.clone())?;
    object.set("pluralCategories", plurals.categories())?;
    let select = move |value: f64| match Number::from_f64(value) {
        Number::Finite(decimal) => plurals.category(&digits.round(&decimal)),
        _ => "other",
    };
    object.set("select", Function::new(ctx, select)?)?;
    Ok(object)
}

/// Returns a function that compares two texts; its result is negative, zero or positive.
fn collator(
    ctx: Ctx<'_>,
    name: String,
    keywords: String,
    sensitivity: String,
    ignore_punctuation: bool,
) -> Result<Function<'_>> {
    let tag = format!("{name}-u{keywords}");
    let collator = collator::collator(locale_data(&ctx, &name)?, &tag, &sensitivity, ignore_punctuation)
        .ok_or_else(|| Exception::throw_range(&ctx, "no collation for this locale"))?;
    Function::new(ctx, move |left: String, right: String| {
        collator.as_borrowed().compare(&left, &right) as i32
    })
}

/// Joins a list to a text, or to parts if `parts` is `true`.
fn list(
    ctx: Ctx<'_>,
    name: String,
    kind: usize,
    style: String,
    items: Vec<String>,
    parts: bool,
) -> Result<Value<'_>> {
    let joined = phrases::list(locale_data(&ctx, &name)?, kind.min(2), width(&style), &items);
    output(&ctx, joined, parts)
}

/// Returns a function `(value, unit, words, parts)` that formats a relative time. `words` allows words such
/// as "tomorrow"; `parts` selects parts instead of text.
fn relative_time_format<'js>(
    ctx: Ctx<'js>,
    name: String,
    style: String,
    options: Object<'js>,
) -> Result<Function<'js>> {
    let locale = locale_data(&ctx, &name)?;
    let numbers = NumberFormat::new(locale, number_options(&options)?);
    let plurals = Plurals::new(locale.name(), PluralRuleType::Cardinal);
    let style = ["", "-short", "-narrow"][width(&style)];
    Function::new(ctx, move |ctx: Ctx<'js>, value: f64, unit: String, words: bool, parts: bool| {
        let formatted = phrases::relative(locale, &numbers, &plurals, (&unit, style), value, words);
        output(&ctx, formatted, parts)
    })
}

/// Returns the end of each segment of a text, in UTF-16 code units, times two; plus one if the segment is
/// word-like.
fn segment(ctx: Ctx<'_>, text: String, granularity: String) -> Result<TypedArray<'_, u32>> {
    TypedArray::new(ctx, segmenter::segment(&text, &granularity))
}
