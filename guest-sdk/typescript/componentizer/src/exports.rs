//! Exports of the module. The caller owns the memory blocks of a request until `componentize` takes
//! ownership, and must read the answer before the next call.

#![expect(unsafe_code, reason = "memory is passed by address")]

use std::cell::RefCell;

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// First byte of an answer whose rest is the component.
const SUCCEEDED: u8 = 0;
/// First byte of an answer whose rest is an error message in UTF-8.
const FAILED: u8 = 1;

/// Allocates `length` bytes of memory and returns the address.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Makes a component from an engine, its memory, and the names of the granted interfaces, one per line.
/// Returns the location of the answer: its address in the upper 32 bits, its length in the lower 32 bits.
///
/// # Safety
/// All memory blocks must come from `allocate` with the same lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn componentize(
    engine: *mut u8,
    engine_length: usize,
    memory: *mut u8,
    memory_length: usize,
    granted: *mut u8,
    granted_length: usize,
) -> u64 {
    // SAFETY: the caller upholds the contract of this function.
    let [engine, memory, granted] =
        unsafe { [take(engine, engine_length), take(memory, memory_length), take(granted, granted_length)] };
    let granted = String::from_utf8_lossy(&granted);
    let result = crate::componentize(&engine, &memory, |name| granted.lines().any(|it| it == name));
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        match result {
            Ok(component) => {
                answer.push(SUCCEEDED);
                answer.extend(component);
            }
            Err(error) => {
                answer.push(FAILED);
                answer.extend(format!("{error:#}").bytes());
            }
        }
        ((answer.as_ptr() as usize as u64) << 32) | answer.len() as u64
    })
}

/// Takes ownership of memory from [`allocate`].
///
/// # Safety
/// The same as for [`componentize`].
unsafe fn take(pointer: *mut u8, length: usize) -> Box<[u8]> {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) }
}
