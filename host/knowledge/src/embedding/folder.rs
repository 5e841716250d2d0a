//! Reads model folders in the format of sentence-transformers.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use kitbag_base::sha256::Sha256;
use kitbag_embedding::bert::{Config, Encoder, Pooling, Precision};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;

use super::ModelError;
use super::bert::{Parts, Prompts};
use crate::passages::WINDOW;

/// Files of every model.
pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const WEIGHTS: &str = "model.safetensors";

/// Optional files: steps after the BERT, input size, and prompts.
pub(crate) const MODULES: &str = "modules.json";
const SENTENCES: &str = "sentence_bert_config.json";
pub(crate) const SENTENCE_TRANSFORMERS: &str = "config_sentence_transformers.json";

/// Largest sizes of files, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
const MAX_TOKENIZER_BYTES: u64 = 64 << 20;
const MAX_WEIGHTS_BYTES: u64 = 4 << 30;

/// Largest size of a prompt in bytes: it is read with every text.
const MAX_PROMPT_BYTES: usize = 1024;

/// Possible names of the prompt for documents; the first existing one is used.
const DOCUMENT_PROMPTS: [&str; 3] = ["document", "passage", "corpus"];

/// Version of the computation, part of a model's id: changes whenever the same files give other vectors.
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
    include_prompt: Option<bool>,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize)]
struct SentenceTransformersConfig {
    prompts: Option<HashMap<String, String>>,
}

/// Reads a model folder; errors name the invalid file.
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
    let prompts = prompts(folder)?;
    let pooling = pooling(folder, &prompts)?;
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
    // Padding and truncation in the file are those of training. Here nothing is padded, and `Bert` truncates.
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).map_err(|cause| failed(folder, TOKENIZER, cause.to_string()))?;

    let document_prompt_tokens = prompt_tokens(folder, &prompts, &tokenizer, window)?;

    let weights = required(folder, WEIGHTS, MAX_WEIGHTS_BYTES)?;
    let use_of_tokens = format!("{pooling:?} {window}");
    let mut parts: Vec<&[u8]> =
        vec![COMPUTATION, use_of_tokens.as_bytes(), &config_bytes, &tokenizer_bytes, &weights];
    if !prompts.are_empty() {
        parts.extend([prompts.query.as_bytes(), prompts.document.as_bytes()]);
    }
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let id = format!("{PREFIX}{}", hex::encode(&hash.finish()[..ID_BYTES]));
    let encoder = Encoder::load(&config, &weights, Precision::Best)
        .map_err(|cause| failed(folder, WEIGHTS, cause.to_string()))?;
    Ok(Parts { id, tokenizer, window, prompts, document_prompt_tokens, pooling, encoder })
}

/// Error that names the file.
pub(super) fn failed(folder: &Path, file: &str, cause: impl Into<String>) -> ModelError {
    ModelError::File { folder: folder.to_owned(), file: file.to_owned(), cause: cause.into() }
}

/// Smallest input size in tokens; shorter ones leave no room for title and passage.
const MIN_WINDOW: usize = 64;

const ID_BYTES: usize = 8;
/// Prefix of the ids of models in folders, and of no others.
const PREFIX: &str = "local:";

/// Prompts for queries and documents; empty if none are given.
fn prompts(folder: &Path) -> Result<Prompts, ModelError> {
    let Some(bytes) = optional(folder, SENTENCE_TRANSFORMERS, MAX_SETTINGS_BYTES)? else {
        return Ok(Prompts::default());
    };
    let config: SentenceTransformersConfig = parse(folder, SENTENCE_TRANSFORMERS, &bytes)?;
    let named = config.prompts.unwrap_or_default();
    let prompt = |names: &[&str]| {
        let Some((name, prompt)) = names.iter().find_map(|name| named.get_key_value(*name)) else {
            return Ok(String::new());
        };
        if prompt.len() > MAX_PROMPT_BYTES {
            let size = prompt.len();
            let cause = format!("the prompt {name:?} has {size} bytes, more than {MAX_PROMPT_BYTES}");
            return Err(failed(folder, SENTENCE_TRANSFORMERS, cause));
        }
        Ok(prompt.clone())
    };
    Ok(Prompts { query: prompt(&["query"])?, document: prompt(&DOCUMENT_PROMPTS)? })
}

/// Number of tokens of the prompt for documents. Refuses prompts that leave no room for a text.
fn prompt_tokens(
    folder: &Path,
    prompts: &Prompts,
    tokenizer: &Tokenizer,
    window: usize,
) -> Result<usize, ModelError> {
    let tokens = |prompt: &str| {
        if prompt.is_empty() {
            return Ok(0);
        }
        let encoding = tokenizer.encode_fast(prompt, false);
        let count = encoding.map_err(|cause| failed(folder, TOKENIZER, cause.to_string()))?.get_ids().len();
        if count + MIN_WINDOW > window {
            let cause = format!("a prompt has {count} tokens, and the model reads {window} tokens at once");
            return Err(failed(folder, SENTENCE_TRANSFORMERS, cause));
        }
        Ok(count)
    };
    tokens(&prompts.query)?;
    tokens(&prompts.document)
}

/// Pooling after the BERT; the mean if none is given.
fn pooling(folder: &Path, prompts: &Prompts) -> Result<Pooling, ModelError> {
    let Some(bytes) = optional(folder, MODULES, MAX_SETTINGS_BYTES)? else {
        return Ok(Pooling::Mean);
    };
    let mut pooling = Pooling::Mean;
    for module in parse::<Vec<Module>>(folder, MODULES, &bytes)? {
        match module.r#type.rsplit('.').next().unwrap_or_default() {
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let file = format!("{}/{CONFIG}", module.path);
                // The folder may be a copy of the main files only.
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
                if pooling == Pooling::Mean && config.include_prompt == Some(false) && !prompts.are_empty() {
                    return Err(failed(folder, &file, "a mean that leaves the prompt out is not supported"));
                }
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

/// Bytes of a file; `None` if it does not exist.
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
