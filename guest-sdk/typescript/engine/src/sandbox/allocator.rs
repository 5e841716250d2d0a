//! The allocator of scripts: the C library's, which also clears freed memory while the component is built.

#![expect(unsafe_code, reason = "an allocator returns raw memory")]

use std::ffi::c_void;
use std::ptr;

use rquickjs::allocator::Allocator;

use super::moment;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn free(pointer: *mut c_void);
    fn malloc_usable_size(pointer: *mut c_void) -> usize;
}

/// Fills memory that is freed before the snapshot with zeros, which take no space in the snapshot.
pub(crate) struct SnapshotAllocator;

// SAFETY: all memory comes from the C library, whose contract is the same as the trait's; memory is written
// to only before it is freed, and within its size.
unsafe impl Allocator for SnapshotAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: any size may be requested.
        unsafe { malloc(size) }.cast()
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        // SAFETY: any size may be requested.
        unsafe { calloc(count, size) }.cast()
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        // SAFETY: the caller upholds the contract of this function.
        unsafe {
            clear(pointer);
            free(pointer.cast());
        }
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, new_size: usize) -> *mut u8 {
        if moment::is_built() {
            // SAFETY: the caller upholds the contract of this function.
            return unsafe { realloc(pointer.cast(), new_size) }.cast();
        }
        let moved = self.alloc(new_size);
        if !moved.is_null() {
            // SAFETY: both blocks have at least that size, and they do not overlap.
            unsafe {
                ptr::copy_nonoverlapping(pointer, moved, Self::usable_size(pointer).min(new_size));
                self.dealloc(pointer);
            }
        }
        moved
    }

    unsafe fn usable_size(pointer: *mut u8) -> usize {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { malloc_usable_size(pointer.cast()) }
    }
}

/// Fills memory that is about to be freed with zeros, before the snapshot only.
///
/// # Safety
/// The memory must come from the C library, and must not be in use any more.
unsafe fn clear(pointer: *mut u8) {
    if !moment::is_built() {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { pointer.write_bytes(0, malloc_usable_size(pointer.cast())) };
    }
}
