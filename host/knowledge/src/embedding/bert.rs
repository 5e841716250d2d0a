//! Local BERT model, run like in sentence-transformers: from texts to vectors of length 1.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use kitbag_embedding::bert::{Encoder, Pooling};
use rayon::prelude::*;
use tokenizers::Tokenizer;

use super::ModelError;
use super::folder;

/// Loaded model.
pub(super) struct Bert {
    /// Identifier of the model, derived from its files.
    pub(super) id: String,
    pub(super) tokenizer: Arc<Tokenizer>,
    /// Largest number of tokens of a prompt and a text together; the rest is left out.
    pub(super) window: usize,
    /// Number of tokens of the prompt for documents.
    pub(super) document_prompt_tokens: usize,
    prompts: Prompts,
    pooling: Pooling,
    encoder: Encoder,
}

/// Contents of a model folder.
pub(super) struct Parts {
    pub(super) id: String,
    pub(super) tokenizer: Tokenizer,
    pub(super) window: usize,
    pub(super) prompts: Prompts,
    pub(super) document_prompt_tokens: usize,
    pub(super) pooling: Pooling,
    pub(super) encoder: Encoder,
}

/// Prefixes of texts, as in training; most models have none.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    pub(super) query: String,
    pub(super) document: String,
}

/// Role of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum InputType {
    Query,
    Document,
}

impl Prompts {
    pub(super) fn are_empty(&self) -> bool {
        self.query.is_empty() && self.document.is_empty()
    }

    /// Prepends the prompt to the text.
    fn put_before<'a>(&self, input_type: InputType, text: &'a str) -> Cow<'a, str> {
        let prompt = match input_type {
            InputType::Query => &self.query,
            InputType::Document => &self.document,
        };
        if prompt.is_empty() { text.into() } else { format!("{prompt}{text}").into() }
    }
}

/// Number of tokens that one thread processes at once: their intermediate results, some MB, fit into its
/// cache.
const RUN: usize = 256;

/// Bytes of a text that are tokenised for each token of the window.
const BYTES_PER_TOKEN: usize = 32;

impl Bert {
    /// Loads the model in a folder, and runs it once as a test.
    pub(super) fn load(folder: &Path) -> Result<Self, ModelError> {
        let Parts { id, tokenizer, window, prompts, document_prompt_tokens, pooling, encoder } =
            folder::read(folder)?;
        let tokenizer = Arc::new(tokenizer);
        let bert = Self { id, tokenizer, window, document_prompt_tokens, prompts, pooling, encoder };
        match bert.embed(InputType::Query, &["test".to_owned()], || false) {
            Ok(_) => Ok(bert),
            Err(cause) => Err(folder::failed(folder, folder::WEIGHTS, cause)),
        }
    }

    /// Embeds texts, in order, on all threads of the current pool. Stops between two runs if `is_unwanted`
    /// returns true.
    pub(super) fn embed(
        &self,
        input_type: InputType,
        texts: &[String],
        is_unwanted: impl Fn() -> bool + Sync,
    ) -> Result<Vec<Vec<f32>>, String> {
        let tokens =
            texts.par_iter().map(|text| self.tokens(input_type, text)).collect::<Result<Vec<_>, _>>()?;
        let runs = runs(&tokens);
        let embedded = runs.par_iter().map(|run| {
            if is_unwanted() {
                return Err("nobody waits for it any more".to_owned());
            }
            let texts: Vec<_> = run.iter().map(|&index| tokens[index].as_slice()).collect();
            Ok(self.encoder.embed(&texts, self.pooling))
        });
        let embedded: Vec<_> = embedded.collect::<Result<_, _>>()?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (index, vector) in runs.into_iter().flatten().zip(embedded.into_iter().flatten()) {
            if !vector.iter().all(|number| number.is_finite()) {
                return Err("it made a vector that is none".to_owned());
            }
            vectors[index] = vector;
        }
        Ok(vectors)
    }

    /// Tokens of the prompt and the text, truncated to the window: at least one.
    fn tokens(&self, input_type: InputType, text: &str) -> Result<Vec<u32>, String> {
        let text = &text[..text.floor_char_boundary(self.window * BYTES_PER_TOKEN)];
        let text = self.prompts.put_before(input_type, text);
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|error| error.to_string())?;
        let mut tokens = encoding.get_ids().to_vec();
        if let (true, Some(&end)) = (tokens.len() > self.window, tokens.last()) {
            // The final special token of the tokeniser remains at the end.
            tokens.truncate(self.window);
            tokens[self.window - 1] = end;
        }
        if tokens.is_empty() {
            return Err("its tokeniser finds nothing in a text, not even a frame".to_owned());
        }
        Ok(tokens)
    }
}

/// Groups texts, by index, into runs of at most [`RUN`] tokens.
fn runs(tokens: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut runs = Vec::<Vec<usize>>::new();
    let mut room = 0;
    for (index, tokens) in tokens.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if tokens.len() <= room => run.push(index),
            _ => {
                runs.push(vec![index]);
                room = RUN;
            }
        }
        room = room.saturating_sub(tokens.len());
    }
    runs
}
