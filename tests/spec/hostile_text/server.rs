//! Responses of a hostile server to commands.

use axum::Json;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::EVIL;
use super::uploads::{deployed, manifest, publisher, review, signed_by, source, updates, upload};

/// Kind of responses of a hostile server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answers {
    /// The expected JSON, with hostile text in its strings.
    Good,
    /// Errors with hostile text: problem details (RFC 9457), GraphQL errors, OAuth errors.
    Refusals,
    /// JSON of an unexpected type, with text that parser errors quote.
    OtherShapes,
    /// Text that is not JSON.
    Garbage,
}

pub(super) fn answer(answers: Answers, head: &Parts, server: &str) -> Response {
    match answers {
        Answers::Good => good(head, server),
        Answers::Refusals if head.uri.path() == "/graphql" => Json(json!({
            "errors": [{ "message": EVIL, "extensions": { "problems": [{ "path": EVIL, "message": EVIL }] } }],
        }))
        .into_response(),
        Answers::Refusals if head.uri.path().contains("oauth") => {
            (StatusCode::BAD_REQUEST, Json(json!({ "error": EVIL, "error_description": EVIL }))).into_response()
        }
        Answers::Refusals => {
            let problem = json!({ "detail": EVIL, "problems": [{ "path": EVIL, "message": EVIL }] });
            (StatusCode::UNPROCESSABLE_ENTITY, Json(problem)).into_response()
        }
        Answers::OtherShapes => Json(json!(EVIL)).into_response(),
        Answers::Garbage => EVIL.into_response(),
    }
}

fn overview() -> Value {
    json!({
        "days": 1, "from": EVIL, "intervalHours": 1, "calls": 2, "failures": 1, "refused": 1,
        "p50": { "atMostMs": 10 }, "p95": { "overMs": 30_000 }, "users": 1, "usersFrom": EVIL,
        "documents": 1, "documentBytes": 1, "waitingConsents": 1,
        "intervals": [{ "from": EVIL, "calls": 2, "failures": 1, "refused": 1, "p50": null, "p95": null }],
        "toolkits": [{
            "toolkit": EVIL, "name": EVIL, "calls": 2, "failures": 1, "refused": 1, "p50": null, "p95": null,
            "users": 1, "waitingConsents": 1, "componentBytes": null, "callsByInterval": [2], "failuresByInterval": [1],
        }],
    })
}

fn listed() -> Value {
    json!([{
        "id": EVIL, "version": EVIL, "visibility": EVIL, "description": EVIL, "tools": [EVIL],
        "owner": EVIL, "takenOver": { "from": EVIL, "at": EVIL },
    }])
}

#[expect(clippy::too_many_lines, reason = "one answer for each route")]
fn good(head: &Parts, server: &str) -> Response {
    let document = json!({
        "id": EVIL, "title": EVIL, "url": EVIL, "author": EVIL, "source": EVIL,
        "collection": EVIL, "addedBy": EVIL, "changedBy": EVIL, "deletedAt": EVIL, "deletedBy": EVIL,
        "versions": [{
            "number": 3, "title": EVIL, "changedAt": EVIL, "replacedAt": EVIL, "changedBy": EVIL,
        }],
        "feed": { "key": EVIL, "name": EVIL, "label": EVIL }, "state": EVIL, "reason": EVIL,
        "artifact": { "mediaType": EVIL, "size": 1.0, "url": EVIL }, "createdAt": EVIL, "updatedAt": EVIL,
    });
    let page = json!({ "endCursor": EVIL, "hasNextPage": false });
    let body = match (head.method.as_str(), head.uri.path()) {
        ("GET", "/.well-known/oauth-protected-resource/mcp") => json!({
            "resource": format!("{server}/mcp"), "authorization_servers": [server], "scopes_supported": [EVIL],
        }),
        ("GET", path) if path.starts_with("/.well-known/") => json!({
            "issuer": server, "authorization_endpoint": format!("{server}/authorize?{EVIL}"),
            "token_endpoint": format!("{server}/token"), "registration_endpoint": format!("{server}/register"),
            "code_challenge_methods_supported": ["S256"],
        }),
        ("POST", "/register") => json!({ "client_id": EVIL, "token_endpoint_auth_method": EVIL }),
        (_, "/graphql") => json!({ "data": {
            "search": {
                "mode": EVIL,
                "coverage": null, "goodMatch": true,
                "results": [{ "document": document, "snippet": EVIL, "matches": [{ "start": 1, "end": 3 }], "score": 1.0 }],
                "pageInfo": { "endCursor": EVIL, "hasNextPage": true },
            },
            "holder": { "usage": { "documents": 3, "documentsQuota": 9, "bytes": 3, "bytesQuota": 9 } },
            "documents": { "totalCount": 3, "nodes": [document, document], "pageInfo": page },
            "bin": { "totalCount": 3, "nodes": [document, document], "pageInfo": page },
            "document": document, "deleteDocuments": 1, "purgeDocuments": 1, "restoreVersion": EVIL,
            "restoreDocuments": conflicts(), "moveDocuments": conflicts(),
            "ingest": { "documents": [{ "id": EVIL, "change": EVIL }] },
            "c0": { "id": EVIL },
            "d0": { "state": "FAILED", "reason": EVIL, "collection": EVIL },
        } }),
        ("GET", "/access") => access_view(),
        ("GET", "/groups") => json!({ "groups": [{ "name": EVIL, "users": 1 }], "isComplete": true }),
        ("GET", "/users") => json!({ "users": [user()], "next": EVIL }),
        ("POST", path) if path.starts_with("/users/") => user_end(),
        (_, path) if path.starts_with("/users/") => user(),
        ("GET", "/collections" | "/all-collections") => json!({ "collections": [collection()] }),
        (_, path) if path.starts_with("/collections") => collection(),
        ("GET", "/toolkits") => listed(),
        ("POST", "/toolkits") => deployed(),
        ("POST", path) if path.ends_with("/deploy") => deployed(),
        ("GET", "/uploads") => json!([upload()]),
        ("GET", "/updates") => updates(),
        ("GET", "/failures") => json!([{ "toolkit": EVIL, "calls": 2, "failures": 1 }]),
        ("GET", "/overview") => overview(),
        ("GET", path) if path.starts_with("/uploads/") => review(),
        ("GET", path) if path.contains("/versions/") => json!({ "manifest": manifest(path) }),
        ("DELETE", path) if path.ends_with("/publisher") => signed_by(),
        ("DELETE", path) if path.ends_with("/cache") => json!({ "values": 1, "bytes": u64::MAX }),
        ("DELETE", _) => Value::Null,
        ("GET", "/publishers") => json!([publisher()]),
        (_, "/publishers") => publisher(),
        ("GET", "/scim-tokens") => json!([scim_token()]),
        ("POST", "/scim-tokens") => scim_token(),
        ("POST", "/keys") => key(),
        ("GET", "/keys") => json!([key()]),
        ("POST", "/vault/rotate") => json!({ "masterKey": EVIL, "rewrapped": 1, "broken": 1 }),
        (_, "/audit/verification") => {
            let fault = json!([{ "chain": EVIL, "what": EVIL }, { "what": EVIL }]);
            let chain = json!({
                "chain": EVIL, "entries": 1, "removed": 1, "removedAt": EVIL, "removedHash": EVIL, "newest": 2,
                "newestHash": EVIL,
            });
            json!({
                "begunAt": EVIL, "sealsVerified": true, "entries": 1, "chains": [chain], "faults": fault,
                "removedEarly": fault,
            })
        }
        (_, "/audit/calls") => return format!("{}\n", call_record()).into_response(),
        (_, "/audit") => return format!("{}\n", audit_record()).into_response(),
        (_, path) if path.ends_with("/logs") => {
            let record = json!({
                "id": 1, "startedAt": EVIL, "tool": EVIL, "version": EVIL, "user": EVIL, "outcome": EVIL,
                "limit": EVIL, "durationMs": EVIL, "detail": EVIL, "data": { EVIL: EVIL }, "dropped": 2,
                "requests": 1, "bytesOut": EVIL, "bytesIn": EVIL,
                "entries": [
                    { "source": "log", "arguments": [EVIL, { EVIL: EVIL }] },
                    { "source": "stderr", "arguments": [EVIL] },
                ],
            });
            return format!("{record}\n").into_response();
        }
        ("POST", path) if path.contains("/tools/") => {
            json!({ "ok": true, "text": EVIL, "content": [{ "type": EVIL }] })
        }
        ("GET", path) if path.ends_with("/audience") => {
            json!({ "grants": [{ "group": EVIL, "tool": EVIL, "perDay": 1 }, { "user": EVIL }] })
        }
        (_, path) if path.ends_with("/artifact") => {
            // A header value cannot contain ASCII control characters, but its bytes may decode to C1 control
            // characters.
            let name = "attachment; filename=\"a\u{9b}31m.txt\"";
            return ([("content-disposition", name.as_bytes())], "plain").into_response();
        }
        (_, path) if path.ends_with("/config") => {
            let field = |kind: &str| {
                json!({
                    "definition": { "type": kind, "label": EVIL, "default": EVIL },
                    "value": EVIL, "effective": EVIL, "missing": false,
                })
            };
            json!({ "key": field("string"), EVIL: field("string") })
        }
        ("GET", path) if path.ends_with("/account") => account(),
        ("GET", path) if path.ends_with("/consent") => consent(),
        ("GET", path) if path.ends_with("/secrets") => {
            json!([{ "name": EVIL, "declared": false, "set": true, "updatedAt": EVIL }])
        }
        ("PUT", _) => json!({ "redacted": false }),
        ("POST", path) if path.ends_with("/take-over") => {
            json!({ "from": EVIL, "removedSecrets": 1, "removedSettings": 1 })
        }
        _ => json!({
            "id": EVIL, "manifest": manifest(EVIL), "owner": EVIL, "liveVersion": EVIL, "version": EVIL, "waitingConsents": 2,
            "vouched": { "by": EVIL, "reason": EVIL }, "publisher": signed_by(),
            "audience": [{ "group": EVIL, "tool": EVIL }],
            "limits": [{ "group": EVIL, "tool": EVIL, "perDay": 1, "callsInMinute": 0, "callsInDay": 0 }],
            "takenOver": { "from": EVIL, "removedSecrets": 1, "removedSettings": 1 },
            "ownership": [{ "event": EVIL, "ownerBefore": EVIL, "by": EVIL, "at": EVIL }],
            "versions": [{
                "version": EVIL, "deployedAt": EVIL, "deployedBy": EVIL,
                "changes": { "added": [EVIL], "removed": [EVIL] }, "source": source(), "signedBy": signed_by(),
            }],
        }),
    };
    Json(body).into_response()
}

fn key() -> Value {
    let unreachable = json!([{ "toolkit": EVIL, "reason": EVIL }, { "toolkit": EVIL, "reason": "group" }]);
    json!({
        "key": EVIL, "id": EVIL, "name": EVIL, "toolkits": [EVIL, EVIL], "expiresAt": EVIL, "usedAt": EVIL,
        "pausesAt": EVIL,
        "unreachable": unreachable,
    })
}

/// A collection; its members are also the answer of the routes of members.
fn collection() -> Value {
    json!({
        "id": EVIL, "name": EVIL, "description": EVIL, "role": "curator", "deletedAt": EVIL, "deletedBy": EVIL,
        "size": { "documents": 1, "bytes": 1 },
        "members": [{ "user": EVIL, "role": "curator" }, { "group": EVIL, "role": "reader" }],
    })
}

fn access_view() -> Value {
    let people = json!({ "count": 3, "first": [EVIL] });
    json!({
        "question": { "host": EVIL }, "isKnown": true, "isOperator": true, "groups": [EVIL], "people": people,
        "toolkits": [{
            "id": EVIL, "owner": EVIL, "by": [{ "to": "owner" }, { "to": EVIL, "tools": [EVIL] }],
            "reaches": [{ "kind": EVIL, "name": EVIL, "meaning": EVIL }], "people": people,
        }],
        "collections": [{ "id": EVIL, "role": "reader", "by": [EVIL] }],
    })
}

/// A user with everything that a user can have.
fn user() -> Value {
    let size = json!({ "documents": 1, "bytes": 1 });
    let stored = json!([{ "toolkit": EVIL, "name": EVIL, "updatedAt": EVIL }]);
    let tools = json!([{ "toolkit": EVIL, "tool": EVIL }, { "toolkit": EVIL }]);
    json!({
        "id": EVIL, "firstSeenAt": EVIL, "signedInAt": EVIL, "groups": [EVIL], "endedAt": EVIL, "endedBy": EVIL,
        "isEnded": false, "isNamedOperator": true,
        "counts": {
            "documents": size, "bin": size, "secrets": 1, "accounts": 1, "keys": 1, "sessions": 1, "toolkits": 1,
            "collections": 1,
        },
        "secrets": stored, "accounts": stored,
        "keys": [{ "id": EVIL, "name": EVIL, "toolkits": [EVIL], "createdAt": EVIL, "expiresAt": EVIL }],
        "sessions": [{ "id": EVIL, "agent": EVIL, "signedInAt": EVIL, "usedAt": EVIL }],
        "clients": [{ "id": EVIL, "name": EVIL, "expiresAt": EVIL }],
        "consents": [{ "toolkit": EVIL, "version": EVIL, "agreedAt": EVIL }],
        "hiddenTools": tools, "codeTools": tools, "sharedToolkits": tools,
        "settings": [{ "toolkit": EVIL, "key": EVIL }], "cached": [{ "toolkit": EVIL, "values": 1, "bytes": 1 }],
        "toolkits": [EVIL], "uploads": 1, "records": 1,
        "collections": [{ "id": EVIL, "role": "curator", "isLastCurator": true, "isDeleted": true }],
    })
}

/// The end of a user.
fn user_end() -> Value {
    json!({
        "isFinished": true, "isNamedOperator": true, "keys": 1, "sessions": 1, "clients": 1, "accounts": 1,
        "notRevoked": [EVIL], "secrets": 1, "cached": 1, "settings": 1, "hiddenTools": 1, "codeTools": 1, "consents": 1,
        "askedCalls": 1, "grants": 1, "toolkits": [EVIL], "collections": [EVIL], "passedCollections": [EVIL],
        "documents": 1, "moved": 1, "conflicts": [{ "id": EVIL, "existing": EVIL }, { "id": EVIL }], "records": 1,
    })
}

/// A move that has left out documents.
fn conflicts() -> Value {
    let conflict = |existing: Value| json!({ "id": EVIL, "title": EVIL, "existing": existing });
    json!({ "count": 1, "conflicts": [conflict(json!(EVIL)), conflict(Value::Null)] })
}

fn audit_record() -> Value {
    json!({
        "id": 1, "at": EVIL, "act": EVIL, "outcome": EVIL, "user": EVIL, "client": EVIL, "key": EVIL,
        "toolkit": EVIL, "version": EVIL, "digest": EVIL, "name": EVIL, "affectedUser": EVIL,
        "chain": EVIL, "sequence": 1, "hash": EVIL,
    })
}

fn call_record() -> Value {
    json!({
        "sequence": 1, "at": EVIL, "call": EVIL, "user": EVIL, "client": EVIL, "key": EVIL, "toolkit": EVIL, "version": EVIL,
        "tool": EVIL, "account": EVIL, "outcome": EVIL, "argumentBytesAtMost": 1, "resultBytesAtMost": 0,
        "durationMsAtMost": 100, "chain": EVIL, "hash": EVIL,
    })
}

/// A user's account at an external provider.
fn account() -> Value {
    json!({
        "name": EVIL,
        "apiHosts": [EVIL], "provider": EVIL, "connected": true, "connectedAt": EVIL, "asked": EVIL, "granted": EVIL, "ended": EVIL,
        "missing": [EVIL],
    })
}

/// A user's consent to the capabilities of a toolkit.
fn consent() -> Value {
    let item = json!({ "kind": EVIL, "name": EVIL, "meaning": EVIL });
    json!({
        "toolkit": EVIL, "version": EVIL, "digest": EVIL, "waiting": true, "agreedVersion": EVIL,
        "agreedAt": EVIL, "new": [item], "gone": [item], "vouched": { "by": EVIL, "reason": EVIL },
    })
}

/// A token of an identity provider.
fn scim_token() -> Value {
    json!({ "token": EVIL, "id": EVIL, "name": EVIL, "createdBy": EVIL, "createdAt": EVIL, "usedAt": EVIL })
}
