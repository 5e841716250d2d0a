//! The module's exports. Whoever calls owns the memory of a request until `answer` takes it, and reads an
//! answer before it calls again.

#![expect(unsafe_code, reason = "memory is handed over by its address")]

use std::cell::RefCell;

thread_local! {
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the address of memory for a request of so many bytes.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Answers the request in the memory at `pointer`, which is given back. Returns where the answer is: the
/// address in the upper half, its length in the lower one.
///
/// # Safety
/// The memory must come from `allocate`, and be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn answer(pointer: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller keeps the contract of this function.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) };
    let answer = crate::answer(&String::from_utf8_lossy(&request));
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        ((kept.as_ptr() as usize as u64) << 32) | kept.len() as u64
    })
}
