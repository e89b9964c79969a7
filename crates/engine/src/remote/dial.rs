//! Reaching a server: connecting and greeting, with an end to every wait.

use std::cell::RefCell;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::handshake::{Answer, Misunderstood, Purpose, read_answer, wire_version, write_hello};
use crate::protocol::{RemoteError, ServerAddress};
use crate::{devices, ffi};
use atelier_core::device::Device;

const CONNECT: Duration = Duration::from_secs(3);
/// A server waits for a borrower that is just leaving before it answers the next.
const GREETING: Duration = Duration::from_secs(10);
/// How often a wait in the engine looks whether it has lasted long enough.
const SLICE: Duration = Duration::from_millis(250);

/// A connection behind the greeting.
pub(super) struct Greeted {
    pub(super) stream: TcpStream,
    pub(super) devices: Vec<Device>,
}

/// Connects and greets.
pub(super) fn greet(server: &str, purpose: Purpose) -> Result<Greeted, RemoteError> {
    let mut stream = connect(server)?;
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RemoteError::Silent(server.to_owned()),
        _ => RemoteError::Lost(server.to_owned()),
    };
    let misunderstood = |why| match why {
        Misunderstood::Stranger => RemoteError::NotAtelier(server.to_owned()),
        Misunderstood::Io(error) => io(error),
    };
    stream.set_nodelay(true).map_err(io)?;
    stream.set_read_timeout(Some(GREETING)).map_err(io)?;
    stream.set_write_timeout(Some(GREETING)).map_err(io)?;
    let ours = our_version();
    write_hello(&mut stream, purpose, &ours).map_err(|error| misunderstood(error.into()))?;
    let (answer, theirs) = read_answer(&mut stream).map_err(misunderstood)?;
    match answer {
        Answer::Welcome(_) if theirs != ours => Err(RemoteError::OtherVersion { server: server.to_owned(), theirs, ours }),
        Answer::Welcome(devices) => {
            devices::describe_server(server, devices.clone());
            Ok(Greeted { stream, devices })
        }
        Answer::Busy => Err(RemoteError::Busy(server.to_owned())),
        Answer::OtherVersion => Err(RemoteError::OtherVersion { server: server.to_owned(), theirs, ours }),
    }
}

fn connect(server: &str) -> Result<TcpStream, RemoteError> {
    let addresses = server.to_socket_addrs().map_err(|_| RemoteError::Unknown(server.to_owned()))?;
    for address in addresses {
        if let Ok(stream) = TcpStream::connect_timeout(&address, CONNECT) {
            return Ok(stream);
        }
    }
    Err(RemoteError::Unreachable(server.to_owned()))
}

/// What this program must have in common with a server.
pub(super) fn our_version() -> String {
    let (rpc, engine) = ffi::wire_versions();
    wire_version(&rpc, &engine)
}

/// Looks whether a server answers, and what it lends.
pub(super) fn look(server: &ServerAddress) -> Result<Vec<Device>, RemoteError> {
    greet(server.as_str(), Purpose::Look).map(|greeted| greeted.devices)
}

thread_local! {
    static LAST: RefCell<Option<RemoteError>> = const { RefCell::new(None) };
}

/// Opens a connection for the engine, which asks for it in the middle of its work; where there is none, [`last_error`] says why.
pub(crate) fn dial(server: &str) -> Option<TcpStream> {
    let dialled = greet(server, Purpose::Work).and_then(|greeted| {
        let stream = greeted.stream;
        let limited = stream.set_read_timeout(Some(SLICE)).and_then(|()| stream.set_write_timeout(Some(SLICE)));
        limited.map(|()| stream).map_err(|_| RemoteError::Lost(server.to_owned()))
    });
    let (stream, problem) = match dialled {
        Ok(stream) => (Some(stream), None),
        Err(problem) => (None, Some(problem)),
    };
    LAST.set(problem);
    stream
}

/// Why this thread's last call of [`dial`] found nothing.
pub(crate) fn last_error() -> Option<RemoteError> {
    LAST.take()
}
