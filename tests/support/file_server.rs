//! A server of files on this machine's own address.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// Serves files by their names, whole or from a byte on.
pub(crate) struct Server {
    pub(crate) address: String,
    /// Bytes of files that were sent.
    pub(crate) sent: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(files: BTreeMap<String, PathBuf>) -> Self {
        Self::start_held(files).0
    }

    /// No file is sent while the sender lives.
    pub(crate) fn start_held(files: BTreeMap<String, PathBuf>) -> (Self, Sender<()>) {
        let (release, held) = channel();
        let held = Arc::new(Mutex::new(held));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sent, files) = (Arc::new(AtomicUsize::new(0)), Arc::new(files));
        let count = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, count, held) = (Arc::clone(&files), Arc::clone(&count), Arc::clone(&held));
                thread::spawn(move || answer(&stream, &files, &count, &held));
            }
        });
        (Self { address, sent }, release)
    }
}

/// Answers one request; a client that goes away needs no answer.
fn answer(stream: &TcpStream, files: &BTreeMap<String, PathBuf>, sent: &AtomicUsize, held: &Mutex<Receiver<()>>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let request = lines.next()?;
    let head: Vec<String> = lines.take_while(|it| !it.is_empty()).map(|it| it.to_lowercase()).collect();
    let name = request.split_whitespace().nth(1)?.rsplit('/').next()?.to_owned();
    let mut out = stream;
    let Some(path) = files.get(&name) else {
        return out.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    };
    let whole = fs::read(path).ok()?;
    let from = head.iter().find_map(|it| it.strip_prefix("range: bytes=")?.split('-').next()?.parse::<usize>().ok());
    let begin = from.unwrap_or(0).min(whole.len());
    let status = match from {
        Some(_) => format!("206 Partial Content\r\nContent-Range: bytes {begin}-{}/{}", whole.len() - 1, whole.len()),
        None => "200 OK".into(),
    };
    let length = whole.len() - begin;
    write!(out, "HTTP/1.1 {status}\r\nETag: \"{name}\"\r\nAccept-Ranges: bytes\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
        .ok()?;
    if !request.starts_with("HEAD") {
        // Nothing is ever received: it ends once the sender is gone.
        let _ = held.lock().map(|it| it.recv());
        out.write_all(&whole[begin..]).ok()?;
        sent.fetch_add(length, Ordering::SeqCst);
    }
    // The client closes first.
    let _ = out.read(&mut [0; 1]);
    Some(())
}
