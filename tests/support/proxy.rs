//! A way between a borrower and a lender that can be cut, held up, recorded and spoilt.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// What happens to the bytes of an answer: `at` is their place among all bytes that servers sent
/// over this way.
pub(crate) type Spoil = dyn Fn(u64, &mut [u8]) + Send + Sync;

#[derive(Default)]
struct State {
    /// Both ends of each connection, by its number.
    streams: Mutex<BTreeMap<usize, [TcpStream; 2]>>,
    /// Bytes from the lender, over all connections.
    answered: AtomicU64,
    /// The number of those bytes after which everything is cut.
    cut_at: Mutex<Option<u64>>,
    silence: Mutex<Silence>,
    changed: Condvar,
    /// Bytes that the borrower sent, connection by connection.
    requests: Mutex<Vec<Vec<u8>>>,
    is_recording: AtomicBool,
    spoil: Mutex<Option<Box<Spoil>>>,
}

#[derive(Default)]
struct Silence {
    is_silent: bool,
    /// An answer waits until that ends.
    holds_back: bool,
}

/// A way to a lender.
pub(crate) struct Proxy {
    pub(crate) address: String,
    state: Arc<State>,
}

impl Proxy {
    /// A way to the lender at `server`.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (state, server) = (Arc::new(State::default()), server.to_owned());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for borrower in listener.incoming().map_while(Result::ok) {
                let Ok(lender) = TcpStream::connect(&server) else { continue };
                let number = {
                    let mut requests = shared.requests.lock().unwrap();
                    requests.push(Vec::new());
                    requests.len() - 1
                };
                let ends = [&borrower, &lender].map(|stream| {
                    stream.set_nodelay(true).unwrap();
                    stream.try_clone().unwrap()
                });
                shared.streams.lock().unwrap().insert(number, ends);
                let (to_lender, from_lender) = (lender.try_clone().unwrap(), lender);
                let (from_borrower, to_borrower) = (borrower.try_clone().unwrap(), borrower);
                let (up, down) = (Arc::clone(&shared), Arc::clone(&shared));
                thread::spawn(move || up.carry_requests(number, from_borrower, to_lender));
                thread::spawn(move || down.carry_answers(number, from_lender, to_borrower));
            }
        });
        Self { address, state }
    }

    /// Closes every connection; new ones work.
    pub(crate) fn cut(&self) {
        self.state.cut();
    }

    /// Closes every connection once servers have sent so many bytes more.
    pub(crate) fn cut_after(&self, bytes: u64) {
        *self.state.cut_at.lock().unwrap() = Some(self.answered() + bytes);
    }

    /// Bytes that servers sent so far.
    pub(crate) fn answered(&self) -> u64 {
        self.state.answered.load(Ordering::SeqCst)
    }

    /// Keeps answers back, or no longer.
    pub(crate) fn be_silent(&self, silent: bool) {
        *self.state.silence.lock().unwrap() = Silence { is_silent: silent, holds_back: false };
        self.state.changed.notify_all();
    }

    /// Waits until an answer is kept back.
    pub(crate) fn wait_for_answer(&self) {
        let silence = self.state.silence.lock().unwrap();
        drop(self.state.changed.wait_while(silence, |silence| !silence.holds_back).unwrap());
    }

    /// Notes from now on what the borrower sends.
    pub(crate) fn record(&self) {
        self.state.is_recording.store(true, Ordering::SeqCst);
    }

    /// What the borrower sent over each connection while that was noted.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Changes answers from now on.
    pub(crate) fn spoil(&self, spoil: impl Fn(u64, &mut [u8]) + Send + Sync + 'static) {
        *self.state.spoil.lock().unwrap() = Some(Box::new(spoil));
    }

    /// Hands answers on as they are.
    pub(crate) fn be_honest(&self) {
        *self.state.spoil.lock().unwrap() = None;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.be_silent(false);
        self.cut();
    }
}

impl State {
    fn cut(&self) {
        *self.cut_at.lock().unwrap() = None;
        for stream in std::mem::take(&mut *self.streams.lock().unwrap()).into_values().flatten() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn end(&self, number: usize) {
        for stream in self.streams.lock().unwrap().remove(&number).into_iter().flatten() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn carry_requests(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if self.is_recording.load(Ordering::SeqCst) {
                self.requests.lock().unwrap()[number].extend(&bytes[..count]);
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        self.end(number);
    }

    fn carry_answers(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let mut silence = self.silence.lock().unwrap();
            silence.holds_back |= silence.is_silent;
            self.changed.notify_all();
            drop(self.changed.wait_while(silence, |silence| silence.is_silent).unwrap());
            let at = self.answered.fetch_add(count as u64, Ordering::SeqCst);
            if let Some(spoil) = &*self.spoil.lock().unwrap() {
                spoil(at, &mut bytes[..count]);
            }
            let cut_at = *self.cut_at.lock().unwrap();
            let passes = cut_at.map_or(count, |cut_at| usize::try_from(cut_at.saturating_sub(at)).unwrap_or(count).min(count));
            if to.write_all(&bytes[..passes]).is_err() {
                break;
            }
            if cut_at.is_some() && passes < count {
                self.cut();
                break;
            }
        }
        self.end(number);
    }
}

/// A server that speaks as ggml's own does, with the device of the lender at `server`: it hangs up
/// at our handshake, and keeps no weights.
pub(crate) struct Stock {
    pub(crate) address: String,
    /// The commands that it was given.
    pub(crate) commands: Arc<Mutex<Vec<u8>>>,
}

impl Stock {
    /// `answer`, if there is one, is its answer to ggml's greeting, after which it hangs up; to
    /// greetings without a body alone where `is_old`.
    pub(crate) fn start(server: &str, wire_version: &str, answer: Option<Vec<u8>>, is_old: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let commands: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (given, server, wire_version) = (Arc::clone(&commands), server.to_owned(), wire_version.to_owned());
        let handshake = [&b"atelier\n\x01"[..], &[u8::try_from(wire_version.len()).unwrap()], wire_version.as_bytes()].concat();
        thread::spawn(move || {
            // One connection after the other.
            for mut borrower in listener.incoming().map_while(Result::ok) {
                let Some(hello) = message(&mut borrower).filter(|(command, _)| *command == 14) else { continue };
                if let Some(answer) = &answer {
                    if hello.1.is_empty() == is_old {
                        let _ = borrower.write_all(answer);
                    }
                    continue;
                }
                let mut lender = TcpStream::connect(&server).unwrap();
                lender.write_all(&handshake).unwrap();
                read_welcome(&mut lender, &wire_version);
                let (mut from_lender, mut to_borrower) = (lender.try_clone().unwrap(), borrower.try_clone().unwrap());
                let answers = thread::spawn(move || {
                    let _ = std::io::copy(&mut from_lender, &mut to_borrower);
                    let _ = to_borrower.shutdown(Shutdown::Both);
                });
                let mut next = Some(hello);
                while let Some((command, body)) = next {
                    given.lock().unwrap().push(command);
                    let message = [&[command][..], &(body.len() as u64).to_le_bytes(), &body].concat();
                    if lender.write_all(&message).is_err() {
                        break;
                    }
                    next = self::message(&mut borrower);
                }
                let _ = lender.shutdown(Shutdown::Both);
                answers.join().unwrap();
            }
        });
        Self { address, commands }
    }
}

/// The next message of ggml's protocol; `None` at the end, or where it is none.
fn message(from: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut command = [0];
    from.read_exact(&mut command).ok()?;
    // Of ours it reads one byte.
    if command == *b"a" {
        return None;
    }
    let mut length = [0; 8];
    from.read_exact(&mut length).ok()?;
    let mut body = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap()];
    from.read_exact(&mut body).ok()?;
    Some((command[0], body))
}

/// Reads our lender's answer: our name and a word, the version, the devices.
fn read_welcome(lender: &mut TcpStream, wire_version: &str) {
    let mut head = vec![0; 8 + 1 + 1 + wire_version.len() + 4];
    lender.read_exact(&mut head).unwrap();
    let length = u32::from_le_bytes(head[head.len() - 4..].try_into().unwrap());
    lender.read_exact(&mut vec![0; length as usize]).unwrap();
}
