//! The allocator of scripts, which keeps the snapshot of a toolkit small.
//!
//! A toolkit is started twice while its component is built. The first start numbers all allocations; those that are not
//! freed by its end are the [`Survivors`]. Scripts have neither time nor randomness then, so the second start makes the
//! same allocations: it places the survivors one after the other and all others in a temporary heap behind them. The
//! snapshot ends where that heap begins, so that an instance starts with what its calls can reach and nothing else.
//!
//! Invariant: the usable size of a block depends only on the requested size, because `QuickJS` makes use of the bytes
//! beyond what it requested. See [`usable`].

#![expect(unsafe_code, reason = "an allocator returns raw memory")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::hint::black_box;
use std::ops::Deref;
use std::{ptr, slice};

use dlmalloc::Dlmalloc;
use rquickjs::allocator::Allocator;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn free(pointer: *mut c_void);
    fn malloc_usable_size(pointer: *mut c_void) -> usize;
}

const PAGE_BYTES: usize = 1 << 16;
/// Free memory at the end of a snapshot, for what a call allocates: growing memory takes system calls.
const CALL_BYTES: usize = 256 << 10;

thread_local! {
    static START: RefCell<Start> = const { RefCell::new(Start::None) };
    /// Address at which the temporary heap begins, set by [`reserve`].
    static BOUNDARY: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The heap of allocations that do not survive.
    static TEMPORARY: RefCell<Dlmalloc<TemporaryPages>> =
        const { RefCell::new(Dlmalloc::new_with_allocator(TemporaryPages)) };
    /// Number of pages by which the temporary heap has grown the memory.
    static TEMPORARY_PAGES: Cell<usize> = const { Cell::new(0) };
}

/// The start that is in progress.
enum Start {
    /// None: a bundle is being compiled, or a call runs.
    None,
    First(First),
    Second(Second),
}

#[derive(Default)]
struct First {
    /// Number of allocations so far.
    count: u32,
    /// Address → number of each allocation that is not freed.
    alive: HashMap<usize, u32>,
    /// Whether a block had another usable size than [`usable`] says.
    has_odd_size: bool,
}

struct Second {
    /// Number of allocations so far.
    count: u32,
    survivors: Survivors<Input>,
    /// Address at which the temporary heap begins.
    boundary: usize,
    /// Number of blocks of the temporary heap that are not freed.
    temporary: usize,
}

/// The allocations that survive the start of a toolkit: `count` and `bytes` as little-endian `u32`, then one bit for each
/// allocation, least significant first: whether it survives. `count` is the number of all allocations, `bytes` the
/// memory that the survivors take.
pub(super) struct Survivors<B>(B);

impl<B: Deref<Target = [u8]>> Survivors<B> {
    /// Bytes before the bits.
    const HEAD_BYTES: usize = 8;

    /// Reads an encoding; `None` if it is empty.
    pub(super) fn decode(encoded: B) -> Option<Self> {
        (encoded.len() >= Self::HEAD_BYTES).then_some(Self(encoded))
    }

    fn count(&self) -> u32 {
        self.0.first_chunk().map_or(0, |count| u32::from_le_bytes(*count))
    }

    fn contain(&self, number: u32) -> bool {
        let byte = self.0.get(Self::HEAD_BYTES + number as usize / 8);
        byte.is_some_and(|byte| byte & (1 << (number % 8)) != 0)
    }
}

impl Survivors<Vec<u8>> {
    fn encode(count: u32, bytes: u32, bits: &[u8]) -> Self {
        Self([&count.to_le_bytes()[..], &bytes.to_le_bytes(), bits].concat())
    }

    /// The encoding.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Begins the first start of a toolkit.
pub(super) fn begin_first() {
    START.set(Start::First(First::default()));
}

/// Ends the first start. Returns `None` if its allocations cannot be repeated with the same sizes.
pub(super) fn end_first() -> Option<Survivors<Vec<u8>>> {
    let Start::First(First { count, alive, has_odd_size: false }) = START.replace(Start::None) else {
        return None;
    };
    let mut bits = vec![0; (count as usize).div_ceil(8)];
    let mut bytes = 0;
    for (address, number) in alive {
        bits[number as usize / 8] |= 1 << (number % 8);
        // SAFETY: the block was not freed.
        bytes += unsafe { malloc_usable_size(address as *mut c_void) } + HEADER_BYTES;
    }
    Some(Survivors::encode(count, u32::try_from(bytes).ok()?, &bits))
}

/// Makes the heap large enough for survivors of `bytes` bytes and for calls. Must precede every other allocation.
pub(super) fn reserve(bytes: usize) {
    // SAFETY: the block is freed at once; its memory stays at the end of the heap. Hidden from the compiler, which would
    // remove both calls.
    unsafe { free(black_box(malloc(bytes + CALL_BYTES))) };
    BOUNDARY.set(memory_bytes());
}

fn memory_bytes() -> usize {
    core::arch::wasm32::memory_size::<0>() * PAGE_BYTES
}

/// Begins the second start, after [`reserve`].
pub(super) fn begin_second(survivors: Survivors<Input>) {
    START.set(Start::Second(Second { count: 0, survivors, boundary: BOUNDARY.get(), temporary: 0 }));
}

/// Ends the second start. Returns the length of the snapshot, in bytes. Returns `None` if this start differed from the
/// first, or if the heap below the temporary one was full: the C library has grown it behind the temporary heap then.
pub(super) fn end_second() -> Option<u32> {
    const ANSWER_BYTES: usize = 4 << 10;

    let Start::Second(second) = START.replace(Start::None) else { return None };
    let is_like_first = second.count == second.survivors.count() && second.temporary == 0;
    drop(second.survivors);
    // What is allocated from here to the snapshot must fit too.
    // SAFETY: the block is freed at once. Hidden from the compiler, which would remove both calls.
    unsafe { free(black_box(malloc(ANSWER_BYTES))) };
    let has_grown = memory_bytes() - second.boundary != TEMPORARY_PAGES.get() * PAGE_BYTES;
    if is_like_first && !has_grown { u32::try_from(second.boundary).ok() } else { None }
}

/// The allocator of `QuickJS`.
pub(crate) struct SnapshotAllocator;

// SAFETY: each block comes from the C library or from the temporary heap and is freed by the same; the contract of
// both is the trait's.
unsafe impl Allocator for SnapshotAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        START.with_borrow_mut(|start| match start {
            // SAFETY: any size may be requested.
            Start::None => unsafe { malloc(size) }.cast(),
            Start::First(first) => first.alloc(size),
            Start::Second(second) => second.alloc(size),
        })
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if START.with_borrow(|start| matches!(start, Start::None)) {
            // SAFETY: any size may be requested.
            return unsafe { calloc(count, size) }.cast();
        }
        let Some(bytes) = count.checked_mul(size) else { return ptr::null_mut() };
        let block = self.alloc(bytes);
        if !block.is_null() {
            // SAFETY: the block has that many bytes.
            unsafe { block.write_bytes(0, bytes) };
        }
        block
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        START.with_borrow_mut(|start| match start {
            // SAFETY: the caller upholds the contract of this function.
            Start::None => unsafe { free(pointer.cast()) },
            Start::First(first) => first.free(pointer),
            Start::Second(second) => second.free(pointer),
        });
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, new_size: usize) -> *mut u8 {
        if START.with_borrow(|start| matches!(start, Start::None)) {
            // SAFETY: the caller upholds the contract of this function.
            return unsafe { realloc(pointer.cast(), new_size) }.cast();
        }
        // Always a new block, so that it has a number of its own.
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
        START.with_borrow(|start| match start {
            // SAFETY: the block comes from the temporary heap.
            Start::Second(second) if second.is_temporary(pointer) => {
                usable(unsafe { temporary_size(pointer) })
            }
            // SAFETY: the caller upholds the contract of this function.
            _ => unsafe { malloc_usable_size(pointer.cast()) },
        })
    }
}

impl First {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: any size may be requested.
        let block = unsafe { malloc(size) };
        if !block.is_null() {
            self.alive.insert(block.addr(), self.count);
            // SAFETY: the block comes from the C library.
            self.has_odd_size |= unsafe { malloc_usable_size(block) } != usable(size);
        }
        self.count += 1;
        block.cast()
    }

    fn free(&mut self, pointer: *mut u8) {
        if !pointer.is_null() {
            self.alive.remove(&pointer.addr());
            // Zeros take no space in the snapshot, in case it is taken from this memory.
            // SAFETY: the block is no longer used.
            unsafe {
                pointer.write_bytes(0, malloc_usable_size(pointer.cast()));
                free(pointer.cast());
            }
        }
    }
}

impl Second {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        let survives = self.survivors.contain(self.count);
        self.count += 1;
        if survives {
            // SAFETY: any size may be requested.
            return unsafe { malloc(size) }.cast();
        }
        let block = temporary_alloc(size);
        self.temporary += usize::from(!block.is_null());
        block
    }

    fn free(&mut self, pointer: *mut u8) {
        if self.is_temporary(pointer) {
            self.temporary -= 1;
            // SAFETY: the block comes from the temporary heap and is no longer used.
            unsafe { temporary_free(pointer) };
        } else {
            // SAFETY: the block comes from the C library.
            unsafe { free(pointer.cast()) };
        }
    }

    fn is_temporary(&self, pointer: *mut u8) -> bool {
        pointer.addr() >= self.boundary
    }
}

/// Usable bytes of a block of the C library for a request of `size` bytes: blocks are multiples of its alignment.
fn usable(size: usize) -> usize {
    const ALIGNMENT: usize = 16;
    /// Bytes of each block that the C library uses itself.
    const OVERHEAD_BYTES: usize = 4;
    let whole = size.saturating_add(OVERHEAD_BYTES).checked_next_multiple_of(ALIGNMENT);
    whole.unwrap_or(usize::MAX) - OVERHEAD_BYTES
}

/// Bytes before a block of the temporary heap, which hold the requested size.
const HEADER_BYTES: usize = 16;

fn temporary_alloc(size: usize) -> *mut u8 {
    let Some(bytes) = usable(size).checked_add(HEADER_BYTES) else { return ptr::null_mut() };
    // SAFETY: the size is not 0 and includes the header; the alignment is a power of two.
    unsafe {
        let header = TEMPORARY.with_borrow_mut(|heap| heap.malloc(bytes, HEADER_BYTES));
        if header.is_null() {
            return header;
        }
        header.cast::<usize>().write(size);
        header.add(HEADER_BYTES)
    }
}

/// # Safety
/// The block must come from [`temporary_alloc`] and must not be freed.
unsafe fn temporary_size(block: *mut u8) -> usize {
    // SAFETY: the header precedes the block.
    unsafe { block.sub(HEADER_BYTES).cast::<usize>().read() }
}

/// # Safety
/// As for [`temporary_size`], and the block must no longer be used.
unsafe fn temporary_free(block: *mut u8) {
    // SAFETY: the block was allocated with this size and alignment.
    unsafe {
        let bytes = usable(temporary_size(block)) + HEADER_BYTES;
        let header = block.sub(HEADER_BYTES);
        TEMPORARY.with_borrow_mut(|heap| heap.free(header, bytes, HEADER_BYTES));
    }
}

/// Grows the memory for the temporary heap, and counts by how much.
struct TemporaryPages;

// SAFETY: each allocation is new memory of the instance, which stays allocated.
unsafe impl dlmalloc::Allocator for TemporaryPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let pages = size.div_ceil(PAGE_BYTES);
        let first = core::arch::wasm32::memory_grow::<0>(pages);
        if first == usize::MAX {
            return (ptr::null_mut(), 0, 0);
        }
        TEMPORARY_PAGES.set(TEMPORARY_PAGES.get() + pages);
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

/// A request of the builder, in the temporary heap. Cleared and freed when it is dropped.
pub(super) struct Input(&'static mut [u8]);

impl Input {
    /// Allocates memory for the builder to write `length` bytes to.
    pub(super) fn allocate(length: usize) -> *mut u8 {
        temporary_alloc(length)
    }

    /// # Safety
    /// The memory must come from [`Input::allocate`] with this length and be initialised, and nothing else may use it.
    pub(super) unsafe fn take(pointer: *mut u8, length: usize) -> Self {
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
        unsafe { temporary_free(self.0.as_mut_ptr()) };
    }
}
