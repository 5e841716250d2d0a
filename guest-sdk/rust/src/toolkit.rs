//! Builder of a toolkit: its declaration, tools, prompts and resources.

use std::borrow::Cow;

use kitbag_manifest::{
    Auths, SCOPE_ASK, SCOPE_CACHE, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition,
    Visibility,
};

use crate::{Auth, Prompt, Resource, Setting, Tool};

type Text = Cow<'static, str>;

/// A bundle of tools that share an id, credentials and grants.
pub struct Toolkit {
    id: Text,
    name: Text,
    description: Text,
    icon: Text,
    version: Text,
    author: Option<Text>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    secrets: Vec<Text>,
    egress: Vec<Text>,
    scopes: Vec<Scope>,
    config: Vec<(Text, Setting)>,
    visibility: Visibility,
    auth: Vec<Auth>,
}

/// Permission to use a capability of Kitbag on behalf of the calling user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `svc:search`: search and read documents.
    Search,
    /// `svc:collections`: with [`Search`](Self::Search), also search and read documents of the collections that the user
    /// may read.
    Collections,
    /// `svc:ingest`: write documents.
    Ingest,
    /// `svc:ask`: ask the user questions during a call; see [`Ctx::ask`](crate::Ctx::ask).
    Ask,
    /// `svc:cache`: store values between calls; see [`Ctx::cache`](crate::Ctx::cache).
    Cache,
}

impl Toolkit {
    /// Creates a toolkit with a stable `id` (`^[a-z0-9-]+$`) and a display name. It also needs a
    /// description, an icon, a version and a tool.
    pub fn new(id: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: Text::default(),
            icon: Text::default(),
            version: Text::default(),
            author: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            secrets: Vec::new(),
            egress: Vec::new(),
            scopes: Vec::new(),
            config: Vec::new(),
            visibility: Visibility::Private,
            auth: Vec::new(),
        }
    }

    /// Sets the one-line description.
    #[must_use]
    pub fn description(mut self, line: impl Into<Text>) -> Self {
        self.description = line.into();
        self
    }

    /// Sets the icon: a single emoji, or the HTTPS URL of a square image.
    #[must_use]
    pub fn icon(mut self, icon: impl Into<Text>) -> Self {
        self.icon = icon.into();
        self
    }

    /// Sets the semantic version, usually `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn version(mut self, version: impl Into<Text>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the author shown in the directory.
    #[must_use]
    pub fn author(mut self, author: impl Into<Text>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Sets which users see the toolkit; by default only its owner.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Declares a credential in `UPPER_SNAKE_CASE` that handlers may read.
    #[must_use]
    pub fn secret(mut self, name: impl Into<Text>) -> Self {
        self.secrets.push(name.into());
        self
    }

    /// Declares a host that handlers may connect to: `api.example.com`, or `api.example.com:8443` for a
    /// port that is not the scheme's default.
    #[must_use]
    pub fn egress(mut self, host: impl Into<Text>) -> Self {
        self.egress.push(host.into());
        self
    }

    /// Declares a capability of Kitbag that the toolkit uses, such as searching the calling user's knowledge
    /// base.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Declares a setting that users fill in; handlers read it by `key`.
    #[must_use]
    pub fn config(mut self, key: impl Into<Text>, setting: Setting) -> Self {
        self.config.push((key.into(), setting));
        self
    }

    /// Declares a sign-in that the host carries out for requests to one host: [`ClientCredentials`],
    /// [`AuthorizationCode`], [`ApiKey`] or [`BasicAuth`]. A toolkit may have several, each for a different
    /// host.
    ///
    /// Handlers cannot read secrets that only sign-ins name.
    ///
    /// [`ClientCredentials`]: crate::ClientCredentials
    /// [`AuthorizationCode`]: crate::AuthorizationCode
    /// [`ApiKey`]: crate::ApiKey
    /// [`BasicAuth`]: crate::BasicAuth
    #[must_use]
    pub fn auth(mut self, auth: impl Into<Auth>) -> Self {
        self.auth.push(auth.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Checks the declaration against every rule that applies at deploy, and reports all problems at once.
    #[cfg(not(target_family = "wasm"))]
    pub fn check(&self) -> Result<(), kitbag_manifest::Problems> {
        self.validated().map(drop)
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn egress_entries(&self) -> &[Text] {
        &self.egress
    }

    /// Whether the toolkit declares a scope of the user's knowledge base.
    pub(crate) fn has_knowledge(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope, Scope::Search | Scope::Ingest))
    }

    pub(crate) fn find(&self, tool: &str) -> Option<&Tool> {
        self.tools.iter().find(|candidate| candidate.name() == tool)
    }

    pub(crate) fn find_prompt(&self, name: &str) -> Option<&Prompt> {
        self.prompts.iter().find(|candidate| candidate.name() == name)
    }

    pub(crate) fn find_resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|candidate| candidate.name() == name)
    }

    pub(crate) fn definition(&self) -> ToolkitDefinition {
        let texts = |list: &[Text]| list.iter().map(ToString::to_string).collect();
        ToolkitDefinition {
            kitbag: Some(env!("CARGO_PKG_VERSION").to_owned()),
            id: self.id.to_string(),
            name: self.name.to_string(),
            description: self.description.to_string(),
            icon: self.icon.to_string(),
            version: self.version.to_string(),
            author: self.author.as_deref().map(str::to_owned),
            tools: self.tools.iter().map(Tool::definition).collect(),
            prompts: self.prompts.iter().map(Prompt::definition).collect(),
            resources: self.resources.iter().map(Resource::definition).collect(),
            secrets: texts(&self.secrets),
            egress: texts(&self.egress),
            scopes: self.scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            config: self
                .config
                .iter()
                .map(|(key, setting)| (key.to_string(), setting.clone().into_field()))
                .collect(),
            visibility: self.visibility,
            auth: Auths(self.auth.iter().map(Auth::definition).collect()),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn validated(&self) -> Result<kitbag_manifest::ValidDefinition, kitbag_manifest::Problems> {
        let checked = kitbag_manifest::validate(self.definition());

        // The definition is a map by key, in which a repeated key would silently replace the first one.
        let mut seen = std::collections::HashSet::new();
        let repeated: Vec<_> = self.config.iter().filter(|(key, _)| !seen.insert(key)).collect();
        let of_prompts: Vec<_> = self
            .prompts
            .iter()
            .enumerate()
            .flat_map(|(index, prompt)| prompt.problems().into_iter().map(move |problem| (index, problem)))
            .collect();
        if repeated.is_empty() && of_prompts.is_empty() {
            return checked;
        }
        let mut problems = checked.err().unwrap_or_default();
        for (index, problem) in of_prompts {
            problems.add(format!("prompts[{index}].arguments"), problem);
        }
        for (key, _) in repeated {
            problems.add(format!("config.{key}"), "the key is declared twice");
        }
        Err(problems)
    }
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Search => SCOPE_SEARCH,
            Self::Collections => SCOPE_COLLECTIONS,
            Self::Ingest => SCOPE_INGEST,
            Self::Ask => SCOPE_ASK,
            Self::Cache => SCOPE_CACHE,
        }
    }
}
