//! `kitbag demo`

mod client;
mod extractors;
mod knowledge;
mod scripts;
mod team;

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_base::local_mode;
use kitbag_base::ownership;
use kitbag_base::tasks::Interrupted;
use kitbag_toolchain::BuildOptions;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::task::JoinError;

use super::client::{Client, Connection};
use super::error::CliError;
use super::model::fetch_default;
use super::output::expect_text;
use super::serve::stop_signal;
use super::terminal::{Text, say};
use super::token::{DEFAULT_LIFETIME, mint};
use super::toolkit::{print_deployed, read, upload};
use crate::app::App;
use crate::settings::{Settings, Sources};
use crate::telemetry;

/// Toolkit with the tool to call; the others are deployed after the first call.
const FIRST: &str = "toolkit-text";
const OTHERS: [&str; 3] = ["toolkit-weather", "toolkit-notes", "toolkit-clipper"];

/// Build the example toolkits, serve them, call one, search, and keep serving.
#[derive(Args, Debug)]
#[command(after_help = "Needs a checkout of Kitbag, Node, and a compiler for WebAssembly (`just install`).")]
pub(super) struct Demo {
    #[command(flatten)]
    sources: Sources,
}

impl Demo {
    pub(super) async fn run(self) -> Result<(), CliError> {
        expect_text("`kitbag demo` is for people")?;
        ownership::restrict_new_files();
        telemetry::start(telemetry::QUIET);
        let settings =
            Settings::load(self.sources, None).map_err(|error| CliError::new(error.to_string()))?;
        let checkout = checkout()?;

        step("Building the text toolkit, and meanwhile fetching the model that search goes by: 84 MB, once");
        let (component, fetched) = tokio::join!(build(&checkout, FIRST), fetch_default(&settings.data));
        let component = component?;
        if let Err(error) = fetched {
            say!("  {}\n  Search goes by words alone until `kitbag model fetch` has it.", error);
        }

        step("Starting a server in local mode");
        let app = App::start(&settings).await.map_err(|error| CliError::new(error.to_string()))?;
        let base_url = app.base_url().clone();
        say!("{} (data in {})", base_url, settings.data.display());
        let mut serving = tokio::spawn(app.serve(stop_signal()?));

        // The server runs in the background; if a later step fails, the process ends.
        let connection = Connection::local(settings.data.clone()).open().await?;
        step("Uploading it");
        deploy(&connection, &component).await?;

        step("Calling a tool, with the MCP client of the TypeScript SDK");
        let token = mint(&settings.data, local_mode::USER, DEFAULT_LIFETIME)?;
        let arguments = json!({ "text": "Kitbag runs tools.\nIt trusts none of them." });
        let exchange =
            client::call(&checkout, &base_url, token.expose_secret(), "text__count", &arguments).await?;
        say!("{}", Text::indented(&exchange, 0));

        for toolkit in OTHERS {
            step(&format!("Building and uploading {toolkit}"));
            deploy(&connection, &build(&checkout, toolkit).await?).await?;
        }

        step("Ingesting three documents, and searching them");
        say!("{}", Text::indented(&knowledge::show(&connection).await?, 0));

        step("Sharing a collection with a second user, and searching as each of them");
        match team::show(&connection, &settings.data).await {
            Ok(shown) => say!("{}", Text::indented(&shown, 0)),
            // Such as a collection in the bin, or users who may not make one, from an earlier use of this data directory.
            Err(error) => say!("  {}", error),
        }

        print_connections(&connection, &settings.data);
        // The demo does not wait for these.
        let further = async {
            extractors::install(&checkout, &settings.extractors).await;
            scripts::deploy_all(&checkout, &connection).await;
        };
        tokio::select! {
            served = &mut serving => return ended(served),
            () = further => {}
        }
        ended(serving.await)
    }
}

fn ended(served: Result<(), JoinError>) -> Result<(), CliError> {
    served.map_err(|error| CliError::new(Interrupted::from(error).to_string()))
}

/// Path of the checkout that this program was built from.
fn checkout() -> Result<PathBuf, CliError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().ok().filter(|root| root.join("toolkits").is_dir()).ok_or_else(|| {
        CliError::new(
            "the demo builds the example toolkits of a checkout, and this program's checkout is gone",
        )
        .hint("clone Kitbag and run `npx -y rust-just demo` in it")
    })
}

async fn build(checkout: &Path, package: &str) -> Result<PathBuf, CliError> {
    let mut built = build_all(checkout, &[package]).await?;
    Ok(built.pop().expect("one package was asked for"))
}

/// Builds components and returns their paths.
async fn build_all(checkout: &Path, packages: &[&str]) -> Result<Vec<PathBuf>, CliError> {
    let built = kitbag_toolchain::build_workspace(checkout, packages, &BuildOptions::default(), |line| {
        say!("  {}", line);
    })
    .await
    .map_err(|error| CliError::new(error.to_string()))?;
    Ok(built.into_iter().map(|component| component.path).collect())
}

async fn deploy(client: &Client, component: &Path) -> Result<(), CliError> {
    print_deployed(&upload(client, read(component)?).await?);
    Ok(())
}

fn step(what: &str) {
    say!("\n▸ {}", what);
}

fn print_connections(client: &Client, data: &Path) {
    let program =
        std::env::current_exe().map_or_else(|_| "kitbag".to_owned(), |path| path.display().to_string());
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let data = data.display();
    let token = format!("$({program} token --data {data})");
    let code = format!("{program} sign-in-code --data {data}");
    let base_url = client.server().as_str().trim_end_matches('/');
    say!(
        r#"
▸ Serving {base_url} until Ctrl-C. Connect, in another terminal, with

  Claude Code (then /mcp in a session: it opens a page in the browser to sign in, which asks for a code)
    claude mcp add --transport http kitbag {base_url}/mcp
    {code}

  Claude Desktop, Cursor, VS Code, Codex, Gemini CLI
    {program} connect --data {data}

  MCP Inspector (brings its own Node 22)
    npx -y -p node@22 -p @modelcontextprotocol/inspector@2.12.0 mcp-inspector --cli {base_url}/mcp --transport http \
      --header "Authorization: Bearer {token}" --method tools/list

  curl
    curl -s {base_url}/mcp -H "Authorization: Bearer {token}" \
      -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
      -H 'MCP-Protocol-Version: 2025-11-25' \
      -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"text__count","arguments":{{"text":"Hello, Kitbag"}}}}}}'

  The knowledge base (in GraphQL: {base_url}/graphql)
    {program} ingest README.md --data {data}
    {program} search "how is a toolkit deployed?" --data {data}
    {program} collection show handbook --data {data}
"#,
        base_url = base_url,
        token = token,
        program = program,
        code = code,
        data = data
    );
}
