//! Exports of the module. The caller owns the memory of a request until `answer` takes ownership, and must
//! read an answer before the next call.

#![expect(unsafe_code, reason = "memory is passed by address")]

use std::cell::RefCell;

thread_local! {
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Allocates memory for a request of `length` bytes and returns its address.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Answers the request in the memory at `pointer`, and frees that memory. Returns the location of the answer:
/// its address in the upper 32 bits, its length in the lower 32 bits.
///
/// # Safety
/// The memory must come from `allocate` with the same `length`.
#[unsafe(no_mangle)]
unsafe extern "C" fn answer(pointer: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller upholds the contract of this function.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) };
    let answer = crate::answer(&String::from_utf8_lossy(&request));
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        ((kept.as_ptr() as usize as u64) << 32) | kept.len() as u64
    })
}
