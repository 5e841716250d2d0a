//! Linear layers: rows times a weight matrix, plus a bias.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_simd::SimdOp;
use rten_tensor::{Matrix, NdTensorView};
use rten_vecmath::{ExtendInit, MinMax, Quantize};

use super::weights::Weights;
use super::{LoadError, Precision};
use crate::bytes::{self, STEPS, ZERO};

/// Matrix multiplication kernels for this processor.
pub(super) struct Multiplier {
    pub(super) float: GemmExecutor<f32>,
    /// Kernel for 8-bit integers; `None` if it would be slow or wrong.
    bytes: Option<GemmExecutor<u8, i8, i32>>,
}

/// Weight matrix and bias.
#[derive(Debug)]
pub(super) struct Linear {
    matrix: Packed,
    bias: Vec<f32>,
    inputs: usize,
}

enum Packed {
    /// 8-bit weights, and their scale for each output.
    Bytes(PackedBMatrix<i8>, Vec<f32>),
    Float(PackedBMatrix<f32>),
}

impl Multiplier {
    pub(super) fn new(precision: Precision) -> Self {
        let bytes = if precision == Precision::Best { bytes::executor() } else { None };
        Self { float: GemmExecutor::new(), bytes }
    }

    #[cfg(test)]
    pub(super) fn has_bytes(&self) -> bool {
        self.bytes.is_some()
    }
}

impl Linear {
    /// Loads one layer, or several layers with the same input as a single one with concatenated outputs.
    pub(super) fn load(
        weights: &Weights<'_>,
        names: &[String],
        [outputs, inputs]: [usize; 2],
        multiplier: &Multiplier,
    ) -> Result<Self, LoadError> {
        let mut rows = Vec::new();
        let mut bias = Vec::new();
        for name in names {
            rows.extend(weights.get(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(weights.get(&format!("{name}.bias"), &[outputs])?);
        }
        let shape = [bias.len(), inputs];
        let matrix = match &multiplier.bytes {
            Some(executor) => {
                let mut rounded = Vec::with_capacity(rows.len());
                let mut scales = Vec::with_capacity(bias.len());
                for row in rows.chunks_exact(inputs) {
                    let scale = step(row);
                    #[expect(clippy::cast_possible_truncation, reason = "it is between -127 and 127")]
                    rounded.extend(row.iter().map(|weight| (weight / scale).round() as i8));
                    scales.push(scale);
                }
                Packed::Bytes(executor.prepack_b(columns(shape, &rounded)), scales)
            }
            None => Packed::Float(multiplier.float.prepack_b(columns(shape, &rows))),
        };
        Ok(Self { matrix, bias, inputs })
    }

    /// Number of outputs per row.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Applies the layer to rows; overwrites `products`.
    pub(super) fn forward(
        &self,
        rows: &[f32],
        multiplier: &Multiplier,
        scratch: &mut Scratch,
        products: &mut Vec<f32>,
    ) {
        match (&self.matrix, &multiplier.bytes) {
            (Packed::Bytes(matrix, scales), Some(executor)) => {
                scratch.round(rows, self.inputs);
                scratch.multiply(matrix, executor);
                products.clear();
                for (row, step) in scratch.products.chunks_exact(self.outputs()).zip(&scratch.steps) {
                    #[expect(
                        clippy::cast_precision_loss,
                        reason = "the numbers were rounded to 8 bits before"
                    )]
                    let outputs = row
                        .iter()
                        .zip(scales)
                        .zip(&self.bias)
                        .map(|((product, scale), bias)| *product as f32 * (step * scale) + bias);
                    products.extend(outputs);
                }
            }
            (Packed::Float(matrix), _) => {
                let count = rows.len() / self.inputs;
                products.resize(count * self.outputs(), 0.0);
                let input = GemmInputA::Unpacked(NdTensorView::from_data([count, self.inputs], rows));
                let matrix = GemmInputB::Packed(matrix);
                multiplier.float.gemm(products, input, matrix, GemmOptions::default()).expect(FITS);
                for row in products.chunks_exact_mut(self.outputs()) {
                    super::add(row, &self.bias);
                }
            }
            (Packed::Bytes(..), None) => unreachable!("weights are packed for the multiplier of their model"),
        }
    }
}

/// Buffers that layers reuse: quantised rows, and their products.
#[derive(Default)]
pub(super) struct Scratch {
    rounded: Vec<u8>,
    /// Quantisation scale of each row.
    steps: Vec<f32>,
    zeros: Vec<u8>,
    products: Vec<i32>,
}

impl Scratch {
    fn round(&mut self, rows: &[f32], width: usize) {
        self.rounded.clear();
        self.rounded.reserve(rows.len());
        self.steps.clear();
        for row in rows.chunks_exact(width) {
            let step = step(row);
            self.rounded.extend_init(|spare| {
                Quantize::new(row, &mut spare[..row.len()], step.recip(), ZERO).dispatch()
            });
            self.steps.push(step);
        }
    }

    fn multiply(&mut self, matrix: &PackedBMatrix<i8>, executor: &GemmExecutor<u8, i8, i32>) {
        let count = self.steps.len();
        self.zeros.resize(count, ZERO);
        self.products.resize(count * matrix.cols(), 0);
        let rows = NdTensorView::from_data([count, matrix.rows()], self.rounded.as_slice());
        let options =
            GemmOptions { a_quant: Some(QuantParams { zero_point: &self.zeros }), ..GemmOptions::default() };
        executor
            .gemm(&mut self.products, GemmInputA::Unpacked(rows), GemmInputB::Packed(matrix), options)
            .expect(FITS);
    }
}

pub(super) const FITS: &str = "the shapes were checked when the model was loaded";

/// Quantisation scale of a row: its largest absolute value becomes 127. Never 0.
fn step(row: &[f32]) -> f32 {
    let (least, most) = MinMax::new(row).dispatch();
    let largest = most.max(-least);
    if largest > 0.0 && largest.is_finite() { largest / STEPS } else { 1.0 }
}

/// View of row-major weights as the transposed matrix for the product.
fn columns<T>([outputs, inputs]: [usize; 2], rows: &[T]) -> Matrix<'_, T> {
    Matrix::from_data_with_strides([inputs, outputs], rows, [1, inputs]).expect("it has as many numbers")
}

impl std::fmt::Debug for Multiplier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.bytes.as_ref().map(GemmExecutor::kernel_name);
        formatter
            .debug_struct("Multiplier")
            .field("float", &self.float.kernel_name())
            .field("bytes", &bytes)
            .finish()
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Bytes(..) => "Bytes",
            Self::Float(_) => "Float",
        })
    }
}
