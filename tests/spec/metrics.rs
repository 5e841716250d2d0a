//! Metrics for an operator's monitoring: their values, and the absence of user data.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use url::Url;

use crate::fetch::loopback_allowed;
use crate::harness::{Http, Kitbag, Upstream, ask_raw, eventually, guests, kitbag, root, run};
use crate::tls::Certified;

/// Starts a server with metrics; returns it, a client for the metrics, and their address.
async fn measured() -> (Kitbag, Http, SocketAddr) {
    let address = free_address();
    let kitbag = Kitbag::start_with(|settings| {
        loopback_allowed(settings);
        settings.metrics_listen = address.to_string().parse().expect("an address");
    })
    .await;
    kitbag.deploy(guests::PROBE).await;
    let metrics = Http::new(format!("http://{address}").parse::<Url>().expect("a URL"));
    (kitbag, metrics, address)
}

/// Returns a loopback address with a free port.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

async fn text(metrics: &Http) -> String {
    let answer = metrics.get("/metrics").await.assert_status(200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    answer.text().to_owned()
}

fn assert_has(text: &str, line: &str) {
    assert!(text.lines().any(|it| it == line), "{line} is missing:\n{text}");
}

#[tokio::test]
async fn calls_requests_tokens_and_answers_are_counted() {
    let upstream = Upstream::start().await;
    let (kitbag, metrics, _) = measured().await;
    let ana = kitbag.as_user("ana");

    ana.fetch(&upstream.url("/hello")).await;
    ana.fetch("http://unlisted.test/").await.assert_tool_error("HttpRequestDenied");
    ana.call("probe__secret", json!({ "name": 7 })).await;
    kitbag.with_token("stolen").get("/toolkits").await.assert_status(401);
    kitbag.anonymous().get("/toolkits").await.assert_status(401);

    let text = text(&metrics).await;
    for line in [
        r#"kitbag_calls_total{toolkit="probe",outcome="succeeded"} 1"#,
        r#"kitbag_calls_total{toolkit="probe",outcome="tool-error"} 2"#,
        r#"kitbag_call_duration_seconds_count{toolkit="probe"} 3"#,
        r#"kitbag_sandbox_duration_seconds_count{toolkit="probe"} 3"#,
        r#"kitbag_outbound_requests_total{purpose="toolkit",result="answered"} 1"#,
        r#"kitbag_outbound_requests_total{purpose="toolkit",result="refused"} 1"#,
        r#"kitbag_sign_in_checks_total{result="invalid"} 1"#,
        r#"kitbag_sign_in_checks_total{result="missing"} 1"#,
        r#"kitbag_http_responses_total{status="401"} 2"#,
        r#"kitbag_jobs_waiting{job="capture"} 0"#,
        "kitbag_calls_in_flight 0",
        "kitbag_toolkits 1",
        "kitbag_call_memory_bytes 0",
        r#"kitbag_trace_spans_total{result="dropped"} 0"#,
        "# EOF",
    ] {
        assert_has(&text, line);
    }
    assert!(!text.contains("ana") && !text.contains("unlisted.test") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn pools_say_how_full_they_are() {
    let upstream = Upstream::start().await;
    let (kitbag, metrics, _) = measured().await;
    let value = async |name: &str| -> u64 {
        let text = text(&metrics).await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing:\n{text}")).parse().expect("a number")
    };

    for pool in ["read", "write"] {
        let of = |name: &str, more: &str| format!("kitbag_database_{name}{{pool=\"{pool}\"{more}}}");
        let limit = value(&of("connections_limit", "")).await;
        let idle = value(&of("connections", ",state=\"idle\"")).await;
        let in_use = value(&of("connections", ",state=\"in-use\"")).await;
        assert!(
            limit >= 1 && idle + in_use >= 1 && idle + in_use <= limit,
            "{pool}: {idle}, {in_use}, {limit}"
        );
        value(&of("waits_total", "")).await;
    }
    let limit = value("kitbag_instances_limit").await;
    assert!(limit >= 40, "{limit}");
    let held = kitbag.as_user("ana").start_call("probe__fetch", json!({ "url": upstream.url("/silent") }));
    eventually("the call has its instance", async || value("kitbag_instances").await == 1).await;
    held.abort();
    eventually("the instance is gone", async || value("kitbag_instances").await == 0).await;
    // Memory of a finished call stays allocated for the next call.
    assert!(value("kitbag_kept_memory_bytes").await > 0);
}

#[tokio::test]
async fn metrics_are_at_their_own_address_alone_and_nothing_else_is() {
    let (kitbag, metrics, _) = measured().await;

    for user in [kitbag.as_operator().get("/metrics").await, kitbag.anonymous().get("/metrics").await] {
        user.assert_status(404);
    }
    for path in ["/", "/toolkits", "/healthz", "/mcp", "/graphql"] {
        metrics.get(path).await.assert_status(404);
    }
}

#[tokio::test]
async fn a_page_that_rebinds_its_name_reads_no_metrics() {
    let (kitbag, metrics, address) = measured().await;
    let port = address.port();
    let ask = async |host: &str| {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        ask_raw(&metrics.url("/"), &request).await
    };

    for host in
        ["evil.example".to_owned(), format!("evil.example:{port}"), "127.0.0.1.evil.example".to_owned()]
    {
        let answer = ask(&host).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
        assert!(answer.contains("IP address") && !answer.contains("kitbag_"), "{host}: {answer}");
    }
    let own = kitbag.base_url().host_str().expect("a host").to_owned();
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}"), own] {
        let answer = ask(&host).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains("kitbag_toolkits"),
            "{host}: {answer}"
        );
    }
}

#[tokio::test]
async fn the_dashboard_and_the_page_of_docs_name_metrics_that_there_are() {
    let (kitbag, metrics, _) = measured().await;
    kitbag.as_user("ana").fetch("http://unlisted.test/").await;
    let (certified, address) = (Certified::new(), free_address());
    let objects = tempfile::tempdir().expect("a scratch directory");
    let secured = certified
        .kitbag(|settings| {
            settings.metrics_listen = address.to_string().parse().expect("an address");
            let folder = format!("folder:{}", objects.path().join("objects").display());
            settings.objects = folder.parse().expect("a folder");
            let anchors = objects.path().join("anchors").display().to_string();
            settings.audit_anchor = anchors.parse().expect("a file");
        })
        .await;
    certified.client().get(secured.address(), "/healthz").await.expect("an answer");
    let of_secured = Http::new(format!("http://{address}").parse::<Url>().expect("a URL"));
    let served = text(&metrics).await + &text(&of_secured).await;

    for file in ["docs/grafana-dashboard.json", "docs/operating.md"] {
        let text = fs::read_to_string(root().join(file)).expect("the file is there");
        let named: Vec<_> = text
            .split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
            .filter(|it| it.starts_with("kitbag_"))
            .collect();
        assert!(named.len() > 10, "{file}: {named:?}");
        for name in named {
            let is_of = |line: &str| {
                line.strip_prefix("# TYPE ").unwrap_or(line).split(['{', ' ']).next() == Some(name)
            };
            let is_served = served.lines().any(is_of);
            assert!(is_served, "{file} names {name}, and there is no such metric:\n{served}");
        }
    }
}

#[tokio::test]
async fn an_address_in_use_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();

    let data = tempfile::tempdir().expect("a scratch directory");
    let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", &address, "--data"]);
    // A missing data directory is created with access for its owner alone.
    command.arg(data.path().join("new"));
    run(command).await.assert_failed(&format!("cannot listen on {address}"));
}

#[tokio::test]
async fn prometheus_reads_them() {
    let program = prometheus().expect("run scripts/install-debian-program prometheus");
    let (kitbag, _, address) = measured().await;
    kitbag.as_user("ana").call("probe__nothing", json!({})).await;

    let folder = tempfile::tempdir().expect("a scratch directory");
    let (configuration, own) = (folder.path().join("prometheus.yml"), free_address());
    let scrape = format!(
        "scrape_configs:\n- job_name: kitbag\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  \
         - targets: ['{address}']\n"
    );
    fs::write(&configuration, scrape).expect("a file");
    let _running: Child = Command::new(program)
        .arg(format!("--config.file={}", configuration.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={own}"))
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("Prometheus can be started");

    let api = Http::new(format!("http://{own}").parse::<Url>().expect("a URL"));
    let value = async |query: &str| -> Option<Value> {
        let answer = api.get_if_served(&format!("/api/v1/query?query={query}")).await?;
        let body: Value = serde_json::from_slice(&answer.body).ok()?;
        body.pointer("/data/result/0/value/1").cloned()
    };
    eventually("Prometheus has read the metrics", async || value("up").await == Some("1".into())).await;
    assert_eq!(value("kitbag_calls_total").await, Some("1".into()));
    let median = value("histogram_quantile(0.5,kitbag_call_duration_seconds_bucket)").await;
    assert!(median.and_then(|it| it.as_str()?.parse::<f64>().ok()).is_some_and(|it| it > 0.0));
}

/// Path of the Prometheus program, installed by `scripts/install-debian-program` or on `PATH`.
fn prometheus() -> Option<PathBuf> {
    let unpacked = root().join(".tools/prometheus/prometheus");
    let path = std::env::var_os("PATH")?;
    let installed = std::env::split_paths(&path).map(|folder| folder.join("prometheus"));
    std::iter::once(unpacked).chain(installed).find(|program| program.is_file())
}
