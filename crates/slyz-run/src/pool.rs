//! The memory pool: blocks of few sizes, kept for reuse when they are given back.
//!
//! Fresh pages cost several times the work of a streaming kernel, so blocks are reused, and large ones ask for
//! huge pages. Sizes are powers of two up to 2 MiB and multiples of 2 MiB above; blocks of a page or more start on a
//! page, large ones on 2 MiB. Blocks are zeroed when they are fresh and hold old data when reused, never undefined bytes.
//!
//! The pool does not limit what is in use, only what it keeps. Where a sanitizer looks for accesses outside of arrays, a
//! pool gives every block its own memory, of exactly the bytes that were asked for.

use crate::{Error, warn};
use std::alloc::Layout;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const SMALLEST: usize = 64;
/// The largest alignment that elements ask for.
const ELEMENT: usize = 16;
const PAGE: usize = 4096;
const LARGE: usize = 2 << 20;

/// A pool of memory blocks. Copies share it. It is there until the program ends, so that blocks need not count who uses it.
#[derive(Clone, Copy)]
pub struct Pool {
    inner: &'static Inner,
}

struct Inner {
    limit: usize,
    /// Blocks have exactly the bytes that were asked for, and none is kept.
    exact: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By size; each list from the block that was given back first to the latest.
    kept: BTreeMap<usize, VecDeque<(u64, Box<Memory>)>>,
    clock: u64,
    stats: PoolStats,
}

/// Numbers about a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of blocks in use.
    pub live_bytes: usize,
    /// Bytes of blocks kept for reuse.
    pub kept_bytes: usize,
    /// Blocks kept for reuse.
    pub kept_blocks: usize,
    /// Blocks that the system gave.
    pub fresh: u64,
    /// Blocks that were used again.
    pub reused: u64,
}

/// Numbers about the pool that all devices share.
pub fn pool_stats() -> PoolStats {
    Pool::global().stats()
}

impl Pool {
    /// A pool that keeps at most that many bytes which are not in use.
    pub fn new(limit: usize) -> Pool {
        Pool::of(Inner { limit, exact: false, state: Mutex::default() })
    }

    /// A pool for sanitizers: every block is the allocator's own, ends where the bytes that were asked for end, and is used once.
    pub fn exact() -> Pool {
        Pool::of(Inner { limit: 0, exact: true, state: Mutex::default() })
    }

    fn of(inner: Inner) -> Pool {
        Pool { inner: Box::leak(Box::new(inner)) }
    }

    /// The pool that all devices share. It keeps `SLYZ_POOL_MB` MiB, or a quarter of the machine's memory; with
    /// `SLYZ_POOL_EXACT=1` it is [`Pool::exact`].
    pub fn global() -> &'static Pool {
        static GLOBAL: OnceLock<Pool> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            if std::env::var("SLYZ_POOL_EXACT").is_ok_and(|set| set == "1") {
                return Pool::exact();
            }
            let default = physical_memory().map_or(4096 << 20, |bytes| bytes / 4);
            Pool::new(mebibytes("SLYZ_POOL_MB", std::env::var("SLYZ_POOL_MB").ok(), default as u64) as usize)
        })
    }

    /// A block of at least that many bytes; `what` is for the message when there is no memory.
    pub fn take(&self, bytes: usize, what: &dyn fmt::Display) -> Result<Block, Error> {
        let none = || Error::OutOfMemory { what: what.to_string(), bytes: bytes as u64 };
        let class = if self.inner.exact { Some(bytes.max(1)) } else { class_of(bytes) }.ok_or_else(none)?;
        let kept = self.inner.lock().reuse(class);
        let memory = match kept {
            Some(memory) => memory,
            None => self.fresh(class).ok_or_else(none)?,
        };
        Ok(Block { memory: Some(memory), pool: Some(*self) })
    }

    /// Does every block end where the bytes that were asked for end?
    #[cfg(feature = "cpu")]
    pub(crate) fn is_exact(&self) -> bool {
        self.inner.exact
    }

    /// Gives every block that is not in use back to the system.
    pub fn trim(&self) {
        let released = self.inner.lock().shrink_to(0);
        drop(released);
    }

    /// Numbers about the pool.
    pub fn stats(&self) -> PoolStats {
        self.inner.lock().stats
    }

    /// Memory from the system; when it has none, what the pool keeps goes back first.
    fn fresh(&self, class: usize) -> Option<Box<Memory>> {
        let memory = Memory::fresh(class, self.inner.exact).or_else(|| {
            self.trim();
            Memory::fresh(class, self.inner.exact)
        })?;
        let stats = &mut self.inner.lock().stats;
        stats.fresh += 1;
        stats.live_bytes += memory.size;
        Some(Box::new(memory))
    }
}

impl Inner {
    /// No code panics while it holds the lock, and the numbers would be right even so.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, memory: Box<Memory>) {
        let mut state = self.lock();
        state.stats.live_bytes -= memory.size;
        let released = if memory.size > self.limit {
            vec![*memory]
        } else {
            let released = state.shrink_to(self.limit - memory.size);
            state.keep(memory);
            released
        };
        // The system is slow to take memory back; others need not wait for it.
        drop(state);
        drop(released);
    }
}

impl State {
    /// A kept block of that class; above 2 MiB also one that is larger by up to an eighth.
    fn reuse(&mut self, class: usize) -> Option<Box<Memory>> {
        let size = if class > LARGE { *self.kept.range(class..=class + class / 8).next()?.0 } else { class };
        let list = self.kept.get_mut(&size)?;
        let (_, memory) = list.pop_back()?;
        self.forget_empty(size);
        self.stats.kept_bytes -= size;
        self.stats.kept_blocks -= 1;
        self.stats.live_bytes += size;
        self.stats.reused += 1;
        Some(memory)
    }

    fn keep(&mut self, memory: Box<Memory>) {
        self.clock += 1;
        self.stats.kept_bytes += memory.size;
        self.stats.kept_blocks += 1;
        self.kept.entry(memory.size).or_default().push_back((self.clock, memory));
    }

    /// Drops the list of a size that has run empty. Of small sizes there are few, and they come back soon.
    fn forget_empty(&mut self, size: usize) {
        if size > LARGE && self.kept.get(&size).is_some_and(VecDeque::is_empty) {
            self.kept.remove(&size);
        }
    }

    /// Takes out the blocks that were not used for longest until no more than `limit` bytes are kept.
    fn shrink_to(&mut self, limit: usize) -> Vec<Memory> {
        let mut released = vec![];
        while self.stats.kept_bytes > limit {
            let age = |list: &VecDeque<(u64, Box<Memory>)>| list.front().map_or(u64::MAX, |(time, _)| *time);
            let Some((&size, list)) = self.kept.iter_mut().min_by_key(|(_, list)| age(list)) else { break };
            released.extend(list.pop_front().map(|(_, memory)| *memory));
            self.forget_empty(size);
            self.stats.kept_bytes -= size;
            self.stats.kept_blocks -= 1;
        }
        released
    }
}

/// A block in use; dropping it gives it back to its pool.
pub struct Block {
    /// `None` only while it is dropped. Blocks change hands many times in a call, so their parts stay where they are.
    memory: Option<Box<Memory>>,
    /// Where it goes when it is dropped; `None` is where it came from.
    pool: Option<Pool>,
}

impl Block {
    /// All bytes of the block, which may be more than were asked for.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Memory` owns `size` bytes that were initialised when it was made and that only `bytes_mut`
        // and kernels write, both of which need the block exclusively; the borrow of `self` keeps it alive.
        self.memory.as_ref().map_or(&[], |m| unsafe { std::slice::from_raw_parts(m.start.as_ptr(), m.size) })
    }

    /// The same, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` is the only way to the memory while the slice lives.
        self.memory.as_mut().map_or(&mut [], |m| unsafe {
            m.is_untouched = false;
            std::slice::from_raw_parts_mut(m.start.as_ptr(), m.size)
        })
    }

    /// Memory that is somebody else's, and is given back by dropping its keeper.
    ///
    /// # Safety
    /// So many bytes from `start` on can be read as long as the keeper lives, and nobody writes to them.
    pub(crate) unsafe fn lent(start: *mut u8, size: usize, keeper: Box<dyn Send + Sync>) -> Block {
        let memory = NonNull::new(start).map(|start| Memory::new(start, size, Origin::Lent(keeper)));
        Block { memory: memory.map(Box::new), pool: None }
    }

    /// The memory of a list, of exactly its elements; `None` where it has none.
    pub(crate) fn of_vec<T: bytemuck::NoUninit>(data: Vec<T>) -> Option<Block> {
        let size = size_of_val(&data[..]);
        let layout = Layout::array::<T>(data.capacity()).ok()?;
        if size == 0 {
            return None;
        }
        // Whoever deallocates is the block from here on.
        let mut data = std::mem::ManuallyDrop::new(data);
        let start = NonNull::new(data.as_mut_ptr().cast::<u8>())?;
        let memory = Memory::new(start, size, Origin::Allocator(start, layout));
        Some(Block { memory: Some(Box::new(memory)), pool: None })
    }

    /// Memory of zeros, which the system finds when they are first touched; `None` where it has none, or nothing was asked for.
    ///
    /// What code writes there is as fast as in a block of a pool: it starts where vectors and lines of caches do, and large
    /// memory asks for huge pages. No pool keeps it, since none could give it out as zeros again for nothing.
    pub(crate) fn zeroed(size: usize) -> Option<Block> {
        let is_exact = Pool::global().inner.exact;
        let mut memory = match size {
            0 => return None,
            _ if is_exact || size >= LARGE => Memory::fresh(if is_exact { size } else { class_of(size)? }, is_exact)?,
            _ => Memory::untouched(size)?,
        };
        memory.is_untouched = true;
        Some(Block { memory: Some(Box::new(memory)), pool: None })
    }

    /// Is it what a result gets from a pool: pages that are there, from where vectors and lines of caches start? For zeros that nobody
    /// has written to the system is still to find pages, and a list starts where its elements may.
    pub(crate) fn is_as_of_a_pool(&self) -> bool {
        let is_aligned = |memory: &Memory| memory.start.addr().get().is_multiple_of(SMALLEST);
        self.memory.as_ref().is_some_and(|memory| !memory.is_untouched && is_aligned(memory))
    }

    /// Is it somebody else's? Then nobody writes to it.
    pub(crate) fn is_lent(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| matches!(memory.origin, Origin::Lent(_)))
    }

    /// Where it starts.
    pub fn start(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), |m| m.start.as_ptr())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match (self.memory.take(), self.pool) {
            (Some(memory), Some(pool)) => pool.inner.give_back(memory),
            // What is lent goes back to its owner, and a list's memory, whose size is of no class, to the allocator.
            (memory, None) => drop(memory),
            (None, Some(_)) => {}
        }
    }
}

/// Memory owned; dropping it gives it back to the system.
struct Memory {
    start: NonNull<u8>,
    size: usize,
    origin: Origin,
    is_untouched: bool,
}

/// Where memory came from, and goes back to.
enum Origin {
    /// The allocator, at an address of its choice.
    Allocator(NonNull<u8>, Layout),
    #[cfg(unix)]
    Mapping,
    /// Somebody else, who gets it back with this.
    Lent(#[allow(dead_code, reason = "it is there to be dropped")] Box<dyn Send + Sync>),
}

// SAFETY: `Memory` owns its bytes, and owning bytes is not tied to a thread.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` gives its address and size away, nothing more; see `Block` for access to the bytes.
unsafe impl Sync for Memory {}

/// The size of the block for a request, or `None` when no address space holds it.
fn class_of(bytes: usize) -> Option<usize> {
    let class = if bytes <= LARGE {
        Some(bytes.max(SMALLEST).next_power_of_two())
    } else {
        bytes.checked_next_multiple_of(LARGE)
    };
    class.filter(|&class| class <= isize::MAX as usize - LARGE)
}

impl Memory {
    fn new(start: NonNull<u8>, size: usize, origin: Origin) -> Memory {
        Memory { start, size, origin, is_untouched: false }
    }

    /// Zeros from the system.
    fn fresh(size: usize, exact: bool) -> Option<Memory> {
        #[cfg(unix)]
        if size >= LARGE && !exact {
            return mapping::new(size).map(|start| Memory::new(start, size, Origin::Mapping));
        }
        let align = if exact {
            SMALLEST
        } else if size >= LARGE {
            LARGE
        } else {
            size.min(PAGE)
        };
        let layout = Layout::from_size_align(size, align).ok()?;
        // SAFETY: no size is zero: classes begin with `SMALLEST`, exact sizes with 1.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Memory::new(start, size, Origin::Allocator(start, layout)))
    }

    /// Zeros from the allocator, which writes them itself where it is asked for more than its usual alignment. So it is asked for
    /// room to move the start.
    fn untouched(size: usize) -> Option<Memory> {
        let layout = Layout::from_size_align(size.checked_add(SMALLEST)?, ELEMENT).ok()?;
        // SAFETY: the layout is not empty.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        // SAFETY: the start moves by less than `SMALLEST`, of which there is more than `size`.
        let start = unsafe { base.add(base.align_offset(SMALLEST)) };
        Some(Memory::new(start, size, Origin::Allocator(base, layout)))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &self.origin {
            // SAFETY: `fresh`, `untouched` or a `Vec` allocated it with this layout, and it is dropped once.
            Origin::Allocator(base, layout) => unsafe { std::alloc::dealloc(base.as_ptr(), *layout) },
            #[cfg(unix)]
            Origin::Mapping => mapping::delete(self.start, self.size),
            Origin::Lent(_) => {}
        }
    }
}

/// Large blocks come from `mmap`: zeroed without being touched, and huge pages can be asked for before the first touch.
#[cfg(unix)]
mod mapping {
    use super::LARGE;
    use std::ptr::NonNull;

    pub(super) fn new(size: usize) -> Option<NonNull<u8>> {
        let whole = size.checked_add(LARGE)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory of ours.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), whole, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = base.cast::<u8>();
        let before = base.align_offset(LARGE);
        // SAFETY: `before < LARGE`, so `start .. start + size` and what is cut off on both sides lie inside the mapping,
        // which nothing else knows yet; all addresses are multiples of the page size.
        unsafe {
            let start = base.add(before);
            unmap(base, before);
            unmap(start.add(size), LARGE - before);
            #[cfg(target_os = "linux")]
            // A refusal means small pages, which work as well.
            libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE);
            NonNull::new(start)
        }
    }

    pub(super) fn delete(start: NonNull<u8>, size: usize) {
        // SAFETY: `new` left exactly this mapping, and its owner is gone.
        unsafe { unmap(start.as_ptr(), size) }
    }

    /// # Safety
    /// The range is mapped, starts on a page, and nothing refers to it.
    unsafe fn unmap(start: *mut u8, size: usize) {
        if size > 0 {
            // SAFETY: the caller's promise.
            unsafe { libc::munmap(start.cast(), size) };
        }
    }
}

/// Bytes of memory of the machine, where it can be asked.
fn physical_memory() -> Option<usize> {
    #[cfg(unix)]
    {
        // SAFETY: `sysconf` only reads its argument.
        let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        usize::try_from(pages).ok()?.checked_mul(usize::try_from(size).ok()?).filter(|&bytes| bytes > 0)
    }
    #[cfg(not(unix))]
    None
}

/// A number of MiB from the environment, in bytes. A value that is no number is told and not used.
pub(crate) fn mebibytes(variable: &str, value: Option<String>, default: u64) -> u64 {
    let Some(text) = value.filter(|text| !text.trim().is_empty()) else { return default };
    text.trim().parse::<u64>().map(|n| n.saturating_mul(1 << 20)).unwrap_or_else(|_| {
        let message = format!("{variable}=\"{text}\" is not a number of MiB and is not used; write a whole number");
        warn::warn_once(variable, &message);
        default
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert_eq!(class_of(0), Some(64));
        assert_eq!(class_of(65), Some(128));
        assert_eq!(class_of(LARGE), Some(LARGE));
        assert_eq!(class_of(LARGE + 1), Some(2 * LARGE));
        assert_eq!(class_of(usize::MAX), None);
        assert_eq!(class_of(isize::MAX as usize), None);
    }

    #[test]
    fn exact_blocks_end_where_they_should() {
        let pool = Pool::exact();
        for bytes in [0, 1, 77, LARGE + 3] {
            let block = pool.take(bytes, &"a test").expect("memory");
            assert_eq!((block.bytes().len(), block.start().addr() % SMALLEST), (bytes.max(1), 0));
        }
        assert_eq!(pool.stats(), PoolStats { fresh: 4, ..PoolStats::default() });
    }

    #[test]
    fn zeros_start_where_vectors_do() {
        for bytes in [1, 77, 5000, LARGE - 1, LARGE, LARGE + 3] {
            let mut block = Block::zeroed(bytes).expect("memory");
            assert!(block.bytes().len() >= bytes && block.bytes().iter().all(|&byte| byte == 0), "{bytes} bytes");
            assert_eq!(block.start().addr() % SMALLEST, 0, "{bytes} bytes");
            assert!(!block.is_as_of_a_pool(), "the system has found no pages for {bytes} bytes yet");
            block.bytes_mut()[0] = 1;
            assert!(block.is_as_of_a_pool(), "{bytes} bytes");
        }
        assert!(Block::zeroed(0).is_none() && Block::zeroed(usize::MAX).is_none());
    }

    #[test]
    fn mebibytes_from_text() {
        assert_eq!(mebibytes("SLYZ_TEST_MB", None, 7), 7);
        assert_eq!(mebibytes("SLYZ_TEST_MB", Some(" 3 ".into()), 7), 3 << 20);
        assert_eq!(mebibytes("SLYZ_TEST_MB", Some("many".into()), 7), 7);
    }
}
