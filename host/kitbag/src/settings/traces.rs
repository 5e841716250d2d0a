//! Settings of traces.

use std::fmt;
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use secrecy::ExposeSecret;
use serde::{Deserialize, Deserializer, de};

use super::{Secret, Settings, SettingsError};

/// Fraction from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(f64);

impl Ratio {
    pub(super) const TENTH: Self = Self(0.1);

    /// Returns the fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    fn of(number: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err("a share is from 0 to 1".to_owned())
        }
    }
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_err(|_| "a share is a number such as 0.1".to_owned()).and_then(Self::of)
    }
}

/// A number or a string in the file.
impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl de::Visitor<'_> for Number {
            type Value = Ratio;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a number from 0 to 1")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Ratio, E> {
                Ratio::of(number).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ratio, E> {
                i32::try_from(number).map_err(E::custom).and_then(|number| self.visit_f64(number.into()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl Settings {
    /// Headers for the collector, marked as sensitive.
    pub fn trace_headers(&self) -> Result<HeaderMap, SettingsError> {
        let text = self.traces_headers.get().map(Secret::get).map(ExposeSecret::expose_secret);
        headers(text.unwrap_or_default()).ok_or(SettingsError::TracesHeaders)
    }
}

/// Parses `name=value,name=value`, the format of `OpenTelemetry` variables, with percent-encoded values.
fn headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for member in text.split(',').map(str::trim).filter(|member| !member.is_empty()) {
        let (name, value) = member.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.append(HeaderName::from_str(name.trim()).ok()?, value);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_from_0_to_1_in_the_file_too() {
        #[derive(Deserialize)]
        struct File {
            share: Ratio,
        }
        let read =
            |share: &str| toml::from_str::<File>(&format!("share = {share}")).map(|file| file.share.get());

        for (share, number) in [("0", 0.0), ("1", 1.0), ("0.25", 0.25), ("\"0.5\"", 0.5)] {
            assert_eq!(read(share).expect(share).to_bits(), f64::to_bits(number), "{share}");
        }
        for refused in ["-0.1", "1.1", "2", "nan", "inf", "\"a\"", "\"NaN\"", "[1]", "true"] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn headers_are_names_with_values_and_a_mistake_is_not_quoted() {
        let parsed = headers("authorization=Bearer%20a=b , x-tenant = c,,").expect("two headers");
        assert_eq!(parsed["authorization"], "Bearer a=b");
        assert_eq!(parsed["x-tenant"], "c");
        assert!(parsed["authorization"].is_sensitive());
        assert_eq!(headers("").expect("none").len(), 0);

        for refused in ["s3cr3t", "=s3cr3t", "na me=s3cr3t", "name=s3cr3t%0a", "name=%ff", "name=a,s3cr3t"] {
            assert!(headers(refused).is_none(), "{refused}");
            let settings =
                Settings { traces_headers: refused.parse().expect("any text"), ..Settings::default() };
            let error = settings.trace_headers().expect_err(refused);
            assert!(!format!("{error} {settings:?}").contains("s3cr3t"), "{error}");
        }
    }
}
