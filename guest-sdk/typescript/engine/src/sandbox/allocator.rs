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

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::hint::black_box;
use std::ops::Deref;
use std::{ptr, slice};

use dlmalloc::GlobalDlmalloc;
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
    survivors: Survivors,
    /// Address at which the temporary heap begins.
    boundary: usize,
    /// Number of blocks of the temporary heap that are not freed.
    temporary: usize,
    /// Whether a survivor did not fit below the boundary.
    is_full: bool,
}

/// The allocations that survive the start of a toolkit.
pub(super) struct Survivors {
    /// Number of all allocations.
    count: u32,
    /// Memory that the survivors take, in bytes.
    bytes: u32,
    /// One bit for each allocation, least significant first: whether it survives.
    bits: Vec<u8>,
}

impl Survivors {
    /// Encodes them: `count` and `bytes` as little-endian `u32`, then `bits`.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], &self.bytes.to_le_bytes(), &self.bits].concat()
    }

    /// Decodes the result of [`Self::to_bytes`].
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (bytes, bits) = rest.split_first_chunk()?;
        let [count, bytes] = [count, bytes].map(|number| u32::from_le_bytes(*number));
        Some(Self { count, bytes, bits: bits.to_vec() })
    }

    fn contain(&self, number: u32) -> bool {
        self.bits.get(number as usize / 8).is_some_and(|byte| byte & (1 << (number % 8)) != 0)
    }
}

/// Begins the first start of a toolkit.
pub(super) fn begin_first() {
    START.set(Start::First(First::default()));
}

/// Ends the first start. Returns `None` if its allocations cannot be repeated with the same sizes.
pub(super) fn end_first() -> Option<Survivors> {
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
    Some(Survivors { count, bytes: u32::try_from(bytes).ok()?, bits })
}

/// Makes the heap large enough for survivors of `bytes` bytes and for calls. Must precede every other allocation.
pub(super) fn reserve(bytes: usize) {
    // SAFETY: the block is freed at once; its memory stays at the end of the heap. Hidden from the compiler, which would
    // remove both calls.
    unsafe { free(black_box(malloc(bytes + CALL_BYTES))) };
    BOUNDARY.set(core::arch::wasm32::memory_size::<0>() * PAGE_BYTES);
}

/// Begins the second start, after [`reserve`].
pub(super) fn begin_second(survivors: Survivors) {
    START.set(Start::Second(Second {
        count: 0,
        survivors,
        boundary: BOUNDARY.get(),
        temporary: 0,
        is_full: false,
    }));
}

/// Ends the second start. Returns the length of the snapshot, in bytes, or `None` if this start differed from the first.
pub(super) fn end_second() -> Option<u32> {
    let Start::Second(second) = START.replace(Start::None) else { return None };
    let is_like_first = second.count == second.survivors.count && second.temporary == 0 && !second.is_full;
    is_like_first.then(|| u32::try_from(second.boundary).ok()).flatten()
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
            let block = unsafe { malloc(size) }.cast();
            self.is_full |= self.is_temporary(block);
            return block;
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
    (size + OVERHEAD_BYTES).next_multiple_of(ALIGNMENT) - OVERHEAD_BYTES
}

/// Bytes of each block that the C library uses itself.
const OVERHEAD_BYTES: usize = 4;

/// The heap of allocations that do not survive. It grows the memory for pages of its own.
static TEMPORARY: GlobalDlmalloc = GlobalDlmalloc;
/// Bytes before a block of the temporary heap, which hold the requested size.
const HEADER_BYTES: usize = 16;

fn temporary_alloc(size: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(usable(size) + HEADER_BYTES, HEADER_BYTES) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is not empty and includes the header.
    unsafe {
        let header = TEMPORARY.alloc(layout);
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
    // SAFETY: the block was allocated with this layout.
    unsafe {
        let bytes = usable(temporary_size(block)) + HEADER_BYTES;
        TEMPORARY.dealloc(block.sub(HEADER_BYTES), Layout::from_size_align_unchecked(bytes, HEADER_BYTES));
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
