//! The memory of scripts, sorted while the component is made.
//!
//! A toolkit is started twice. The first time all allocations are numbered, and the numbers of those that are not freed
//! are its [`Survivors`]. Scripts have neither time nor randomness then, so the second time the same ones survive: they
//! are laid one after the other, all others behind them, and the snapshot ends before those. So an instance begins
//! with what its calls can reach, and nothing else.
//!
//! Invariant: the sizes of blocks depend on what was asked for alone, since the engine makes use of what a block
//! has beyond that. A block of either heap has the size of [`usable`].

#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
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
/// What a call may allocate before memory grows, which costs a call to the system: enough for most.
const CALL_BYTES: usize = 256 << 10;

thread_local! {
    static START: RefCell<Start> = const { RefCell::new(Start::None) };
    /// Where the temporary heap begins, once [`reserve`] has put it somewhere.
    static BOUNDARY: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The start of a toolkit that is under way.
enum Start {
    /// There is none: a bundle is compiled, or a call runs.
    None,
    First(First),
    Second(Second),
}

#[derive(Default)]
struct First {
    /// Allocations so far.
    count: u32,
    /// The numbers of those that are not freed, by their addresses.
    alive: HashMap<usize, u32>,
    /// A block was larger than the second time's would be.
    is_odd: bool,
}

struct Second {
    count: u32,
    survivors: Survivors,
    /// Where the temporary heap begins.
    boundary: usize,
    /// Blocks of the temporary heap that are not freed.
    temporary: usize,
    /// A survivor found no room before the boundary.
    is_full: bool,
}

/// Which allocations survive the start of a toolkit.
pub(super) struct Survivors {
    /// All allocations.
    count: u32,
    /// Bytes of those that survive.
    bytes: u32,
    /// A bit for each, the lowest of a byte first.
    bits: Vec<u8>,
}

impl Survivors {
    /// Two numbers of four bytes, little-endian, and the bits.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], &self.bytes.to_le_bytes(), &self.bits].concat()
    }

    /// Reads what [`Self::to_bytes`] returned.
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

/// Begins to number allocations.
pub(super) fn begin_first() {
    START.set(Start::First(First::default()));
}

/// Returns what survives; `None` if that cannot be told for a second time.
pub(super) fn end_first() -> Option<Survivors> {
    let Start::First(First { count, alive, is_odd: false }) = START.replace(Start::None) else { return None };
    let mut bits = vec![0; (count as usize).div_ceil(8)];
    let mut bytes = 0;
    for (address, number) in alive {
        bits[number as usize / 8] |= 1 << (number % 8);
        // SAFETY: the block was not freed.
        bytes += unsafe { malloc_usable_size(address as *mut c_void) } + HEADER_BYTES;
    }
    Some(Survivors { count, bytes: u32::try_from(bytes).ok()?, bits })
}

/// Makes room for survivors of so many bytes, and for calls. Nothing else may have been allocated by then.
pub(super) fn reserve(bytes: usize) {
    // SAFETY: memory is taken and given back at once: it is the end of the heap from now on.
    unsafe { free(malloc(bytes + CALL_BYTES)) };
    BOUNDARY.set(core::arch::wasm32::memory_size::<0>() * PAGE_BYTES);
}

/// Begins to part the survivors from all others, in a memory that has room for them.
pub(super) fn begin_second(survivors: Survivors) {
    START.set(Start::Second(Second { count: 0, survivors, boundary: BOUNDARY.get(), temporary: 0, is_full: false }));
}

/// Returns where the snapshot ends; `None` if the second time was not like the first.
pub(super) fn end_second() -> Option<usize> {
    let Start::Second(second) = START.replace(Start::None) else { return None };
    let is_like_first = second.count == second.survivors.count && second.temporary == 0 && !second.is_full;
    is_like_first.then_some(second.boundary)
}

/// The heap of the engine.
pub(crate) struct SnapshotAllocator;

// SAFETY: each block is the C library's or that of the temporary heap, and handed back to the same; both keep the
// trait's contract.
unsafe impl Allocator for SnapshotAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        START.with_borrow_mut(|start| match start {
            // SAFETY: any size may be asked for.
            Start::None => unsafe { malloc(size) }.cast(),
            Start::First(first) => first.alloc(size),
            Start::Second(second) => second.alloc(size),
        })
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if START.with_borrow(|start| matches!(start, Start::None)) {
            // SAFETY: any size may be asked for.
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
            // SAFETY: the caller keeps the contract of this function.
            Start::None => unsafe { free(pointer.cast()) },
            Start::First(first) => first.free(pointer),
            Start::Second(second) => second.free(pointer),
        });
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, new_size: usize) -> *mut u8 {
        if START.with_borrow(|start| matches!(start, Start::None)) {
            // SAFETY: the caller keeps the contract of this function.
            return unsafe { realloc(pointer.cast(), new_size) }.cast();
        }
        // Always another block, so that it has a number of its own.
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
        START.with_borrow(|start| match start {
            // SAFETY: the block is of the temporary heap.
            Start::Second(second) if second.is_temporary(pointer) => usable(unsafe { temporary_size(pointer) }),
            // SAFETY: the caller keeps the contract of this function.
            _ => unsafe { malloc_usable_size(pointer.cast()) },
        })
    }
}

impl First {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: any size may be asked for.
        let block = unsafe { malloc(size) };
        if !block.is_null() {
            self.alive.insert(block.addr(), self.count);
            // SAFETY: it is a block of the C library.
            self.is_odd |= unsafe { malloc_usable_size(block) } != usable(size);
        }
        self.count += 1;
        block.cast()
    }

    fn free(&mut self, pointer: *mut u8) {
        if !pointer.is_null() {
            self.alive.remove(&pointer.addr());
            // Zeros take no room in a snapshot, should this memory become one.
            // SAFETY: nobody uses the block any more.
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
            // SAFETY: any size may be asked for.
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
            // SAFETY: the block is of the temporary heap, and nobody uses it any more.
            unsafe { temporary_free(pointer) };
        } else {
            // SAFETY: it is a block of the C library.
            unsafe { free(pointer.cast()) };
        }
    }

    fn is_temporary(&self, pointer: *mut u8) -> bool {
        pointer.addr() >= self.boundary
    }
}

/// Bytes of a block that the C library returns for so many: what is left of the next multiple of its alignment.
fn usable(size: usize) -> usize {
    const ALIGNMENT: usize = 16;
    (size + OVERHEAD_BYTES).next_multiple_of(ALIGNMENT) - OVERHEAD_BYTES
}

/// What the C library keeps of a block for itself.
const OVERHEAD_BYTES: usize = 4;

/// The heap of what does not survive; it takes pages of its own.
static TEMPORARY: GlobalDlmalloc = GlobalDlmalloc;
/// Ahead of a block of the temporary heap: its size.
const HEADER_BYTES: usize = 16;

fn temporary_alloc(size: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(usable(size) + HEADER_BYTES, HEADER_BYTES) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is not empty, and the header lies within it.
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
/// The block must be of [`temporary_alloc`], and not freed.
unsafe fn temporary_size(block: *mut u8) -> usize {
    // SAFETY: the header is ahead of it.
    unsafe { block.sub(HEADER_BYTES).cast::<usize>().read() }
}

/// # Safety
/// As for [`temporary_size`]; nobody may use the block any more.
unsafe fn temporary_free(block: *mut u8) {
    // SAFETY: it was allocated with this very layout.
    unsafe {
        let bytes = usable(temporary_size(block)) + HEADER_BYTES;
        TEMPORARY.dealloc(block.sub(HEADER_BYTES), Layout::from_size_align_unchecked(bytes, HEADER_BYTES));
    }
}

/// Memory that the builder fills before it calls: of the temporary heap, and cleared once it is dropped.
pub(super) struct Handed(&'static mut [u8]);

/// Returns the address of memory for so many bytes.
pub(super) fn hand_over(length: usize) -> *mut u8 {
    temporary_alloc(length)
}

impl Handed {
    /// # Safety
    /// The memory must be of [`hand_over`] for this length, filled, and nobody else's.
    pub(super) unsafe fn take(pointer: *mut u8, length: usize) -> Self {
        // SAFETY: the caller keeps the contract of this function.
        Self(unsafe { slice::from_raw_parts_mut(pointer, length) })
    }
}

impl Deref for Handed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.0.fill(0);
        // SAFETY: it is of the temporary heap, and not used from here on.
        unsafe { temporary_free(self.0.as_mut_ptr()) };
    }
}
