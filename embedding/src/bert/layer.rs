//! Encoder layer: attention and feed-forward network (Vaswani et al. 2017).

use rten_gemm::{GemmInputA, GemmInputB, GemmOptions};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::prelude::*;
use rten_tensor::{Matrix, NdTensorView};
use rten_vecmath::{ApproxGelu, Gelu, Softmax};

use super::linear::{self, FITS, Linear, Multiplier};
use super::norm::LayerNorm;
use super::weights::Weights;
use super::{Activation, Config, LoadError, add};

/// Buffers that layers reuse.
#[derive(Default)]
pub(super) struct Scratch {
    linear: linear::Scratch,
    wide: Vec<f32>,
    mixed: Vec<f32>,
    scores: Vec<f32>,
    part: Vec<f32>,
}

pub(super) struct Layer {
    heads: usize,
    /// Query, key and value projections of all heads.
    projections: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    widened: Linear,
    activation: Activation,
    narrowed: Linear,
    narrowed_norm: LayerNorm,
}

/// Number of tokens that go through the feed-forward network at once: their intermediate results fit into the
/// cache of a core.
const BLOCK: usize = 64;

impl Layer {
    pub(super) fn load(
        weights: &Weights<'_>,
        name: &str,
        config: &Config,
        multiplier: &Multiplier,
    ) -> Result<Self, LoadError> {
        let hidden = config.hidden_size;
        let wide = config.intermediate_size;
        let linear =
            |part: &str, shape| Linear::load(weights, &[format!("{name}.{part}")], shape, multiplier);
        let norm = |part: &str| LayerNorm::load(weights, &format!("{name}.{part}.LayerNorm"), config);
        let projections = ["query", "key", "value"].map(|part| format!("{name}.attention.self.{part}"));
        Ok(Self {
            heads: config.num_attention_heads,
            projections: Linear::load(weights, &projections, [hidden, hidden], multiplier)?,
            attended: linear("attention.output.dense", [hidden, hidden])?,
            attended_norm: norm("attention.output")?,
            widened: linear("intermediate.dense", [wide, hidden])?,
            activation: config.hidden_act,
            narrowed: linear("output.dense", [hidden, wide])?,
            narrowed_norm: norm("output")?,
        })
    }

    /// Replaces the hidden states of texts with `lengths` tokens by the output of this layer.
    pub(super) fn forward(
        &self,
        states: &mut [f32],
        lengths: &[usize],
        multiplier: &Multiplier,
        scratch: &mut Scratch,
    ) {
        let Scratch { linear, wide, mixed, scores, part } = scratch;
        self.projections.forward(states, multiplier, linear, wide);
        self.attend(wide, lengths, multiplier, mixed, [scores, part]);
        self.attended.forward(mixed, multiplier, linear, wide);
        add(states, wide);
        self.attended_norm.apply(states);

        for rows in states.chunks_mut(BLOCK * self.narrowed.outputs()) {
            self.widened.forward(rows, multiplier, linear, wide);
            match self.activation {
                Activation::Gelu => Gelu {}.map_mut(wide),
                Activation::GeluTanh => ApproxGelu {}.map_mut(wide),
                Activation::Relu => {
                    for number in wide.iter_mut() {
                        *number = number.max(0.0);
                    }
                }
            }
            self.narrowed.forward(wide, multiplier, linear, mixed);
            add(rows, mixed);
            self.narrowed_norm.apply(rows);
        }
    }

    /// Writes the attention output of each token over the tokens of its text to `context`.
    fn attend(
        &self,
        projections: &[f32],
        lengths: &[usize],
        multiplier: &Multiplier,
        context: &mut Vec<f32>,
        [scores, mixed]: [&mut Vec<f32>; 2],
    ) {
        let width = self.projections.outputs();
        let hidden = width / 3;
        let head = hidden / self.heads;
        context.resize(projections.len() / 3, 0.0);
        let mut rest = projections;
        let mut contexts = context.as_mut_slice();
        for &length in lengths {
            let (text, after) = rest.split_at(length * width);
            let (context, contexts_after) = contexts.split_at_mut(length * hidden);
            (rest, contexts) = (after, contexts_after);
            scores.resize(length * length, 0.0);
            mixed.resize(length * head, 0.0);
            for first in (0..hidden).step_by(head) {
                // Query, key and value are three views of the same rows.
                let part = |which: usize, shape, strides| {
                    let numbers = text.get(which * hidden + first..).unwrap_or_default();
                    Matrix::from_data_with_strides(shape, numbers, strides).expect("a row has three parts")
                };
                let query = part(0, [length, head], [width, 1]);
                let keys = part(1, [head, length], [1, width]);
                let values = part(2, [length, head], [width, 1]);
                multiply(scores, query, keys, multiplier);
                for row in scores.chunks_exact_mut(length.max(1)) {
                    Softmax::new_mut(row).dispatch();
                }
                let shares = NdTensorView::from_data([length, length], scores.as_slice());
                let shares = GemmInputA::Unpacked(shares);
                let values = GemmInputB::Unpacked(values);
                multiplier.float.gemm(mixed, shares, values, GemmOptions::default()).expect(FITS);
                for (to, from) in context.chunks_exact_mut(hidden).zip(mixed.chunks_exact(head)) {
                    to[first..first + head].copy_from_slice(from);
                }
            }
        }
    }
}

/// Products of queries and keys, scaled for the softmax.
fn multiply(scores: &mut [f32], query: Matrix<'_>, keys: Matrix<'_>, multiplier: &Multiplier) {
    #[expect(clippy::cast_precision_loss, reason = "a head has far fewer than 2^23 numbers")]
    let alpha = (query.size(1) as f32).sqrt().recip();
    let options = GemmOptions { alpha, ..GemmOptions::default() };
    let query = GemmInputA::Unpacked(query);
    let keys = GemmInputB::Unpacked(keys);
    multiplier.float.gemm(scores, query, keys, options).expect(FITS);
}
