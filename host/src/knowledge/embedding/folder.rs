//! The folder of a model, as sentence-transformers write it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use kitbag_embedding::bert::{Config, Encoder, Pooling, Precision};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;

use super::ModelError;
use super::bert::Parts;
use crate::knowledge::passages::WINDOW;
use crate::sha256::Sha256;

/// What every model has.
pub(super) const CONFIG: &str = "config.json";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const WEIGHTS: &str = "model.safetensors";

/// What some have: the steps after the BERT, and how much it reads at once.
const MODULES: &str = "modules.json";
const SENTENCES: &str = "sentence_bert_config.json";

/// The largest files that make sense, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
const MAX_TOKENIZER_BYTES: u64 = 64 << 20;
const MAX_WEIGHTS_BYTES: u64 = 4 << 30;

/// Part of a model's id: another number for another way to compute the same vectors.
const COMPUTATION: &[u8] = b"2";

#[derive(Deserialize)]
struct Module {
    path: String,
    r#type: String,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

/// Reads a folder; the error names the file that is at fault.
pub(super) fn read(folder: &Path) -> Result<Parts, ModelError> {
    let config_bytes = required(folder, CONFIG, MAX_SETTINGS_BYTES)?;
    let config: Config = parse(folder, CONFIG, &config_bytes)?;
    if let Some(kind) = config.model_type.as_deref().filter(|kind| *kind != "bert") {
        return Err(failed(
            folder,
            CONFIG,
            format!("the model is of type {kind:?}, and only \"bert\" is supported"),
        ));
    }
    let pooling = pooling(folder)?;
    let window = match optional(folder, SENTENCES, MAX_SETTINGS_BYTES)? {
        Some(bytes) => parse::<SentenceConfig>(folder, SENTENCES, &bytes)?.max_seq_length.unwrap_or(WINDOW),
        None => WINDOW,
    };
    let window = window.min(WINDOW).min(config.max_position_embeddings);
    if window < MIN_WINDOW {
        return Err(failed(
            folder,
            CONFIG,
            format!("the model reads {window} tokens at once, which is too little"),
        ));
    }

    let tokenizer_bytes = required(folder, TOKENIZER, MAX_TOKENIZER_BYTES)?;
    let mut tokenizer = Tokenizer::from_bytes(&tokenizer_bytes)
        .map_err(|cause| failed(folder, TOKENIZER, cause.to_string()))?;
    // Files pad and cut as their training did. Here nothing is padded, and `Bert` cuts.
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).map_err(|cause| failed(folder, TOKENIZER, cause.to_string()))?;

    let weights = required(folder, WEIGHTS, MAX_WEIGHTS_BYTES)?;
    let mut hash = Sha256::new();
    for part in
        [COMPUTATION, format!("{pooling:?} {window}").as_bytes(), &config_bytes, &tokenizer_bytes, &weights]
    {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let id = format!("local:{}", hex::encode(&hash.finish()[..ID_BYTES]));
    let encoder = Encoder::load(&config, &weights, Precision::Best)
        .map_err(|cause| failed(folder, WEIGHTS, cause.to_string()))?;
    Ok(Parts { id, tokenizer, window, pooling, encoder })
}

/// An error that names the file.
pub(super) fn failed(folder: &Path, file: &str, cause: impl Into<String>) -> ModelError {
    ModelError::File { folder: folder.to_owned(), file: file.to_owned(), cause: cause.into() }
}

/// Shorter ones leave no room for title and passage.
const MIN_WINDOW: usize = 64;

const ID_BYTES: usize = 8;

/// What follows the BERT; the mean, where nothing is said.
fn pooling(folder: &Path) -> Result<Pooling, ModelError> {
    let Some(bytes) = optional(folder, MODULES, MAX_SETTINGS_BYTES)? else {
        return Ok(Pooling::Mean);
    };
    let mut pooling = Pooling::Mean;
    for module in parse::<Vec<Module>>(folder, MODULES, &bytes)? {
        match module.r#type.rsplit('.').next().unwrap_or_default() {
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let file = format!("{}/{CONFIG}", module.path);
                // The folder may be a copy of the main files alone.
                let Some(bytes) = optional(folder, &file, MAX_SETTINGS_BYTES)? else { continue };
                let config: PoolingConfig = parse(folder, &file, &bytes)?;
                pooling = match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token) {
                    (true, false) => Pooling::Mean,
                    (false, true) => Pooling::FirstToken,
                    _ => {
                        let cause = "only the mean of the tokens, or the first token, can be computed";
                        return Err(failed(folder, &file, cause));
                    }
                };
            }
            other => {
                return Err(failed(folder, MODULES, format!("the step {other:?} is not supported")));
            }
        }
    }
    Ok(pooling)
}

fn parse<T: DeserializeOwned>(folder: &Path, file: &str, bytes: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(bytes).map_err(|cause| failed(folder, file, cause.to_string()))
}

fn required(folder: &Path, file: &str, largest: u64) -> Result<Vec<u8>, ModelError> {
    optional(folder, file, largest)?.ok_or_else(|| failed(folder, file, "there is no such file"))
}

/// The file's bytes; nothing where it is not there.
fn optional(folder: &Path, file: &str, largest: u64) -> Result<Option<Vec<u8>>, ModelError> {
    let io = |cause: std::io::Error| failed(folder, file, cause.to_string());
    let opened = match File::open(folder.join(file)) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let size = opened.metadata().map_err(io)?.len();
    if size > largest {
        return Err(failed(folder, file, format!("it has {size} bytes, and at most {largest} make sense")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    opened.take(largest).read_to_end(&mut bytes).map_err(io)?;
    Ok(Some(bytes))
}
