//! The module's exports. Whoever calls owns the memories of a request until `componentize` takes them, and reads its
//! answer before it calls again.

#![expect(unsafe_code, reason = "memory is handed over by its address")]

use std::cell::RefCell;

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// First byte of an answer: the rest is a component, or says in UTF-8 why there is none.
const MADE: u8 = 0;
const FAILED: u8 = 1;

/// Returns the address of memory for so many bytes.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Makes a component of an engine, its memory, and the names of the granted interfaces, a line each. Returns where
/// the answer is: the address in the upper half, its length in the lower one.
///
/// # Safety
/// All memories must come from `allocate`, and have these lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn componentize(
    engine: *mut u8,
    engine_length: usize,
    memory: *mut u8,
    memory_length: usize,
    granted: *mut u8,
    granted_length: usize,
) -> u64 {
    // SAFETY: the caller keeps the contract of this function.
    let [engine, memory, granted] = unsafe {
        [taken(engine, engine_length), taken(memory, memory_length), taken(granted, granted_length)]
    };
    let granted = String::from_utf8_lossy(&granted);
    let made = crate::componentize(&engine, &memory, |name| granted.lines().any(|it| it == name));
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        match made {
            Ok(component) => {
                answer.push(MADE);
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

/// Takes memory of [`allocate`].
///
/// # Safety
/// As for [`componentize`].
unsafe fn taken(pointer: *mut u8, length: usize) -> Box<[u8]> {
    // SAFETY: the caller keeps the contract of this function.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) }
}
