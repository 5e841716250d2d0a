//! Search among many tools, and the size of tool listings in each mode, over MCP.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Outcome;
use crate::child::Server;
use crate::client::{Connection, Prepared};
use crate::kitbag_server;
use crate::stats::percentile;
use crate::wat::Wat;

/// Tool declarations of public APIs. All deployed tools are variants of them.
const DECLARATIONS: &str = include_str!("../../spec/finding/tools.json");
const QUESTIONS: &str = include_str!("../../spec/finding/questions.json");

/// Numbers of deployed tools at which listings are measured, ascending.
const COUNTS: [usize; 4] = [10, 150, 1000, 5000];
/// Tools per toolkit, at most.
const PER_TOOLKIT: usize = 250;
/// Goal for the median duration of a hybrid search with the most tools, on the server.
const GOAL: Duration = Duration::from_millis(5);

/// Prints the size of listings, and the duration of searches.
pub(crate) async fn measure(model: &Path) -> Outcome<()> {
    let data = tempfile::tempdir()?;
    let model = model.to_str().ok_or("the model's path is no text")?;
    let server = kitbag_server::start(data.path(), &["--model", model])?;
    let mut client = Client::open(&server, data.path(), None).await?;
    let tools = tools()?;
    let (mut deployed, mut toolkits) = (0, 0);
    println!("tools   listed      with mode=search");
    for count in COUNTS {
        while deployed < count {
            let next = deployed + PER_TOOLKIT.min(count - deployed);
            let manifest = manifest(toolkits, &tools[deployed..next]);
            let component = Wat { manifest: &manifest, ..Wat::default() }.component();
            client.deploy(&component).await?;
            (deployed, toolkits) = (next, toolkits + 1);
        }
        let (all, some) = (client.listing("/mcp").await?, client.listing("/mcp?mode=search").await?);
        println!("{count:>5}   {all:>9} B {some:>9} B");
    }

    let started = Instant::now();
    for toolkit in 0..toolkits {
        let path = format!("/mcp?mode=search&toolkits=bulk-{toolkit}");
        // A nonsense query matches nothing until there are vectors: then it has nearest neighbours.
        while client.find(&path, "xyzzy").await?.0 == 0 {
            sleep(Duration::from_millis(100)).await;
        }
    }
    println!("vectors of {deployed} tools {:.1?}", started.elapsed());
    let questions: Vec<(String, Vec<String>)> = serde_json::from_str(QUESTIONS)?;
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for (question, _) in &questions {
        first.push(client.find("/mcp?mode=search", question).await?.1);
        again.push(client.find("/mcp?mode=search", question).await?.1);
    }
    println!("find_tools among {deployed} tools, with HTTP:");
    print("first, the query is embedded", &mut first);
    let median = print("again, its vector is known", &mut again);
    println!("  goal {GOAL:?}: {}", if median <= GOAL { "met" } else { "missed" });
    drop(server);

    let server = kitbag_server::start(data.path(), &["--model", "none"])?;
    let mut client = Client::open(&server, data.path(), None).await?;
    client.find("/mcp?mode=search", "warm up").await?;
    let mut by_words = Vec::new();
    for (question, _) in &questions {
        by_words.push(client.find("/mcp?mode=search", question).await?.1);
    }
    print("by words alone", &mut by_words);
    Ok(())
}

fn print(what: &str, times: &mut [Duration]) -> Duration {
    let [median, late] = [0.5, 0.95].map(|share| percentile(times, share).unwrap_or_default());
    println!("  {what:<28} p50 {median:>8.1?}   p95 {late:>8.1?}");
    median
}

/// Declarations of all tools, as many as the last count needs.
fn tools() -> Outcome<Vec<Value>> {
    let toolkits: Vec<Value> = serde_json::from_str(DECLARATIONS)?;
    let declared: Vec<_> =
        toolkits.iter().filter_map(|toolkit| toolkit["tools"].as_array()).flatten().collect();
    let variants = declared.iter().cycle().enumerate();
    let tool = |(number, tool): (usize, &&Value)| {
        let parameters = tool[2].as_object().into_iter().flatten();
        let properties: Value = parameters
            .map(|(name, description)| {
                (name.clone(), json!({ "type": "string", "description": description }))
            })
            .collect();
        json!({
            "name": format!("{}_{number}", tool[0].as_str().unwrap_or_default()),
            "description": format!("{} Of account {number}.", tool[1].as_str().unwrap_or_default()),
            "inputSchema": { "type": "object", "properties": properties },
        })
    };
    Ok(variants.take(COUNTS[COUNTS.len() - 1]).map(tool).collect())
}

fn manifest(toolkit: usize, tools: &[Value]) -> String {
    json!({
        "id": format!("bulk-{toolkit}"), "name": "Bulk", "description": "Many tools.", "icon": "🧪",
        "version": "1.0.0", "visibility": "shared", "tools": tools,
    })
    .to_string()
}

/// MCP client.
pub(crate) struct Client {
    connection: Connection,
    host: String,
    token: String,
}

impl Client {
    /// Connects as a user; `None` for the operator.
    pub(crate) async fn open(server: &Server, data: &Path, user: Option<&str>) -> Outcome<Self> {
        let (connection, host) = (Connection::open(server.address()).await?, server.address().to_string());
        Ok(Self { connection, host, token: kitbag_server::token_of(data, user)? })
    }

    /// Uploads a component.
    pub(crate) async fn deploy(&mut self, component: &[u8]) -> Outcome<()> {
        let request = kitbag_server::upload(&self.host, &self.token, component)?;
        self.connection.exchange(&request).await.map(drop)
    }

    /// Returns one page of a listing, as JSON.
    pub(crate) async fn page(&mut self, path: &str, params: &Value) -> Outcome<Bytes> {
        self.connection.exchange(&self.request(path, "tools/list", params)?).await
    }

    /// Total size of all pages of a listing, in bytes.
    pub(crate) async fn listing(&mut self, path: &str) -> Outcome<usize> {
        let (mut bytes, mut params) = (0, json!({}));
        loop {
            let body = self.page(path, &params).await?;
            bytes += body.len();
            let reply: Value = serde_json::from_slice(&body)?;
            match &reply["result"]["nextCursor"] {
                Value::String(cursor) => params = json!({ "cursor": cursor }),
                _ => return Ok(bytes),
            }
        }
    }

    /// Number of tools found, and duration of the search.
    async fn find(&mut self, path: &str, query: &str) -> Outcome<(usize, Duration)> {
        let params = json!({ "name": "find_tools", "arguments": { "query": query } });
        let request = self.request(path, "tools/call", &params)?;
        let started = Instant::now();
        let body = self.connection.exchange(&request).await?;
        let time = started.elapsed();
        let reply: Value = serde_json::from_slice(&body)?;
        let text = reply["result"]["content"][0]["text"].as_str().ok_or_else(|| reply.to_string())?;
        let found: Value = serde_json::from_str(text)?;
        Ok((found["tools"].as_array().map_or(0, Vec::len), time))
    }

    fn request(&self, path: &str, method: &str, params: &Value) -> Outcome<Prepared> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Ok(Request::post(path)
            .header(header::HOST, &self.host)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Full::new(Bytes::from(message.to_string())))?)
    }
}
