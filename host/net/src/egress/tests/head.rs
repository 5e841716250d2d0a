//! The head of a request on the wire, and limits for the head of a response.

use http::header::{HeaderName, HeaderValue, USER_AGENT};

use super::*;

async fn raw_head(request: Request<Full<Bytes>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut parts, body) = request.into_parts();
    parts.uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let egress = egress(&["127.0.0.0/8"]);
    let sending =
        tokio::spawn(async move { egress.send(Request::from_parts(parts, body), &capture()).await });
    let (stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        stream.readable().await.unwrap();
        // A read that would block is retried.
        stream.try_read_buf(&mut head).ok();
    }
    sending.abort();
    String::from_utf8(head).unwrap().to_lowercase()
}

#[tokio::test]
async fn nothing_about_the_connection_is_on_the_wire_as_the_caller_set_it() {
    let mut request = Request::post("/").body(Full::from("body")).unwrap();
    for (name, value) in [
        ("connection", "close, x-hidden"),
        ("x-hidden", "1"),
        ("transfer-encoding", "chunked"),
        ("te", "trailers"),
        ("trailer", "x-late"),
        ("upgrade", "websocket"),
        ("expect", "100-continue"),
        ("keep-alive", "timeout=1"),
        ("proxy-authorization", "Basic eDp5"),
        ("proxy-connection", "close"),
        ("http2-settings", "AAM"),
        ("host", "internal.example"),
    ] {
        request.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }

    let head = raw_head(request).await;

    let mut names: Vec<_> = head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "host", "user-agent"], "{head}");
    assert!(head.contains("content-length: 4") && !head.contains("internal.example"), "{head}");
}

#[tokio::test]
async fn a_content_length_that_is_not_the_bodys_never_leaves() {
    let upstream = upstream().await;
    for (length, body) in [("5", ""), ("3", "body"), ("0", "body"), ("4, 4", "body")] {
        let request =
            Request::post(upstream.origin()).header("content-length", length).body(Full::from(body));

        let error = egress(&[]).send(request.unwrap(), &Policy::Operator).await.unwrap_err();

        assert!(matches!(error, EgressError::InvalidRequest { .. }), "{length} {body}: {error}");
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_user_agent_is_a_browsers_in_form_and_ours_in_name() {
    let upstream = upstream().await;
    let egress = egress(&[]);
    let mut named = get(&upstream.origin());
    named.headers_mut().insert(USER_AGENT, HeaderValue::from_static("mine/1"));

    egress.send(get(&upstream.origin()), &Policy::Operator).await.unwrap();
    let default = upstream.last_header("user-agent").unwrap();
    egress.send(named, &Policy::Operator).await.unwrap();

    assert_eq!(default, format!("Mozilla/5.0 (compatible; Kitbag/{})", env!("CARGO_PKG_VERSION")));
    assert_eq!(upstream.last_header("user-agent").unwrap(), "mine/1");
}

#[tokio::test]
async fn a_response_with_a_huge_head_is_an_error_of_its_own() {
    let upstream = TestServer::start(|request| {
        let (count, size) = match request.uri.path() {
            "/many" => (120, 1),
            "/large" => (1, 70 << 10),
            _ => (80, 500),
        };
        let mut response = Response::new(Full::default());
        for number in 0..count {
            let name = HeaderName::try_from(format!("x-{number}")).unwrap();
            response.headers_mut().insert(name, HeaderValue::try_from("v".repeat(size)).unwrap());
        }
        response
    })
    .await;
    let get = |path| get(&format!("{}{path}", upstream.origin()));

    for path in ["/many", "/large"] {
        let answer = egress(&[]).send(get(path), &Policy::Operator).await.map(|response| response.status());
        assert!(matches!(answer, Err(EgressError::HeadTooLarge { .. })), "{path}: {answer:?}");
    }
    assert!(egress(&[]).send(get("/"), &Policy::Operator).await.is_ok());
}
