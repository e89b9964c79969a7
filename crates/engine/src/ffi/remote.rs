//! Client and server of ggml's RPC: sockets that Rust opened pass to the shim, which closes them.

use std::ffi::{CString, c_char};
use std::net::TcpStream;
use std::path::Path;
use std::sync::OnceLock;

use super::error::CallError;
use super::params::Strings;

/// Opens a connection to a server, handshake included; `None` on failure.
pub(crate) type Dial = fn(&str) -> Option<TcpStream>;

static DIAL: OnceLock<Dial> = OnceLock::new();

/// Adds the devices of a server. The `dial` of the first call is used for all servers, as long as the process lives.
pub(crate) fn add_server(server: &str, dial: Dial) -> Result<(), CallError> {
    DIAL.get_or_init(|| dial);
    let server = CString::new(server).map_err(|_| CallError::new("an address holds a NUL character"))?;
    // SAFETY: `on_dial` is a static function; the shim copies the address.
    CallError::check(unsafe {
        ggml_sys::atelier_rpc_set_dialer(Some(on_dial));
        ggml_sys::atelier_rpc_add_server(server.as_ptr())
    })
}

/// Version of ggml's RPC protocol and of the engine: both ends must agree on them.
pub(crate) fn wire_versions() -> (String, String) {
    // SAFETY: a constant string of the shim.
    let rpc = unsafe { super::text(ggml_sys::atelier_rpc_version()) };
    (rpc, ggml_sys::ENGINE.to_owned())
}

/// Serves devices to one client, after the handshake, until it disconnects.
pub(crate) fn serve(stream: TcpStream, devices: &[String], threads: u32, cache: Option<&Path>) -> Result<(), CallError> {
    let mut strings = Strings::default();
    let names = devices.iter().map(|name| strings.text(name)).collect::<Result<Vec<_>, _>>()?;
    let cache = strings.path(cache)?;
    let threads = i32::try_from(threads).unwrap_or(1).max(1);
    // SAFETY: the shim takes ownership of the socket; `strings` and `names` outlive the call.
    CallError::check(unsafe { ggml_sys::atelier_rpc_serve(into_raw(stream), names.as_ptr(), names.len(), threads, cache) })
}

/// Sets the time-out of a server's answers in milliseconds; 0: the default.
#[cfg(test)]
pub(crate) fn set_response_timeout(milliseconds: u64) {
    // SAFETY: sets an atomic.
    unsafe { ggml_sys::atelier_rpc_set_timeout(milliseconds) };
}

unsafe extern "C" fn on_dial(server: *const c_char) -> i64 {
    // SAFETY: the shim passes a NUL-terminated string that lives during this call.
    let server = unsafe { super::text(server) };
    let stream = std::panic::catch_unwind(|| DIAL.get().and_then(|dial| dial(&server)));
    stream.ok().flatten().map_or(-1, into_raw)
}

#[cfg(unix)]
fn into_raw(stream: TcpStream) -> i64 {
    std::os::fd::IntoRawFd::into_raw_fd(stream).into()
}

#[cfg(windows)]
fn into_raw(stream: TcpStream) -> i64 {
    // A SOCKET is a handle: the bits are kept, whatever the sign.
    std::os::windows::io::IntoRawSocket::into_raw_socket(stream) as i64
}
