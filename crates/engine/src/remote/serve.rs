//! Serving this machine's devices to another machine.
//!
//! Each connection is greeted on a thread of its own, so that one that says nothing keeps nobody
//! else waiting. One borrower works at a time; those who only look are answered meanwhile. Where
//! connections are too many, the oldest of whoever has most of them goes.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::confinement::{Confinement, Confining};
use super::deadline::DeadlineStream;
use super::dial::our_version;
use super::guests::Guests;
use super::handshake::{Answer, LentDevice, Misunderstood, Purpose, read_hello, write_answer};
use super::probe;
use super::weights_cache::WeightsCache;
use crate::cpu_math::choose_cpu_math;
use crate::devices;
use crate::ffi;
use crate::job::checks::cpu_threads;
use atelier_core::device::{Device, DeviceKind};
use atelier_language::tr;

/// Time limit of a handshake, each way.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Time for which a client waits for another that is just leaving.
const LEAVING_LIMIT: Duration = Duration::from_secs(3);
/// Interval at which a transfer looks at its limit.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A graph is computed on this thread too.
const STACK_BYTES: usize = 64 << 20;

/// Devices to serve, and the address to listen at.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen at; a name or a number.
    pub host: String,
    /// 0: any port that is free.
    pub port: u16,
    /// Devices by name; empty: every graphics card, or the processor where there is none.
    pub devices: Vec<String>,
    /// Weights are kept in this folder, so that they travel once.
    pub cache: Option<PathBuf>,
    /// Bytes of that folder; what was used longest ago goes first.
    pub cache_limit_bytes: u64,
    /// Bytes that all devices lend together; `None`: all that they have.
    pub memory_bytes: Option<u64>,
    /// CPU threads; `None`: every core, or all but one where there are more than four.
    pub threads: Option<u32>,
    /// Allows an address that other machines can reach: there is no encryption and no login.
    pub allow_network: bool,
    /// This process does nothing but lend, and gives up what that does not need.
    pub confines_process: bool,
}

/// Events of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServeEvent {
    /// From now on connections are taken.
    Listening {
        /// The address, with the port that was chosen.
        address: SocketAddr,
        /// The devices that are served.
        devices: Vec<Device>,
        /// What a borrower could do who takes this process over.
        confinement: Confinement,
    },
    Borrowed(SocketAddr),
    /// It has left, and everything it held is free; with the engine's words where it did not leave
    /// by itself.
    Returned(SocketAddr, Option<String>),
    /// Someone was turned away.
    Refused(SocketAddr, Refusal),
}

/// Reason why a connection was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It spoke ggml's own protocol, or none.
    #[error("{}", tr!("engine-the-client-is-not"))]
    Stranger,
    #[error("{}", tr!("engine-no-message-was-received"))]
    Silent,
    #[error("{}", tr!("engine-the-client-is-another", reason = _0))]
    OtherVersion(String),
    #[error("{}", tr!("engine-the-devices-are-lent"))]
    Busy,
}

/// Devices cannot be lent.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not this machine's.
    #[error("{}", tr!("engine-is-not-an-address-of-this", reason = _0))]
    Address(String),
    /// Others could reach it, and nobody said that they may.
    #[error(
        "{}", tr!("engine-can-be-reached-by", reason = _0))]
    Network(String),
    /// No such device.
    #[error("{}", tr!("engine-there-is-no-device", name, known))]
    Device {
        /// The name in the request.
        name: String,
        /// Names of the devices.
        known: String,
    },
    /// The port is taken, or not allowed.
    #[error("{}", tr!("engine-cannot-listen-at", address, error))]
    Listen {
        address: SocketAddr,
        /// The system's words.
        error: io::Error,
    },
}

/// Lends devices until the process ends; `tell` hears what happens, on any thread.
///
/// # Errors
/// If it cannot begin.
pub fn serve(options: &ServeOptions, tell: &(dyn Fn(ServeEvent) + Sync)) -> Result<Infallible, ServeError> {
    let confining = options.confines_process.then(|| Confining::begin(options.cache.as_deref()));
    // Exactly, where the program has not chosen.
    choose_cpu_math(None);
    let devices = chosen(&options.devices, &devices::list())?;
    let has_drivers = devices.iter().any(|device| device.kind.is_graphics() && !ffi::is_simulated(device));
    for device in devices.iter().filter(|_| has_drivers) {
        // Drivers look for their files when they are used first.
        ffi::warm_up(&device.name);
    }
    let address = address(options)?;
    let listener = TcpListener::bind(address).map_err(|error| ServeError::Listen { address, error })?;
    let address = listener.local_addr().unwrap_or(address);
    let confinement = confining.map_or_else(|| Confinement::None("more than one thread is running".into()), |it| it.finish(has_drivers));
    let server = Server {
        options,
        names: devices.iter().map(|it| it.name.clone()).collect(),
        tell,
        cache: options.cache.as_ref().map(|folder| WeightsCache::new(folder.clone(), options.cache_limit_bytes)),
        guests: Guests::default(),
        lent: Mutex::new(false),
        returned: Condvar::new(),
    };
    let devices = devices.into_iter().map(|device| server.limited(device, 0)).collect();
    tell(ServeEvent::Listening { address, devices, confinement });
    thread::scope(|scope| {
        loop {
            let Ok((stream, peer)) = listener.accept() else {
                // Out of file handles, most likely: some will be given back.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            let Some(guest) = server.guests.admit(&stream, peer) else { continue };
            let server = &server;
            let started = thread::Builder::new().name("lend".into()).stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                server.receive(stream, peer, guest);
                server.guests.dismiss(guest);
            });
            if started.is_err() {
                server.guests.dismiss(guest);
            }
        }
    })
}

fn address(options: &ServeOptions) -> Result<SocketAddr, ServeError> {
    let host = options.host.trim().trim_start_matches('[').trim_end_matches(']');
    let not_ours = || ServeError::Address(options.host.clone());
    let address = match host.parse::<IpAddr>() {
        Ok(number) => SocketAddr::new(number, options.port),
        Err(_) => (host, options.port).to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(not_ours)?,
    };
    if !address.ip().is_loopback() && !options.allow_network {
        return Err(ServeError::Network(options.host.clone()));
    }
    Ok(address)
}

/// The devices with these names; without names every graphics card, else the processor. Never what
/// is borrowed itself.
fn chosen(names: &[String], devices: &[Device]) -> Result<Vec<Device>, ServeError> {
    let own: Vec<&Device> = devices.iter().filter(|device| device.kind != DeviceKind::Remote).collect();
    if names.is_empty() {
        let cards: Vec<Device> = own.iter().filter(|it| it.kind.is_graphics()).map(|it| (*it).clone()).collect();
        let processor = own.iter().filter(|it| it.kind == DeviceKind::Cpu).map(|it| (*it).clone());
        return Ok(if cards.is_empty() { processor.collect() } else { cards });
    }
    let known = || own.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    names
        .iter()
        .map(|name| {
            let found = own.iter().find(|it| it.name.eq_ignore_ascii_case(name.trim()));
            found.map(|it| (*it).clone()).ok_or_else(|| ServeError::Device { name: name.clone(), known: known() })
        })
        .collect()
}

struct Server<'a> {
    options: &'a ServeOptions,
    names: Vec<String>,
    tell: &'a (dyn Fn(ServeEvent) + Sync),
    cache: Option<WeightsCache>,
    guests: Guests,
    lent: Mutex<bool>,
    returned: Condvar,
}

impl Server<'_> {
    fn receive(&self, stream: TcpStream, peer: SocketAddr, guest: u64) {
        let refuse = |why| (self.tell)(ServeEvent::Refused(peer, why));
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let (purpose, theirs) = match read_hello(&mut DeadlineStream::new(&stream, HANDSHAKE_LIMIT)) {
            Ok(hello) => hello,
            Err(Misunderstood::Stranger | Misunderstood::HungUp) => return refuse(Refusal::Stranger),
            Err(Misunderstood::Io(_)) => return refuse(Refusal::Silent),
        };
        let ours = our_version();
        let answer = |answer: &Answer| write_answer(&mut DeadlineStream::new(&stream, HANDSHAKE_LIMIT), answer, &ours).is_ok();
        if theirs != ours {
            // It may be gone already; the refusal is told here in any case.
            answer(&Answer::OtherVersion);
            return refuse(Refusal::OtherVersion(theirs));
        }
        let welcome = || answer(&Answer::Welcome(self.devices_now()));
        match purpose {
            Purpose::Query => {
                if welcome() {
                    // It looked; whether it stayed to the end does not matter here.
                    let _ = probe::answer(&stream);
                }
            }
            Purpose::Work if self.take() => {
                // From here on it has the devices, and its place is safe.
                self.guests.dismiss(guest);
                if welcome() {
                    (self.tell)(ServeEvent::Borrowed(peer));
                    let left = self.serve(stream);
                    // Before the next one borrows.
                    (self.tell)(ServeEvent::Returned(peer, left));
                    self.give_back();
                } else {
                    self.give_back();
                }
            }
            Purpose::Work => {
                answer(&Answer::Busy);
                refuse(Refusal::Busy);
            }
        }
    }

    /// The lent devices with their memory as it is now.
    fn devices_now(&self) -> Vec<LentDevice> {
        let mut now = devices::list();
        now.retain(|device| self.names.contains(&device.name));
        now.sort_by_key(|device| self.names.iter().position(|name| *name == device.name));
        let used = now.iter().map(|device| device.memory_allocated_bytes).sum();
        let lent =
            |device: Device| LentDevice { direct_convolutions: ffi::direct_convolutions(&device.name), device: self.limited(device, used) };
        now.into_iter().map(lent).collect()
    }

    /// A device with the memory that is lent of it, of which `used` bytes are in use on all
    /// devices.
    fn limited(&self, mut device: Device, used: u64) -> Device {
        let limit = self.options.memory_bytes.unwrap_or(u64::MAX);
        device.memory_total_bytes = device.memory_total_bytes.min(limit);
        device.memory_free_bytes = device.memory_free_bytes.min(limit.saturating_sub(used));
        device
    }

    fn serve(&self, stream: TcpStream) -> Option<String> {
        if let Err(error) = stream.set_read_timeout(Some(POLL_INTERVAL)).and_then(|()| stream.set_write_timeout(Some(POLL_INTERVAL))) {
            return Some(error.to_string());
        }
        let cache = self.cache.as_ref().map(|cache| -> &dyn ffi::WeightsStore { cache });
        let memory_bytes = self.options.memory_bytes.unwrap_or(u64::MAX);
        ffi::serve(stream, &self.names, cpu_threads(self.options.threads), memory_bytes, cache).err().map(|error| error.message)
    }

    /// Reserves the devices for this client; false if another one has them.
    fn take(&self) -> bool {
        let mut lent = self.lent.lock();
        self.returned.wait_while_for(&mut lent, |lent| *lent, LEAVING_LIMIT);
        !std::mem::replace(&mut *lent, true)
    }

    fn give_back(&self) {
        *self.lent.lock() = false;
        self.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(host: &str, allow_network: bool) -> ServeOptions {
        ServeOptions {
            host: host.into(),
            port: 7,
            devices: Vec::new(),
            cache: None,
            cache_limit_bytes: 0,
            memory_bytes: None,
            threads: None,
            allow_network,
            confines_process: false,
        }
    }

    #[test]
    fn other_machines_are_let_in_only_when_that_was_asked_for() {
        for host in ["127.0.0.1", "localhost", "::1", "[::1]"] {
            assert!(address(&options(host, false)).is_ok_and(|it| it.ip().is_loopback() && it.port() == 7), "{host}");
        }
        for host in ["0.0.0.0", "192.168.1.20", "::"] {
            assert!(matches!(address(&options(host, false)), Err(ServeError::Network(_))), "{host}");
            assert!(address(&options(host, true)).is_ok(), "{host}");
        }
        assert!(matches!(address(&options("no.such.machine.invalid", true)), Err(ServeError::Address(_))));
    }

    #[test]
    fn cards_are_lent_before_the_processor_and_never_what_is_borrowed() {
        let device = |name: &str, kind| Device {
            name: name.into(),
            description: String::new(),
            kind,
            gpu: None,
            memory_total_bytes: 1,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        };
        let all = [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu), device("RPC0", DeviceKind::Remote)];
        let names = |names: &[&str], devices: &[Device]| {
            let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
            chosen(&names, devices).map(|found| found.into_iter().map(|it| it.name).collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(names(&[], &all), Ok(vec!["CUDA0".into()]));
        assert_eq!(names(&[], &all[..1]), Ok(vec!["CPU".into()]));
        assert_eq!(names(&["cpu", "cuda0"], &all), Ok(vec!["CPU".into(), "CUDA0".into()]));
        assert!(names(&["rpc0"], &all).unwrap_err().contains("CPU, CUDA0"));
    }
}
