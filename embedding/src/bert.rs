//! BERT encoders on the processor, as far as sentence embeddings need them (Devlin et al. 2019; Reimers and Gurevych
//! 2019): tokens in, one vector a text out.
//!
//! Weights are rounded to 8 bits, one scale for each output, and what they are multiplied with too, one scale for each
//! token (`W8A8`, as in Xiao et al. 2023 without smoothing). Where the processor has no instructions for that, they
//! stay numbers of 32 bits.

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

/// The part of a model's `config.json` that decides what is computed.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// `bert`, where it is there.
    pub model_type: Option<String>,
    /// Rows of the table of tokens.
    pub vocab_size: usize,
    /// Numbers of a vector.
    pub hidden_size: usize,
    /// Layers of the encoder.
    pub num_hidden_layers: usize,
    /// Heads of each layer; they share the numbers of a vector evenly.
    pub num_attention_heads: usize,
    /// Numbers between the two steps of a layer's feed-forward network.
    pub intermediate_size: usize,
    /// The function between those steps.
    pub hidden_act: Activation,
    /// Tokens that have a position.
    pub max_position_embeddings: usize,
    /// Rows of the table of segments, of which the first is used.
    pub type_vocab_size: usize,
    /// What keeps a norm from dividing by nothing.
    pub layer_norm_eps: f32,
}

/// The function between the two steps of a feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// GELU by the error function.
    Gelu,
    /// GELU by the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// The positive part.
    Relu,
}

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    FirstToken,
}

/// How numbers are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 8 bits where the processor is quick at that, else 32.
    Best,
    /// 32 bits.
    Float32,
}

/// The weights do not make a model.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is no safetensors file.
    #[error("{0}")]
    Format(#[from] safetensors::SafeTensorError),
    /// A tensor is missing, or has another shape or type than the configuration says.
    #[error("tensor {name}: {cause}")]
    Tensor {
        /// The tensor's name.
        name: String,
        /// What is wrong.
        cause: String,
    },
    /// The sizes of the configuration do not fit one another.
    #[error("{0}")]
    Config(&'static str),
}

/// A loaded encoder.
pub struct Encoder {
    precision: Precision,
    hidden: usize,
    /// Rows of `hidden` numbers.
    tokens: Vec<f32>,
    /// Rows of `hidden` numbers, those of the first segment included.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Makes an encoder of the bytes of a safetensors file.
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

    /// The vectors of texts, each of length 1. A text is its tokens, the frame included: one at least. Tokens that the
    /// tables do not have are left out of the sum.
    ///
    /// Texts do not influence each other's vectors. Work is shared by the threads of the current `rayon` pool.
    pub fn embed(&self, texts: &[&[u32]], pooling: Pooling) -> Vec<Vec<f32>> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        // One kernel for all runs cannot be shared by threads; making one costs nothing.
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

    /// The sum of the tables, normed: `hidden` numbers for each token.
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
        // Whether it is the sum or the mean: the length is set below.
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
