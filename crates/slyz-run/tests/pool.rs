//! The memory pool: reuse, bounds, alignment, threads, and no abort without memory.

use slyz_run::{Error, Pool};

#[test]
fn a_block_is_used_again() {
    let pool = Pool::new(64 << 20);
    for bytes in [0, 1, 100, 5000, 2 << 20, (2 << 20) + 1, 7 << 20] {
        let first = pool.take(bytes, &"a test").unwrap();
        assert!(first.bytes().len() >= bytes);
        let start = first.start();
        drop(first);
        assert_eq!(pool.take(bytes, &"a test").unwrap().start(), start, "{bytes} bytes");
    }
    let stats = pool.stats();
    // 0 and 1 bytes share a class.
    assert_eq!((stats.live_bytes, stats.fresh, stats.reused), (0, 6, 8));
}

#[test]
fn fresh_blocks_are_zero_and_aligned() {
    let pool = Pool::new(0);
    for (bytes, align) in [(1, 64), (4096, 4096), (5000, 4096), (1 << 20, 4096), (2 << 20, 2 << 20), (9 << 20, 2 << 20)]
    {
        let block = pool.take(bytes, &"a test").unwrap();
        assert_eq!(block.start().addr() % align, 0, "{bytes} bytes");
        assert!(block.bytes().iter().all(|&b| b == 0), "{bytes} bytes");
    }
}

#[test]
fn a_slightly_larger_block_does() {
    let pool = Pool::new(64 << 20);
    drop(pool.take(18 << 20, &"a test").unwrap());
    assert_eq!(pool.take(16 << 20, &"a test").unwrap().bytes().len(), 18 << 20);
    drop(pool.take(8 << 20, &"a test").unwrap());
    assert_eq!(pool.take(4 << 20, &"a test").unwrap().bytes().len(), 4 << 20);
}

#[test]
fn what_is_kept_is_bounded_and_the_oldest_goes() {
    let pool = Pool::new(10 << 20);
    let (a, b, c) = (4 << 20, 6 << 20, 2 << 20);
    for bytes in [a, b, c] {
        drop(pool.take(bytes, &"a test").unwrap());
    }
    let stats = pool.stats();
    assert_eq!((stats.kept_bytes, stats.kept_blocks), (b + c, 2), "the first went");
    drop(pool.take(12 << 20, &"a test").unwrap());
    assert_eq!(pool.stats().kept_bytes, b + c, "larger than the bound, not kept");
    pool.trim();
    assert_eq!(pool.stats().kept_bytes, 0);
}

#[test]
fn threads_get_blocks_of_their_own() {
    let pool = Pool::new(8 << 20);
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            scope.spawn(move || {
                for turn in 0..200usize {
                    let mut block = pool.take(1 + turn * 97 % 9000, &"a test").unwrap();
                    block.bytes_mut().fill(thread);
                    std::thread::yield_now();
                    assert!(block.bytes().iter().all(|&b| b == thread));
                }
            });
        }
    });
    assert_eq!(pool.stats().live_bytes, 0);
}

#[test]
fn no_memory_is_an_error() {
    let pool = Pool::new(8 << 20);
    for bytes in [1 << 62, isize::MAX as usize, usize::MAX] {
        let error = pool.take(bytes, &"a very large test").err().unwrap();
        assert!(matches!(error, Error::OutOfMemory { bytes: b, .. } if b == bytes as u64));
        assert!(error.to_string().contains("a very large test"));
    }
    assert!(pool.take(1, &"a test").is_ok());
}
