//! BERT encoders on the CPU, for sentence embeddings (Devlin et al. 2019; Reimers and Gurevych 2019): tokens
//! in, one vector per text out.
//!
//! Weights are quantised to 8 bits with one scale per output, and activations to 8 bits with one scale per
//! token (`W8A8`, as in Xiao et al. 2023 without smoothing). If the processor has no instructions for that,
//! both remain 32-bit floats.

mod layer;
mod linear;
mod norm;
#[cfg(test)]
mod tests;
mod weights;

use serde::Deserialize;
use thiserror::Error;

use self::layer::{Layer, Scratch};
use self::linear::Multiplier;
use self::norm::LayerNorm;
use self::weights::Weights;

/// Fields of a model's `config.json` that determine the computation.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// Architecture; `bert` if given.
    pub model_type: Option<String>,
    /// Rows of the token embedding table.
    pub vocab_size: usize,
    /// Dimensions of a vector.
    pub hidden_size: usize,
    /// Number of encoder layers.
    pub num_hidden_layers: usize,
    /// Attention heads per layer; each has an equal part of the dimensions.
    pub num_attention_heads: usize,
    /// Inner dimensions of a layer's feed-forward network.
    pub intermediate_size: usize,
    /// Activation function of the feed-forward network.
    pub hidden_act: Activation,
    /// Rows of the position embedding table.
    pub max_position_embeddings: usize,
    /// Rows of the segment embedding table; only the first is used.
    pub type_vocab_size: usize,
    /// Constant that keeps layer norms from dividing by zero.
    pub layer_norm_eps: f32,
}

/// Activation function of a feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// GELU with the error function.
    Gelu,
    /// GELU with the tanh approximation.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// Rectified linear unit.
    Relu,
}

/// Pooling of token vectors into one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Mean of all tokens' vectors.
    Mean,
    /// Vector of the first token.
    FirstToken,
}

/// Precision of matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 8-bit integers if the processor multiplies them fast, otherwise 32-bit floats.
    Best,
    /// 32-bit floats.
    Float32,
}

/// Error while loading weights.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is not a valid safetensors file.
    #[error("{0}")]
    Format(#[from] safetensors::SafeTensorError),
    /// A tensor is missing, or its shape or type does not match the configuration.
    #[error("tensor {name}: {cause}")]
    Tensor {
        /// Name of the tensor.
        name: String,
        /// Description of the error.
        cause: String,
    },
    /// The dimensions in the configuration are inconsistent.
    #[error("{0}")]
    Config(&'static str),
}

/// Loaded encoder.
pub struct Encoder {
    precision: Precision,
    hidden: usize,
    /// Token embeddings, in rows of `hidden` numbers.
    tokens: Vec<f32>,
    /// Position embeddings, each plus the first segment embedding, in rows of `hidden` numbers.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Loads an encoder from the bytes of a safetensors file.
    pub fn load(config: &Config, weights: &[u8], precision: Precision) -> Result<Self, LoadError> {
        let hidden = config.hidden_size;
        if hidden == 0
            || config.num_attention_heads == 0
            || !hidden.is_multiple_of(config.num_attention_heads)
        {
            return Err(LoadError::Config("hidden_size is no multiple of num_attention_heads"));
        }
        let sizes = [
            config.vocab_size,
            config.max_position_embeddings,
            config.type_vocab_size,
            config.intermediate_size,
        ];
        if sizes.contains(&0) {
            return Err(LoadError::Config("a size is 0"));
        }
        let weights = Weights::read(weights, config.model_type.as_deref())?;
        let multiplier = Multiplier::new(precision);
        let table =
            |name: &str, rows| weights.get(&format!("embeddings.{name}_embeddings.weight"), &[rows, hidden]);
        let mut positions = table("position", config.max_position_embeddings)?;
        let segments = table("token_type", config.type_vocab_size)?;
        for position in positions.chunks_exact_mut(hidden) {
            add(position, &segments[..hidden]);
        }
        let layer = |number| Layer::load(&weights, &format!("encoder.layer.{number}"), config, &multiplier);
        Ok(Self {
            hidden,
            tokens: table("word", config.vocab_size)?,
            positions,
            norm: LayerNorm::load(&weights, "embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()?,
            precision,
        })
    }

    /// Embeds texts into vectors of length 1. A text is a non-empty sequence of tokens, special tokens
    /// included. Tokens that are not in the tables are left out of the sum.
    ///
    /// Texts do not influence each other's vectors. Work is shared by the threads of the current `rayon`
    /// pool.
    pub fn embed(&self, texts: &[&[u32]], pooling: Pooling) -> Vec<Vec<f32>> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        // A multiplier cannot be shared between threads; creating one costs nothing.
        let multiplier = Multiplier::new(self.precision);
        let mut states = self.embedded(texts);
        let mut scratch = Scratch::default();
        for layer in &self.layers {
            layer.forward(&mut states, &lengths, &multiplier, &mut scratch);
        }
        let mut rest = states.as_slice();
        lengths
            .into_iter()
            .map(|length| {
                let (text, after) = rest.split_at(length * self.hidden);
                rest = after;
                self.pooled(text, pooling)
            })
            .collect()
    }

    /// Sums of the embedding tables, after the layer norm: `hidden` numbers per token.
    fn embedded(&self, texts: &[&[u32]]) -> Vec<f32> {
        let row = |table: &'_ [f32], index: usize| -> Option<std::ops::Range<usize>> {
            let start = index.checked_mul(self.hidden)?;
            (start + self.hidden <= table.len()).then_some(start..start + self.hidden)
        };
        let mut states = vec![0.0; texts.iter().map(|text| text.len()).sum::<usize>() * self.hidden];
        let tokens = texts.iter().flat_map(|text| text.iter().enumerate());
        for ((position, &token), state) in tokens.zip(states.chunks_exact_mut(self.hidden)) {
            if let Some(range) = row(&self.tokens, token as usize) {
                add(state, &self.tokens[range]);
            }
            if let Some(range) = row(&self.positions, position) {
                add(state, &self.positions[range]);
            }
        }
        self.norm.apply(&mut states);
        states
    }

    fn pooled(&self, states: &[f32], pooling: Pooling) -> Vec<f32> {
        let mut vector = vec![0.0; self.hidden];
        let counted = match pooling {
            Pooling::Mean => states,
            Pooling::FirstToken => &states[..self.hidden.min(states.len())],
        };
        // The sum is as good as the mean: the length is normalised below.
        for state in counted.chunks_exact(self.hidden) {
            add(&mut vector, state);
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        for number in &mut vector {
            *number /= length;
        }
        vector
    }
}

fn add(to: &mut [f32], other: &[f32]) {
    to.iter_mut().zip(other).for_each(|(to, other)| *to += other);
}
