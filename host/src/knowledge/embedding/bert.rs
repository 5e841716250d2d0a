//! A BERT in this process, as sentence-transformers run it: mean of the tokens, length 1.

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Error, Tensor};
use candle_transformers::models::bert::BertModel;
use tokenizers::{Encoding, Tokenizer};

use super::ModelError;
use super::folder;

/// A loaded model.
pub(super) struct Bert {
    /// What names it; made of its files.
    pub(super) id: String,
    pub(super) tokenizer: Arc<Tokenizer>,
    /// How many tokens it reads of a text; what is beyond is left out.
    pub(super) window: usize,
    pooling: Pooling,
    model: BertModel,
}

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    FirstToken,
}

/// What a folder holds.
pub(super) struct Parts {
    pub(super) id: String,
    pub(super) tokenizer: Tokenizer,
    pub(super) window: usize,
    pub(super) pooling: Pooling,
    pub(super) model: BertModel,
}

/// Tokens of one run, padding included: some ten megabytes of intermediate results.
const RUN: usize = 1024;

/// Bytes of a text that are looked at for each token that is read.
const BYTES_PER_TOKEN: usize = 32;

impl Bert {
    /// Loads the model of a folder, and tries it once.
    pub(super) fn load(folder: &Path) -> Result<Self, ModelError> {
        let Parts { id, tokenizer, window, pooling, model } = folder::read(folder)?;
        let bert = Self { id, tokenizer: Arc::new(tokenizer), window, pooling, model };
        match bert.embed(&["test".to_owned()], || false) {
            Ok(_) => Ok(bert),
            Err(cause) => Err(folder::failed(folder, folder::WEIGHTS, cause)),
        }
    }

    /// The vectors of texts, in their order; stops between two runs when nobody wants them.
    pub(super) fn embed(
        &self,
        texts: &[String],
        is_unwanted: impl Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, String> {
        let encodings = texts.iter().map(|text| self.encode(text)).collect::<Result<Vec<_>, _>>()?;
        // Texts of a length run together: a short one beside a long one is mostly padding.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let width = |index: usize| encodings[index].len().clamp(1, self.window);
        order.sort_unstable_by_key(|&index| width(index));
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut left = order.as_slice();
        while let Some(&first) = left.first() {
            if is_unwanted() {
                return Err("nobody waits for it any more".to_owned());
            }
            let mut size = (RUN / width(first)).clamp(1, left.len());
            while size > 1 && size * width(left[size - 1]) > RUN {
                size -= 1;
            }
            let (run, after) = left.split_at(size);
            let inputs: Vec<_> = run.iter().map(|&index| &encodings[index]).collect();
            let outputs = self.forward(&inputs).map_err(|error| error.to_string())?;
            for (&index, vector) in run.iter().zip(outputs) {
                vectors[index] = vector;
            }
            left = after;
        }
        Ok(vectors)
    }

    fn encode(&self, text: &str) -> Result<Encoding, String> {
        let text = &text[..text.floor_char_boundary(self.window * BYTES_PER_TOKEN)];
        self.tokenizer.encode_fast(text, true).map_err(|error| error.to_string())
    }

    fn forward(&self, encodings: &[&Encoding]) -> Result<Vec<Vec<f32>>, Error> {
        let width =
            encodings.iter().map(|encoding| encoding.len().min(self.window)).max().unwrap_or_default();
        let shape = (encodings.len(), width);
        let (mut ids, mut mask) = (Vec::with_capacity(shape.0 * width), Vec::with_capacity(shape.0 * width));
        for encoding in encodings {
            // What the tokeniser puts at the end stays at the end.
            let tokens = encoding.get_ids();
            let kept = tokens.len().min(width);
            ids.extend_from_slice(&tokens[..kept]);
            if let (true, Some(end), Some(last)) = (kept < tokens.len(), tokens.last(), ids.last_mut()) {
                *last = *end;
            }
            ids.resize(ids.len() + width - kept, 0);
            mask.resize(mask.len() + kept, 1_f32);
            mask.resize(mask.len() + width - kept, 0_f32);
        }
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let tokens = self.model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let pooled = match self.pooling {
            Pooling::Mean => {
                let weights = mask.unsqueeze(2)?;
                tokens.broadcast_mul(&weights)?.sum(1)?.broadcast_div(&weights.sum(1)?)?
            }
            Pooling::FirstToken => tokens.narrow(1, 0, 1)?.squeeze(1)?,
        };
        let lengths = pooled.sqr()?.sum_keepdim(1)?.sqrt()?;
        pooled.broadcast_div(&lengths)?.to_vec2()
    }
}
