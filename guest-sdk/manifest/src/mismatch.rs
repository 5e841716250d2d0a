//! Messages about values that do not fit a schema, shared by all validation libraries.

/// Maximum number of violations reported for one value; more would repeat the same information.
pub const MAX_REPORTED: usize = 10;

/// Maximum number of choices listed in a message; more do not help a model.
pub const MAX_LISTED_CHOICES: usize = 5;

/// Maximum number of constants named in a message. A model has to choose one of them, so all are named if the
/// list is readable.
const MAX_NAMED_CONSTANTS: usize = 32;

/// Distance of a value from a branch that accepts only other types of values.
const OTHER_TYPE_DISTANCE: usize = 1_000;

/// Distance of a value from a branch that expects another discriminator.
const OTHER_DISCRIMINATOR_DISTANCE: usize = 10;

/// One violation of a branch of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Number of levels below the value with the choice; 0 is that value itself.
    pub depth: usize,
    /// Type of expectation that the value violates.
    pub kind: Kind,
}

/// Type of expectation that a value violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another type, or any of several.
    Type,
    /// A constant.
    Constant,
    /// Anything else.
    Other,
}

impl Kind {
    /// Returns the kind with the name that the TypeScript SDK uses: `type`, `constant`, or any other text.
    pub fn named(name: &str) -> Self {
        match name {
            "type" => Self::Type,
            "constant" => Self::Constant,
            _ => Self::Other,
        }
    }
}

/// Branches of a choice that a value was probably meant for, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// One branch, whose violations describe the problem.
    Branch {
        /// Index of the branch.
        index: usize,
        /// Number of branches that the value may have been meant for, this one included.
        of: usize,
    },
    /// Several branches, none of which accepts the value's discriminator.
    Discriminator(Vec<usize>),
    /// Several branches that are equally likely.
    AnyOf(Vec<usize>),
}

/// Determines the branch that a value was meant for from the violations of each branch.
pub fn meant(branches: &[Vec<Violation>]) -> Meant {
    let distances: Vec<_> = branches.iter().map(|branch| distance(branch)).collect();
    let candidates: Vec<_> =
        (0..branches.len()).filter(|index| distances[*index] < OTHER_TYPE_DISTANCE).collect();
    let has_other_discriminator = |index: &usize| branches[*index].iter().any(is_other_discriminator);
    let (others, fitting): (Vec<_>, Vec<_>) =
        candidates.iter().partition(|index| has_other_discriminator(index));
    if fitting.is_empty() && others.len() > 1 {
        return Meant::Discriminator(others);
    }

    let nearest = distances.iter().copied().min().unwrap_or(OTHER_TYPE_DISTANCE);
    let meant: Vec<_> = (0..branches.len()).filter(|index| distances[*index] == nearest).collect();
    match meant.as_slice() {
        [first, others @ ..] if nearest < OTHER_TYPE_DISTANCE => {
            let is_about_members = branches[*first].iter().any(|violation| violation.depth > 0);
            if others.is_empty() || is_about_members {
                Meant::Branch { index: *first, of: fitting.len().max(1) }
            } else {
                Meant::AnyOf(meant)
            }
        }
        _ => Meant::AnyOf(meant),
    }
}

/// Whether a violation is about a discriminator, the constant that distinguishes the branches.
pub fn is_other_discriminator(violation: &Violation) -> bool {
    matches!(violation, Violation { depth: 1, kind: Kind::Constant })
}

/// Returns the distance of a value from a branch: the weighted number of violations.
fn distance(branch: &[Violation]) -> usize {
    let weights = branch.iter().map(|violation| match violation {
        Violation { depth: 0, kind: Kind::Type | Kind::Constant } => OTHER_TYPE_DISTANCE,
        _ if is_other_discriminator(violation) => OTHER_DISCRIMINATOR_DISTANCE,
        _ => 1,
    });
    weights.fold(0, usize::saturating_add)
}

/// Adds to a violation that its branch is the closest of `of` branches.
pub fn closest(line: &str, of: usize) -> String {
    if of > 1 { format!("{line} (in the closest of {of} alternatives)") } else { line.to_owned() }
}

/// Returns the message for a value that is none of the expected constants, given as JSON texts. Of more than
/// 32, only the first ones are named.
pub fn not_one_of<S: AsRef<str>>(constants: &[S]) -> String {
    let mut named: Vec<&str> = Vec::new();
    for constant in constants.iter().map(AsRef::as_ref) {
        if !named.contains(&constant) {
            named.push(constant);
        }
    }
    let surplus = named.len().saturating_sub(MAX_NAMED_CONSTANTS);
    named.truncate(MAX_NAMED_CONSTANTS);
    match named.as_slice() {
        [] => "value fits no alternative".to_owned(),
        [only] => format!("{only} was expected"),
        named if surplus > 0 => format!("value is not one of {} or {surplus} others", named.join(", ")),
        [named @ .., last] => format!("value is not one of {} or {last}", named.join(", ")),
    }
}

/// Returns the message for a value that fits none of several branches. If there are more than
/// [`MAX_LISTED_CHOICES`], they are only counted.
pub fn choices<S: AsRef<str>>(messages: &[S], branches: usize) -> String {
    let mut listed: Vec<&str> = Vec::new();
    for message in messages.iter().map(AsRef::as_ref) {
        if listed.contains(&message) {
            continue;
        }
        if listed.len() == MAX_LISTED_CHOICES {
            return format!("value fits none of {branches} choices");
        }
        listed.push(message);
    }
    listed.join(", or ")
}

/// Returns the message for a structured value that does not fit `output`.
pub fn of_output<S: AsRef<str>>(violations: &[S]) -> String {
    let violations = violations.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("; ");
    format!("The tool's structured result does not match its output schema: {violations}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER_TYPE: Violation = Violation { depth: 0, kind: Kind::Type };
    const OTHER_DISCRIMINATOR: Violation = Violation { depth: 1, kind: Kind::Constant };
    const MEMBER: Violation = Violation { depth: 1, kind: Kind::Other };
    const BOUND: Violation = Violation { depth: 0, kind: Kind::Other };

    #[test]
    fn the_nearest_branch_was_meant() {
        for (branches, expected) in [
            (vec![vec![OTHER_TYPE], vec![MEMBER, MEMBER]], Meant::Branch { index: 1, of: 1 }),
            (vec![vec![OTHER_DISCRIMINATOR, MEMBER], vec![MEMBER; 9]], Meant::Branch { index: 1, of: 1 }),
            (vec![vec![MEMBER], vec![MEMBER], vec![OTHER_TYPE]], Meant::Branch { index: 0, of: 2 }),
            (
                vec![vec![OTHER_TYPE], vec![OTHER_DISCRIMINATOR], vec![OTHER_DISCRIMINATOR, MEMBER]],
                Meant::Discriminator(vec![1, 2]),
            ),
            (vec![vec![OTHER_DISCRIMINATOR]], Meant::Branch { index: 0, of: 1 }),
            (vec![vec![BOUND], vec![BOUND], vec![OTHER_TYPE]], Meant::AnyOf(vec![0, 1])),
            (vec![vec![OTHER_TYPE], vec![OTHER_TYPE]], Meant::AnyOf(vec![0, 1])),
            (vec![], Meant::AnyOf(vec![])),
        ] {
            assert_eq!(meant(&branches), expected, "{branches:?}");
        }
    }

    #[test]
    fn few_choices_are_listed_once_each_and_many_are_counted() {
        assert_eq!(choices(&["a", "b", "a"], 3), "a, or b");
        assert_eq!(choices(&["a", "b", "c", "d", "e"], 5), "a, or b, or c, or d, or e");
        assert_eq!(choices(&["a", "b", "c", "d", "e", "f"], 7), "value fits none of 7 choices");
    }

    #[test]
    fn constants_are_named_once_each_and_very_many_are_counted() {
        let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();

        assert_eq!(not_one_of(&["\"a\"", "1", "\"a\""]), "value is not one of \"a\" or 1");
        assert_eq!(not_one_of(&["\"a\""]), "\"a\" was expected");
        assert!(not_one_of(&many).ends_with("30, 31 or 8 others"), "{}", not_one_of(&many));
    }
}
