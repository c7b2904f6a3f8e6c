/**
 * The flags of both processes. The young generation gets 8 MiB instead of 16, which costs a little more collection and saves
 * memory. The heap is limited to 1 GiB, since the containers are limited to 1.5 GiB.
 */
const heapLimits = ['--max-semi-space-size=8', '--max-old-space-size=1024']

/**
 * The Node flags of the API. V8 collects the old generation when it is twice as large as the live data. By default it does so at about
 * 1.4 times, which is every three seconds in a rush of starts: that costs 7 to 9 % of the CPU of a start, and saves 30 to 50 MiB.
 * A start takes as much CPU with a growth of 150 %, and with `--max-semi-space-size=32`.
 */
export const nodeFlags = [...heapLimits, '--heap-growing-percent=100']

/**
 * The Node flags of the operator. It works little and lives long, so V8 collects its garbage early. `--optimize-for-size` also
 * limits the young generation to 1 MiB. With it alone, V8 collects the old generation after each growth of a tenth, which slows
 * restarts with many worlds and costs CPU while nothing changes. A quarter instead costs 1 MiB after a burst of 1,000 worlds. Without
 * V8's middle compiler, Maglev, it needs 4 to 10 MiB less, and 12 % more CPU in a burst. With the heap limits alone, a burst takes a
 * third less CPU and 27 MiB more. `--no-turbofan` saves 7 MiB for a third more CPU. `--single-threaded-gc`, `--v8-pool-size=1` and
 * `--no-parallel-scavenge` make no clear difference.
 */
export const operatorNodeFlags = [...heapLimits, '--optimize-for-size', '--heap-growing-percent=25', '--no-maglev']

/**
 * The environment of the operator's allocator. With it, glibc returns each freed block of this size to the system. By default,
 * the memory of the first lists stays with the process.
 */
export const operatorMalloc = { MALLOC_MMAP_THRESHOLD_: '131072' }
