//! Weights are read past the system's cache or through it, with the same bytes, and the system is
//! told what comes next.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "calls C")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, OFlags, fadvise, statfs};

/// Of `file_reader.cpp`: read at once.
const WINDOW: usize = 4 << 20;
/// Smaller parts are read through the cache.
const MIN_PAST_CACHE: usize = 256 << 10;
/// What the system is told of ahead of a read.
const AHEAD: usize = 16 << 20;
/// Free memory that has no room for a copy in the cache, and that has.
const SHORT: u64 = 1;
const AMPLE: u64 = u64::MAX;

/// A file of `size` bytes; every 8 of them are others.
fn file(name: &str, size: usize) -> (PathBuf, Vec<u8>) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut bytes: Vec<u8> =
        (0..size.div_ceil(8) as u64).flat_map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    bytes.truncate(size);
    fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// Drops the file from the system's cache.
fn drop_cached(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

/// A file in memory is its own cache.
fn can_be_read_past_cache(path: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    statfs(path).unwrap().f_type as u64 != TMPFS
        && OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path).is_ok()
}

/// The bytes, and how many of them did not come through the cache. `announced`: how much of the file
/// from `offset` on is to be read. `free`: bytes of memory.
fn read_of(path: &Path, offset: usize, count: usize, announced: usize, free: u64) -> Option<(Vec<u8>, usize)> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut bytes = vec![0_u8; count];
    // SAFETY: the path ends with a zero, and `bytes` has `count` bytes.
    let past_cache =
        unsafe { ggml_sys::atelier_read_file(path.as_ptr(), offset as u64, bytes.as_mut_ptr().cast(), count, announced as u64, free) };
    usize::try_from(past_cache).ok().map(|past_cache| (bytes, past_cache))
}

fn read(path: &Path, offset: usize, count: usize, free: u64) -> Option<(Vec<u8>, usize)> {
    read_of(path, offset, count, count, free)
}

/// Bytes that this thread asked disks for; `None` where the system does not count them.
fn asked_of_disks() -> Option<usize> {
    let text = fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse().ok()
}

#[test]
fn every_part_of_a_file_has_its_bytes_cached_or_not() {
    let size = 2 * WINDOW + 12_345;
    let (path, bytes) = file("parts", size);
    let parts = [
        (0, size),
        (0, 1),
        (size - 1, 1),
        (1, size - 1),
        (size - 300_001, 300_001),
        (4095, MIN_PAST_CACHE),
        (4096, MIN_PAST_CACHE + 1),
        (WINDOW - 3, 400_000),
        (WINDOW - 200_000, 200_000 + WINDOW),
        (2 * WINDOW - 1, 12_346),
        (17, 0),
    ];
    for (offset, count) in parts {
        let expected = &bytes[offset..offset + count];
        assert!(read(&path, offset, count, SHORT).unwrap().0 == expected, "{offset} {count}");
        drop_cached(&path);
        assert!(read(&path, offset, count, AMPLE).unwrap() == (expected.to_vec(), 0), "{offset} {count}, with room");
        // What was announced need not be what is read.
        drop_cached(&path);
        assert!(read_of(&path, offset, count, count / 2, AMPLE).unwrap().0 == expected, "{offset} {count}, half of it announced");
        drop_cached(&path);
        let (got, past_cache) = read(&path, offset, count, SHORT).unwrap();
        assert!(got == expected, "{offset} {count}, not cached");
        let is_past = past_cache > 0;
        assert_eq!(is_past, count >= MIN_PAST_CACHE && can_be_read_past_cache(&path), "{offset} {count}");
    }
}

#[test]
fn a_file_is_read_past_the_cache_once() {
    let (path, bytes) = file("once", 3 * WINDOW + 1);
    // Room for the weights or the cache's copy of them, not for both.
    let free = bytes.len() as u64 * 3 / 2;
    assert_eq!(read(&path, 0, bytes.len(), free), Some((bytes.clone(), 0)), "it is in the cache");
    let mut past_cache = Vec::new();
    for _ in 0..8 {
        drop_cached(&path);
        let (again, past) = read(&path, 0, bytes.len(), free).unwrap();
        assert!(again == bytes);
        past_cache.push(past);
    }
    assert!(past_cache[0] > 0 || !can_be_read_past_cache(&path), "{past_cache:?}");
    assert!(past_cache.iter().sum::<usize>() < 2 * bytes.len() && past_cache[7] == 0, "{past_cache:?}");
}

#[test]
fn the_disk_is_asked_ahead_for_what_will_be_read_and_for_nothing_else() {
    /// Of whole pages of every size, and less than is read past the cache.
    const LITTLE: usize = 64 << 10;
    let (path, bytes) = file("ahead", 2 * AHEAD + 3 * WINDOW);
    let asked = |count, announced, free| {
        // What is still on its way from the disk is not dropped.
        assert!(fs::read(&path).unwrap() == bytes);
        drop_cached(&path);
        let before = asked_of_disks()?;
        assert!(read_of(&path, WINDOW, count, announced, free).unwrap().0 == bytes[WINDOW..WINDOW + count]);
        Some(asked_of_disks()? - before)
    };
    let Some(all) = asked(2 * WINDOW, 2 * WINDOW, AMPLE).filter(|it| *it > 0) else {
        return eprintln!("what disks are asked for is not counted here");
    };
    assert_eq!(all, 2 * WINDOW, "all that was announced is read");
    assert_eq!(asked(LITTLE, LITTLE, AMPLE), Some(LITTLE));
    assert_eq!(asked(LITTLE, 2 * AHEAD, AMPLE), Some(AHEAD + WINDOW), "a window, and what follows it");
    assert_eq!(asked(LITTLE, WINDOW, AMPLE), Some(WINDOW), "no more than was announced");
    assert_eq!(asked(WINDOW + LITTLE, 0, AMPLE), Some(WINDOW + LITTLE), "nothing but what is read");
    assert_eq!(asked(LITTLE, 2 * AHEAD, SHORT), Some(LITTLE), "no copy in the cache where memory is short");
}

#[test]
fn what_is_not_there_is_not_read() {
    let (path, bytes) = file("short", 400_000);
    for _ in 0..2 {
        for free in [SHORT, AMPLE] {
            assert_eq!(read(&path, 0, bytes.len() + 1, free), None);
            assert_eq!(read(&path, bytes.len(), 1, free), None);
            assert_eq!(read(&path, bytes.len() + 5_000_000, 300_000, free), None);
        }
        drop_cached(&path);
    }
    assert_eq!(read(&path.with_file_name("no such file"), 0, 1, AMPLE), None);
    assert_eq!(read(path.parent().unwrap(), 0, 1, AMPLE), None, "a folder");
}
