//! Accepted signature algorithms.

use jsonwebtoken::{Algorithm, AlgorithmFamily};

use super::error::InvalidSettings;

/// Accepted signature algorithms.
///
/// Invariant: not empty, and asymmetric only. With a symmetric algorithm, an attacker could use a public key
/// as the shared secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithms(Vec<Algorithm>);

impl Algorithms {
    /// Parses JOSE names (RFC 7518, section 3.1; RFC 8037), case-sensitively.
    pub fn parse<I>(names: I) -> Result<Self, InvalidSettings>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let parse = |name: I::Item| {
            let name = name.as_ref();
            by_name(name).ok_or_else(|| InvalidSettings::Algorithm(name.to_owned()))
        };
        let algorithms = names.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        if algorithms.is_empty() { Err(InvalidSettings::NoAlgorithm) } else { Ok(Self(algorithms)) }
    }

    /// Returns the algorithm with this JOSE name, if it is accepted.
    pub(super) fn accept(&self, name: &str) -> Option<Algorithm> {
        by_name(name).filter(|algorithm| self.0.contains(algorithm))
    }
}

impl Default for Algorithms {
    /// The usual defaults of providers, and stronger variants.
    fn default() -> Self {
        Self(vec![Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA])
    }
}

fn by_name(name: &str) -> Option<Algorithm> {
    name.parse::<Algorithm>().ok().filter(|algorithm| algorithm.family() != AlgorithmFamily::Hmac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_unknown_and_absent_algorithms_cannot_be_configured() {
        for name in ["HS256", "HS384", "HS512", "none", "es256", "ES256K", ""] {
            assert_eq!(Algorithms::parse([name]), Err(InvalidSettings::Algorithm(name.to_owned())));
        }
        assert_eq!(Algorithms::parse([""; 0]), Err(InvalidSettings::NoAlgorithm));
    }

    #[test]
    fn only_configured_algorithms_are_accepted() {
        let algorithms = Algorithms::parse(["ES256"]).unwrap();

        assert_eq!(algorithms.accept("ES256"), Some(Algorithm::ES256));
        assert_eq!(algorithms.accept("ES384"), None);
        assert_eq!(Algorithms::default().accept("HS256"), None);
    }
}
