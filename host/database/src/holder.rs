//! Holders of documents: users, and collections.

use std::fmt;
use std::sync::Arc;

use super::Value;

/// Whose documents they are: of a user or of a collection, or of the bin of one, which has what was deleted.
///
/// Invariant: the keys of different holders differ, whatever the id of a user is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(Arc<str>);

const BIN: &str = "bin/";
const USER: &str = "user:";
const COLLECTION: &str = "collection:";

impl Holder {
    /// The documents of a user.
    pub fn user(id: &str) -> Self {
        Self(format!("{USER}{id}").into())
    }

    /// The documents of a collection.
    pub fn collection(id: &str) -> Self {
        Self(format!("{COLLECTION}{id}").into())
    }

    /// The deleted documents of this holder; the same for a bin.
    #[must_use]
    pub fn bin(&self) -> Self {
        if self.is_bin() { self.clone() } else { Self(format!("{BIN}{self}").into()) }
    }

    /// The holder whose documents were deleted into this bin; the same for other holders.
    #[must_use]
    pub fn without_bin(&self) -> Self {
        Self(self.owner().into())
    }

    /// Whether this is a bin.
    pub fn is_bin(&self) -> bool {
        self.0.starts_with(BIN)
    }

    /// The id of the collection; `None` for a user.
    pub fn collection_id(&self) -> Option<&str> {
        self.owner().strip_prefix(COLLECTION)
    }

    /// The id of the user; `None` for a collection.
    pub fn user_id(&self) -> Option<&str> {
        self.owner().strip_prefix(USER)
    }

    /// The key in the database.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// The same for another user id; a collection stays as it is.
    #[must_use]
    pub fn with_user_id(&self, id: &str) -> Self {
        match (self.user_id(), self.is_bin()) {
            (None, _) => self.clone(),
            (Some(_), false) => Self::user(id),
            (Some(_), true) => Self::user(id).bin(),
        }
    }

    fn owner(&self) -> &str {
        self.0.strip_prefix(BIN).unwrap_or(&self.0)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<String> for Holder {
    /// The holder with this key.
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl<'v> From<&'v Holder> for Value<'v> {
    fn from(holder: &'v Holder) -> Self {
        holder.key().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_of_a_user_is_that_of_a_collection_or_of_a_bin() {
        let ids = ["", "a", "collection:a", "bin/user:a", "user:a", "/a", "bin/", "a\u{0}b"];
        let holders = ids.iter().flat_map(|id| [Holder::user(id), Holder::collection(id)]);
        let all: Vec<_> = holders.flat_map(|it| [it.bin(), it]).collect();
        for (place, one) in all.iter().enumerate() {
            assert!(all.iter().skip(place + 1).all(|other| other != one), "{one}");
            assert_eq!(Holder::from(one.key().to_owned()), *one);
            assert_eq!(one.is_bin(), place % 2 == 0, "{one}");
            assert!(one.bin().is_bin() && one.bin().bin() == one.bin() && !one.without_bin().is_bin());
        }
    }

    #[test]
    fn a_holder_knows_its_id_also_in_its_bin() {
        let user = Holder::user("ana");
        let collection = Holder::collection("handbook");
        for holder in [user.clone(), user.bin()] {
            assert_eq!((holder.user_id(), holder.collection_id()), (Some("ana"), None));
            assert_eq!(holder.with_user_id("ben").user_id(), Some("ben"));
            assert_eq!(holder.with_user_id("ben").is_bin(), holder.is_bin());
        }
        for holder in [collection.clone(), collection.bin()] {
            assert_eq!((holder.user_id(), holder.collection_id()), (None, Some("handbook")));
            assert_eq!(holder.with_user_id("ben"), holder);
        }
    }
}
