use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// Created by `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`; its public key by `openssl
/// pkey -pubout`.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8RGNx5JjVcwzK8jK
cWLo8i7uuXEvg5g6FmJ2fz8dYVKhRANCAATph1MgU4hB7fYDOYPQ15SM/xX1xAg0
LBBiFeOQSL3hA2hUDQUpKmoyousEcqGBI+2JQ3OwV1tsPU2Cd8WfgGbC
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6YdTIFOIQe32AzmD0NeUjP8V9cQI
NCwQYhXjkEi94QNoVA0FKSpqMqLrBHKhgSPtiUNzsFdbbD1NgnfFn4Bmwg==
-----END PUBLIC KEY-----
";
/// Output of `openssl pkey -pubin -in KEY.pub -outform DER | sha256sum`.
const FINGERPRINT: &str = "7bcc96c5e1abafcd35e759275bd50210d2c969d9f9c6c268ed2e8701022aed15";
/// Output of `openssl dgst -sha256 -sign KEY FILE | base64 -w0` for `MESSAGE`; `cosign sign-blob --key`
/// writes the same format.
const SIGNATURE: &str =
    "MEYCIQC7Tjg7KsW1LNREWjTCuMhwUGHKEKgBcsjo+mZ0aEj2MwIhAJn/wjr22vW4CnAWsnZaq3PMVBwVZZCLCQm7F70fh/uz";
const MESSAGE: &[u8] = b"component\n";
/// Output of `openssl ecparam -name prime256v1 -genkey`, with its public key.
const OLD_KEY: &str = "-----BEGIN EC PARAMETERS-----
BggqhkjOPQMBBw==
-----END EC PARAMETERS-----
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIJa/7itgXsiRbgQCU9NcUKpvsqKUjxyuFApV1tYfepX3oAoGCCqGSM49
AwEHoUQDQgAELu8EIUiYZiNaaK/3R6Sg2hpASThnaMxltgYBa+Qnyt7pQbMjuUuz
HTARneqeeg+EnKlkCA5PBU7ydIzEoJwbag==
-----END EC PRIVATE KEY-----
";
const OLD_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELu8EIUiYZiNaaK/3R6Sg2hpASThn
aMxltgYBa+Qnyt7pQbMjuUuzHTARneqeeg+EnKlkCA5PBU7ydIzEoJwbag==
-----END PUBLIC KEY-----
";
/// Public keys for P-384 and for Ed25519.
const OTHER_KEYS: [&str; 2] = [
    "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE3BkSh7nB6mJel33y8aU8RPpooAO5Jhfr
hrcFd5O41Oenbt0ZQzqcXncnkvhqykHWbjWxyX8egkyJMa7RMG9Wo1Wl51sXQ3g9
6E+4VGJ5pe2zihmFBwNBqGDtXEmA+zEJ
-----END PUBLIC KEY-----
",
    "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA8Qgg8TROCym1FXdGIpN5u4+L1kSpNatqDDiDxSZWM7g=
-----END PUBLIC KEY-----
",
];

fn signing_key(pem: &str) -> Result<SigningKey, KeyError> {
    SigningKey::from_pem(&pem.into())
}

/// Runs OpenSSL in a folder. Panics if it fails.
fn openssl(folder: &Path, arguments: &[&str]) {
    let ran = Command::new("openssl").args(arguments).current_dir(folder).output();
    let ran = ran.expect("`openssl` is installed");
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_signature_by_openssl_is_verified() {
    let key = PublicKey::from_pem(PUBLIC).expect("a key");
    let signature: Signature = SIGNATURE.parse().expect("a signature");

    assert!(key.has_signed(&Sha256::digest(MESSAGE), &signature));
    assert_eq!(key.fingerprint(), FINGERPRINT);
    // With a line end, as in files.
    assert_eq!(format!("{SIGNATURE}\n").parse::<Signature>().expect("a signature").to_string(), SIGNATURE);
}

#[test]
fn other_bytes_another_key_and_a_damaged_signature_are_not_verified() {
    let [key, other] = [PUBLIC, OLD_PUBLIC].map(|pem| PublicKey::from_pem(pem).expect("a key"));
    let signature: Signature = SIGNATURE.parse().expect("a signature");
    let digest = Sha256::digest(MESSAGE);

    assert!(!key.has_signed(&Sha256::digest(b"component"), &signature));
    assert!(!other.has_signed(&digest, &signature));
    for bit in 0..signature.0.len() * 8 {
        let mut damaged = signature.clone();
        damaged.0[bit / 8] ^= 1 << (bit % 8);
        assert!(!key.has_signed(&digest, &damaged), "bit {bit}");
    }
    for length in 0..signature.0.len() {
        assert!(!key.has_signed(&digest, &Signature(signature.0[..length].to_vec())), "{length} bytes");
    }
}

#[test]
fn openssl_verifies_what_is_signed_here() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for (private, public) in [(KEY, PUBLIC), (OLD_KEY, OLD_PUBLIC)] {
        let key = signing_key(private).expect("a key");
        let signature = key.sign(MESSAGE);
        for (name, content) in
            [("message", MESSAGE), ("signature", &signature.0), ("public", public.as_bytes())]
        {
            fs::write(folder.path().join(name), content).expect("a file");
        }

        openssl(
            folder.path(),
            &["dgst", "-sha256", "-verify", "public", "-signature", "signature", "message"],
        );

        assert_eq!(key.public_key(), PublicKey::from_pem(public).expect("a key"));
    }
}

#[test]
fn keys_and_signatures_that_openssl_makes_now_are_taken() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("message"), MESSAGE).expect("a file");
    openssl(
        folder.path(),
        &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key"],
    );
    openssl(folder.path(), &["pkey", "-in", "key", "-pubout", "-out", "public"]);
    openssl(folder.path(), &["dgst", "-sha256", "-sign", "key", "-out", "signature", "message"]);
    let read = |name: &str| fs::read_to_string(path(name)).expect("text");

    let signature = BASE64_STANDARD.encode(fs::read(path("signature")).expect("a file"));
    let public = PublicKey::from_pem(&read("public")).expect("a key");

    assert!(public.has_signed(&Sha256::digest(MESSAGE), &signature.parse().expect("a signature")));
    let ours = signing_key(&read("key")).expect("a key").sign(MESSAGE);
    assert!(public.has_signed(&Sha256::digest(MESSAGE), &ours));
}

#[test]
fn what_is_no_key_of_this_kind_says_what_it_is() {
    for other in OTHER_KEYS {
        assert_eq!(PublicKey::from_pem(other), Err(KeyError::NotP256));
    }
    assert_eq!(PublicKey::from_pem(KEY), Err(KeyError::PrivateKey));
    for none in ["", "ssh-ed25519 AAAA", "-----BEGIN PUBLIC KEY-----", "-----BEGIN -----\n-----END -----"] {
        assert_eq!(PublicKey::from_pem(none), Err(KeyError::NoPublicKey), "{none}");
    }
    let damaged = PUBLIC.replacen("MFkw", "MFkx", 1);
    assert_eq!(PublicKey::from_pem(&damaged), Err(KeyError::NotP256));

    let of =
        |label: &str| signing_key(&format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n")).err();
    assert_eq!(of("ENCRYPTED SIGSTORE PRIVATE KEY"), Some(KeyError::CosignKey));
    assert_eq!(of("ENCRYPTED COSIGN PRIVATE KEY"), Some(KeyError::CosignKey));
    assert_eq!(of("ENCRYPTED PRIVATE KEY"), Some(KeyError::Encrypted));
    assert_eq!(of("PRIVATE KEY"), Some(KeyError::NotP256));
    assert_eq!(signing_key(PUBLIC).err(), Some(KeyError::NoPrivateKey));
}

#[test]
fn what_is_no_signature_is_refused() {
    for text in ["", "%", "AAAA", "{\"base64Signature\":\"\"}", &"MEYC".repeat(40), &" ".repeat(10_000)] {
        assert_eq!(text.parse::<Signature>(), Err(InvalidSignature), "{text}");
    }
}

#[test]
fn a_signature_is_read_from_the_bundles_of_cosign() {
    // Sigstore's bundle 0.3 for a signature by a key, as cosign 3 writes it, and the bundle of cosign 2
    // (`--new-bundle-format=false`).
    let current = format!(
        r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"x"}},"tlogEntries":[]}},"messageSignature":{{"messageDigest":{{"algorithm":"SHA2_256","digest":"x"}},"signature":"{SIGNATURE}"}}}}"#
    );
    let old = format!(r#"{{"base64Signature":"{SIGNATURE}","cert":"","rekorBundle":null}}"#);
    for file in [current.as_str(), &old, &format!("{SIGNATURE}\n")] {
        assert_eq!(Signature::from_file(file).map(|it| it.to_string()).as_deref(), Ok(SIGNATURE), "{file}");
    }
    for none in ["", "{", "{}", r#"{"dsseEnvelope":{}}"#, r#"{"messageSignature":{"signature":"x"}}"#, "[]"] {
        assert_eq!(Signature::from_file(none), Err(InvalidSignature), "{none}");
    }
}
