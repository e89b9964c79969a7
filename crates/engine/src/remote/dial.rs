//! Connections to a server. Every wait has a limit for the whole, and ends with the job that waits.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::deadline::DeadlineStream;
use super::handshake::{Answer, Misunderstood, Purpose, read_answer, wire_version, write_hello};
use super::{known, stock};
use crate::ffi::{self, DirectConvolutions};
use crate::protocol::RemoteError;
use atelier_core::device::Device;

/// For all addresses of a name together.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A server waits for a borrower that is just leaving before it answers the next.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// For everything; longer only where the system does not find the machine's name.
const TOTAL_LIMIT: Duration = Duration::from_secs(25);
/// Interval at which a wait looks at its limit and at a cancel.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A connection after its handshake.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) devices: Vec<Device>,
    /// The wire version of both ends.
    pub(super) version: String,
    /// The server is ggml's own program.
    pub(super) is_stock: bool,
}

/// Connects, and exchanges the handshake. Given up where this thread's job is cancelled.
pub(super) fn connect(server: &str, purpose: Purpose) -> Result<Connection, RemoteError> {
    let (sender, connection) = mpsc::channel();
    let address = server.to_owned();
    // The system's search for a name and its connecting cannot be interrupted: the thread ends by
    // itself.
    let work = move || sender.send(greet(&address, purpose));
    let lost = || RemoteError::Lost(server.to_owned());
    if ffi::is_cancelled() {
        return Err(lost());
    }
    thread::Builder::new().name("dial".into()).spawn(work).map_err(|_| lost())?;
    let deadline = Instant::now() + TOTAL_LIMIT;
    loop {
        match connection.recv_timeout(POLL_INTERVAL) {
            Ok(connection) => return connection,
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            Err(RecvTimeoutError::Timeout) if ffi::is_cancelled() => return Err(lost()),
            Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => return Err(RemoteError::Silent(server.to_owned())),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn greet(server: &str, purpose: Purpose) -> Result<Connection, RemoteError> {
    let stream = open(server)?;
    let mut limited = DeadlineStream::new(&stream, HANDSHAKE_LIMIT);
    let version = our_version();
    let answer = write_hello(&mut limited, purpose, &version).map_err(Misunderstood::from).and_then(|()| read_answer(&mut limited));
    let (answer, theirs) = match answer {
        Ok(answer) => answer,
        Err(Misunderstood::HungUp) => return greet_stock(server, purpose),
        Err(why) => return Err(not_understood(server, &why)),
    };
    match answer {
        Answer::Welcome(lent) if theirs == version => {
            let (devices, direct): (Vec<Device>, _) = lent.into_iter().map(|it| (it.device, it.direct_convolutions)).unzip();
            known::describe(server, devices.clone());
            ffi::set_direct_convolutions(server, direct);
            Ok(Connection { stream, devices, version, is_stock: false })
        }
        Answer::Busy => Err(RemoteError::Busy(server.to_owned())),
        Answer::Welcome(_) | Answer::OtherVersion => Err(RemoteError::OtherVersion { server: server.to_owned(), theirs, ours: version }),
    }
}

/// A stock server hangs up at our first byte. It serves one connection after the other, and each
/// begins with its own greeting.
fn greet_stock(server: &str, purpose: Purpose) -> Result<Connection, RemoteError> {
    let stock::Look { devices, version, connection: looked_at } =
        stock::look(server, || open(server), HANDSHAKE_LIMIT).map_err(|error| match error {
            // It hung up, and does not listen any more.
            stock::LookError::Remote(RemoteError::Unreachable(server)) => RemoteError::NotAtelier(server),
            stock::LookError::Remote(error) => error,
            stock::LookError::Misunderstood(why) => not_understood(server, &why),
        })?;
    known::describe(server, devices.clone());
    ffi::set_direct_convolutions(server, vec![DirectConvolutions::None; devices.len()]);
    let stream = match purpose {
        // ggml's client begins with a greeting of its own.
        Purpose::Work => open(server)?,
        Purpose::Query => looked_at,
    };
    Ok(Connection { stream, devices, version, is_stock: true })
}

fn not_understood(server: &str, why: &Misunderstood) -> RemoteError {
    match why {
        Misunderstood::Stranger | Misunderstood::HungUp => RemoteError::NotAtelier(server.to_owned()),
        Misunderstood::Io(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RemoteError::Silent(server.to_owned()),
            _ => RemoteError::Lost(server.to_owned()),
        },
    }
}

fn open(server: &str) -> Result<TcpStream, RemoteError> {
    let addresses = server.to_socket_addrs().map_err(|_| RemoteError::Unknown(server.to_owned()))?;
    let deadline = Instant::now() + CONNECT_LIMIT;
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let connect = |address: SocketAddr| TcpStream::connect_timeout(&address, left()).ok().filter(|stream| stream.set_nodelay(true).is_ok());
    addresses.into_iter().find_map(connect).ok_or_else(|| RemoteError::Unreachable(server.to_owned()))
}

/// The wire version of this program.
pub(super) fn our_version() -> String {
    let (rpc, engine) = ffi::wire_versions();
    wire_version(&rpc, &engine)
}

/// Queries the devices of a server.
pub(super) fn look(server: &str) -> Result<Vec<Device>, RemoteError> {
    connect(server, Purpose::Query).map(|connection| connection.devices)
}

thread_local! {
    static LAST: RefCell<Option<RemoteError>> = const { RefCell::new(None) };
}

/// Opens a connection for the engine, which asks for it in the middle of its work; true beside a
/// stock server's. Where there is none, [`last_error`] says why.
pub(super) fn dial(server: &str) -> Option<(TcpStream, bool)> {
    let dialled = connect(server, Purpose::Work).and_then(|Connection { stream, is_stock, .. }| {
        let limited = stream.set_read_timeout(Some(POLL_INTERVAL)).and_then(|()| stream.set_write_timeout(Some(POLL_INTERVAL)));
        limited.map(|()| (stream, is_stock)).map_err(|_| RemoteError::Lost(server.to_owned()))
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
