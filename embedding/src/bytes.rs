//! Products of 8-bit integers.

use rten_gemm::GemmExecutor;

/// Largest absolute value of a quantised 8-bit number.
pub(crate) const STEPS: f32 = 127.0;
/// Zero point of unsigned 8-bit numbers.
pub(crate) const ZERO: u8 = 128;

/// Matrix multiplication of unsigned by signed 8-bit integers; `None` if the processor would be slow or
/// wrong: without VNNI or an equivalent, 16-bit sums would overflow.
pub(crate) fn executor() -> Option<GemmExecutor<u8, i8, i32>> {
    Some(GemmExecutor::new()).filter(|executor: &GemmExecutor<u8, i8, i32>| !executor.may_saturate())
}
