//! `kitbag toolkit sign`

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_base::sha256::Sha256;
use kitbag_base::signatures::SigningKey;
use serde_json::json;

use super::component::small_text;
use super::read;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Sign a component, as `cosign sign-blob` does.
#[derive(Args, Debug)]
#[command(
    after_help = "What is signed are the bytes of the file: ECDSA with P-256 and SHA-256, in base64. `cosign verify-blob` and \
                  OpenSSL verify it, and a signature by `cosign sign-blob --key --bundle` is as good.\n\n\
                  Examples:\n  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out kitbag.key\n  \
                  openssl pkey -in kitbag.key -pubout -out kitbag.pub\n  \
                  kitbag toolkit sign dist/weather.wasm --key kitbag.key\n  \
                  kitbag toolkit deploy dist/weather.wasm --signature dist/weather.wasm.sig\n\n\
                  An operator tells the server whose key it is: `kitbag publisher add acme kitbag.pub`."
)]
pub(in crate::cli) struct Sign {
    /// The component, a .wasm file.
    file: PathBuf,
    /// File with the private key in PEM, not encrypted: EC, P-256.
    #[arg(long)]
    key: PathBuf,
    /// Where the signature goes; by default beside the file, with `.sig` after its name.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Reads a private signing key.
pub(super) fn signing_key(path: &Path) -> Result<SigningKey, CliError> {
    let text = small_text(path)?.into();
    SigningKey::from_pem(&text)
        .map_err(|error| CliError::new(format!("{} cannot be used to sign: {error}", path.display())))
}

impl Sign {
    pub(super) fn run(self) -> Result<(), CliError> {
        let key = signing_key(&self.key)?;
        let component = read(&self.file)?;
        let signature = key.sign(&component);
        let out = self.out.unwrap_or_else(|| {
            let mut name = self.file.into_os_string();
            name.push(".sig");
            name.into()
        });
        std::fs::write(&out, format!("{signature}\n"))
            .map_err(|error| CliError::new(format!("cannot write {}: {error}", out.display())))?;
        let signed = json!({
            "signature": signature.to_string(), "file": out, "digest": hex::encode(Sha256::digest(&component)),
            "key": key.public_key().fingerprint(),
        });
        report(&signed, || say!("{}", out.display()))
    }
}
