//! The module `kitbag:crypto`: primitives of the Web Cryptography API over bytes. The SDK's
//! `src/sandbox/web/crypto` has the API's objects, checks and errors; `src/sandbox/engine-crypto.d.ts`
//! documents each function.

mod cipher;
mod curve;
mod hash;
mod reply;
mod rsa;

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, FromJs, Result, Value};

use crate::values::Bytes;
use curve::Curve;
use hash::Hash;
use reply::Reply;
use rsa::Padding;

/// The module `kitbag:crypto`.
pub(crate) struct Crypto;

impl ModuleDef for Crypto {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in [
            "aesCbcDecrypt",
            "aesCbcEncrypt",
            "aesGcmDecrypt",
            "aesGcmEncrypt",
            "aesUnwrap",
            "aesWrap",
            "curvePrivateFromPkcs8",
            "curvePrivateToPkcs8",
            "curvePublicFromPoint",
            "curvePublicFromSpki",
            "curvePublicOf",
            "curvePublicToSpki",
            "curveSharedSecret",
            "curveSign",
            "curveVerify",
            "digest",
            "hkdf",
            "hmac",
            "hmacVerify",
            "pbkdf2",
            "rsaPrivateComponents",
            "rsaPrivateFromComponents",
            "rsaPrivateFromPkcs8",
            "rsaPublicComponents",
            "rsaPublicFromComponents",
            "rsaPublicFromSpki",
            "rsaSign",
            "rsaVerify",
        ] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        ciphers(exports)?;
        curves(exports)?;
        hashes(exports)?;
        rsa_keys(exports)?;
        rsa_signatures(exports)
    }
}

fn ciphers(exports: &Exports<'_>) -> Result<()> {
    exports.export(
        "aesCbcDecrypt",
        Func::from(|key: Bytes, iv: Bytes, data: Bytes| Reply(cipher::cbc_decrypt(&key.0, &iv.0, data.0))),
    )?;
    exports.export(
        "aesCbcEncrypt",
        Func::from(|key: Bytes, iv: Bytes, data: Bytes| Reply(cipher::cbc_encrypt(&key.0, &iv.0, data.0))),
    )?;
    exports.export(
        "aesGcmDecrypt",
        Func::from(|key: Bytes, nonce: Bytes, associated: Bytes, tag_bytes: u32, data: Bytes| {
            let [key, nonce, associated] = [&key, &nonce, &associated].map(|bytes| bytes.0.as_slice());
            Reply(cipher::gcm_decrypt(key, nonce, associated, tag_bytes as usize, data.0))
        }),
    )?;
    exports.export(
        "aesGcmEncrypt",
        Func::from(|key: Bytes, nonce: Bytes, associated: Bytes, tag_bytes: u32, data: Bytes| {
            let [key, nonce, associated] = [&key, &nonce, &associated].map(|bytes| bytes.0.as_slice());
            Reply(cipher::gcm_encrypt(key, nonce, associated, tag_bytes as usize, data.0))
        }),
    )?;
    exports
        .export("aesUnwrap", Func::from(|key: Bytes, data: Bytes| Reply(cipher::unwrap(&key.0, &data.0))))?;
    exports.export("aesWrap", Func::from(|key: Bytes, data: Bytes| Reply(cipher::wrap(&key.0, &data.0))))?;
    Ok(())
}

fn curves(exports: &Exports<'_>) -> Result<()> {
    type Convert = fn(Curve, &[u8]) -> Option<Vec<u8>>;
    let conversions: [(&str, Convert); 6] = [
        ("curvePrivateFromPkcs8", curve::private_from_pkcs8),
        ("curvePrivateToPkcs8", curve::private_to_pkcs8),
        ("curvePublicFromPoint", curve::public_from_point),
        ("curvePublicFromSpki", curve::public_from_spki),
        ("curvePublicOf", curve::public_of),
        ("curvePublicToSpki", curve::public_to_spki),
    ];
    for (name, convert) in conversions {
        exports
            .export(name, Func::from(move |curve: Curve, bytes: Bytes| Reply(convert(curve, &bytes.0))))?;
    }
    exports.export(
        "curveSharedSecret",
        Func::from(|curve: Curve, private: Bytes, public: Bytes| {
            Reply(curve::shared_secret(curve, &private.0, &public.0))
        }),
    )?;
    exports.export(
        "curveSign",
        Func::from(|curve: Curve, hash: Hash, private: Bytes, data: Bytes| {
            Reply(curve::sign(curve, hash, &private.0, &data.0))
        }),
    )?;
    exports.export(
        "curveVerify",
        Func::from(|curve: Curve, hash: Hash, public: Bytes, signature: Bytes, data: Bytes| {
            curve::verify(curve, hash, &public.0, &signature.0, &data.0).is_some()
        }),
    )?;
    Ok(())
}

fn hashes(exports: &Exports<'_>) -> Result<()> {
    exports
        .export("digest", Func::from(|hash: Hash, data: Bytes| Reply(Some(hash::digest(hash, &data.0)))))?;
    exports.export(
        "hkdf",
        Func::from(|hash: Hash, key: Bytes, salt: Bytes, info: Bytes, length: u32| {
            Reply(hash::hkdf(hash, &key.0, &salt.0, &info.0, length as usize))
        }),
    )?;
    exports.export(
        "hmac",
        Func::from(|hash: Hash, key: Bytes, data: Bytes| Reply(hash::hmac(hash, &key.0, &data.0))),
    )?;
    exports.export(
        "hmacVerify",
        Func::from(|hash: Hash, key: Bytes, signature: Bytes, data: Bytes| {
            hash::hmac_verify(hash, &key.0, &signature.0, &data.0)
        }),
    )?;
    exports.export(
        "pbkdf2",
        Func::from(|hash: Hash, password: Bytes, salt: Bytes, iterations: u32, length: u32| {
            Reply(hash::pbkdf2(hash, &password.0, &salt.0, iterations, length as usize))
        }),
    )?;
    Ok(())
}

fn rsa_keys(exports: &Exports<'_>) -> Result<()> {
    exports.export("rsaPrivateFromPkcs8", Func::from(|der: Bytes| Reply(rsa::private_from_pkcs8(&der.0))))?;
    exports.export("rsaPublicFromSpki", Func::from(|der: Bytes| Reply(rsa::public_from_spki(&der.0))))?;
    exports.export(
        "rsaPrivateFromComponents",
        Func::from(|n: Bytes, e: Bytes, d: Bytes, p: Bytes, q: Bytes| {
            Reply(rsa::private_from_components([&n, &e, &d, &p, &q].map(|bytes| bytes.0.as_slice())))
        }),
    )?;
    exports.export(
        "rsaPublicFromComponents",
        Func::from(|n: Bytes, e: Bytes| {
            Reply(rsa::public_from_components([&n, &e].map(|bytes| bytes.0.as_slice())))
        }),
    )?;
    exports.export(
        "rsaPrivateComponents",
        Func::from(|der: Bytes| {
            rsa::private_components(&der.0).map(|numbers| Vec::from(numbers.map(|n| Reply(Some(n)))))
        }),
    )?;
    exports.export(
        "rsaPublicComponents",
        Func::from(|der: Bytes| {
            rsa::public_components(&der.0).map(|numbers| Vec::from(numbers.map(|n| Reply(Some(n)))))
        }),
    )?;
    Ok(())
}

fn rsa_signatures(exports: &Exports<'_>) -> Result<()> {
    exports.export(
        "rsaSign",
        Func::from(|padding: Padding, hash: Hash, private: Bytes, data: Bytes, random: Bytes| {
            Reply(rsa::sign(padding, hash, &private.0, &data.0, &random.0))
        }),
    )?;
    exports.export(
        "rsaVerify",
        Func::from(|padding: Padding, hash: Hash, public: Bytes, signature: Bytes, data: Bytes| {
            rsa::verify(padding, hash, &public.0, &signature.0, &data.0).is_some()
        }),
    )?;
    Ok(())
}

impl<'js> FromJs<'js> for Hash {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let name = String::from_js(ctx, value)?;
        Self::of_name(&name).ok_or_else(|| Exception::throw_type(ctx, "unknown hash function"))
    }
}

impl<'js> FromJs<'js> for Curve {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let name = String::from_js(ctx, value)?;
        Self::of_name(&name).ok_or_else(|| Exception::throw_type(ctx, "unknown curve"))
    }
}

/// Reads the length of a PSS salt in bytes; `undefined` means PKCS #1 v1.5.
impl<'js> FromJs<'js> for Padding {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        Ok(Option::<u32>::from_js(ctx, value)?.map_or(Self::Pkcs1, |salt| Self::Pss(salt as usize)))
    }
}
