//! Heap for allocations that do not survive the start of a toolkit.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::{ptr, slice};

use dlmalloc::Dlmalloc;

use super::PAGE_BYTES;
use super::block::usable;

/// Header before a block, which stores the requested size, in bytes.
const HEADER_BYTES: usize = 16;

thread_local! {
    static HEAP: RefCell<Dlmalloc<Pages>> = const { RefCell::new(Dlmalloc::new_with_allocator(Pages)) };
    /// Number of memory pages that the heap has added.
    static PAGES: Cell<usize> = const { Cell::new(0) };
}

/// Returns the memory that the heap has added, in bytes.
pub(super) fn heap_bytes() -> usize {
    PAGES.get() * PAGE_BYTES
}

/// Allocates a block with [`usable`] bytes; null if there is no memory.
pub(super) fn alloc(size: usize) -> *mut u8 {
    let Some(bytes) = usable(size).checked_add(HEADER_BYTES) else { return ptr::null_mut() };
    // SAFETY: the size is not 0 and includes the header; the alignment is a power of two.
    unsafe {
        let header = HEAP.with_borrow_mut(|heap| heap.malloc(bytes, HEADER_BYTES));
        if header.is_null() {
            return header;
        }
        header.cast::<usize>().write(size);
        header.add(HEADER_BYTES)
    }
}

/// Returns the requested size.
///
/// # Safety
/// The block must come from [`alloc`] and must not be freed.
pub(super) unsafe fn requested_size(block: *mut u8) -> usize {
    // SAFETY: the header precedes the block.
    unsafe { block.sub(HEADER_BYTES).cast::<usize>().read() }
}

/// # Safety
/// As for [`requested_size`], and the block must no longer be used.
pub(super) unsafe fn free(block: *mut u8) {
    // SAFETY: the block was allocated with this size and alignment.
    unsafe {
        let bytes = usable(requested_size(block)) + HEADER_BYTES;
        let header = block.sub(HEADER_BYTES);
        HEAP.with_borrow_mut(|heap| heap.free(header, bytes, HEADER_BYTES));
    }
}

/// Page allocator of the heap: grows the linear memory and counts the pages.
struct Pages;

// SAFETY: each allocation is new memory of the instance, which stays allocated.
unsafe impl dlmalloc::Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let pages = size.div_ceil(PAGE_BYTES);
        let first = core::arch::wasm32::memory_grow::<0>(pages);
        if first == usize::MAX {
            return (ptr::null_mut(), 0, 0);
        }
        PAGES.set(PAGES.get() + pages);
        (ptr::with_exposed_provenance_mut(first * PAGE_BYTES), pages * PAGE_BYTES, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE_BYTES
    }
}

/// Input from the builder, in the temporary heap. Cleared and freed on drop.
pub(in crate::sandbox) struct Input(&'static mut [u8]);

impl Input {
    /// Allocates memory for the builder to write `length` bytes to.
    pub(in crate::sandbox) fn allocate(length: usize) -> *mut u8 {
        alloc(length)
    }

    /// # Safety
    /// The memory must come from [`Input::allocate`] with this length and be initialised, and nothing else may use it.
    pub(in crate::sandbox) unsafe fn take(pointer: *mut u8, length: usize) -> Self {
        // SAFETY: the caller upholds the contract of this function.
        Self(unsafe { slice::from_raw_parts_mut(pointer, length) })
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.0.fill(0);
        // SAFETY: the memory comes from the temporary heap and is no longer used.
        unsafe { free(self.0.as_mut_ptr()) };
    }
}
