//! Sign-ins in local mode: consent, token requests, and revocation.

use std::process::Command;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, header};
use serde_json::{Value, json};
use url::Url;

use super::client::{Answer, Client};
use super::work::WorkResult;
use crate::Outcome;

const CALLBACK: &str = "http://127.0.0.1:33418/callback";

/// Uses of refresh tokens before the grant is revoked.
const REFRESHES: usize = 3;

/// OAuth client that is registered once and signs in repeatedly.
#[derive(Default)]
pub(crate) struct SignIn {
    client_id: Option<String>,
}

impl SignIn {
    /// Signs in, uses each refresh token once, and revokes the grant.
    pub(crate) async fn run(&mut self, client: &mut Client, turn: usize) -> Outcome<WorkResult> {
        let client_id = match &self.client_id {
            Some(id) => id.clone(),
            None => self.client_id.insert(register(client).await?).clone(),
        };
        let verifier = format!("{turn:0>43}");
        let code = match consent(client, &client_id, &verifier).await? {
            Ok(code) => code,
            Err(ended) => return Ok(ended),
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", &client_id),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", &verifier),
        ];
        let mut answer = client.post_form("/oauth/token", &fields).await?;
        for _ in 0..REFRESHES {
            let Some(refresh_token) = text_of(&answer, "refresh_token") else { return Ok(wrong(&answer)) };
            let fields = [
                ("grant_type", "refresh_token"),
                ("client_id", &client_id),
                ("refresh_token", &refresh_token),
            ];
            answer = client.post_form("/oauth/token", &fields).await?;
        }
        let Some(refresh_token) = text_of(&answer, "refresh_token") else { return Ok(wrong(&answer)) };
        let fields = [("token", refresh_token.as_str()), ("client_id", &client_id)];
        let answer = client.post_form("/oauth/revoke", &fields).await?;
        Ok(if answer.status.is_success() { WorkResult::Done } else { wrong(&answer) })
    }
}

async fn register(client: &mut Client) -> Outcome<String> {
    let metadata = json!({ "redirect_uris": [CALLBACK], "client_name": "soak" }).to_string();
    let json = [(header::CONTENT_TYPE.as_str(), "application/json")];
    let answer = client.send(Method::POST, "/oauth/register", &json, metadata.into()).await?;
    text_of(&answer, "client_id").ok_or_else(|| format!("no client was registered: {}", answer.status).into())
}

/// Opens the consent page, consents, and returns the authorization code.
async fn consent(
    client: &mut Client,
    client_id: &str,
    verifier: &str,
) -> Outcome<Result<String, WorkResult>> {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", CALLBACK),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ])
        .finish();
    let page = client.send(Method::GET, &format!("/oauth/authorize?{query}"), &[], Bytes::new()).await?;
    let html = String::from_utf8_lossy(&page.body);
    let request_id =
        html.split("name=\"request_id\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let Some(request_id) = request_id else { return Ok(Err(wrong(&page))) };

    let sign_in_code = if html.contains("name=\"code\"") { sign_in_code(client)? } else { String::new() };
    let mut fields = vec![("request_id", request_id), ("decision", "allow"), ("user", "signed-in")];
    if !sign_in_code.is_empty() {
        fields.push(("code", &sign_in_code));
    }
    let answer = client.post_form("/oauth/authorize", &fields).await?;
    let location =
        answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()?.parse::<Url>().ok());
    let code = location
        .and_then(|url| url.query_pairs().find(|(name, _)| name == "code").map(|(_, it)| it.into_owned()));
    Ok(code.ok_or_else(|| wrong(&answer)))
}

/// Sign-in code, as the program prints it to users who can read the data directory.
fn sign_in_code(client: &Client) -> Outcome<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kitbag"))
        .arg("sign-in-code")
        .env("KITBAG_DATA", &client.data)
        .current_dir(&client.data)
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn text_of(answer: &Answer, name: &str) -> Option<String> {
    serde_json::from_slice::<Value>(&answer.body).ok()?[name].as_str().map(str::to_owned)
}

fn wrong(answer: &Answer) -> WorkResult {
    let text = String::from_utf8_lossy(&answer.body);
    WorkResult::Wrong(format!("{}: {}", answer.status, text.chars().take(300).collect::<String>()))
}
