//! Products of numbers of 8 bits.

use rten_gemm::GemmExecutor;

/// A number of 8 bits is this many steps from 0 at most, on either side.
pub(crate) const STEPS: f32 = 127.0;
/// What stands for 0 in numbers without a sign.
pub(crate) const ZERO: u8 = 128;

/// Multiplies numbers without a sign by those with one; nothing where the processor would be slow or wrong at that:
/// without VNNI or its like, sums of 16 bits would overflow.
pub(crate) fn executor() -> Option<GemmExecutor<u8, i8, i32>> {
    Some(GemmExecutor::new()).filter(|executor: &GemmExecutor<u8, i8, i32>| !executor.may_saturate())
}
