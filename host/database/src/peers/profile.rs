//! Compatibility of processes that use one database at the same time.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{DatabaseError, Release};

/// Properties of a process that matter to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Release of the program: a version, or the beginning of one.
    pub release: String,
    /// Settings of the process that affect jobs.
    pub job_settings: String,
    /// Names of the master keys. The first one encrypts.
    pub master_keys: Vec<String>,
    /// Fingerprints, by name, of the settings that should be equal in all processes.
    pub settings: BTreeMap<String, String>,
}

/// Reasons why a process cannot join the running ones.
#[derive(Debug, Error)]
pub enum JoinError {
    /// Another process could not decrypt what this one would encrypt.
    #[error(
        "another process was not given the master key {0}, with which this one would seal secrets: give that key to all \
         processes as the second one first, and as the first one only then (a process that was killed counts for half a \
         minute)"
    )]
    KeyOfOurs(String),
    /// This process could not decrypt what another one encrypts.
    #[error(
        "another process seals secrets with the master key {0}, which this one was not given: give it that key after its \
         own (a process that was killed counts for half a minute)"
    )]
    KeyOfTheirs(String),
    /// The database cannot be used, or a process of an incompatible release uses it.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Profile {
    /// Creates a profile of this program without master keys and settings.
    pub fn of_this_program(job_settings: &str) -> Self {
        Self {
            release: Release::of_this_program().to_string(),
            job_settings: job_settings.to_owned(),
            master_keys: Vec::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Fails if processes with these two profiles cannot use one database at the same time.
    pub(super) fn expect_to_fit(&self, other: &Self) -> Result<(), JoinError> {
        let this = Release::of_this_program();
        if !other.release.parse().is_ok_and(|other| this.works_beside(other)) {
            return Err(DatabaseError::too_far_apart(other.release.clone(), this).into());
        }
        let missing =
            |from: &Self, to: &Self| from.sealing_key().filter(|&key| !to.opens(key)).map(str::to_owned);
        match (missing(self, other), missing(other, self)) {
            (Some(key), _) => Err(JoinError::KeyOfOurs(key)),
            (None, Some(key)) => Err(JoinError::KeyOfTheirs(key)),
            (None, None) => Ok(()),
        }
    }

    /// Returns the name of the master key that encrypts.
    pub(super) fn sealing_key(&self) -> Option<&str> {
        self.master_keys.first().map(String::as_str)
    }

    fn opens(&self, key: &str) -> bool {
        self.master_keys.iter().any(|other| other == key)
    }

    /// Returns the names of settings that are missing from `other` or differ there.
    pub(super) fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a String> {
        let ours = self.settings.iter().filter(|(name, value)| other.settings.get(*name) != Some(value));
        ours.map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_keys(keys: &[&str]) -> Profile {
        let master_keys = keys.iter().map(ToString::to_string).collect();
        Profile { master_keys, ..Profile::of_this_program("") }
    }

    #[test]
    fn each_process_opens_what_the_other_one_seals() {
        for (ours, theirs, outcome) in [
            (&["old"][..], &["old"][..], Ok(())),
            (&["old", "new"], &["old"], Ok(())),
            (&["new", "old"], &["old", "new"], Ok(())),
            (&["new"], &["new", "old"], Ok(())),
            (&["new", "old"], &["old"], Err("was not given the master key new")),
            (&["new"], &["old", "new"], Err("seals secrets with the master key old")),
        ] {
            let fits = with_keys(ours).expect_to_fit(&with_keys(theirs));
            match outcome {
                Ok(()) => assert!(fits.is_ok(), "{ours:?} beside {theirs:?}: {fits:?}"),
                Err(said) => {
                    let error = fits.expect_err("a key is missing").to_string();
                    assert!(error.contains(said), "{ours:?} beside {theirs:?}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_process_of_a_release_that_nobody_knows_keeps_others_away() {
        for release in ["", "999.0"] {
            let other = Profile { release: release.to_owned(), ..with_keys(&[]) };
            let error = with_keys(&[]).expect_to_fit(&other).expect_err("it is too far apart");
            assert!(error.to_string().contains("upgrade one release at a time"), "{error}");
        }
    }

    #[test]
    fn settings_are_compared_by_name() {
        let with = |operators: &str| {
            let settings = [("issuer", "same"), ("operators", operators)];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            Profile { settings, ..with_keys(&[]) }
        };
        let one = with("ana");
        let other = with("una");

        assert_eq!(one.differing(&other).collect::<Vec<_>>(), ["operators"]);
        assert_eq!(one.differing(&one).count(), 0);
    }
}
