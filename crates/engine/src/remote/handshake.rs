//! Handshake before ggml's protocol begins.
//!
//! The borrower: eight bytes that are Atelier's, one for what it wants, its wire version. The
//! server: the same eight, one for its answer, its wire version, and where the borrower is welcome,
//! the devices it lends. Lengths come first and are bounded. The first byte is none with which
//! ggml's own protocol begins, so that a stock program hangs up at once.

use std::io::{self, Read, Write};

use crate::ffi::DirectConvolutions;
use atelier_core::device::Device;
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"atelier\n";
/// The version of the greeting and of what our changes make of ggml's protocol.
const OURS: u32 = 2;
/// Bytes of a wire version.
const MAX_VERSION: usize = 128;
/// Bytes of a list of devices.
const MAX_DEVICES_BYTES: usize = 64 << 10;
/// Devices of one server: far more than any machine has. Mirrors `MAX_SERVER_DEVICES` of the shim.
pub(super) const MAX_DEVICES: usize = 64;
/// Characters of a name that a stranger chose.
const MAX_NAME: usize = 80;

/// Purpose of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Work,
    /// To look, and to measure the way.
    Query,
}

/// A device as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LentDevice {
    #[serde(flatten)]
    pub(super) device: Device,
    /// Where graphs made for it may ask for convolutions without unfolded images.
    #[serde(default)]
    pub(super) direct_convolutions: DirectConvolutions,
}

/// Answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// These devices are lent.
    Welcome(Vec<LentDevice>),
    /// Another borrower has them now.
    Busy,
    /// The two cannot speak with each other.
    OtherVersion,
}

/// A handshake that was not understood.
#[derive(Debug)]
pub(super) enum Misunderstood {
    /// The other end is not Atelier.
    Stranger,
    /// The other end closed the connection, as a stock server does at the first byte.
    HungUp,
    /// The connection failed.
    Io(io::Error),
}

impl From<io::Error> for Misunderstood {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::HungUp,
            _ => Self::Io(error),
        }
    }
}

/// Version on which both ends must agree; `rpc` is the shim's part of it.
pub(super) fn wire_version(rpc: &str, engine: &str) -> String {
    format!("{OURS}/{rpc}/{engine}")
}

pub(super) fn write_hello(to: &mut impl Write, purpose: Purpose, version: &str) -> io::Result<()> {
    let mut message = MAGIC.to_vec();
    message.push(match purpose {
        Purpose::Work => 1,
        Purpose::Query => 2,
    });
    push_version(&mut message, version);
    to.write_all(&message)
}

/// The purpose of the client, and its wire version.
pub(super) fn read_hello(from: &mut impl Read) -> Result<(Purpose, String), Misunderstood> {
    let purpose = match read_start(from)? {
        1 => Purpose::Work,
        2 => Purpose::Query,
        _ => return Err(Misunderstood::Stranger),
    };
    Ok((purpose, read_version(from)?))
}

pub(super) fn write_answer(to: &mut impl Write, answer: &Answer, version: &str) -> io::Result<()> {
    let mut message = MAGIC.to_vec();
    message.push(match answer {
        Answer::Welcome(_) => 1,
        Answer::Busy => 2,
        Answer::OtherVersion => 3,
    });
    push_version(&mut message, version);
    if let Answer::Welcome(devices) = answer {
        let text = serde_json::to_vec(devices)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        message.extend(length.to_le_bytes());
        message.extend(text);
    }
    to.write_all(&message)
}

/// The server's answer, and its wire version.
pub(super) fn read_answer(from: &mut impl Read) -> Result<(Answer, String), Misunderstood> {
    let kind = read_start(from)?;
    let version = read_version(from)?;
    let answer = match kind {
        1 => Answer::Welcome(read_devices(from)?),
        2 => Answer::Busy,
        3 => Answer::OtherVersion,
        _ => return Err(Misunderstood::Stranger),
    };
    Ok((answer, version))
}

fn push_version(message: &mut Vec<u8>, version: &str) {
    let length = version.len().min(MAX_VERSION);
    message.push(u8::try_from(length).unwrap_or(0));
    message.extend(version.as_bytes().iter().take(length));
}

fn read_start(from: &mut impl Read) -> Result<u8, Misunderstood> {
    // The first byte alone, so that a stranger who sends less is not waited for.
    let first = read_array::<1>(from)?;
    if first[..] != MAGIC[..1] {
        return Err(Misunderstood::Stranger);
    }
    let rest = read_array::<7>(from)?;
    if rest[..] != MAGIC[1..] {
        return Err(Misunderstood::Stranger);
    }
    Ok(u8::from_le_bytes(read_array(from)?))
}

fn read_version(from: &mut impl Read) -> Result<String, Misunderstood> {
    let length = usize::from(u8::from_le_bytes(read_array(from)?));
    if length > MAX_VERSION {
        return Err(Misunderstood::Stranger);
    }
    Ok(readable(&String::from_utf8_lossy(&read_bytes(from, length)?)))
}

fn read_devices(from: &mut impl Read) -> Result<Vec<LentDevice>, Misunderstood> {
    let length = usize::try_from(u32::from_le_bytes(read_array(from)?)).unwrap_or(usize::MAX);
    if length > MAX_DEVICES_BYTES {
        return Err(Misunderstood::Stranger);
    }
    let devices: Vec<LentDevice> = serde_json::from_slice(&read_bytes(from, length)?).map_err(|_| Misunderstood::Stranger)?;
    if devices.len() > MAX_DEVICES {
        return Err(Misunderstood::Stranger);
    }
    Ok(devices
        .into_iter()
        .map(|LentDevice { device, direct_convolutions }| LentDevice {
            device: Device {
                name: readable(&device.name),
                description: readable(&device.description),
                gpu: device.gpu.as_deref().map(readable),
                ..device
            },
            direct_convolutions,
        })
        .collect())
}

/// A stranger's text as it may be shown.
fn readable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_bytes(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use atelier_core::device::DeviceKind;

    fn device(description: &str) -> LentDevice {
        let device = Device {
            name: "GPU0".into(),
            description: description.into(),
            kind: DeviceKind::Gpu,
            gpu: None,
            memory_total_bytes: 8,
            memory_free_bytes: 4,
            memory_allocated_bytes: 0,
        };
        LentDevice { device, direct_convolutions: DirectConvolutions::Vae }
    }

    #[test]
    fn what_is_said_is_what_is_heard() {
        for purpose in [Purpose::Work, Purpose::Query] {
            let mut wire = Vec::new();
            write_hello(&mut wire, purpose, "1/x").unwrap();
            assert_eq!(read_hello(&mut &wire[..]).unwrap(), (purpose, "1/x".into()));
        }
        for answer in [Answer::Welcome(vec![device("A card")]), Answer::Welcome(Vec::new()), Answer::Busy, Answer::OtherVersion] {
            let mut wire = Vec::new();
            write_answer(&mut wire, &answer, "1/x").unwrap();
            assert_eq!(read_answer(&mut &wire[..]).unwrap(), (answer, "1/x".into()));
        }
    }

    #[test]
    fn a_stock_client_and_other_strangers_are_known_by_their_first_byte() {
        for wire in [&[14_u8][..], b"GET / HTTP/1.1", b"atelier "] {
            assert!(matches!(read_hello(&mut &*wire), Err(Misunderstood::Stranger)), "{wire:?}");
        }
        assert!(matches!(read_hello(&mut &b""[..]), Err(Misunderstood::HungUp)));
    }

    #[test]
    fn a_server_with_more_devices_than_any_machine_has_is_none() {
        let mut wire = Vec::new();
        write_answer(&mut wire, &Answer::Welcome(vec![device(""); MAX_DEVICES + 1]), "1").unwrap();
        assert!(matches!(read_answer(&mut &wire[..]), Err(Misunderstood::Stranger)));
    }

    #[test]
    fn a_stranger_s_names_cannot_spoil_the_screen() {
        let mut wire = Vec::new();
        write_answer(&mut wire, &Answer::Welcome(vec![device(&"\u{1b}[2Jx".repeat(100))]), "1").unwrap();
        let (Answer::Welcome(devices), _) = read_answer(&mut &wire[..]).unwrap() else { panic!() };
        assert_eq!(devices[0].device.description.chars().count(), MAX_NAME);
        assert!(!devices[0].device.description.contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_make_anything_large(bytes in proptest::collection::vec(any::<u8>(), 0..200), ours in any::<bool>()) {
            let wire = if ours { [&MAGIC[..], &bytes].concat() } else { bytes };
            let _ = read_hello(&mut &wire[..]);
            let _ = read_answer(&mut &wire[..]);
        }
    }
}
