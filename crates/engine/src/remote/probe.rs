//! Looking at a server: whether it answers, what it lends, and how good the way to it is.
//!
//! After the greeting the borrower sends lengths, each followed by so many bytes, and the server
//! answers each with the length. Short ones measure the way there and back, long ones how much fits
//! through. Of a stock server only the way there and back is measured.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::deadline::DeadlineStream;
use super::dial::{Connection, connect};
use super::handshake::Purpose;
use super::stock;
use crate::protocol::{NotAnAddress, RemoteError, ServerAddress};
use atelier_core::device::Device;

const PINGS: u32 = 5;
const SMALL: usize = 256 << 10;
const LARGE: usize = 8 << 20;
/// A way on which the small parcel takes longer is not asked to carry the large one.
const SLOW: Duration = Duration::from_millis(200);
/// Of all parcels together, on a slow way.
const TOTAL_LIMIT: Duration = Duration::from_secs(30);

/// Devices of a server, and the quality of the connection.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteReport {
    /// The devices that it serves.
    pub devices: Vec<Device>,
    /// There and back, the median of a few.
    pub round_trip: Duration,
    /// Bytes a second from here to there; `None` for a stock server.
    pub bandwidth: Option<f64>,
    /// The wire version that both ends have.
    pub wire_version: String,
    /// It is ggml's own program.
    pub is_stock: bool,
}

/// Looks at a server without borrowing anything; also answered while its devices are lent. Takes a
/// second, or up to half a minute on a bad way: never call it on the window's thread.
///
/// # Errors
/// If no server of Atelier's answers, with advice.
pub fn probe(host: &str, port: u16) -> Result<RemoteReport, RemoteError> {
    let address: ServerAddress =
        format!("{host}:{port}").parse().map_err(|_: NotAnAddress| RemoteError::Unknown(format!("{host}:{port}")))?;
    let server = address.as_str();
    let Connection { stream, devices, version: wire_version, is_stock } = connect(server, Purpose::Query)?;
    let lost = |_: io::Error| RemoteError::Lost(server.to_owned());
    let mut limited = DeadlineStream::new(&stream, TOTAL_LIMIT);
    let mut ping = || {
        let start = Instant::now();
        if is_stock { stock::ping(&stream, TOTAL_LIMIT).map(|()| start.elapsed()) } else { send(&mut limited, 1) }
    };
    let mut times = (0..PINGS).map(|_| ping()).collect::<io::Result<Vec<_>>>().map_err(lost)?;
    times.sort_unstable();
    let round_trip = times.get(times.len() / 2).copied().unwrap_or_default();
    if is_stock {
        return Ok(RemoteReport { devices, round_trip, bandwidth: None, wire_version, is_stock });
    }
    let (mut bytes, mut took) = (SMALL, send(&mut limited, SMALL).map_err(lost)?);
    if took < SLOW {
        (bytes, took) = (LARGE, send(&mut limited, LARGE).map_err(lost)?);
    }
    // The answer travels back once.
    let one_way = took.saturating_sub(round_trip / 2).max(Duration::from_micros(1));
    let bandwidth = Some(bytes as f64 / one_way.as_secs_f64());
    Ok(RemoteReport { devices, round_trip, bandwidth, wire_version, is_stock })
}

/// Sends so many bytes and waits for the word that they arrived.
fn send(stream: &mut DeadlineStream<'_>, bytes: usize) -> io::Result<Duration> {
    let length = u32::try_from(bytes).map_err(io::Error::other)?.to_le_bytes();
    let parcel = vec![0; bytes];
    let start = Instant::now();
    stream.write_all(&length)?;
    stream.write_all(&parcel)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer)?;
    if answer != length {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(start.elapsed())
}

/// The server's side, until the borrower leaves or has had its time.
pub(super) fn answer(stream: &TcpStream) -> io::Result<()> {
    let mut stream = DeadlineStream::new(stream, 2 * TOTAL_LIMIT);
    let mut parcel = vec![0; 64 << 10];
    loop {
        let mut length = [0; 4];
        match stream.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let mut left = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if left > LARGE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        while left > 0 {
            let part = left.min(parcel.len());
            stream.read_exact(parcel.get_mut(..part).unwrap_or_default())?;
            left -= part;
        }
        stream.write_all(&length)?;
    }
}
