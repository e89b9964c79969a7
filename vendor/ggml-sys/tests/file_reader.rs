//! Weights are read past the system's cache or through it, with the same bytes.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "calls C")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Advice, OFlags, fadvise, statfs};

/// Of `file_reader.cpp`: read at once.
const WINDOW: usize = 4 << 20;
/// Smaller parts are read through the cache.
const MIN_PAST_CACHE: usize = 256 << 10;

/// A file of `size` bytes; every 8 of them are others.
fn file(name: &str, size: usize) -> (PathBuf, Vec<u8>) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut bytes: Vec<u8> =
        (0..size.div_ceil(8) as u64).flat_map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    bytes.truncate(size);
    fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// What was read of the file before does not count any more.
fn touch(path: &Path) {
    File::open(path).unwrap().set_modified(SystemTime::now()).unwrap();
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

/// The bytes, and how many of them did not come through the cache.
fn read(path: &Path, offset: usize, count: usize) -> Option<(Vec<u8>, usize)> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut bytes = vec![0_u8; count];
    // SAFETY: the path ends with a zero, and `bytes` has `count` bytes.
    let past_cache = unsafe { ggml_sys::atelier_read_file(path.as_ptr(), offset as u64, bytes.as_mut_ptr().cast(), count) };
    usize::try_from(past_cache).ok().map(|past_cache| (bytes, past_cache))
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
        assert!(read(&path, offset, count).unwrap().0 == bytes[offset..offset + count], "{offset} {count}");
        touch(&path);
        drop_cached(&path);
        let (got, past_cache) = read(&path, offset, count).unwrap();
        assert!(got == bytes[offset..offset + count], "{offset} {count}, not cached");
        assert!(past_cache > 0 || count < MIN_PAST_CACHE || !can_be_read_past_cache(&path), "{offset} {count}");
    }
}

#[test]
fn a_file_is_read_past_the_cache_once() {
    let (path, bytes) = file("once", 3 * WINDOW + 1);
    assert_eq!(read(&path, 0, bytes.len()), Some((bytes.clone(), 0)), "it is in the cache");
    let mut past_cache = Vec::new();
    for _ in 0..8 {
        drop_cached(&path);
        let (again, past) = read(&path, 0, bytes.len()).unwrap();
        assert!(again == bytes);
        past_cache.push(past);
    }
    assert!(past_cache[0] > 0 || !can_be_read_past_cache(&path), "{past_cache:?}");
    assert!(past_cache.iter().sum::<usize>() < 2 * bytes.len() && past_cache[7] == 0, "{past_cache:?}");
}

#[test]
fn what_is_not_there_is_not_read() {
    let (path, bytes) = file("short", 400_000);
    for _ in 0..2 {
        assert_eq!(read(&path, 0, bytes.len() + 1), None);
        assert_eq!(read(&path, bytes.len(), 1), None);
        assert_eq!(read(&path, bytes.len() + 5_000_000, 300_000), None);
        drop_cached(&path);
    }
    assert_eq!(read(&path.with_file_name("no such file"), 0, 1), None);
    assert_eq!(read(path.parent().unwrap(), 0, 1), None, "a folder");
}
