//! Devices of other machines: borrowed from a server, lent by this one, or only looked at.
//!
//! ggml's own protocol moves tensors and graphs; before it both ends greet each other in words of
//! ours (`handshake`), so that a program which is not Atelier, or another version of it, is refused
//! with a sentence. Invariants: every wait has an end; what comes from the network is bounded and
//! checked; nothing is encrypted and nobody is asked who they are, so other addresses than loopback
//! are only listened at when that was asked for. Not here: sockets while pictures are made (the
//! shim's), and how it is shown.

mod borrowed;
mod confinement;
mod deadline;
mod dial;
mod guests;
mod handshake;
mod known;
mod probe;
mod serve;
mod stock;
mod weights_cache;

use atelier_core::device::Device;

pub use confinement::Confinement;
pub use probe::{RemoteReport, probe};
pub use serve::{ServeError, ServeEvent, ServeOptions, serve};

pub(super) use borrowed::describe;
pub(super) use dial::last_error;

use crate::protocol::{RemoteError, ServerAddress};
use crate::{devices, ffi};

/// Adds the devices of a server to this process and returns them. Adding a server again only asks
/// whether it answers. Waits for the server, then for the jobs that run.
pub(super) fn add(server: &ServerAddress) -> Result<Vec<Device>, RemoteError> {
    // A look first, because it can say what is wrong.
    dial::look(server.as_str())?;
    let lost = |_| last_error().unwrap_or_else(|| RemoteError::Lost(server.to_string()));
    ffi::connect_server(server.as_str(), dial::dial).map_err(lost)?;
    let adding = devices::lock_list_to_add();
    ffi::add_server(server.as_str()).map_err(lost)?;
    drop(adding);
    Ok(devices::of_server(server.as_str()))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::handshake::{Answer, Purpose, read_hello, write_answer};
    use super::*;
    use parking_lot::{Mutex, MutexGuard};

    /// The time-out belongs to the process.
    fn lock_time_out() -> MutexGuard<'static, ()> {
        static LOCK: Mutex<()> = Mutex::new(());
        LOCK.lock()
    }

    /// Each byte comes in time, and the whole answer never.
    #[test]
    fn a_server_that_answers_byte_by_byte_is_given_up() {
        let _lock = lock_time_out();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server: ServerAddress = listener.local_addr().unwrap().to_string().parse().unwrap();
        let serving = thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                read_hello(&mut stream).unwrap();
                write_answer(&mut stream, &Answer::Welcome(Vec::new()), &dial::our_version()).unwrap();
                // ggml's greeting, of which no answer would be the length.
                stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                while stream.write_all(&[28]).is_ok() {
                    match stream.read(&mut [0; 64]) {
                        Ok(0) => break,
                        Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                        Ok(_) | Err(_) => {}
                    }
                }
            }
        });
        ffi::set_response_timeout(300);
        let problem = add(&server).unwrap_err();
        ffi::set_response_timeout(0);
        assert_eq!(problem, RemoteError::Lost(server.to_string()));
        serving.join().unwrap();
    }

    #[test]
    fn a_server_that_greets_and_then_says_nothing_is_given_up() {
        let _lock = lock_time_out();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server: ServerAddress = listener.local_addr().unwrap().to_string().parse().unwrap();
        let serving = thread::spawn(move || {
            for wanted in [Purpose::Query, Purpose::Work] {
                let (mut stream, _) = listener.accept().unwrap();
                assert_eq!(read_hello(&mut stream).unwrap().0, wanted);
                write_answer(&mut stream, &Answer::Welcome(Vec::new()), &dial::our_version()).unwrap();
                // Reads what comes, until the other side has had enough.
                stream.read_to_end(&mut Vec::new()).unwrap();
            }
        });
        ffi::set_response_timeout(300);
        let problem = add(&server).unwrap_err();
        ffi::set_response_timeout(0);
        assert_eq!(problem, RemoteError::Lost(server.to_string()));
        serving.join().unwrap();
    }
}
