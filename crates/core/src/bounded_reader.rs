//! A reader with a bound on what is read in all: for lists in files of strangers whose readers know
//! no bounds.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atelier_language::tr;

/// A reader of a bounded number of bytes, however often it goes back.
#[derive(Debug)]
pub struct BoundedReader<R> {
    inner: R,
    left: Arc<AtomicU64>,
}

/// The bound of a reader, to be lifted once the list was read.
#[derive(Debug)]
pub struct ReadBound(Arc<AtomicU64>);

impl ReadBound {
    /// Lets the rest be read.
    pub fn lift(&self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }
}

impl<R> BoundedReader<R> {
    /// A reader of at most so many bytes.
    pub fn new(inner: R, bytes: u64) -> (Self, ReadBound) {
        let left = Arc::new(AtomicU64::new(bytes));
        (Self { inner, left: Arc::clone(&left) }, ReadBound(left))
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("core-its-list-of-contents")));
        }
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..room])?;
        if left != u64::MAX {
            self.left.store(left.saturating_sub(read as u64), Ordering::Relaxed);
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for BoundedReader<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_read_again_count_again_until_the_bound_is_lifted() {
        let (mut reader, bound) = BoundedReader::new(io::Cursor::new([7; 10]), 15);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        reader.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(reader.read_to_end(&mut all).unwrap_err().kind(), io::ErrorKind::InvalidData);
        bound.lift();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 20);
    }
}
