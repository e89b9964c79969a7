//! A connection whose transfers end at one moment, however the bytes come.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads and writes until a deadline; after it with `TimedOut`.
pub(super) struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> DeadlineStream<'a> {
    /// A connection that is given up `limit` from now.
    pub(super) fn new(stream: &'a TcpStream, limit: Duration) -> Self {
        Self { stream, deadline: Instant::now() + limit }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // A time-out of zero would be none.
        if left < Duration::from_millis(1) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        (&mut &*self.stream).read(bytes)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        (&mut &*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Each byte comes long before a time-out of its own; the deadline holds all the same.
    #[test]
    fn slow_bytes_do_not_put_the_deadline_off() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let (stop, stopped) = mpsc::channel::<()>();
        let writing = thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(20)).is_err_and(|error| error == mpsc::RecvTimeoutError::Timeout) {
                if (&slow).write_all(b"x").is_err() {
                    return;
                }
            }
        });
        let mut bytes = vec![0; 1 << 20];
        let error = DeadlineStream::new(&stream, Duration::from_millis(200)).read_exact(&mut bytes).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drop(stop);
        writing.join().unwrap();
    }
}
