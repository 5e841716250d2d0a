//! The memory of scripts: the C library's, told apart from garbage while the component is made.

#![expect(unsafe_code, reason = "an allocator hands out memory")]

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

/// What is freed before the snapshot is taken is filled with zeros, which take no room there.
pub(crate) struct SnapshotAllocator;

// SAFETY: all of it is the C library's, whose contract is the trait's; memory is written to before it is freed, and
// within its size.
unsafe impl Allocator for SnapshotAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: any size may be asked for.
        unsafe { malloc(size) }.cast()
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        // SAFETY: any size may be asked for.
        unsafe { calloc(count, size) }.cast()
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        // SAFETY: the caller keeps the contract of this function.
        unsafe {
            clear(pointer);
            free(pointer.cast());
        }
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, new_size: usize) -> *mut u8 {
        if moment::is_made() {
            // SAFETY: the caller keeps the contract of this function.
            return unsafe { realloc(pointer.cast(), new_size) }.cast();
        }
        let moved = self.alloc(new_size);
        if !moved.is_null() {
            // SAFETY: both are as large as that, and they are apart.
            unsafe {
                ptr::copy_nonoverlapping(pointer, moved, Self::usable_size(pointer).min(new_size));
                self.dealloc(pointer);
            }
        }
        moved
    }

    unsafe fn usable_size(pointer: *mut u8) -> usize {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { malloc_usable_size(pointer.cast()) }
    }
}

/// # Safety
/// The memory must be the C library's, and nobody's any more.
unsafe fn clear(pointer: *mut u8) {
    if !moment::is_made() {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { pointer.write_bytes(0, malloc_usable_size(pointer.cast())) };
    }
}
