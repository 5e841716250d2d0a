//! The reach of a toolkit: hosts, secrets, documents and sign-ins of its users, and the part of it beyond a
//! user's consent.
//!
//! Invariant: hosts and URLs are compared as parsed, never as text; one that cannot be parsed is not covered
//! by anything.

#[cfg(test)]
mod tests;

use kitbag_base::sha256::Sha256;
use kitbag_manifest::{Auth, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition};
use kitbag_net::egress::{Allowlist, canonical_host};
use serde::{Deserialize, Serialize};
use url::Url;

/// Reach of one version of a toolkit, each list sorted and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// User id of the toolkit's owner. Not part of the JSON text: stored in its own column, like user ids in
    /// all tables.
    #[serde(skip)]
    owner: String,
    /// Hosts that receive requests, in their canonical spelling.
    hosts: Vec<String>,
    /// Secrets that the toolkit can read.
    reads: Vec<String>,
    /// Secrets that only the server uses, to sign in.
    uses: Vec<String>,
    /// Scopes for the user's knowledge base. Other scopes give nothing that the user does not give in the
    /// call itself.
    scopes: Vec<String>,
    auth: Vec<Auth>,
}

const KNOWLEDGE: [&str; 3] = [SCOPE_SEARCH, SCOPE_COLLECTIONS, SCOPE_INGEST];

/// A part of a reach, described for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachItem {
    /// Kind of the part: `Owner`, `Network`, `Secret`, `Knowledge base` or `Sign-in`.
    pub kind: String,
    /// Name of the part: a user id, a host, the name of a secret, a scope, or the host of a sign-in.
    pub name: String,
    /// Meaning of the part, to be read after the name: `receives its requests`.
    pub meaning: String,
}

impl Reach {
    /// Returns the reach of a declaration by this owner.
    pub(super) fn of(definition: &ToolkitDefinition, owner: &str) -> Self {
        let used = definition.credentials().into_iter().filter(|name| !definition.reads(name));
        Self {
            owner: owner.to_owned(),
            hosts: sorted(definition.egress.iter().map(|host| canonical(host))),
            reads: sorted(definition.secrets.iter().cloned()),
            uses: sorted(used.map(str::to_owned)),
            scopes: sorted(definition.scopes.iter().filter(|it| KNOWLEDGE.contains(&it.as_str())).cloned()),
            auth: definition.auth.iter().map(canonical_auth).collect(),
        }
    }

    /// Parses a stored reach.
    pub(super) fn stored(owner: String, text: &str) -> serde_json::Result<Self> {
        Ok(Self { owner, ..serde_json::from_str(text)? })
    }

    /// Returns the canonical JSON of everything except the owner.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("lists of texts are valid in JSON")
    }

    /// Returns the SHA-256 of the reach with its owner, hexadecimal.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(format!("{}\n{}", self.text(), self.owner)))
    }

    /// Returns the user id of the toolkit's owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether any data of a user may reach the toolkit or be attached for it, besides arguments and
    /// settings.
    pub(super) fn takes_anything(&self) -> bool {
        !(self.reads.is_empty() && self.uses.is_empty() && self.scopes.is_empty() && self.auth.is_empty())
    }

    /// Whether the toolkit takes documents of its users, who do not pass these explicitly.
    pub(super) fn has_scopes(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Returns all parts but the owner.
    pub fn items(&self) -> Vec<ReachItem> {
        self.beyond(&Self { owner: self.owner.clone(), ..Self::default() })
    }

    /// Returns the hosts that receive requests of the toolkit, or of the server for it, in their canonical spelling.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str).chain(self.auth.iter().map(Auth::api_host))
    }

    /// Returns the hosts that the declaration lists, in their canonical spelling.
    pub fn declared_hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str)
    }

    /// Returns the parts that are beyond `agreed`; empty if everything is covered.
    pub fn beyond(&self, agreed: &Self) -> Vec<ReachItem> {
        let allowed = Allowlist::parse(&agreed.hosts).unwrap_or_default();
        let mut all = Vec::new();
        if self.owner != agreed.owner {
            let meaning = format!("owns it now; when you agreed, it was {}'s", agreed.owner);
            all.push(item("Owner", &self.owner, meaning));
        }
        let hosts = self.hosts.iter().filter(|host| !allowed.covers(host));
        all.extend(hosts.map(|host| item("Network", host, self.what_it_sends())));
        let reads = self.reads.iter().filter(|name| !agreed.reads.contains(name));
        all.extend(reads.map(|name| {
            let until_now =
                if agreed.uses.contains(name) { "; only the server used it until now" } else { "" };
            item("Secret", name, format!("is read by the toolkit{}{until_now}", self.where_it_leaves()))
        }));
        let uses =
            self.uses.iter().filter(|name| !agreed.uses.contains(name) && !agreed.reads.contains(name));
        let meaning = "is used by the server to sign in, and never shown to the toolkit";
        all.extend(uses.map(|name| item("Secret", name, meaning.to_owned())));
        let scopes = self.scopes.iter().filter(|scope| !agreed.scopes.contains(scope));
        all.extend(scopes.map(|scope| item("Knowledge base", scope, self.of_scope(scope))));
        let auths = self.auth.iter().filter(|auth| !agreed.covers_auth(auth));
        all.extend(auths.map(|auth| {
            let is_changed = agreed.auth.iter().any(|other| other.api_host() == auth.api_host());
            let changed = if is_changed { ", in another way than when you agreed" } else { "" };
            item("Sign-in", auth.api_host(), format!("{}{changed}", of_auth(auth)))
        }));
        all
    }

    /// Whether `wanted` attaches nothing that this reach does not already attach there, or could send there
    /// itself.
    fn covers_auth(&self, wanted: &Auth) -> bool {
        // The toolkit may send secrets that it reads to all its hosts, which include those of the sign-in.
        let reads_all = wanted.secrets().iter().all(|(_, name)| self.reads.iter().any(|it| it == name));
        let is_account = matches!(wanted, Auth::AuthorizationCode(_));
        (reads_all && !is_account) || self.auth.iter().any(|auth| covers(auth, wanted))
    }

    /// Describes what requests to the toolkit's hosts may carry.
    fn what_it_sends(&self) -> String {
        let has = |scope: &str| self.scopes.iter().any(|it| it == scope);
        let documents = match (has(SCOPE_SEARCH), has(SCOPE_COLLECTIONS)) {
            (false, _) => None,
            (true, false) => Some("your documents"),
            (true, true) => Some("your documents and those of collections that you can read"),
        };
        let secrets = (!self.reads.is_empty()).then(|| format!("your secrets {}", self.reads.join(", ")));
        let carried: Vec<_> = [documents.map(str::to_owned), secrets].into_iter().flatten().collect();
        if carried.is_empty() {
            "receives its requests".to_owned()
        } else {
            format!("receives its requests, which may carry {}", carried.join(" and "))
        }
    }

    fn where_it_leaves(&self) -> &'static str {
        if self.hosts.is_empty() { "" } else { ", which may send it to the hosts that it reaches" }
    }

    fn of_scope(&self, scope: &str) -> String {
        match scope {
            SCOPE_SEARCH if self.hosts.is_empty() => "lets it read all your documents".to_owned(),
            SCOPE_SEARCH => {
                "lets it read all your documents, and send them to the hosts that it reaches".to_owned()
            }
            SCOPE_COLLECTIONS if self.hosts.is_empty() => {
                "lets it search and read the collections that you can read".to_owned()
            }
            SCOPE_COLLECTIONS => "lets it search and read the collections that you can read, and send their documents to the \
                                  hosts that it reaches"
                .to_owned(),
            SCOPE_INGEST => {
                "lets it add documents to yours, with files from any host, and replace those that it has added"
                    .to_owned()
            }
            _ => "is a permission that it asks for".to_owned(),
        }
    }
}

fn item(kind: &str, name: &str, meaning: String) -> ReachItem {
    ReachItem { kind: kind.to_owned(), name: name.to_owned(), meaning }
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<_> = texts.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns a host in its canonical spelling, or unchanged if it is not a valid host.
fn canonical(host: &str) -> String {
    canonical_host(host).unwrap_or_else(|| host.to_owned())
}

/// Returns a sign-in with its hosts, URLs and scopes in canonical spelling.
fn canonical_auth(auth: &Auth) -> Auth {
    let url = |text: &mut String| {
        if let Ok(url) = Url::parse(text) {
            *text = url.into();
        }
    };
    let scope = |scope: &mut Option<String>| {
        if let Some(scope) = scope {
            *scope = sorted(scope.split_whitespace().map(str::to_owned)).join(" ");
        }
    };
    let mut auth = auth.clone();
    match &mut auth {
        Auth::ClientCredentials(it) => {
            it.api_host = canonical(&it.api_host);
            url(&mut it.token_url);
            scope(&mut it.scope);
        }
        Auth::AuthorizationCode(it) => {
            it.api_host = canonical(&it.api_host);
            url(&mut it.authorization_url);
            url(&mut it.token_url);
            it.revocation_url.as_mut().map(url);
            scope(&mut it.scope);
        }
        Auth::ApiKey(it) => it.api_host = canonical(&it.api_host),
        Auth::Basic(it) => it.api_host = canonical(&it.api_host),
    }
    auth
}

/// Whether two canonical sign-ins are the same, except that `wanted` may have fewer scopes.
fn covers(agreed: &Auth, wanted: &Auth) -> bool {
    match (agreed, wanted) {
        (Auth::ClientCredentials(agreed), Auth::ClientCredentials(wanted)) => {
            covers_scope(agreed.scope.as_deref(), wanted.scope.as_deref())
                && *agreed == {
                    let mut same = wanted.clone();
                    same.scope.clone_from(&agreed.scope);
                    same
                }
        }
        (Auth::AuthorizationCode(agreed), Auth::AuthorizationCode(wanted)) => {
            // The document with the name of the account is at the API, which has the token anyway.
            covers_scope(agreed.scope.as_deref(), wanted.scope.as_deref())
                && agreed.without_account_name() == {
                    let mut same = wanted.without_account_name();
                    same.scope.clone_from(&agreed.scope);
                    same
                }
        }
        _ => agreed == wanted,
    }
}

/// Whether scopes were agreed to. Without scopes, the provider decides: that is covered only if both have
/// none.
fn covers_scope(agreed: Option<&str>, wanted: Option<&str>) -> bool {
    match (agreed, wanted) {
        (None, None) => true,
        (Some(agreed), Some(wanted)) => {
            wanted.split_whitespace().all(|scope| agreed.split_whitespace().any(|it| it == scope))
        }
        _ => false,
    }
}

fn of_auth(auth: &Auth) -> String {
    let host = |url: &str| {
        let url = Url::parse(url).ok();
        url.as_ref().and_then(Url::host_str).unwrap_or("an unknown host").to_owned()
    };
    let scope =
        |scope: &Option<String>| scope.as_deref().map(|scope| format!(", for {scope}")).unwrap_or_default();
    match auth {
        Auth::ClientCredentials(it) => format!(
            "signs it in with {} and {}, by way of {}{}",
            it.client_id_secret,
            it.client_secret_secret,
            host(&it.token_url),
            scope(&it.scope)
        ),
        Auth::AuthorizationCode(it) => format!(
            "lets it act as you, with the account that you connect at {}{}",
            host(&it.authorization_url),
            scope(&it.scope)
        ),
        Auth::ApiKey(it) => format!("receives your secret {} with its requests", it.secret),
        Auth::Basic(it) => {
            format!(
                "receives your secrets {} and {} with its requests",
                it.username_secret, it.password_secret
            )
        }
    }
}
