//! URIs of resources, such as `kitbag://{toolkitId}/issues/7`. The part after the toolkit's id is the path,
//! and is declared as a template: `issues/{number}`.
//!
//! Invariant: a matching URI names one resource of one toolkit, and parsers of URLs and paths agree on its
//! meaning: it has no user, port, query or fragment, no empty segment, and no `.` or `..` segment.

use std::collections::BTreeMap;

use super::ResourceDefinition;
use crate::ToolkitDefinition;
use crate::content::{Content, ContentBlock, MessageContent, PromptMessage};
use crate::hidden::has_hidden;

/// Maximum length of a requested URI, in bytes.
pub const MAX_URI_BYTES: usize = 4096;
/// Maximum length of a declared URI, in bytes, and maximum number of its segments.
const MAX_DECLARED_BYTES: usize = 500;
const MAX_SEGMENTS: usize = 10;
/// Maximum length of a variable's name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum length of a variable's decoded value, in bytes.
const MAX_VALUE_BYTES: usize = 500;

const SCHEME: &str = "kitbag://";

/// Returns the absolute URI of a toolkit's resource.
pub fn resource_uri(toolkit: &str, path: &str) -> String {
    format!("{SCHEME}{toolkit}/{path}")
}

/// Splits a URI into the toolkit's id and the path, the reverse of [`resource_uri`]; `None` for any other
/// URI.
pub fn split_uri(uri: &str) -> Option<(&str, &str)> {
    let (id, path) = uri.strip_prefix(SCHEME).filter(|_| uri.len() <= MAX_URI_BYTES)?.split_once('/')?;
    let is_id = !id.is_empty() && id.bytes().all(crate::rules::is_id_byte);
    is_id.then_some((id, path))
}

/// Whether a declared URI has variables.
pub fn is_template(uri: &str) -> bool {
    uri.contains('{')
}

/// Match of a path with a declared resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    /// Index of the resource in its toolkit's declaration.
    pub index: usize,
    /// Matched path.
    pub path: String,
    /// Decoded values of the variables.
    pub variables: BTreeMap<String, String>,
}

impl ResourcePath {
    /// Finds the resource whose URI matches a path. If several match, prefers the fewest variables, then the
    /// first.
    pub fn find(resources: &[ResourceDefinition], path: &str) -> Option<Self> {
        find(&templates(resources), path)
    }
}

/// Parses the declared URIs of a toolkit. Returns each with the index of its resource.
fn templates(resources: &[ResourceDefinition]) -> Vec<(usize, UriTemplate<'_>)> {
    resources
        .iter()
        .enumerate()
        .filter_map(|(index, resource)| {
            UriTemplate::parse(&resource.uri).ok().map(|template| (index, template))
        })
        .collect()
}

fn find(templates: &[(usize, UriTemplate<'_>)], path: &str) -> Option<ResourcePath> {
    let fitting = templates.iter().filter_map(|(index, template)| {
        Some(ResourcePath { index: *index, path: path.to_owned(), variables: template.values(path)? })
    });
    fitting.min_by_key(|found| found.variables.len())
}

/// Makes relative URIs of the toolkit's own resources absolute in the content of a result; considers at most
/// the first 1,000 relative URIs. Other URIs do not change, except for embedded documents with a URI of
/// another toolkit: these lose the scheme `kitbag://`.
pub fn complete_links(definition: &ToolkitDefinition, content: &mut [ContentBlock]) {
    complete_all(definition, content.iter_mut());
}

/// Makes relative URIs in messages absolute; see [`complete_links`].
pub fn complete_message_links(definition: &ToolkitDefinition, messages: &mut [PromptMessage]) {
    let blocks = messages.iter_mut().filter_map(|message| match &mut message.content {
        MessageContent::Block(block) => Some(block),
        MessageContent::Text(_) => None,
    });
    complete_all(definition, blocks);
}

fn complete_all<'a>(definition: &ToolkitDefinition, blocks: impl Iterator<Item = &'a mut ContentBlock>) {
    let mut own = None;
    let mut left = MAX_COMPLETED;
    for block in blocks {
        let uri = match &mut block.content {
            Content::Link(link) => &mut link.uri,
            Content::Resource(resource) => {
                if let Some(rest) = claimed(definition, &resource.uri) {
                    resource.uri = rest.to_owned();
                }
                &mut resource.uri
            }
            Content::Image(_) | Content::Audio(_) => continue,
        };
        if left == 0 || definition.resources.is_empty() || !may_be_path(uri) {
            continue;
        }
        left -= 1;
        let own = own.get_or_insert_with(|| templates(&definition.resources));
        if find(own, uri).is_some() {
            *uri = resource_uri(&definition.id, uri);
        }
    }
}

/// Maximum number of relative URIs that are considered in one result.
const MAX_COMPLETED: usize = 1000;

/// Whether a URI may be the path of a resource: it has no scheme and no leading slash.
fn may_be_path(uri: &str) -> bool {
    uri.len() <= MAX_URI_BYTES && !uri.starts_with('/') && !uri.contains(':')
}

/// Returns the URI without its scheme `kitbag://` if the toolkit must not use it for an embedded document: it
/// belongs to another toolkit, or to the user's documents without the scope to read them. `None` for any
/// other URI.
fn claimed<'u>(definition: &ToolkitDefinition, uri: &'u str) -> Option<&'u str> {
    let rest = uri
        .get(..SCHEME.len())
        .filter(|start| start.eq_ignore_ascii_case(SCHEME))
        .map(|_| &uri[SCHEME.len()..])?;
    let owner = rest.split('/').next().unwrap_or_default();
    let is_own = owner == definition.id;
    let may_read = owner == "documents" && definition.has_scope(crate::SCOPE_SEARCH);
    (!is_own && !may_read).then_some(rest)
}

/// Parsed declared URI: segments that are literal texts or variables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate<'a>(Vec<Segment<'a>>);

#[derive(Debug, PartialEq, Eq)]
enum Segment<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl<'a> UriTemplate<'a> {
    /// Parses a declared URI. The error says what is expected.
    pub(crate) fn parse(uri: &'a str) -> Result<Self, String> {
        if uri.len() > MAX_DECLARED_BYTES {
            return Err(format!("is longer than {MAX_DECLARED_BYTES} bytes"));
        }
        let segments = uri.split('/').map(Segment::parse).collect::<Option<Vec<_>>>();
        let segments = segments.ok_or_else(|| {
            "must be like issues/{number}: relative, each segment a variable or of letters, digits, -, ., _ and ~"
                .to_owned()
        })?;
        if segments.len() > MAX_SEGMENTS {
            return Err(format!("has more than {MAX_SEGMENTS} segments"));
        }
        let template = Self(segments);
        let mut names: Vec<_> = template.variables().collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("has a variable twice".to_owned());
        }
        Ok(template)
    }

    /// Returns the names of the variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Variable(name) => Some(*name),
            Segment::Text(_) => None,
        })
    }

    /// Returns the template without variable names: equal for templates that match the same URIs.
    pub(crate) fn shape(&self) -> String {
        let segments = self.0.iter().map(|segment| match segment {
            Segment::Text(text) => text,
            Segment::Variable(_) => "{}",
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// Returns the values of the variables in a path; `None` if the path does not match.
    fn values(&self, path: &str) -> Option<BTreeMap<String, String>> {
        if path.len() > MAX_URI_BYTES {
            return None;
        }
        let fits = |(segment, given): (&Segment<'_>, &str)| match segment {
            Segment::Text(text) => *text == given,
            Segment::Variable(_) => true,
        };
        if path.split('/').count() != self.0.len() || !self.0.iter().zip(path.split('/')).all(fits) {
            return None;
        }
        let mut values = BTreeMap::new();
        for (segment, given) in self.0.iter().zip(path.split('/')) {
            if let Segment::Variable(name) = segment {
                values.insert((*name).to_owned(), decoded(given)?);
            }
        }
        Some(values)
    }
}

impl<'a> Segment<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let variable = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        if let Some(name) = variable {
            let is_name = (1..=MAX_NAME_BYTES).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            return is_name.then_some(Self::Variable(name));
        }
        let is_text = !is_special(text) && text.bytes().all(is_unreserved);
        is_text.then_some(Self::Text(text))
    }
}

/// Whether a segment is empty, `.` or `..`, which parsers of paths treat specially.
fn is_special(segment: &str) -> bool {
    matches!(segment, "" | "." | "..")
}

/// Whether a byte is an unreserved character (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Decodes the percent-encoded value of a variable; `None` if it is not valid.
fn decoded(segment: &str) -> Option<String> {
    // `encodeURIComponent`, which clients use, does not encode these.
    let is_plain = |byte: u8| is_unreserved(byte) || matches!(byte, b'!' | b'*' | b'\'' | b'(' | b')');
    let mut bytes = Vec::new();
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            byte if is_plain(byte) => byte,
            _ => return None,
        });
    }
    let value = String::from_utf8(bytes).ok()?;
    let is_refused = |letter: char| matches!(letter, '/' | '\\');
    (!is_special(&value)
        && value.len() <= MAX_VALUE_BYTES
        && !value.contains(is_refused)
        && !has_hidden(&value))
    .then_some(value)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{EmbeddedResource, ResourceLink};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn resources(uris: &[&str]) -> Vec<ResourceDefinition> {
        uris.iter()
            .map(|uri| ResourceDefinition { uri: (*uri).to_owned(), ..ResourceDefinition::default() })
            .collect()
    }

    #[test]
    fn a_document_in_a_result_claims_nothing_of_others() {
        let document = |uri: &str, scopes: &[&str]| {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let definition =
                ToolkitDefinition { id: "books".to_owned(), scopes, ..ToolkitDefinition::default() };
            let mut content = [ContentBlock::from(EmbeddedResource::text(uri, "text"))];
            complete_links(&definition, &mut content);
            let Content::Resource(resource) = &content[0].content else { panic!("it is a document") };
            resource.uri.clone()
        };

        assert_eq!(document("kitbag://github/issues/7", &[]), "github/issues/7");
        assert_eq!(document("KITBAG://github/issues/7", &[]), "github/issues/7");
        assert_eq!(document("kitbag://documents/7", &[]), "documents/7");
        for (uri, scopes) in
            [("kitbag://documents/7", &["svc:search"][..]), ("kitbag://books/7", &[]), ("test://a", &[])]
        {
            assert_eq!(document(uri, scopes), uri);
        }
    }

    #[test]
    fn many_links_cost_little() {
        let uris: Vec<String> = (0..100)
            .map(|at| format!("{{a}}/{{b}}/{{c}}/{{d}}/{{e}}/{{f}}/{{g}}/{{h}}/{{i}}/a{at}"))
            .collect();
        let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
        let definition = ToolkitDefinition { resources: resources(&uris), ..ToolkitDefinition::default() };
        let link = ContentBlock::from(ResourceLink::new("a/a/a/a/a/a/a/a/a/a99", "a"));
        let mut content = vec![link; 20_000];

        complete_links(&definition, &mut content);

        let completed = content
            .iter()
            .filter(|block| matches!(&block.content, Content::Link(it) if it.uri.starts_with("kitbag://")));
        assert_eq!(completed.count(), MAX_COMPLETED);
    }

    #[test]
    fn a_declared_uri_is_relative_and_its_segments_are_texts_or_variables() {
        for uri in ["summary", "issues/{number}", "{owner}/{repo}/issues/{number}", "a-b.c_d~e/v1.0"] {
            assert!(UriTemplate::parse(uri).is_ok(), "{uri}");
        }
        for uri in [
            "",
            "/",
            "/summary",
            "summary/",
            "a//b",
            "..",
            "a/../b",
            "a/./b",
            "kitbag://x/a",
            "a?b",
            "a#b",
            "a%20b",
            "a b",
            "ä",
            "issues/{number",
            "issues/#{number}",
            "issues/{number}.json",
            "{+path}",
            "{a,b}",
            "{a*}",
            "{}",
            "{a}/{a}",
            "1/2/3/4/5/6/7/8/9/10/11",
        ] {
            assert!(UriTemplate::parse(uri).is_err(), "{uri}");
        }
        assert!(UriTemplate::parse(&"a".repeat(501)).is_err());
    }

    #[test]
    fn a_path_names_one_resource_with_decoded_values() {
        let resources = resources(&["issues/{number}", "issues/latest", "{a}/{b}"]);
        let found = |path: &str| {
            ResourcePath::find(&resources, path)
                .map(|it| (it.index, it.variables.into_values().collect::<Vec<_>>().join(",")))
        };

        assert_eq!(found("issues/7"), Some((0, "7".to_owned())));
        assert_eq!(found("issues/latest"), Some((1, String::new())));
        assert_eq!(found("x/y"), Some((2, "x,y".to_owned())));
        assert_eq!(found("issues/a%20b%C3%A9!"), Some((0, "a bé!".to_owned())));
        assert_eq!(found("issues/%252e%252e"), Some((0, "%2e%2e".to_owned())));
        assert_eq!(found("issues"), None);
    }

    #[test]
    fn a_path_that_means_another_place_to_any_parser_is_none() {
        let resources = resources(&["issues/{number}", "summary"]);
        let long = format!("issues/{}", "a".repeat(10_000));
        for path in [
            "",
            "/",
            "/summary",
            "summary/",
            "./summary",
            "x/../summary",
            "Summary",
            "summary?x=1",
            "summary#x",
            "%73ummary",
            "issues/",
            "issues//7",
            "issues/.",
            "issues/..",
            "issues/%2e%2e",
            "issues/%2E.",
            "issues/a%2Fb",
            "issues/a%5Cb",
            "issues/a%00b",
            "issues/%1b[31m",
            "issues/a%0Ab",
            "issues/%ff",
            "issues/%2",
            "issues/%zz",
            "issues/a?b",
            "issues/a#b",
            "issues/a:b@c",
            "issues/ä",
            "issues/a b",
            "issues/7/..",
            &long,
        ] {
            assert_eq!(ResourcePath::find(&resources, path), None, "{path}");
        }
    }

    #[test]
    fn a_uri_has_the_toolkits_id_and_nothing_around_it() {
        assert_eq!(split_uri("kitbag://github/issues/7"), Some(("github", "issues/7")));
        for uri in [
            "KITBAG://github/a",
            "kitbag:/github/a",
            "kitbag:///a",
            "kitbag://GitHub/a",
            "kitbag://user@github/a",
            "kitbag://github:80/a",
            "kitbag://github",
            "kitbag://gith%75b/a",
            "kitbag://gìthub/a",
            " kitbag://github/a",
            "https://github/a",
        ] {
            assert_eq!(split_uri(uri), None, "{uri}");
        }
        assert_eq!(split_uri(&format!("kitbag://github/{}", "a".repeat(MAX_URI_BYTES))), None);
    }

    #[test]
    fn links_to_own_resources_are_completed_and_no_others() {
        let definition = ToolkitDefinition {
            id: "github".to_owned(),
            resources: resources(&["issues/{number}"]),
            ..ToolkitDefinition::default()
        };
        let mut content = vec![
            ResourceLink::new("issues/7", "issue").into(),
            EmbeddedResource::text("issues/8", "text").into(),
            ResourceLink::new("issues/7/more", "none").into(),
            ResourceLink::new("kitbag://notes/a", "another").into(),
            ResourceLink::new("https://example.com/issues/7", "elsewhere").into(),
        ];

        complete_links(&definition, &mut content);

        let uris: Vec<_> = content
            .iter()
            .map(|block: &ContentBlock| match &block.content {
                Content::Link(link) => link.uri.as_str(),
                Content::Resource(resource) => resource.uri.as_str(),
                Content::Image(_) | Content::Audio(_) => "",
            })
            .collect();
        assert_eq!(
            uris,
            [
                "kitbag://github/issues/7",
                "kitbag://github/issues/8",
                "issues/7/more",
                "kitbag://notes/a",
                "https://example.com/issues/7",
            ]
        );
    }

    fn segment() -> impl Strategy<Value = Option<String>> {
        prop_oneof![Just(None), "[a-z0-9~][a-z0-9._~-]{0,5}".prop_map(Some)]
    }

    proptest! {
        #[test]
        fn values_come_back_however_they_were_encoded_and_none_changes_the_path(
            segments in vec(segment(), 1..MAX_SEGMENTS),
            values in vec("\\PC{0,12}", MAX_SEGMENTS),
        ) {
            let names: Vec<_> = (0..segments.len()).map(|index| format!("v{index}")).collect();
            let declared = segments.iter().zip(&names).map(|(text, name)| match text {
                Some(text) => text.clone(),
                None => format!("{{{name}}}"),
            });
            let declared = declared.collect::<Vec<_>>().join("/");
            let template = UriTemplate::parse(&declared).expect("a template");
            let encoded = |value: &str| {
                let escapes: Vec<_> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
                escapes.concat()
            };
            let path = segments.iter().zip(&values).map(|(text, value)| text.clone().unwrap_or_else(|| encoded(value)));
            let path = path.collect::<Vec<_>>().join("/");

            let of_variables: Vec<_> =
                segments.iter().zip(names).zip(&values).filter(|((text, _), _)| text.is_none()).collect();
            let may_stand = |value: &String| !value.contains(['/', '\\']) && !is_special(value) && !has_hidden(value);
            match template.values(&path) {
                Some(found) => {
                    let given = of_variables.iter().map(|((_, name), value)| (name.clone(), (*value).clone()));
                    prop_assert_eq!(found, given.collect::<BTreeMap<_, _>>());
                    prop_assert!(of_variables.iter().all(|(_, value)| may_stand(value)));
                }
                None => prop_assert!(!of_variables.iter().all(|(_, value)| may_stand(value))),
            }
            prop_assert_eq!(template.values(&format!("{path}/")), None);
        }
    }
}
