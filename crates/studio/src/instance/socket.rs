//! The local socket between two starts: where it is, and one message over it, each side with a
//! limit of time.

#[cfg(unix)]
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interprocess::ConnectWaitMode;
use interprocess::local_socket::prelude::*;
use interprocess::local_socket::{ConnectOptions, Listener, ListenerOptions, Name, Stream};

use super::message;
#[cfg(unix)]
use atelier_core::owner_only;
use atelier_core::paths;

/// The first start's word that it has read a message.
const ACCEPTED: u8 = b'A';
/// Longest time that one side waits for the other.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Time between two looks at a connection.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Longest path of a socket on the systems that there are, in bytes; with room for the closing
/// zero.
#[cfg(unix)]
const MAX_SOCKET_PATH: usize = 100;

/// Address of the socket that belongs to a folder of data.
#[derive(Clone, Debug)]
pub(super) struct Address {
    #[cfg(unix)]
    path: PathBuf,
    #[cfg(not(unix))]
    name: String,
}

impl Address {
    /// In the person's runtime folder, else in the folder of data itself; `None` where neither
    /// leaves room for a name.
    #[cfg(unix)]
    pub(super) fn of(data: &Path) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt;
        let name = format!("window-{:016x}.sock", hash(data));
        let fits = |path: &PathBuf| path.as_os_str().as_bytes().len() <= MAX_SOCKET_PATH;
        let path = paths::runtime_folder().map(|it| it.join(&name)).into_iter().chain([data.join("window.sock")]).find(fits)?;
        Some(Self { path })
    }

    #[cfg(not(unix))]
    pub(super) fn of(data: &Path) -> Option<Self> {
        Some(Self { name: format!("atelier-window-{:016x}", hash(data)) })
    }

    #[cfg(unix)]
    fn name(&self) -> io::Result<Name<'_>> {
        self.path.as_path().to_fs_name::<interprocess::local_socket::GenericFilePath>()
    }

    #[cfg(not(unix))]
    fn name(&self) -> io::Result<Name<'_>> {
        self.name.as_str().to_ns_name::<interprocess::local_socket::GenericNamespaced>()
    }

    /// Listens. The caller holds the lock of this folder, so a socket that is there was left behind
    /// by a crash.
    pub(super) fn listen(&self) -> io::Result<Listener> {
        self.remove();
        #[cfg(unix)]
        if let Some(folder) = self.path.parent() {
            owner_only::create_folder(folder)?;
        }
        let listener = ListenerOptions::new().name(self.name()?).reclaim_name(false).create_sync()?;
        #[cfg(unix)]
        fs::set_permissions(&self.path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(listener)
    }

    /// Lets nobody find the socket any more.
    pub(super) fn remove(&self) {
        #[cfg(unix)]
        if let Err(error) = paths::remove_if_there(&self.path) {
            tracing::warn!("a socket of an earlier start is in the way: {error}");
        }
    }

    /// Sends one message and waits for the word that it was read.
    pub(super) fn send(&self, message: &[u8]) -> io::Result<()> {
        let mut stream: Stream =
            ConnectOptions::new().name(self.name()?).wait_mode(ConnectWaitMode::Timeout(ANSWER_WITHIN)).connect_sync()?;
        // Not every system has a limit for sending; a message fits into the socket's buffer.
        let _ = stream.set_send_timeout(Some(ANSWER_WITHIN));
        stream.write_all(message)?;
        stream.flush()?;
        let mut answer = [0; 1];
        read_within(&mut stream, &mut answer, Instant::now() + ANSWER_WITHIN)?;
        if answer == [ACCEPTED] { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "another program answered")) }
    }
}

/// FNV-1a: the same in every version of the program.
fn hash(path: &Path) -> u64 {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Reads a message from a connection that was accepted; the files are given to `take` before the
/// other side hears that they were read. It hears nothing where they are not taken (`None`), and
/// nothing is taken of a start that has given up waiting: it has opened its files itself, or asks
/// again.
pub(super) fn receive(mut stream: Stream, take: impl FnOnce(Vec<PathBuf>) -> Option<()>) -> io::Result<()> {
    let deadline = Instant::now() + ANSWER_WITHIN;
    let invalid = |error: message::MessageError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut bytes = vec![0; message::HEAD_BYTES];
    read_within(&mut stream, &mut bytes, deadline)?;
    bytes.resize(message::length(&bytes).map_err(invalid)?, 0);
    read_within(&mut stream, bytes.get_mut(message::HEAD_BYTES..).unwrap_or_default(), deadline)?;
    let files = message::decode(&bytes).map_err(invalid)?;
    let is_waiting = matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    if !is_waiting || take(files).is_none() {
        return Ok(());
    }
    stream.set_nonblocking(false)?;
    stream.write_all(&[ACCEPTED])?;
    stream.flush()
}

/// Fills the buffer, but not for longer than until `deadline`. Windows has no limit for reading, so
/// the connection is looked at again and again.
fn read_within(stream: &mut Stream, mut buffer: &mut [u8], deadline: Instant) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => buffer = buffer.get_mut(read..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() > deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
