//! Table of attacks: request headers and expected reason of the refusal.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use http::HeaderMap;
use serde_json::{Value, json};

use super::presentations::{bearer, presentations};
use crate::harness::signer::{encode, now, rsa_jwk};
use crate::harness::{Kitbag, Provider, Signer};

/// A request that must be refused.
pub(super) struct Attack {
    pub(super) name: String,
    pub(super) headers: HeaderMap,
    /// Part of the log message that gives the reason.
    pub(super) reason: &'static str,
}

/// All attacks on `kitbag`, whose issuer signs with `signer`. Some tokens refer to a key of `other_provider`:
/// a server that trusted the reference would fetch it.
pub(super) fn attacks(kitbag: &Kitbag, signer: &Signer, other_provider: &Provider) -> Vec<Attack> {
    let headers = headers(kitbag, signer, other_provider);
    let claims = claims(kitbag, signer);
    let forms = forms(kitbag, signer);
    let tokens = headers.into_iter().chain(claims).chain(forms);
    let by_header = tokens.map(|(name, token, reason)| Attack { name, headers: bearer(&token), reason });
    by_header.chain(presentations(kitbag, signer)).collect()
}

type Token = (String, String, &'static str);

const NO_ALGORITHM: &str = "an algorithm that is not accepted";
const NO_KEY: &str = "no key of this kid and algorithm";
const WRONG_SIGNATURE: &str = "a wrong signature";
const BAD_JSON: &str = "malformed JSON";
const BAD_BASE64: &str = "malformed base64url";

/// Tokens whose header selects another algorithm, key or rule.
fn headers(kitbag: &Kitbag, signer: &Signer, other_provider: &Provider) -> Vec<Token> {
    let claims = signer.access_claims(kitbag, "ana");
    let header = |changes: Value| with(signer.header("at+jwt"), changes);
    let mut attacks = Vec::new();

    for name in ["none", "None", "NONE", "nOnE", ""] {
        let input = format!("{}.{}", part(&header(json!({ "alg": name }))), part(&claims));
        attacks.push((format!("alg {name:?}, unsigned"), format!("{input}."), NO_ALGORITHM));
        let token = signer.sign(&header(json!({ "alg": name })), &claims);
        attacks.push((format!("alg {name:?}, signed"), token, NO_ALGORITHM));
    }

    let modulus = rsa_jwk()["n"].as_str().expect("a modulus").to_owned();
    let secrets = [
        ("point", signer.public_key().to_vec()),
        ("JWK", signer.jwk().to_string().into_bytes()),
        ("PEM", pem(signer).into_bytes()),
        ("RSA modulus", modulus.into_bytes()),
        ("nothing", Vec::new()),
    ];
    for (what, secret) in secrets {
        for (name, algorithm) in
            [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
        {
            let input = format!("{}.{}", part(&header(json!({ "alg": name }))), part(&claims));
            let tag = hmac::sign(&hmac::Key::new(algorithm, &secret), input.as_bytes());
            let token = format!("{input}.{}", encode(tag));
            attacks.push((format!("{name} with the public key as secret ({what})"), token, NO_ALGORITHM));
        }
    }

    // Correct signatures, but the header names another algorithm or key.
    for name in ["RS256", "PS256", "ES384", "EdDSA"] {
        let token = signer.sign(&header(json!({ "alg": name })), &claims);
        attacks.push((format!("an EC key that is used for {name}"), token, NO_KEY));
    }
    let token = signer.sign(&header(json!({ "kid": "rsa" })), &claims);
    attacks.push(("an RSA key that is used for ES256".to_owned(), token, NO_KEY));
    for name in ["ES512", "es256", "ES256K", "RS1"] {
        let token = signer.sign(&header(json!({ "alg": name })), &claims);
        attacks.push((format!("alg {name}"), token, NO_ALGORITHM));
    }

    // Signatures of another provider, whose key the header contains or refers to.
    let other_signer = other_provider.signer();
    let url = format!("{}/keys", other_provider.issuer());
    for (what, brought) in [
        ("nothing", json!({})),
        ("jwk", json!({ "jwk": other_signer.jwk() })),
        ("jku", json!({ "jku": url })),
        ("x5u", json!({ "x5u": url })),
        ("x5c", json!({ "x5c": ["MIIB"] })),
        ("iss", json!({ "iss": other_provider.issuer() })),
    ] {
        let token = other_signer.sign(&header(brought.clone()), &claims);
        attacks.push((format!("another provider's signature, with {what}"), token, WRONG_SIGNATURE));
        for kid in ["unknown", "../../../etc/passwd", "' OR '1'='1"] {
            let token = other_signer.sign(&header(with(brought.clone(), json!({ "kid": kid }))), &claims);
            attacks.push((format!("another provider's signature, with {what} and kid {kid}"), token, NO_KEY));
        }
    }
    let token = other_signer.sign(&header(json!({ "kid": null })), &claims);
    attacks.push(("another provider's signature, without kid".to_owned(), token, WRONG_SIGNATURE));

    for crit in [json!(["exp"]), json!(["b64"]), json!([]), json!("exp")] {
        let token = signer.sign(&header(json!({ "crit": crit, "b64": false })), &claims);
        attacks.push((format!("crit {crit}"), token, "a crit header"));
    }
    for typ in ["dpop+jwt", "logout+jwt", "jose", "at", ""] {
        let token = signer.sign(&header(json!({ "typ": typ })), &claims);
        attacks.push((format!("typ {typ:?}"), token, "a typ that is neither JWT nor at+jwt"));
    }
    let token = signer.sign(&header(json!({ "typ": null })), &claims);
    attacks.push(("no typ".to_owned(), token, "no typ"));
    let token = signer.sign(&header(json!({ "typ": ["at+jwt"] })), &claims);
    attacks.push(("a list of typs".to_owned(), token, BAD_JSON));
    attacks
}

/// Tokens with the issuer's signature whose claims are invalid or missing.
fn claims(kitbag: &Kitbag, signer: &Signer) -> Vec<Token> {
    let base_url = kitbag.base_url().as_str();
    let access = [
        (json!({ "exp": now() - 1 }), "expired"),
        (json!({ "exp": 0 }), "expired"),
        (json!({ "exp": null }), BAD_JSON),
        (json!({ "exp": "9999999999" }), BAD_JSON),
        (json!({ "nbf": now() + 600 }), "not valid yet"),
        (json!({ "iat": now() + 600 }), "issued in the future"),
        (json!({ "iat": null }), "without iat"),
        (json!({ "iss": "https://elsewhere.example" }), "another issuer"),
        (json!({ "iss": null }), BAD_JSON),
        (json!({ "aud": "https://elsewhere.example/mcp" }), "another audience"),
        (json!({ "aud": format!("{base_url}mcp.evil.example") }), "another audience"),
        (json!({ "aud": [] }), "another audience"),
        (json!({ "aud": { "0": format!("{base_url}mcp") } }), BAD_JSON),
        (json!({ "aud": null }), "no aud"),
        (json!({ "sub": "" }), "an empty or overlong sub"),
        (json!({ "sub": "x".repeat(256) }), "an empty or overlong sub"),
        (json!({ "sub": "ana\0" }), "a sub with NUL"),
        (json!({ "sub": null }), BAD_JSON),
        (json!({ "client_id": null }), "without client_id"),
        (json!({ "jti": null }), "without jti"),
    ]
    .map(|(changes, reason)| {
        let claims = with(signer.access_claims(kitbag, "ana"), changes.clone());
        (format!("an access token with {changes}"), signer.sign(&signer.header("at+jwt"), &claims), reason)
    });
    let session = [
        (json!({ "aud": "client-1", "nonce": "n" }), "another audience"),
        (json!({ "nonce": "n" }), "an ID token"),
        (json!({ "at_hash": "h" }), "an ID token"),
        (json!({ "token_use": "id" }), "an ID token"),
        (json!({ "events": {} }), "a security event token"),
        (json!({ "aud": null }), "no aud"),
        (json!({ "exp": now() - 1 }), "expired"),
    ]
    .map(|(changes, reason)| {
        let claims = with(signer.session_claims(kitbag, "ana"), changes.clone());
        (format!("a session token with {changes}"), signer.sign(&signer.header("JWT"), &claims), reason)
    });
    access.into_iter().chain(session).collect()
}

/// Tampered and malformed tokens, some of which different parsers could read differently.
fn forms(kitbag: &Kitbag, signer: &Signer) -> Vec<Token> {
    let (good_header, good_claims) = (signer.header("at+jwt"), signer.access_claims(kitbag, "ana"));
    let good = signer.sign(&good_header, &good_claims);
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
    let olga = part(&with(good_claims.clone(), json!({ "sub": "olga" })));
    let other_header = part(&with(good_header.clone(), json!({ "x": 1 })));
    let mut flipped = signature.to_owned();
    flipped.replace_range(0..1, if flipped.starts_with('A') { "B" } else { "A" });

    let twice = |json: &Value, member: &str| json.to_string().replacen('{', &format!("{{{member},"), 1);
    let two_subjects = encode(twice(&good_claims, r#""sub":"olga""#));
    let two_algorithms = encode(twice(&good_header, r#""alg":"none""#));
    // Spaces bring the length to one more than a multiple of three, so that its base64 ends in padding.
    let padded =
        |json: &Value| URL_SAFE.encode(format!("{json}{}", " ".repeat(3 - json.to_string().len() % 3 + 1)));
    let slashes = STANDARD.encode(good_claims.to_string() + "???>>>");

    [
        ("a tampered payload", format!("{header}.{olga}.{signature}"), WRONG_SIGNATURE),
        ("a tampered header", format!("{other_header}.{payload}.{signature}"), WRONG_SIGNATURE),
        ("a tampered signature", format!("{header}.{payload}.{flipped}"), WRONG_SIGNATURE),
        ("no signature", format!("{header}.{payload}."), WRONG_SIGNATURE),
        ("a short signature", format!("{header}.{payload}.AA"), WRONG_SIGNATURE),
        ("a signature that is none", format!("{header}.{payload}.%%%"), WRONG_SIGNATURE),
        ("a signature of zeros", format!("{header}.{payload}.{}", encode([0; 64])), WRONG_SIGNATURE),
        ("a padded signature", format!("{good}=="), WRONG_SIGNATURE),
        ("a padded header", signer.sign_parts(&padded(&good_header), payload), BAD_BASE64),
        ("a padded payload", signer.sign_parts(header, &padded(&good_claims)), BAD_BASE64),
        ("the other alphabet", signer.sign_parts(header, &slashes), BAD_BASE64),
        ("a payload that is no JSON", signer.sign_parts(header, &encode("no JSON")), BAD_JSON),
        (
            "two values in one payload",
            signer.sign_parts(header, &encode(format!("{good_claims}{{}}"))),
            BAD_JSON,
        ),
        ("a list of claims", signer.sign_parts(header, &encode("[]")), BAD_JSON),
        ("no payload", format!("{header}..{signature}"), WRONG_SIGNATURE),
        ("two subjects", signer.sign_parts(header, &two_subjects), BAD_JSON),
        ("two algorithms", signer.sign_parts(&two_algorithms, payload), BAD_JSON),
        ("two parts", format!("{header}.{payload}"), "no JWS"),
        ("four parts", format!("{good}.{signature}"), "no JWS of three parts"),
        (
            "an encrypted token's five parts",
            format!("{good}.{signature}.{signature}"),
            "no JWS of three parts",
        ),
        ("two tokens", format!("{good} {good}"), "no JWS of three parts"),
        ("a list of tokens", format!("{good},{good}"), "no JWS of three parts"),
        ("a token in quotes", format!("\"{good}\""), BAD_BASE64),
        ("a token of 17 KiB", format!("{header}.{}.{signature}", "A".repeat(17 << 10)), "more than 16 KiB"),
    ]
    .map(|(name, token, reason)| (name.to_owned(), token, reason))
    .into()
}

/// Returns the object with the members of `changes` set; `null` removes a member.
pub(super) fn with(mut object: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    for (name, value) in changes {
        let members = object.as_object_mut().expect("an object");
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
    object
}

fn part(json: &Value) -> String {
    encode(json.to_string())
}

/// The public key as PEM (RFC 5480, section 2).
fn pem(signer: &Signer) -> String {
    const PREFIX: [u8; 26] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
        0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];
    let der = [&PREFIX[..], signer.public_key()].concat();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}
