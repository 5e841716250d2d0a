//! Types of settings, each read the same way from a flag, a variable and the file.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de};
use url::Url;

/// Duration, such as `30s`, `1m 30s` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(Duration);

impl Span {
    pub(super) const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    pub(super) const fn days(days: u64) -> Self {
        Self::seconds(days * 24 * 60 * 60)
    }

    /// Returns the duration.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(Self)
    }
}

/// Limit of a duration, such as `90d`, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanLimit(Option<Duration>);

impl SpanLimit {
    pub(super) const fn days(days: u64) -> Self {
        Self(Some(Span::days(days).0))
    }

    /// Returns the limit; `None`: unlimited.
    pub fn get(self) -> Option<Duration> {
        self.0
    }
}

impl FromStr for SpanLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        match text.parse::<Span>() {
            Ok(Span(Duration::ZERO)) | Err(_) => {
                Err("it is a duration, such as 90d, or the word unlimited".to_owned())
            }
            Ok(Span(limit)) => Ok(Self(Some(limit))),
        }
    }
}

/// Size in bytes, such as `64MiB`, `100KB` or `512`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    pub(super) const fn mebibytes(count: usize) -> Self {
        Self(count << 20)
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> usize {
        self.0
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size: ByteSize = text.parse()?;
        usize::try_from(size.as_u64()).map(Self).map_err(|error| error.to_string())
    }
}

/// Issuer of access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// Kitbag itself, on loopback (local mode).
    Local,
    /// `OpenID` provider, by its unchanged issuer identifier.
    External(String),
}

impl Issuer {
    /// Returns the issuer as written in the settings.
    pub fn name(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::External(issuer) => issuer,
        }
    }
}

impl FromStr for Issuer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "local" => Ok(Self::Local),
            url if Url::parse(url).is_ok_and(|url| url.has_host()) => Ok(Self::External(url.to_owned())),
            _ => Err("an issuer is a URL such as https://id.example.com, or the word local".to_owned()),
        }
    }
}

/// Public URL of the server. `None`: derived from the address it listens on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseUrl(Option<Url>);

impl BaseUrl {
    /// Returns the URL, if set.
    pub fn into_inner(self) -> Option<Url> {
        self.0
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match plain_url(text).filter(|url| is_plain_path(url.path())) {
            Some(url) => Ok(Self(Some(url))),
            None => {
                Err("a base URL has a scheme, a host, and perhaps a path that is none of the server's own: \
                         https://kitbag.example.com or https://example.com/kitbag"
                    .to_owned())
            }
        }
    }
}

/// URL with scheme and host only of an S3 service. `None`: the default endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint(Option<Url>);

impl Endpoint {
    /// Returns the URL, if set.
    pub fn into_inner(self) -> Option<Url> {
        self.0
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match plain_url(text).filter(|url| url.path() == "/") {
            Some(url) => Ok(Self(Some(url))),
            None => Err("an endpoint is scheme and host alone, such as https://s3.internal:9000".to_owned()),
        }
    }
}

/// Parses an http(s) URL without user, query and fragment.
fn plain_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let is_plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_plain.then_some(url)
}

/// First segments of the server's own paths. A base URL must not start with one: a proxy that strips the base
/// path would confuse them.
const OWN_SEGMENTS: [&str; 26] = [
    ".well-known",
    "access",
    "all-collections",
    "audit",
    "collections",
    "documents",
    "export",
    "failures",
    "graphql",
    "groups",
    "healthz",
    "hidden-tools",
    "keys",
    "mcp",
    "oauth",
    "overview",
    "publishers",
    "readyz",
    "scim",
    "scim-tokens",
    "toolkits",
    "ui",
    "updates",
    "uploads",
    "users",
    "vault",
];

/// Whether a path is valid in a base URL: segments of letters, digits and `-._~`, which need no escaping in a
/// URL, a page or a cookie.
fn is_plain_path(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_plain = |segment: &str| {
        !segment.is_empty() && segment.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~".contains(&it))
    };
    path.is_empty()
        || path.strip_prefix('/').is_some_and(|path| {
            path.split('/').all(is_plain)
                && path.split('/').next().is_some_and(|first| !OWN_SEGMENTS.contains(&first))
        })
}

/// URL of an optional service that the operator uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceUrl(Option<Box<Url>>);

impl ServiceUrl {
    /// Returns the URL, if set.
    pub fn get(&self) -> Option<&Url> {
        self.0.as_deref()
    }
}

impl FromStr for ServiceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.username().is_empty() => {
                Ok(Self(Some(Box::new(url))))
            }
            _ => Err("the URL of a service is such as http://127.0.0.1:8080/v1/…, without a user".to_owned()),
        }
    }
}

/// Location of the database.
#[derive(Clone, Debug)]
pub enum DatabaseLocation {
    /// `SQLite` file in the data directory.
    DataDirectory,
    /// URL of a PostgreSQL server, which may contain a password.
    Server(SecretString),
    /// Neither. The given text may contain a password, so it is neither stored nor quoted.
    Invalid,
}

/// Never fails: clap and toml would quote the text in their errors.
impl FromStr for DatabaseLocation {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_server =
            || Url::parse(text).is_ok_and(|url| ["postgres", "postgresql"].contains(&url.scheme()));
        Ok(match text {
            "sqlite" => Self::DataDirectory,
            url if is_server() => Self::Server(url.into()),
            _ => Self::Invalid,
        })
    }
}

impl<'de> Deserialize<'de> for DatabaseLocation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer).unwrap_or_default();
        Ok(text.parse().unwrap_or_else(|never: Infallible| match never {}))
    }
}

/// Source of the vault's master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterKey {
    /// Path of a file; `None`: `master-key` in the data directory.
    File(Option<PathBuf>),
    /// Name of an environment variable.
    Variable(String),
    /// Shell command that prints the key.
    Command(String),
    /// None of these. The given text may be the key itself, so it is neither stored nor quoted.
    Invalid,
}

/// Never fails: clap and toml would quote the text in their errors.
impl FromStr for MasterKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once(':') {
            None if text == "file" => Self::File(None),
            Some(("file", path)) if !path.is_empty() => Self::File(Some(path.into())),
            Some(("env", name)) if is_variable(name) => Self::Variable(name.to_owned()),
            Some(("command", line)) if !line.trim().is_empty() => Self::Command(line.to_owned()),
            _ => Self::Invalid,
        })
    }
}

impl<'de> Deserialize<'de> for MasterKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer).unwrap_or_default();
        Ok(text.parse().unwrap_or_else(|never: Infallible| match never {}))
    }
}

/// Whether a text is a valid name of an environment variable (POSIX.1-2017, section 8.1). Names of more than
/// 40 characters are more likely to be keys, and are rejected.
fn is_variable(name: &str) -> bool {
    const MAX_CHARACTERS: usize = 40;

    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= MAX_CHARACTERS
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Embedding model for search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// Default model, if it is in the data directory.
    Default,
    /// No model: lexical search only.
    None,
    /// Name of a model in the catalogue, else a folder.
    NameOrFolder(PathBuf),
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "" => Err("name a model, or its folder, or none".to_owned()),
            "none" => Ok(Self::None),
            named => Ok(Self::NameOrFolder(named.into())),
        }
    }
}

/// Optional value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maybe<T>(Option<T>);

impl<T> Maybe<T> {
    pub(super) const UNSET: Self = Self(None);

    /// Returns the value, if set.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<T: FromStr> FromStr for Maybe<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Some).map(Self)
    }
}

impl<'de, T> Deserialize<'de> for Maybe<T>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Key for an external service. It is never printed.
#[derive(Clone, Debug)]
pub struct Secret(SecretString);

impl Secret {
    /// Returns the key.
    pub fn get(&self) -> &SecretString {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(SecretString::from(text)))
    }
}

/// List of values: separated by commas in a flag, an array or a single string in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    pub(super) fn of(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: FromStr> FromStr for List<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(T::from_str)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl<'de, T> Deserialize<'de> for List<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);

        impl<'de, T> de::Visitor<'de> for OneOrMore<T>
        where
            T: FromStr,
            T::Err: fmt::Display,
        {
            type Value = List<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an array of strings, or a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<List<T>, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element::<String>()? {
                    list.push(item.parse().map_err(de::Error::custom)?);
                }
                Ok(List(list))
            }
        }

        deserializer.deserialize_any(OneOrMore(PhantomData))
    }
}

/// Implements deserialization from strings, in the format of the flags.
macro_rules! deserialize_from_str {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )+};
}

deserialize_from_str!(
    Span,
    SpanLimit,
    Size,
    super::network::SocketMode,
    Issuer,
    BaseUrl,
    Endpoint,
    ServiceUrl,
    Model
);
