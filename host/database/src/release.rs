//! Releases of the program, and their compatibility when they use one database at the same time.

use std::fmt;
use std::str::FromStr;

/// Major and minor version: `1.4` for version `1.4.2`. All versions of a release have the same schema and the
/// same contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u32,
    minor: u32,
}

/// Error: the text is not a version number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoVersion;

impl Release {
    /// Returns the release of this program.
    pub(crate) fn of_this_program() -> Self {
        env!("CARGO_PKG_VERSION").parse().expect("Cargo checks versions")
    }

    /// Returns whether processes of both releases may use a database at the same time: true for adjacent
    /// minor releases, as each release reads and writes the format of its predecessor.
    pub(crate) fn works_beside(self, other: Self) -> bool {
        self.major == other.major && self.minor.abs_diff(other.minor) <= 1
    }
}

impl FromStr for Release {
    type Err = NoVersion;

    fn from_str(version: &str) -> Result<Self, NoVersion> {
        let mut numbers = version.split('.').map(|number| number.parse().map_err(|_| NoVersion));
        let mut next = || numbers.next().unwrap_or(Err(NoVersion));
        Ok(Self { major: next()?, minor: next()? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_works_beside_the_ones_next_to_it() {
        let release = |text: &str| text.parse::<Release>().expect("a version");

        assert_eq!(release("1.4.2").to_string(), "1.4");
        for (other, works) in
            [("1.4.9", true), ("1.5", true), ("1.3", true), ("1.6", false), ("1.2", false), ("2.4", false)]
        {
            assert_eq!(release("1.4.2").works_beside(release(other)), works, "{other}");
        }
    }

    #[test]
    fn what_is_no_version_has_no_release() {
        for text in ["", "1", "1.", "one.two", "-1.2"] {
            assert_eq!(text.parse::<Release>(), Err(NoVersion), "{text:?}");
        }
    }
}
