//! ggml's own `rpc-server`, which knows neither our handshake nor our changes of its protocol.
//!
//! A message is a command, a length in eight bytes and so many bytes; an answer a length and so
//! many bytes (ggml-rpc.cpp). Looked at are the version of the protocol, the devices with their
//! memory, and the length of names, which is part of a tensor's description: a server with another
//! one hangs up.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::deadline::DeadlineStream;
use super::handshake::{MAX_DEVICES, Misunderstood};
use crate::ffi;
use crate::protocol::RemoteError;
use atelier_core::device::{Device, DeviceKind};

const DEVICE_MEMORY: u8 = 11;
const ALLOCATION_SIZE: u8 = 13;
const HELLO: u8 = 14;
const DEVICE_COUNT: u8 = 15;

/// Bytes of the capabilities in a greeting; all zero, since TCP needs none.
const CAPABILITIES_BYTES: usize = 24;
/// Sources in the description of a tensor that is asked for.
const SOURCES: usize = 10;

/// A server that cannot be used, or was not understood.
pub(super) enum LookError {
    Remote(RemoteError),
    Misunderstood(Misunderstood),
}

impl<E: Into<Misunderstood>> From<E> for LookError {
    fn from(why: E) -> Self {
        Self::Misunderstood(why.into())
    }
}

impl From<RemoteError> for LookError {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

/// What a stock server says of itself.
pub(super) struct Look {
    pub(super) devices: Vec<Device>,
    /// Version of its protocol, as text.
    pub(super) version: String,
    /// Greeted, and free for further requests.
    pub(super) connection: TcpStream,
}

/// Looks at a stock server. `open` makes a connection; each is given up after `limit`.
pub(super) fn look(server: &str, open: impl Fn() -> Result<TcpStream, RemoteError>, limit: Duration) -> Result<Look, LookError> {
    let (ours, _) = ffi::wire_versions();
    let ours = ours.split('/').next().unwrap_or_default();
    let other_version = |theirs: &[u8]| RemoteError::StockVersion {
        server: server.to_owned(),
        theirs: theirs.iter().map(u8::to_string).collect::<Vec<_>>().join("."),
        ours: ours.to_owned(),
    };
    let connection = open()?;
    let mut stream = DeadlineStream::new(&connection, limit);
    let theirs = match exchange(&mut stream, HELLO, &[0; CAPABILITIES_BYTES], 4 + CAPABILITIES_BYTES) {
        Ok(answer) => answer,
        // Before version 4 a greeting was empty.
        Err(Misunderstood::HungUp) => {
            let connection = open()?;
            let theirs = exchange(&mut DeadlineStream::new(&connection, limit), HELLO, &[], 3)?;
            return Err(other_version(&theirs).into());
        }
        Err(why) => return Err(why.into()),
    };
    let theirs = theirs.get(..3).unwrap_or_default();
    if !is_compatible(theirs, ours) {
        return Err(other_version(theirs).into());
    }
    let count = number(&exchange(&mut stream, DEVICE_COUNT, &[], 4)?);
    if count == 0 || count > MAX_DEVICES as u64 {
        return Err(Misunderstood::Stranger.into());
    }
    match exchange(&mut stream, ALLOCATION_SIZE, &vector_of_four(ffi::rpc_tensor_bytes()), 8) {
        Err(Misunderstood::HungUp) => return Err(RemoteError::StockNames(server.to_owned()).into()),
        answer => answer?,
    };
    let devices = (0..u32::try_from(count).unwrap_or(0)).map(|index| {
        let memory = exchange(&mut stream, DEVICE_MEMORY, &index.to_le_bytes(), 16)?;
        let (free, total) = memory.split_at_checked(8).unwrap_or_default();
        Ok(Device {
            name: format!("RPC{index}"),
            description: "ggml rpc-server".to_owned(),
            kind: DeviceKind::Remote,
            gpu: None,
            memory_total_bytes: number(total),
            memory_free_bytes: number(free).min(number(total)),
            memory_allocated_bytes: 0,
        })
    });
    let devices = devices.collect::<Result<Vec<_>, Misunderstood>>()?;
    let version = theirs.iter().map(u8::to_string).collect::<Vec<_>>().join(".");
    Ok(Look { devices, version: format!("ggml {version}"), connection })
}

/// A short request and its answer.
pub(super) fn ping(connection: &TcpStream, limit: Duration) -> io::Result<()> {
    let answer = exchange(&mut DeadlineStream::new(connection, limit), DEVICE_COUNT, &[], 4);
    answer.map(drop).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The same major version, and no later minor one: as ggml's client decides it.
fn is_compatible(theirs: &[u8], ours: &str) -> bool {
    let ours: Vec<u8> = ours.split('.').filter_map(|part| part.parse().ok()).collect();
    theirs.first() == ours.first() && theirs.get(1) <= ours.get(1)
}

/// The description of a tensor of four floats, and of no sources, as a request for its size on
/// device 0.
fn vector_of_four(tensor_bytes: usize) -> Vec<u8> {
    let mut request = vec![0; 4 + tensor_bytes * (1 + SOURCES)];
    // Identity, type, buffer, shape, strides.
    let fields = [1_u64.to_le_bytes().to_vec(), vec![0; 4 + 8], words(&[4, 1, 1, 1]), words(&[4, 16, 16, 16])].concat();
    if let Some(tensor) = request.get_mut(4..4 + fields.len()) {
        tensor.copy_from_slice(&fields);
    }
    request
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Sends a command and reads its answer of `expected` bytes.
fn exchange(stream: &mut (impl Read + Write), command: u8, body: &[u8], expected: usize) -> Result<Vec<u8>, Misunderstood> {
    let length = (body.len() as u64).to_le_bytes();
    stream.write_all(&[&[command][..], &length, body].concat())?;
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    if u64::from_le_bytes(length) != expected as u64 {
        return Err(Misunderstood::Stranger);
    }
    let mut answer = vec![0; expected];
    match stream.read_exact(&mut answer) {
        // It answered before.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Misunderstood::Stranger),
        read => Ok(read.map(|()| answer)?),
    }
}
