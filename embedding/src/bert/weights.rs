//! Access to the tensors of a safetensors file by name, with a check of their shapes.

use rten_simd::{SimdOp, f16};
use rten_vecmath::{ExtendInit, F16ToF32};
use safetensors::{Dtype, SafeTensors};

use super::LoadError;

/// Tensors of a file.
pub(super) struct Weights<'a> {
    tensors: SafeTensors<'a>,
    /// Prefix of all names: some files call the encoder `bert.`.
    prefix: String,
}

impl<'a> Weights<'a> {
    pub(super) fn read(bytes: &'a [u8], model_type: Option<&str>) -> Result<Self, LoadError> {
        let tensors = SafeTensors::deserialize(bytes)?;
        let prefix = format!("{}.", model_type.unwrap_or("bert"));
        let is_prefixed = tensors.names().iter().any(|name| name.starts_with(&prefix));
        Ok(Self { tensors, prefix: if is_prefixed { prefix } else { String::new() } })
    }

    /// Numbers of a tensor in row-major order, as 32-bit floats.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let name = format!("{}{name}", self.prefix);
        let wrong = |cause: String| LoadError::Tensor { name: name.clone(), cause };
        let tensor = self.tensors.tensor(&name).map_err(|error| wrong(error.to_string()))?;
        if tensor.shape() != shape {
            return Err(wrong(format!(
                "its shape is {:?}, and the configuration says {shape:?}",
                tensor.shape()
            )));
        }
        let bytes = tensor.data();
        let numbers: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
            Dtype::F16 => widened(bytes),
            // A BF16 number is the upper half of a 32-bit float.
            Dtype::BF16 => {
                bytes.as_chunks().0.iter().map(|&[a, b]| f32::from_le_bytes([0, 0, a, b])).collect()
            }
            other => {
                return Err(wrong(format!("its numbers are {other:?}, and F32, F16 or BF16 can be read")));
            }
        };
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(wrong("it has a number that is none".to_owned()))
        }
    }
}

fn widened(bytes: &[u8]) -> Vec<f32> {
    let halves: Vec<f16> =
        bytes.as_chunks().0.iter().map(|bytes| f16::from_bits(u16::from_le_bytes(*bytes))).collect();
    let mut numbers = Vec::with_capacity(halves.len());
    numbers.extend_init(|spare| F16ToF32::new(&halves, &mut spare[..halves.len()]).dispatch());
    numbers
}
