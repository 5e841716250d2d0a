//! Text about a toolkit's capabilities, derived from its declaration, which the sandbox enforces.

use kitbag_manifest::{
    Auth, SCOPE_ASK, SCOPE_CACHE, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition,
};

/// A kind of access.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) what: &'static str,
    /// Declared names that grant it.
    pub(super) names: Vec<String>,
    pub(super) meaning: String,
}

/// Describes the access of a toolkit; spells out the most far-reaching combinations.
pub(super) fn of(definition: &ToolkitDefinition) -> Vec<Reach> {
    let can_send = !definition.egress.is_empty();
    // With this scope, files are fetched from any address that a document names.
    let adds_files = definition.has_scope(SCOPE_INGEST);
    let mut all = Vec::new();
    if can_send {
        let hosts = if definition.egress.len() == 1 { "this host" } else { "these hosts" };
        let others =
            if adds_files { "; files of documents that it adds come from any" } else { ", and to no other" };
        let meaning = format!("sends requests to {hosts}{others}");
        all.push(Reach { what: "Network", names: definition.egress.clone(), meaning });
    }
    if definition.has_scope(SCOPE_SEARCH) {
        let leaves = if can_send {
            ", and may send them to the hosts above"
        } else if adds_files {
            ", and may put them into the addresses of files of documents that it adds"
        } else {
            "; they cannot leave by the network"
        };
        let meaning = format!("reads all your documents{leaves}");
        all.push(Reach { what: "Knowledge base", names: vec![SCOPE_SEARCH.to_owned()], meaning });
        if definition.has_scope(SCOPE_COLLECTIONS) {
            let meaning = format!("searches and reads the collections that you can read{leaves}");
            all.push(Reach { what: "Knowledge base", names: vec![SCOPE_COLLECTIONS.to_owned()], meaning });
        }
    }
    if definition.has_scope(SCOPE_INGEST) {
        let meaning = "adds documents to yours, and replaces those it has added".to_owned();
        all.push(Reach { what: "Knowledge base", names: vec![SCOPE_INGEST.to_owned()], meaning });
    }
    if definition.has_scope(SCOPE_ASK) {
        let meaning = "asks you questions while it works, and gets what you answer".to_owned();
        all.push(Reach { what: "Questions", names: vec![SCOPE_ASK.to_owned()], meaning });
    }
    if definition.has_scope(SCOPE_CACHE) {
        let meaning =
            "keeps up to 1 MiB for your next calls, for 30 days at most, until you clear it".to_owned();
        all.push(Reach { what: "Cache", names: vec![SCOPE_CACHE.to_owned()], meaning });
    }
    if !definition.secrets.is_empty() {
        let leaves = if can_send {
            "and may send them to the hosts above"
        } else if adds_files {
            "and may put them into the addresses of files of documents that it adds"
        } else {
            "and cannot send them anywhere"
        };
        let meaning = format!("reads these secrets once you have set them, {leaves}");
        all.push(Reach { what: "Secrets", names: definition.secrets.clone(), meaning });
    }
    for auth in definition.auth.iter() {
        all.push(Reach { what: "Sign-in", names: vec![auth.api_host().to_owned()], meaning: sign_in(auth) });
    }
    let sealed: Vec<_> = definition
        .credentials()
        .into_iter()
        .filter(|name| !definition.reads(name))
        .map(str::to_owned)
        .collect();
    if !sealed.is_empty() {
        let meaning = "used by the server to sign in, never shown to the toolkit".to_owned();
        all.push(Reach { what: "Secrets", names: sealed, meaning });
    }
    all
}

fn sign_in(auth: &Auth) -> String {
    match auth {
        Auth::ClientCredentials(_) => {
            "Kitbag signs in there with your secrets; the toolkit never sees the token".to_owned()
        }
        Auth::AuthorizationCode(grant) => {
            let scope = grant.scope.as_deref().map(|scope| format!(", for {scope}")).unwrap_or_default();
            format!(
                "acts there as you, with the account that you connect{scope}; the toolkit never sees the token"
            )
        }
        Auth::ApiKey(_) | Auth::Basic(_) => {
            "Kitbag adds your secrets to its requests there, and to no others".to_owned()
        }
    }
}

/// Returns the toolkit's scopes in a few words each.
pub(super) fn scopes(definition: &ToolkitDefinition) -> Vec<&str> {
    let in_words = |scope: &str| match scope {
        SCOPE_SEARCH if definition.has_scope(SCOPE_COLLECTIONS) => Some("reads documents and collections"),
        SCOPE_SEARCH => Some("reads documents"),
        SCOPE_INGEST => Some("writes documents"),
        SCOPE_ASK => Some("asks you"),
        SCOPE_CACHE => Some("keeps a cache"),
        // It only widens the first.
        _ => None,
    };
    definition.scopes.iter().filter_map(|scope| in_words(scope)).collect()
}

/// Describes actions that the toolkit cannot perform.
pub(super) fn never(definition: &ToolkitDefinition) -> Vec<&'static str> {
    let mut all = Vec::new();
    if !definition.has_scope(SCOPE_INGEST) {
        all.push(if definition.egress.is_empty() { "use the network" } else { "reach other hosts" });
    }
    if !definition.has_scope(SCOPE_SEARCH) {
        all.push("read your documents");
    }
    if !definition.has_scope(SCOPE_INGEST) {
        all.push("write documents");
    }
    all.push("read files, or anything of other users or toolkits");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolkit(egress: &[&str], scopes: &[&str], secrets: &[&str]) -> ToolkitDefinition {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ToolkitDefinition {
            egress: owned(egress),
            scopes: owned(scopes),
            secrets: owned(secrets),
            ..ToolkitDefinition::default()
        }
    }

    fn meanings(definition: &ToolkitDefinition) -> Vec<String> {
        of(definition).into_iter().map(|reach| format!("{}: {}", reach.what, reach.meaning)).collect()
    }

    #[test]
    fn a_toolkit_without_grants_reaches_nothing() {
        let toolkit = toolkit(&[], &[], &[]);

        assert!(of(&toolkit).is_empty());
        assert_eq!(never(&toolkit)[..3], ["use the network", "read your documents", "write documents"]);
    }

    #[test]
    fn a_cache_is_named_and_takes_nothing_from_what_the_toolkit_cannot_do() {
        let toolkit = toolkit(&[], &[SCOPE_CACHE], &[]);

        assert!(meanings(&toolkit)[0].starts_with("Cache: keeps up to 1 MiB"));
        assert_eq!(never(&toolkit)[..3], ["use the network", "read your documents", "write documents"]);
    }

    #[test]
    fn what_may_leave_is_said_where_it_may() {
        let closed = meanings(&toolkit(&[], &[SCOPE_SEARCH], &["API_KEY"]));
        let open = meanings(&toolkit(&["api.example"], &[SCOPE_SEARCH, SCOPE_INGEST], &["API_KEY"]));

        assert_eq!(closed[0], "Knowledge base: reads all your documents; they cannot leave by the network");
        assert!(closed[1].ends_with("and cannot send them anywhere"));
        assert_eq!(open[1], "Knowledge base: reads all your documents, and may send them to the hosts above");
        assert!(open[3].ends_with("and may send them to the hosts above"));
        assert_eq!(open.len(), 4);
    }

    #[test]
    fn a_toolkit_that_adds_documents_is_not_said_to_be_cut_off() {
        // Files of its documents are fetched from any address.
        let toolkit = toolkit(&[], &[SCOPE_SEARCH, SCOPE_INGEST], &["API_KEY"]);
        let said = meanings(&toolkit).join("\n");

        assert!(!said.contains("cannot") && said.matches("addresses of files").count() == 2, "{said}");
        assert_eq!(never(&toolkit), ["read files, or anything of other users or toolkits"]);
    }
}
