//! Connections to a server. Every wait has a limit.

use std::cell::RefCell;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::handshake::{Answer, Misunderstood, Purpose, read_answer, wire_version, write_hello};
use crate::protocol::{RemoteError, ServerAddress};
use crate::{devices, ffi};
use atelier_core::device::Device;

const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// A server waits for a borrower that is just leaving before it answers the next.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which a wait in the engine looks at its limit.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A connection after its handshake.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) devices: Vec<Device>,
}

/// Connects, and exchanges the handshake.
pub(super) fn connect(server: &str, purpose: Purpose) -> Result<Connection, RemoteError> {
    let mut stream = open(server)?;
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RemoteError::Silent(server.to_owned()),
        _ => RemoteError::Lost(server.to_owned()),
    };
    let misunderstood = |why| match why {
        Misunderstood::Stranger => RemoteError::NotAtelier(server.to_owned()),
        Misunderstood::Io(error) => io(error),
    };
    stream.set_nodelay(true).map_err(io)?;
    stream.set_read_timeout(Some(HANDSHAKE_LIMIT)).map_err(io)?;
    stream.set_write_timeout(Some(HANDSHAKE_LIMIT)).map_err(io)?;
    let ours = our_version();
    write_hello(&mut stream, purpose, &ours).map_err(|error| misunderstood(error.into()))?;
    let (answer, theirs) = read_answer(&mut stream).map_err(misunderstood)?;
    match answer {
        Answer::Welcome(_) if theirs != ours => Err(RemoteError::OtherVersion { server: server.to_owned(), theirs, ours }),
        Answer::Welcome(lent) => {
            let (devices, direct): (Vec<Device>, _) = lent.into_iter().map(|it| (it.device, it.convolves_directly)).unzip();
            devices::describe_server(server, devices.clone(), direct);
            Ok(Connection { stream, devices })
        }
        Answer::Busy => Err(RemoteError::Busy(server.to_owned())),
        Answer::OtherVersion => Err(RemoteError::OtherVersion { server: server.to_owned(), theirs, ours }),
    }
}

fn open(server: &str) -> Result<TcpStream, RemoteError> {
    let addresses = server.to_socket_addrs().map_err(|_| RemoteError::Unknown(server.to_owned()))?;
    for address in addresses {
        if let Ok(stream) = TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            return Ok(stream);
        }
    }
    Err(RemoteError::Unreachable(server.to_owned()))
}

/// The wire version of this program.
pub(super) fn our_version() -> String {
    let (rpc, engine) = ffi::wire_versions();
    wire_version(&rpc, &engine)
}

/// Queries the devices of a server.
pub(super) fn query(server: &ServerAddress) -> Result<Vec<Device>, RemoteError> {
    connect(server.as_str(), Purpose::Query).map(|connection| connection.devices)
}

thread_local! {
    static LAST: RefCell<Option<RemoteError>> = const { RefCell::new(None) };
}

/// Opens a connection for the engine, which asks for it in the middle of its work; where there is none, [`last_error`] says why.
pub(crate) fn dial(server: &str) -> Option<TcpStream> {
    let dialled = connect(server, Purpose::Work).and_then(|connection| {
        let stream = connection.stream;
        let limited = stream.set_read_timeout(Some(POLL_INTERVAL)).and_then(|()| stream.set_write_timeout(Some(POLL_INTERVAL)));
        limited.map(|()| stream).map_err(|_| RemoteError::Lost(server.to_owned()))
    });
    let (stream, problem) = match dialled {
        Ok(stream) => (Some(stream), None),
        Err(problem) => (None, Some(problem)),
    };
    LAST.set(problem);
    stream
}

/// The error of this thread's last call of [`dial`].
pub(crate) fn last_error() -> Option<RemoteError> {
    LAST.take()
}
