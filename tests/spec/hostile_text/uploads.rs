//! Responses of a hostile server about uploads and versions.

use serde_json::{Value, json};

use super::EVIL;

/// Response to a deploy.
pub(super) fn deployed() -> Value {
    json!({
        "id": EVIL, "version": EVIL, "digest": EVIL, "tools": [EVIL], "capabilities": [EVIL],
        "changes": { "added": [EVIL], "removed": [EVIL] }, "source": source(), "signedBy": signed_by(),
    })
}

/// Source of a component.
pub(super) fn source() -> Value {
    json!({ "kind": "registry", "reference": EVIL, "digest": EVIL })
}

/// Signature of a component.
pub(super) fn signed_by() -> Value {
    json!({ "publisher": EVIL, "key": EVIL })
}

/// A publisher.
pub(super) fn publisher() -> Value {
    json!({ "name": EVIL, "key": EVIL, "addedBy": EVIL, "addedAt": EVIL })
}

/// An upload that waits for its review.
pub(super) fn upload() -> Value {
    json!({
        "digest": EVIL, "id": EVIL, "version": EVIL, "size": 1, "uploadedBy": EVIL, "uploadedAt": EVIL,
        "expiresAt": EVIL, "source": source(), "signedBy": signed_by(),
    })
}

/// Newer versions in registries, one for each state.
pub(super) fn updates() -> Value {
    let toolkit = |state: &str| {
        let newer =
            json!({ "reference": EVIL, "digest": EVIL, "state": state, "upload": EVIL, "version": EVIL });
        json!({
            "id": EVIL, "version": EVIL, "reference": EVIL, "digest": EVIL, "followed": true, "askedAt": EVIL,
            "problem": EVIL, "newer": newer,
        })
    };
    json!(["seen", "waiting", "refused", "discarded", "deployed"].map(toolkit))
}

/// Review of an upload.
pub(super) fn review() -> Value {
    let text = json!({ "name": EVIL, "lines": [{ "kind": "added", "text": EVIL }], "leftOut": 1 });
    let item = json!({ "name": EVIL, "change": "changed", "texts": [text] });
    let mut review = upload();
    review["owner"] = EVIL.into();
    review["released"] = true.into();
    review["needsOwner"] = true.into();
    review["live"] = json!({ "version": EVIL, "digest": EVIL });
    review["difference"] = json!({
        "grants": [{ "capability": EVIL, "change": "added" }],
        "imports": [{ "interface": EVIL, "change": "added" }], "toolkit": [text], "settings": [item], "tools": [item],
        "prompts": [item], "resources": [item],
    });
    review["secretUsers"] = json!({ EVIL: 1 });
    review["imports"] = json!([EVIL]);
    review["manifest"] = manifest(EVIL);
    review["manifestDigest"] = EVIL.into();
    review
}

/// Manifest whose descriptions contain `description`, so that two manifests differ.
pub(super) fn manifest(description: &str) -> Value {
    let description = format!("{EVIL} {description}");
    json!({
        "id": EVIL, "name": EVIL, "description": description, "icon": EVIL, "version": EVIL, "egress": [EVIL],
        "tools": [{ "name": EVIL, "description": description, "inputSchema": { EVIL: EVIL } }],
        "prompts": [{ "name": EVIL, "description": description, "arguments": [{ "name": EVIL }] }],
        "resources": [{ "name": EVIL, "description": description, "uri": EVIL }],
    })
}
