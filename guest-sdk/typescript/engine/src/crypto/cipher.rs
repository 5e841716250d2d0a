//! AES: GCM (NIST SP 800-38D), CBC with PKCS#7 padding (SP 800-38A) and key wrap (RFC 3394).
//!
//! Every function returns `None` unless the key has 16 or 32 bytes.

use aes::cipher::array::ArraySize;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::common::{InnerInit, InnerIvInit, KeyInit};
use aes::cipher::consts::{U12, U16};
use aes::cipher::{BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser};
use aes::{Aes128, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{AesGcm, Nonce};
use aes_kw::AesKw;

const BLOCK_BYTES: usize = 16;

/// Evaluates an expression with `$cipher` as AES for the length of the key.
macro_rules! with_aes {
    ($key:expr, $cipher:ident => $value:expr) => {
        match $key.len() {
            16 => {
                let $cipher = Aes128::new_from_slice($key).ok()?;
                $value
            }
            32 => {
                let $cipher = Aes256::new_from_slice($key).ok()?;
                $value
            }
            _ => None,
        }
    };
}

/// Returns ciphertext and tag; `None` unless the nonce has 12 or 16 bytes and the tag at most 16.
pub(super) fn gcm_encrypt(
    key: &[u8],
    nonce: &[u8],
    associated: &[u8],
    tag_bytes: usize,
    data: Vec<u8>,
) -> Option<Vec<u8>> {
    with_aes!(key, cipher => match nonce.len() {
        12 => gcm_seal(&AesGcm::<_, U12>::from(cipher), nonce, associated, tag_bytes, data),
        16 => gcm_seal(&AesGcm::<_, U16>::from(cipher), nonce, associated, tag_bytes, data),
        _ => None,
    })
}

/// Returns the plaintext for ciphertext and tag; `None` if the tag is wrong, and as in [`gcm_encrypt`].
pub(super) fn gcm_decrypt(
    key: &[u8],
    nonce: &[u8],
    associated: &[u8],
    tag_bytes: usize,
    data: Vec<u8>,
) -> Option<Vec<u8>> {
    with_aes!(key, cipher => match nonce.len() {
        12 => gcm_open(&AesGcm::<_, U12>::from(cipher), nonce, associated, tag_bytes, data),
        16 => gcm_open(&AesGcm::<_, U16>::from(cipher), nonce, associated, tag_bytes, data),
        _ => None,
    })
}

fn gcm_seal<A, N>(
    cipher: &AesGcm<A, N>,
    nonce: &[u8],
    associated: &[u8],
    tag_bytes: usize,
    mut data: Vec<u8>,
) -> Option<Vec<u8>>
where
    A: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt,
    N: ArraySize,
{
    data.try_reserve_exact(tag_bytes).ok()?;
    let nonce = <&Nonce<N>>::try_from(nonce).ok()?;
    let tag = cipher.encrypt_inout_detached(nonce, associated, data.as_mut_slice().into()).ok()?;
    data.extend_from_slice(tag.get(..tag_bytes)?);
    Some(data)
}

/// Decrypts with a tag of any length. The crate verifies full tags only, so the tag is computed again for a
/// shorter one: encrypting the ciphertext gives the plaintext, because the key stream is the same, and
/// encrypting the plaintext gives the tag.
fn gcm_open<A, N>(
    cipher: &AesGcm<A, N>,
    nonce: &[u8],
    associated: &[u8],
    tag_bytes: usize,
    mut data: Vec<u8>,
) -> Option<Vec<u8>>
where
    A: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt,
    N: ArraySize,
{
    let nonce = <&Nonce<N>>::try_from(nonce).ok()?;
    let length = data.len().checked_sub(tag_bytes)?;
    let mut tag = [0; BLOCK_BYTES];
    tag.get_mut(..tag_bytes)?.copy_from_slice(&data[length..]);
    data.truncate(length);
    if tag_bytes == BLOCK_BYTES {
        cipher.decrypt_inout_detached(nonce, associated, data.as_mut_slice().into(), &tag.into()).ok()?;
        return Some(data);
    }
    cipher.encrypt_inout_detached(nonce, associated, data.as_mut_slice().into()).ok()?;
    let mut again = Vec::new();
    again.try_reserve_exact(length).ok()?;
    again.extend_from_slice(&data);
    let expected = cipher.encrypt_inout_detached(nonce, associated, again.as_mut_slice().into()).ok()?;
    let difference =
        expected.iter().zip(tag).take(tag_bytes).fold(0, |difference, (a, b)| difference | (a ^ b));
    (core::hint::black_box(difference) == 0).then_some(data)
}

/// Returns the ciphertext of the padded data; `None` unless the initialisation vector has 16 bytes.
pub(super) fn cbc_encrypt(key: &[u8], iv: &[u8], mut data: Vec<u8>) -> Option<Vec<u8>> {
    let length = data.len();
    let padding = BLOCK_BYTES - length % BLOCK_BYTES;
    data.try_reserve_exact(padding).ok()?;
    data.resize(length + padding, 0);
    with_aes!(key, cipher => {
        let mode = cbc::Encryptor::inner_iv_slice_init(cipher, iv).ok()?;
        mode.encrypt_padded::<Pkcs7>(&mut data, length).ok()?;
        Some(data)
    })
}

/// Returns the plaintext without its padding; `None` if the padding is wrong, and as in [`cbc_encrypt`].
pub(super) fn cbc_decrypt(key: &[u8], iv: &[u8], mut data: Vec<u8>) -> Option<Vec<u8>> {
    with_aes!(key, cipher => {
        let mode = cbc::Decryptor::inner_iv_slice_init(cipher, iv).ok()?;
        let length = mode.decrypt_padded::<Pkcs7>(&mut data).ok()?.len();
        data.truncate(length);
        Some(data)
    })
}

/// Wraps `data`; `None` unless its length is a multiple of 8 bytes and at least 16.
pub(super) fn wrap(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    if data.len() < 16 {
        return None;
    }
    let mut wrapped = vec![0; data.len() + aes_kw::IV_LEN];
    with_aes!(key, cipher => {
        AesKw::inner_init(cipher).wrap_key(data, &mut wrapped).ok()?;
        Some(wrapped)
    })
}

/// Unwraps `data`; `None` if the integrity check fails.
pub(super) fn unwrap(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    if data.len() < 16 + aes_kw::IV_LEN {
        return None;
    }
    let mut unwrapped = vec![0; data.len() - aes_kw::IV_LEN];
    with_aes!(key, cipher => {
        AesKw::inner_init(cipher).unwrap_key(data, &mut unwrapped).ok()?;
        Some(unwrapped)
    })
}
