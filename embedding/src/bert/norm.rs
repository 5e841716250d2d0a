//! Layer normalisation (Ba, Kiros and Hinton 2016).

use rten_simd::SimdOp;
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use super::weights::Weights;
use super::{Config, LoadError};

/// Normalises each row to mean 0 and variance 1, and applies the learnt scale and bias.
#[derive(Debug)]
pub(super) struct LayerNorm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    pub(super) fn load(weights: &Weights<'_>, name: &str, config: &Config) -> Result<Self, LoadError> {
        let get = |part| weights.get(&format!("{name}.{part}"), &[config.hidden_size]);
        Ok(Self { scale: get("weight")?, bias: get("bias")?, epsilon: config.layer_norm_eps })
    }

    pub(super) fn apply(&self, rows: &mut [f32]) {
        let width = self.scale.len();
        #[expect(clippy::cast_precision_loss, reason = "a vector has far fewer than 2^23 numbers")]
        let count = width as f32;
        for row in rows.chunks_exact_mut(width) {
            let mean = Sum::new(row).dispatch() / count;
            let variance = SumSquareSub::new(row, mean).dispatch() / count;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.epsilon).sqrt().recip(),
                element_scale: Some(&self.scale),
                bias: 0.0,
                element_bias: Some(&self.bias),
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}
