//! Connections to a lender that have not borrowed: being greeted, looking, or waiting for the
//! devices.
//!
//! Their number is bounded, and a newcomer is always heard: room is made by closing the oldest
//! connection of the machine that has most of them. So one machine that opens connections without
//! end keeps out itself alone.

use std::collections::BTreeMap;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};

use parking_lot::Mutex;

/// Connections at one time.
const MAX_GUESTS: usize = 32;

/// The connections that are not borrowers.
#[derive(Default)]
pub(super) struct Guests(Mutex<State>);

#[derive(Default)]
struct State {
    /// By number: the oldest first.
    all: BTreeMap<u64, (IpAddr, TcpStream)>,
    next: u64,
}

impl Guests {
    /// Takes a connection in, and returns its number; `None` where the system gives no handle.
    pub(super) fn admit(&self, stream: &TcpStream, peer: SocketAddr) -> Option<u64> {
        let stream = stream.try_clone().ok()?;
        let mut state = self.0.lock();
        if state.all.len() >= MAX_GUESTS
            && let Some(number) = state.unwelcome()
            && let Some((_, oldest)) = state.all.remove(&number)
        {
            // Its thread sees the end at once; where it is closed already, there is nothing to do.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = state.next;
        state.next += 1;
        state.all.insert(number, (peer.ip(), stream));
        Some(number)
    }

    /// The connection has ended, or is a borrower now.
    pub(super) fn dismiss(&self, number: u64) {
        self.0.lock().all.remove(&number);
    }
}

impl State {
    /// The oldest connection of the machine that has most.
    fn unwelcome(&self) -> Option<u64> {
        let count = |ip: &IpAddr| self.all.values().filter(|(other, _)| other == ip).count();
        let most = self.all.values().map(|(ip, _)| count(ip)).max()?;
        self.all.iter().find(|(_, (ip, _))| count(ip) == most).map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_machine_that_floods_loses_its_own_oldest_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let (guests, peer) = (Guests::default(), |ip: &str| SocketAddr::new(ip.parse().unwrap(), 1));
        let admit = |ip: &str| {
            let (client, server) = connect();
            guests.admit(&server, peer(ip)).unwrap();
            (client, server)
        };
        let _quiet = admit("10.0.0.1");
        let mut flood: Vec<_> = (0..MAX_GUESTS).map(|_| admit("10.0.0.2")).collect();
        assert_eq!(flood[0].0.read(&mut [0]).unwrap(), 0, "the flood's first is closed");
        let state = guests.0.lock();
        assert_eq!(state.all.len(), MAX_GUESTS);
        assert_eq!(state.all.keys().take(3).copied().collect::<Vec<_>>(), [0, 2, 3], "the quiet one stays, and the flood's others");
    }
}
