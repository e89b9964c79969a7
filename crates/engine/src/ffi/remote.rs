//! Client and server of ggml's RPC: sockets that Rust opened pass to the shim, which closes them.

use std::ffi::{CString, c_char, c_void};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use super::error::CallError;
use super::params::Strings;
use super::text::text;

/// Opens a connection to a server, handshake included; true beside one to a stock server. `None` on
/// failure.
pub(crate) type Dial = fn(&str) -> Option<(TcpStream, bool)>;

/// Bytes of a SHA-256.
pub(crate) const SHA256_BYTES: usize = 32;

/// Weights that a lender keeps. Called by the thread that serves.
pub(crate) trait WeightsStore: Sync {
    /// Keeps weights, if there is room.
    fn store(&self, bytes: &[u8]);
    /// True where weights of this SHA-256 and size seem to be there.
    fn contains(&self, hash: &[u8; SHA256_BYTES], size: u64) -> bool;
    /// Fills `bytes` with weights of this SHA-256; false where there are none of that size.
    fn load(&self, hash: &[u8; SHA256_BYTES], bytes: &mut [u8]) -> bool;
}

static DIAL: OnceLock<Dial> = OnceLock::new();

/// Asks a server for what [`add_server`] needs. The `dial` of the first call is used for all
/// servers, as long as the process lives.
pub(crate) fn connect_server(server: &str, dial: Dial) -> Result<(), CallError> {
    DIAL.get_or_init(|| dial);
    let server = address(server)?;
    // SAFETY: two static functions; the shim copies the address.
    CallError::check(unsafe {
        ggml_sys::atelier_rpc_set_dialer(Some(on_dial));
        ggml_sys::atelier_rpc_set_hasher(Some(on_hash));
        ggml_sys::atelier_rpc_connect(server.as_ptr())
    })
}

/// Adds the devices of a server that was connected.
pub(crate) fn add_server(server: &str) -> Result<(), CallError> {
    let server = address(server)?;
    // SAFETY: the shim copies the address.
    CallError::check(unsafe { ggml_sys::atelier_rpc_add_server(server.as_ptr()) })
}

fn address(server: &str) -> Result<CString, CallError> {
    CString::new(server).map_err(|_| CallError::new("an address holds a NUL character"))
}

/// True in a call of the engine for a job that was cancelled.
pub(crate) fn is_cancelled() -> bool {
    // SAFETY: reads this thread's job.
    unsafe { ggml_sys::atelier_is_cancelled() }
}

/// Bytes of a tensor's description in a message.
pub(crate) fn rpc_tensor_bytes() -> usize {
    // SAFETY: returns a constant.
    unsafe { ggml_sys::atelier_rpc_tensor_bytes() as usize }
}

/// Version of ggml's RPC protocol and of the engine: both ends must agree on them.
pub(crate) fn wire_versions() -> (String, String) {
    // SAFETY: a constant string of the shim.
    let rpc = unsafe { text(ggml_sys::atelier_rpc_version()) };
    (rpc, ggml_sys::ENGINE.to_owned())
}

/// Uses a device once, so that its driver has opened and started what it needs. One that fails here
/// fails again where it is lent.
pub(crate) fn warm_up(device: &str) {
    if let Ok(name) = CString::new(device) {
        // SAFETY: the shim does not keep the name.
        unsafe { ggml_sys::atelier_device_warm_up(name.as_ptr()) };
    }
}

/// Serves devices to one client, after the handshake, until it disconnects.
///
/// They lend `memory_bytes` together; what is wanted beyond is refused, and told as a lack of
/// memory.
pub(crate) fn serve(
    stream: TcpStream,
    devices: &[String],
    threads: u32,
    memory_bytes: u64,
    cache: Option<&dyn WeightsStore>,
) -> Result<(), CallError> {
    let mut strings = Strings::default();
    let names = devices.iter().map(|name| strings.text(name)).collect::<Result<Vec<_>, _>>()?;
    let threads = i32::try_from(threads).unwrap_or(1).max(1);
    let raw = cache.as_ref().map(|store| ggml_sys::atelier_weights_cache {
        // A thin pointer to the reference, which is a fat one.
        user: std::ptr::from_ref(store).cast::<c_void>().cast_mut(),
        store: Some(on_store),
        contains: Some(on_contains),
        load: Some(on_load),
    });
    let raw = raw.as_ref().map_or(std::ptr::null(), |raw| &raw const *raw);
    // SAFETY: the shim takes ownership of the socket; `strings`, `names` and `cache` outlive the
    // call.
    CallError::check(unsafe { ggml_sys::atelier_rpc_serve(into_raw(stream), names.as_ptr(), names.len(), threads, memory_bytes, raw) })
}

/// Calls a store of C's pointer; `otherwise` where it panics.
///
/// # Safety
/// `user` is the pointer that [`serve`] passes, whose store lives during the call.
unsafe fn with_store<R>(user: *mut c_void, otherwise: R, call: impl FnOnce(&dyn WeightsStore) -> R) -> R {
    // SAFETY: as the caller promises.
    let store: &dyn WeightsStore = unsafe { *user.cast::<&dyn WeightsStore>() };
    catch_unwind(AssertUnwindSafe(|| call(store))).unwrap_or(otherwise)
}

/// # Safety
/// `bytes` points to `size` bytes, or `size` is 0.
unsafe fn bytes_of<'a>(bytes: *const u8, size: usize) -> &'a [u8] {
    // SAFETY: as the caller promises; a slice of no bytes may not be null.
    if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(bytes, size) } }
}

unsafe extern "C" fn on_hash(data: *const u8, size: usize, hash: *mut u8) {
    // SAFETY: the shim passes `size` bytes, and room for a hash.
    unsafe { hash.cast::<[u8; SHA256_BYTES]>().write(Sha256::digest(bytes_of(data, size)).into()) };
}

unsafe extern "C" fn on_store(user: *mut c_void, data: *const u8, size: usize) {
    // SAFETY: the shim passes the pointer of `serve`, and `size` bytes that live during the call.
    unsafe { with_store(user, (), |store| store.store(bytes_of(data, size))) }
}

unsafe extern "C" fn on_contains(user: *mut c_void, hash: *const u8, size: usize) -> bool {
    // SAFETY: the shim passes the pointer of `serve`, and a hash that lives during the call.
    unsafe { with_store(user, false, |store| store.contains(&*hash.cast(), size as u64)) }
}

unsafe extern "C" fn on_load(user: *mut c_void, hash: *const u8, data: *mut u8, size: usize) -> bool {
    if size == 0 {
        return false;
    }
    // SAFETY: the shim passes the pointer of `serve`, a hash and `size` initialised bytes that live
    // during the call.
    unsafe { with_store(user, false, |store| store.load(&*hash.cast(), std::slice::from_raw_parts_mut(data, size))) }
}

/// Sets the time-out of a server's answers in milliseconds; 0: the default.
#[cfg(test)]
pub(crate) fn set_response_timeout(milliseconds: u64) {
    // SAFETY: sets an atomic.
    unsafe { ggml_sys::atelier_rpc_set_timeout(milliseconds) };
}

unsafe extern "C" fn on_dial(server: *const c_char, is_stock: *mut bool) -> i64 {
    // SAFETY: the shim passes a NUL-terminated string that lives during this call.
    let server = unsafe { text(server) };
    let dialled = catch_unwind(|| DIAL.get().and_then(|dial| dial(&server)));
    let Some((stream, stock)) = dialled.ok().flatten() else { return -1 };
    // SAFETY: a local of the shim.
    unsafe { *is_stock = stock };
    into_raw(stream)
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
