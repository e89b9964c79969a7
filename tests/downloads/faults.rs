//! Two hundred faults, chosen by chance from a fixed seed: every file ends whole and right.

use std::collections::HashMap;

use atelier_downloads::{Event, FileRequest};

use super::server::{Fault, Server};
use super::{Home, job, known, noise, wanted};

const FILES: u64 = 20;
const FAULTS: u64 = 10;

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// A fault. Those that hurt cost bytes by their nature: what comes damaged has to come again, and
/// of an answer that is refused some bytes are under way already.
fn fault(chance: &mut Chance, bytes: u64, hurts: bool) -> Fault {
    let at = chance.below(bytes) as usize;
    match chance.below(if hurts { 14 } else { 8 }) {
        0..=3 => Fault::Drop(at),
        4 => Fault::Silence,
        5 => Fault::Drip,
        6 => Fault::Status([500, 502, 503, 429][at % 4], vec![("Retry-After".into(), "0".into())]),
        7 => Fault::Stall(at),
        8 => Fault::WrongLength(if at.is_multiple_of(2) { -(at as i64) - 1 } else { at as i64 }),
        9 => Fault::Corrupt(at),
        10 => Fault::IgnoreRange,
        11 => Fault::WrongPart,
        12 => Fault::Status(416, Vec::new()),
        _ => Fault::IgnoreRangeAndDrop(at),
    }
}

/// Runs all files through their faults; gives bytes that came, and bytes of the files.
fn run(seed: u64, hurts: bool) -> (u64, u64) {
    let (server, mut chance) = (Server::start(), Chance(seed));
    let home = Home::new(|options| {
        // Longer than a busy machine lets a thread of the server wait: bytes that are under way when
        // a line is given up come twice.
        options.retry_policy.stall = std::time::Duration::from_secs(1);
        options.at_once = 6;
    });
    let mut bodies = HashMap::new();
    for at in 0..FILES {
        let bytes = 50_000 + chance.below(400_000);
        let body = noise(seed + at, bytes as usize);
        let faults: Vec<Fault> = (0..FAULTS).map(|_| fault(&mut chance, bytes, hurts)).collect();
        server.file(&format!("/{at}"), &body, faults);
        bodies.insert(at.to_string(), body);
    }
    for (id, body) in &bodies {
        // Without faults in the bytes, the size and hash need not be known.
        let url = server.at(&format!("/{id}"));
        let file =
            if hurts || id.len() == 1 { known(url, "f", body) } else { FileRequest { size: Some(body.len() as u64), ..wanted(url, "f") } };
        home.queue().add(job(id, vec![file])).unwrap();
    }
    let mut left = FILES;
    while left > 0 {
        let failed = home.wait(|event| match event {
            Event::Failed { id, .. } => Some(Some(id.clone())),
            Event::Done { .. } => Some(None),
            _ => None,
        });
        match failed {
            // Nothing that is not whole has the file's name; a person tries again.
            Some(id) => {
                assert!(!home.path(&format!("{id}/f")).exists());
                home.queue().retry(&id).unwrap();
            }
            None => left -= 1,
        }
    }
    let mut needed = 0;
    for (id, body) in &bodies {
        assert!(home.read(&format!("{id}/f")) == *body, "file {id}");
        needed += body.len() as u64;
    }
    assert_eq!(home.files().len() as u64, FILES, "{:?}", home.files());
    (server.sent(), needed)
}

#[test]
fn two_hundred_faults_of_the_line_cost_not_one_byte() {
    let (sent, needed) = run(0x5eed, false);
    assert_eq!(sent, needed);
}

#[test]
fn two_hundred_faults_of_every_kind_leave_every_file_whole() {
    let (sent, needed) = run(0xfa17, true);
    println!("{sent} bytes came for {needed}: {:.2} % more", (sent as f64 / needed as f64 - 1.0) * 100.0);
    assert!(sent >= needed);
}
