//! Front matter: metadata at the very beginning of a text, in YAML between lines `---`, or in TOML between lines
//! `+++`.

/// Metadata of a text.
#[derive(Clone, Copy, Debug)]
pub struct FrontMatter<'t> {
    matter: &'t str,
    /// Character between a key and its value.
    separator: char,
}

impl<'t> FrontMatter<'t> {
    /// Splits a text into its front matter and the rest; `None` if it has no front matter.
    pub fn split(text: &'t str) -> Option<(Self, &'t str)> {
        let text = text.trim_start_matches('\u{FEFF}');
        let (fence, separator) = [("---", ':'), ("+++", '=')]
            .into_iter()
            .find(|(fence, _)| text.strip_prefix(fence).is_some_and(|rest| rest.starts_with(['\n', '\r'])))?;
        let rest = text.split_once('\n')?.1;
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == fence || (separator == ':' && line.trim_end() == "...") {
                return Some((Self { matter: &rest[..at], separator }, &rest[at + line.len()..]));
            }
            at += line.len();
        }
        None
    }

    /// Value of the first of these keys that is there, as one line; `None` if it is empty. Keys are compared
    /// without regard to case; nested ones and those of TOML's tables are not found.
    pub fn value(self, keys: &[&str]) -> Option<String> {
        let mut lines =
            self.matter.lines().take_while(|line| self.separator == ':' || !line.starts_with('['));
        let value = lines.by_ref().find_map(|line| {
            let (key, value) = line.split_once(self.separator)?;
            let key = key.trim_end().trim_matches('"').to_lowercase();
            keys.contains(&key.as_str()).then_some(value.trim())
        })?;
        let is_block = self.separator == ':' && value.starts_with(['>', '|']);
        let value = if is_block {
            let block = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
            block.map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
        } else {
            unquoted(value)
        };
        (!value.is_empty()).then_some(value)
    }
}

/// Content of a quoted value, or a plain value without its comment.
fn unquoted(value: &str) -> String {
    let closed = |quote: char| {
        let inside = value.strip_prefix(quote)?;
        inside.rfind(quote).map(|end| &inside[..end])
    };
    if let Some(inside) = closed('"') {
        return inside.replace("\\\"", "\"").replace("\\\\", "\\");
    }
    if let Some(inside) = closed('\'') {
        return inside.replace("''", "'");
    }
    value.split_once(" #").map_or(value, |(value, _comment)| value).trim_end().to_owned()
}
