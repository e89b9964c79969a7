//! Borrowing and lending devices: sockets that Rust opened are given to the shim, which closes them.

use std::ffi::{CString, c_char};
use std::net::TcpStream;
use std::path::Path;
use std::sync::OnceLock;

use super::error::CallError;
use super::params::Strings;
use atelier_core::device::Device;

/// Opens and greets a connection to a server.
pub(crate) type Dial = fn(&str) -> Option<TcpStream>;

static DIAL: OnceLock<Dial> = OnceLock::new();

/// Adds the devices of a server, reached by `dial`, which is the same for every server and stays.
pub(crate) fn add_server(server: &str, dial: Dial) -> Result<(), CallError> {
    DIAL.get_or_init(|| dial);
    let server = CString::new(server).map_err(|_| CallError::new("an address holds a NUL character"))?;
    // SAFETY: `on_dial` lives as long as the process; the shim copies the address.
    CallError::check(unsafe {
        ggml_sys::atelier_rpc_set_dialer(Some(on_dial));
        ggml_sys::atelier_rpc_add_server(server.as_ptr())
    })
}

/// The devices of a server that was added.
pub(crate) fn devices_of(server: &str) -> Vec<Device> {
    // SAFETY: takes nothing; the shim initialises itself.
    let count = unsafe { ggml_sys::atelier_device_count() };
    (0..count).filter_map(super::device).filter(|(_, place)| place.as_ref().is_some_and(|(of, _)| of == server)).map(|(it, _)| it).collect()
}

/// The parts of the wire version that only the engine knows.
pub(crate) fn wire_parts() -> (String, String) {
    // SAFETY: a constant string of the shim.
    let rpc = super::text(unsafe { ggml_sys::atelier_rpc_version() });
    (rpc, ggml_sys::ENGINE.to_owned())
}

/// Lends devices to the borrower behind a greeted connection, until it leaves.
pub(crate) fn serve(stream: TcpStream, devices: &[String], threads: u32, cache: Option<&Path>) -> Result<(), CallError> {
    let mut strings = Strings::default();
    let names = devices.iter().map(|name| strings.text(name)).collect::<Result<Vec<_>, _>>()?;
    let cache = strings.path(cache)?;
    let threads = i32::try_from(threads).unwrap_or(1).max(1);
    // SAFETY: the socket becomes the shim's, which closes it; `strings` keeps the texts, and `names` their list, past the call.
    CallError::check(unsafe { ggml_sys::atelier_rpc_serve(into_raw(stream), names.as_ptr(), names.len(), threads, cache) })
}

/// How long a silent server is waited for, in milliseconds; 0: as long as is usual.
#[cfg(test)]
pub(crate) fn set_patience(milliseconds: u64) {
    // SAFETY: sets an atomic.
    unsafe { ggml_sys::atelier_rpc_set_patience(milliseconds) };
}

unsafe extern "C" fn on_dial(server: *const c_char) -> i64 {
    let server = super::text(server);
    let dialled = std::panic::catch_unwind(|| DIAL.get().and_then(|dial| dial(&server)));
    dialled.ok().flatten().map_or(-1, into_raw)
}

#[cfg(unix)]
fn into_raw(stream: TcpStream) -> i64 {
    std::os::fd::IntoRawFd::into_raw_fd(stream).into()
}

#[cfg(windows)]
fn into_raw(stream: TcpStream) -> i64 {
    // A SOCKET is a handle: it fits, whatever its sign.
    std::os::windows::io::IntoRawSocket::into_raw_socket(stream) as i64
}
