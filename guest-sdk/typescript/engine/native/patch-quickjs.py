"""Patches the source of QuickJS: prints it so that src/sandbox/allocator.rs can place each small block.

While kitbag_asks is set, kitbag_avoids_arena is called once for each small block, immediately before it is allocated.
If it returns nonzero, the block is allocated as large blocks are. Such a block has the usable size that it would have in an
arena, and stays where it is while it fits.
"""

import sys

REPLACEMENTS = [
    (
        "#define JS_ARENA_LARGE_BLOCKS_ONLY 0\n",
        """#define JS_ARENA_LARGE_BLOCKS_ONLY (kitbag_asks && kitbag_avoids_arena())
int kitbag_asks;
int (*kitbag_avoids_arena)(void);
""",
    ),
    # Small blocks only, in js_arena_malloc.
    (
        """        sizeof(JSMallocBlockHeader);
    if (!JS_ARENA_LARGE_BLOCKS_ONLY && total_size <= JS_ARENA_MAX_SMALL_SIZE) {
        int block_size_idx;
""",
        """        sizeof(JSMallocBlockHeader);
    if (total_size <= JS_ARENA_MAX_SMALL_SIZE && !JS_ARENA_LARGE_BLOCKS_ONLY) {
        int block_size_idx;
""",
    ),
    # js_arena_calloc leaves the question to js_arena_malloc.
    (
        """    if (!JS_ARENA_LARGE_BLOCKS_ONLY && total_size <= JS_ARENA_MAX_SMALL_SIZE) {
        /* Small blocks are carved""",
        """    if (total_size <= JS_ARENA_MAX_SMALL_SIZE) {
        /* Small blocks are carved""",
    ),
    # An arena for survivors is no allocation of the script.
    (
        """    ar = rt->mf.js_malloc(rt->malloc_state.opaque,
                          sizeof(JSArena) + (size_t)n_blocks * block_size);
""",
        """    ar = kitbag_asks ? malloc(sizeof(JSArena) + (size_t)n_blocks * block_size)
        : rt->mf.js_malloc(rt->malloc_state.opaque,
                           sizeof(JSArena) + (size_t)n_blocks * block_size);
""",
    ),
    # js_arena_realloc treats all blocks like those of arenas; large ones always move.
    (
        """    b = container_of(ptr, JSMallocBlockHeader, user_data);
    if (b->u.block_idx == JS_ARENA_FREE_NIL) {
        if (b == arena_zero_block(rt)) {
            return js_arena_malloc(rt, size);
""",
        """    b = container_of(ptr, JSMallocBlockHeader, user_data);
    if (b->u.block_idx == JS_ARENA_FREE_NIL && (!kitbag_asks || b == arena_zero_block(rt))) {
        if (b == arena_zero_block(rt)) {
            return js_arena_malloc(rt, size);
""",
    ),
    (
        """        unsigned int block_size = arena_block_sizes[b->block_size_idx];
        size_t total_size, old_usable;
""",
        """        size_t block_size = js_arena_usable_size(rt, ptr) + sizeof(JSMallocBlockHeader);
        size_t total_size, old_usable;
""",
    ),
    (
        """        if (total_size <= block_size)
            return ptr; /* still fits the current size class */
""",
        """        if (total_size <= block_size && block_size <= JS_ARENA_MAX_SMALL_SIZE)
            return ptr; /* still fits the current size class */
""",
    ),
]

source = open(sys.argv[1], encoding="utf-8").read()
for old, new in REPLACEMENTS:
    if source.count(old) != 1:
        sys.exit(f"{sys.argv[1]} has changed; {sys.argv[0]} expects once:\n{old}")
    source = source.replace(old, new)
sys.stdout.write(source)
