//! Allocator for scripts that minimises the snapshot of a toolkit.
//!
//! A toolkit is started twice while its component is built. The first start numbers all allocations; those that are not
//! freed by its end are the [`Survivors`]. Scripts have neither time nor randomness then, so the second start makes the
//! same allocations: it places the survivors one after the other and all others in a temporary heap behind them. The
//! snapshot ends where that heap begins, so that an instance starts with what its calls can reach and nothing else.
//!
//! `QuickJS` places small blocks in arenas of its own, which would hide them. A patch of its source (`native/patch-quickjs.py`)
//! lets this module decide: during the first start no block is placed in an arena, during the second the survivors are,
//! and during calls all are.
//!
//! Invariant: the usable size of a block depends only on the requested size, because `QuickJS` makes use of the bytes
//! beyond what it requested. See [`usable`].

#![expect(unsafe_code, reason = "an allocator returns raw memory")]

mod block;
mod temporary;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ops::Deref;
use std::ptr;

use rquickjs::allocator::Allocator;

use self::block::{is_small, memory_for, usable};
pub(super) use self::temporary::Input;
use super::moment;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn free(pointer: *mut c_void);
    fn malloc_usable_size(pointer: *mut c_void) -> usize;

    // Variables of the patched source: a flag that enables the callback for each small block, and the
    // callback.
    static mut kitbag_asks: c_int;
    static mut kitbag_avoids_arena: Option<extern "C" fn() -> c_int>;
}

const PAGE_BYTES: usize = 1 << 16;
/// Free memory at the end of a snapshot, for what a call allocates: growing memory takes system calls.
const CALL_BYTES: usize = 256 << 10;
/// Maximum memory of a toolkit's top level, in MiB. Every call starts with it, and has 128 MiB in total by default.
const MAX_START_MIB: usize = 48;

thread_local! {
    static START: RefCell<Start> = const { RefCell::new(Start::None) };
    /// Address at which the temporary heap begins, set by [`reserve`].
    static BOUNDARY: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Phase of the start that is in progress.
enum Start {
    /// No start: a bundle is being compiled, or a call runs.
    None,
    First(First),
    Second(Second),
}

#[derive(Default)]
struct First {
    /// Number of allocations so far.
    count: u32,
    /// Live allocations, by address.
    alive: HashMap<usize, Alive>,
    /// Total usable bytes of the live allocations.
    bytes: usize,
    /// Whether the usable size of a block differed from [`usable`].
    has_odd_size: bool,
}

struct Alive {
    number: u32,
    /// Requested bytes.
    size: usize,
}

struct Second {
    /// Number of allocations so far.
    count: u32,
    survivors: Survivors<Input>,
    /// Address at which the temporary heap begins.
    boundary: usize,
    /// Number of blocks of the temporary heap that are not freed.
    temporary: usize,
    /// Whether the next block is already numbered and known not to survive.
    is_decided: bool,
}

/// Encoded set of the allocations that survive the start of a toolkit: `count` and `bytes` as little-endian
/// `u32`, then one bit per allocation, least significant first, set if it survives. `count` is the number of
/// all allocations, `bytes` the memory of the survivors.
pub(super) struct Survivors<B>(B);

impl<B: Deref<Target = [u8]>> Survivors<B> {
    /// Length of `count` and `bytes`, in bytes.
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

    /// Returns the encoding.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Begins the first start of a toolkit.
pub(super) fn begin_first() {
    begin(Start::First(First::default()));
}

fn begin(start: Start) {
    START.set(start);
    // SAFETY: the instance has one thread.
    unsafe {
        kitbag_avoids_arena = Some(avoids_arena);
        kitbag_asks = 1;
    }
}

fn end() -> Start {
    // SAFETY: the instance has one thread.
    unsafe { kitbag_asks = 0 };
    START.replace(Start::None)
}

/// Ends the first start. Returns `None` if its allocations cannot be repeated with the same sizes.
pub(super) fn end_first() -> Option<Survivors<Vec<u8>>> {
    let Start::First(First { count, alive, has_odd_size: false, .. }) = end() else {
        return None;
    };
    let mut bits = vec![0; (count as usize).div_ceil(8)];
    for Alive { number, .. } in alive.values() {
        bits[*number as usize / 8] |= 1 << (number % 8);
    }
    let bytes = memory_for(alive.values().map(|it| usable(it.size)));
    Some(Survivors::encode(count, u32::try_from(bytes).ok()?, &bits))
}

/// Grows the heap for survivors of `bytes` bytes and for calls. Must precede every other allocation.
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
    let boundary = BOUNDARY.get();
    begin(Start::Second(Second { count: 0, survivors, boundary, temporary: 0, is_decided: false }));
}

/// Ends the second start. Returns the length of the snapshot, in bytes. Returns `None` if this start differed from the
/// first, or if the heap below the temporary one was full: the C library has grown it behind the temporary heap then.
pub(super) fn end_second() -> Option<u32> {
    const ANSWER_BYTES: usize = 4 << 10;

    let Start::Second(second) = end() else { return None };
    let is_like_first = second.count == second.survivors.count() && second.temporary == 0;
    drop(second.survivors);
    // Allocations between this point and the snapshot must fit too.
    // SAFETY: the block is freed at once. Hidden from the compiler, which would remove both calls.
    unsafe { free(black_box(malloc(ANSWER_BYTES))) };
    let has_grown = memory_bytes() - second.boundary != temporary::heap_bytes();
    if is_like_first && !has_grown { u32::try_from(second.boundary).ok() } else { None }
}

/// Callback of `QuickJS` before each small block during a start. Returns 1 if this allocator is to allocate
/// the block like a large one, 0 if `QuickJS` places it in an arena. The allocation follows at once.
extern "C" fn avoids_arena() -> c_int {
    START.with_borrow_mut(|start| match start {
        Start::None => 0,
        Start::First(_) => 1,
        Start::Second(second) => {
            second.is_decided = !second.next_survives();
            second.is_decided.into()
        }
    })
}

/// The allocator of `QuickJS`.
pub(super) struct SnapshotAllocator;

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
        // Always allocates a new block, which gets a number of its own.
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
        START.with_borrow(|start| match start.requested_size(pointer) {
            Some(size) => usable(size),
            // SAFETY: the caller upholds the contract of this function.
            None => unsafe { malloc_usable_size(pointer.cast()) },
        })
    }
}

impl Start {
    /// Returns the requested size of a block; `None` if only the C library knows its size.
    fn requested_size(&self, pointer: *mut u8) -> Option<usize> {
        match self {
            Self::First(first) => first.alive.get(&pointer.addr()).map(|it| it.size),
            // SAFETY: the block comes from the temporary heap.
            Self::Second(second) if second.is_temporary(pointer) => {
                Some(unsafe { temporary::requested_size(pointer) })
            }
            _ => None,
        }
    }
}

impl First {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        let bytes = usable(size);
        if self.bytes.saturating_add(bytes) > MAX_START_MIB << 20 {
            moment::refuse_memory(MAX_START_MIB);
            return ptr::null_mut();
        }
        // SAFETY: any size may be requested.
        let block = unsafe { malloc(bytes) };
        if !block.is_null() {
            self.alive.insert(block.addr(), Alive { number: self.count, size });
            self.bytes += bytes;
            // SAFETY: the block comes from the C library.
            self.has_odd_size |= !is_small(size) && unsafe { malloc_usable_size(block) } != bytes;
        }
        self.count += 1;
        block.cast()
    }

    fn free(&mut self, pointer: *mut u8) {
        if let Some(Alive { size, .. }) = self.alive.remove(&pointer.addr()) {
            self.bytes -= usable(size);
            // If the snapshot is taken from this memory, zeros take no space in it.
            // SAFETY: the block is no longer used.
            unsafe {
                pointer.write_bytes(0, usable(size));
                free(pointer.cast());
            }
        }
    }
}

impl Second {
    /// Assigns the next number to an allocation; returns whether it survives.
    fn next_survives(&mut self) -> bool {
        self.count += 1;
        self.survivors.contain(self.count - 1)
    }

    fn alloc(&mut self, size: usize) -> *mut u8 {
        let is_decided = std::mem::take(&mut self.is_decided);
        if !is_decided && self.next_survives() {
            // SAFETY: any size may be requested.
            return unsafe { malloc(size) }.cast();
        }
        let block = temporary::alloc(size);
        self.temporary += usize::from(!block.is_null());
        block
    }

    fn free(&mut self, pointer: *mut u8) {
        if self.is_temporary(pointer) {
            self.temporary -= 1;
            // SAFETY: the block comes from the temporary heap and is no longer used.
            unsafe { temporary::free(pointer) };
        } else {
            // SAFETY: the block comes from the C library.
            unsafe { free(pointer.cast()) };
        }
    }

    fn is_temporary(&self, pointer: *mut u8) -> bool {
        pointer.addr() >= self.boundary
    }
}
