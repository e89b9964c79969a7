//! A server of files that misbehaves on purpose: HTTP/1.1 by hand, one request a connection, a
//! thread each.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// Bytes that are written at a time.
const BLOCK: usize = 16 << 10;

/// Fault of one request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    None,
    /// The connection ends before an answer.
    Silence,
    /// The connection ends after so many bytes of the body.
    Drop(usize),
    /// After so many bytes nothing more comes, until the other side gives up.
    Stall(usize),
    /// After so many bytes nothing more comes until [`Server::release`].
    Hold(usize),
    /// Comes in tiny pieces.
    Drip,
    /// The whole file, whatever was asked for.
    IgnoreRange,
    /// The same, and it ends after so many bytes.
    IgnoreRangeAndDrop(usize),
    /// `Content-Length` is off by so much, and the body with it where it is shorter.
    WrongLength(i64),
    /// Another part than was asked for.
    WrongPart,
    /// A byte is flipped.
    Corrupt(usize),
    /// From now on the file is another one.
    Change(Vec<u8>, String),
    /// No length; the end of the connection ends the body.
    NoLength,
    /// This status, with these headers.
    Status(u16, Vec<(String, String)>),
    /// Somewhere else, with these headers.
    Redirect(String, Vec<(String, String)>),
}

/// A file, and what goes wrong with its next requests.
#[derive(Clone, Default)]
pub(crate) struct Served {
    pub(crate) body: Arc<Vec<u8>>,
    /// With its quotes.
    pub(crate) etag: Option<String>,
    /// Further headers of the answer.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) faults: VecDeque<Fault>,
    /// Fault once the others are used up.
    pub(crate) always: Option<Fault>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The path with its query; the whole address where a proxy was asked.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) at: Instant,
}

impl Seen {
    /// The first byte that was asked for.
    pub(crate) fn from(&self) -> Option<u64> {
        self.headers.get("range")?.strip_prefix("bytes=")?.split('-').next()?.parse().ok()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

#[derive(Default)]
struct Shared {
    files: Mutex<HashMap<String, Served>>,
    seen: Mutex<Vec<Seen>>,
    /// Bytes of bodies that were written.
    sent: AtomicU64,
    progress: (Mutex<()>, Condvar),
    released: AtomicBool,
    ended: AtomicBool,
}

pub(crate) struct Server {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Bytes in the system's buffers when a connection ends would count as sent.
        socket2::SockRef::from(&listener).set_send_buffer_size(BLOCK).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let inner = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if inner.ended.load(Ordering::Relaxed) {
                    return;
                }
                let inner = Arc::clone(&inner);
                // A client that goes away is what this is about.
                std::thread::spawn(move || answer(&inner, &stream).ok());
            }
        });
        Self { url, shared }
    }

    /// The address of a file.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Puts a file there.
    pub(crate) fn put(&self, path: &str, served: Served) {
        self.shared.files.lock().unwrap().insert(path.into(), served);
    }

    /// Puts a file there, with an `ETag`, of which the first requests fail so.
    pub(crate) fn file(&self, path: &str, body: &[u8], faults: impl IntoIterator<Item = Fault>) {
        let etag = Some(format!("\"{path}-1\""));
        self.put(path, Served { body: Arc::new(body.to_vec()), etag, faults: faults.into_iter().collect(), ..Served::default() });
    }

    /// Requests so far, for files whose path begins so.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().iter().filter(|it| it.path.starts_with(path)).cloned().collect()
    }

    /// Bytes of bodies that were written so far.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// Lets every [`Fault::Hold`] go on, from now on.
    pub(crate) fn release(&self) {
        self.shared.released.store(true, Ordering::SeqCst);
        self.shared.announce();
    }

    /// Waits until so many bytes have been written, or `give_up` says so, which is asked each time
    /// something happens.
    pub(crate) fn wait_for(&self, bytes: u64, mut give_up: impl FnMut() -> bool) {
        let mut held = self.shared.progress.0.lock().unwrap();
        while self.sent() < bytes && !give_up() {
            held = self.shared.progress.1.wait_timeout(held, std::time::Duration::from_millis(20)).unwrap().0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.release();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

impl Shared {
    fn announce(&self) {
        drop(self.progress.0.lock().unwrap());
        self.progress.1.notify_all();
    }

    fn send(&self, mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        for block in bytes.chunks(BLOCK) {
            stream.write_all(block)?;
            self.sent.fetch_add(block.len() as u64, Ordering::SeqCst);
            self.announce();
        }
        Ok(())
    }
}

fn answer(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let seen = Seen { path: path.clone(), headers, at: Instant::now() };
    shared.seen.lock().unwrap().push(seen.clone());
    let (served, fault) = {
        let mut files = shared.files.lock().unwrap();
        // A proxy is asked for whole addresses.
        let path = path.strip_prefix("http://").and_then(|it| it.split_once('/')).map_or(path.clone(), |it| format!("/{}", it.1));
        let plain = path.split('?').next().unwrap_or_default();
        let Some(served) = files.get_mut(plain) else {
            return write_head(stream, 404, &[("Content-Length".into(), "0".into())]);
        };
        let fault = served.faults.pop_front().or_else(|| served.always.clone()).unwrap_or(Fault::None);
        if let Fault::Change(body, etag) = &fault {
            (served.body, served.etag) = (Arc::new(body.clone()), Some(etag.clone()));
        }
        (served.clone(), fault)
    };
    respond(shared, stream, &seen, &served, &fault)?;
    stream.shutdown(Shutdown::Write)
}

fn respond(shared: &Shared, stream: &TcpStream, seen: &Seen, served: &Served, fault: &Fault) -> io::Result<()> {
    let whole = served.body.as_slice();
    let mut headers: Vec<(String, String)> = served.etag.iter().map(|etag| ("ETag".into(), etag.clone())).collect();
    headers.extend(served.headers.iter().cloned());
    match fault {
        Fault::Silence => return stream.shutdown(Shutdown::Both),
        Fault::Status(status, more) => {
            headers.clear();
            headers.extend(more.iter().cloned());
            if !more.iter().any(|it| it.0 == "Content-Length") {
                headers.push(("Content-Length".into(), "0".into()));
            }
            return write_head(stream, *status, &headers);
        }
        Fault::Redirect(to, more) => {
            headers = vec![("Location".into(), to.clone()), ("Content-Length".into(), "0".into())];
            headers.extend(more.iter().cloned());
            return write_head(stream, 302, &headers);
        }
        _ => {}
    }
    let current = seen.header("if-range").is_none_or(|it| Some(it) == served.etag.as_deref());
    let ignored = matches!(fault, Fault::IgnoreRange | Fault::IgnoreRangeAndDrop(_) | Fault::NoLength);
    let from = seen.from().filter(|_| current && !ignored);
    let mut start = from.unwrap_or(0) as usize;
    if start > 0 && start >= whole.len() {
        headers.push(("Content-Range".into(), format!("bytes */{}", whole.len())));
        headers.push(("Content-Length".into(), "0".into()));
        return write_head(stream, 416, &headers);
    }
    if matches!(fault, Fault::WrongPart) && from.is_some() {
        start = start.saturating_sub(1);
    }
    let mut body = whole[start..].to_vec();
    let mut length = body.len() as i64;
    let mut total = whole.len() as i64;
    if let Fault::WrongLength(off) = fault {
        (length, total) = ((length + off).max(0), (total + off).max(0));
        body.truncate(length as usize);
    }
    if let Fault::Corrupt(at) = fault
        && !body.is_empty()
    {
        let at = at % body.len();
        body[at] ^= 0x20;
    }
    if !matches!(fault, Fault::NoLength) {
        headers.push(("Content-Length".into(), length.to_string()));
    }
    let status = if from.is_some() { 206 } else { 200 };
    if from.is_some() {
        headers.push(("Content-Range".into(), format!("bytes {start}-{}/{total}", total - 1)));
    }
    write_head(stream, status, &headers)?;
    match fault {
        Fault::Drop(bytes) | Fault::IgnoreRangeAndDrop(bytes) => shared.send(stream, &body[..body.len().min(*bytes)]),
        Fault::Stall(bytes) => {
            shared.send(stream, &body[..body.len().min(*bytes)])?;
            // Returns once the other side closes.
            io::copy(&mut stream.take(1 << 20), &mut io::sink()).map(|_| ())
        }
        Fault::Hold(bytes) => {
            let bytes = body.len().min(*bytes);
            shared.send(stream, &body[..bytes])?;
            let mut held = shared.progress.0.lock().unwrap();
            while !shared.released.load(Ordering::SeqCst) {
                held = shared.progress.1.wait(held).unwrap();
            }
            drop(held);
            shared.send(stream, &body[bytes..])
        }
        Fault::Drip => body.chunks(997).try_for_each(|piece| shared.send(stream, piece)),
        _ => shared.send(stream, &body),
    }
}

fn write_head(mut stream: &TcpStream, status: u16, headers: &[(String, String)]) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} Status\r\nConnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes())
}
