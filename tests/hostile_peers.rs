//! Lenders and borrowers that are broken or mean harm: each costs a clear error at most, and
//! everybody else goes on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe};
use atelier_engine::{Cause, End, Event, JobPhase, RemoteError, probe};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::engine::{Engine, Said};
use support::lender::Server;
use support::proxy::Proxy;
use support::{files, folder, recipe};
use testkit::tiny;

/// Number of commands of ggml's protocol that are used here.
const SET_TENSOR: u8 = 6;
const ALLOC_BUFFER: u8 = 0;
const GET_DEVICE_MEMORY: u8 = 11;
const HELLO: u8 = 14;

/// The devices of this process are shared by its tests.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn on(backend: &str) -> Recipe {
    Recipe { placement: PlacementText { backend: backend.into(), ..PlacementText::default() }, ..recipe() }
}

fn add(engine: &Engine, address: &str) -> String {
    engine.add_server(address).unwrap()[0].name.clone()
}

/// A model of the same shape as the tiny one, with other weights.
fn twin(seed: u64) -> ModelFiles {
    let options = tiny::Options { seed, ..tiny::Options::default() };
    let files = tiny::zimage(&folder(&format!("twin-{seed}")), &options).unwrap();
    [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect()
}

fn lost(said: &Said) -> bool {
    matches!(said.end(), End::Failed(failure) if matches!(failure.cause, Some(Cause::Remote(_))))
}

/// Defect: buffers belong to a connection; after another one they are gone, and their addresses may
/// be others'.
#[test]
fn weights_of_a_connection_that_broke_are_sent_again() {
    let _alone = alone();
    let engine = Engine::start();
    let (first, second, third) = (files(), twin(91), twin(92));
    let cpu = |files: &ModelFiles| engine.run(&Recipe { files: files.clone(), ..on("cpu") }).pixels().to_vec();
    let expected = [cpu(&first), cpu(&second), cpu(&third)];
    let server = Server::start(&["--device", "CPU"]);
    let proxy = Proxy::to(&server.address);
    let rpc = add(&engine, &proxy.address);
    let make = |files: &ModelFiles| engine.run(&Recipe { files: files.clone(), ..on(&format!("all={rpc}")) });
    assert_eq!(make(&first).pixels(), expected[0]);
    assert_eq!(make(&second).pixels(), expected[1]);
    proxy.cut();
    // Another model takes the addresses at which the first one's weights were.
    assert_eq!(make(&third).pixels(), expected[2]);
    assert_eq!(make(&first).pixels(), expected[0]);
    assert_eq!(make(&second).pixels(), expected[1]);
}

/// The same in the middle of a job: another thread finds the connection broken, and the job would
/// go on over a new one.
#[test]
fn a_job_whose_connection_breaks_does_not_go_on_over_another_one() {
    let _alone = alone();
    let (engine, other) = (Engine::start(), Arc::new(Engine::start()));
    let server = Server::start(&["--device", "CPU"]);
    let proxy = Arc::new(Proxy::to(&server.address));
    let rpc = add(&engine, &proxy.address);
    let recipe = Recipe { steps: 4, ..on(&format!("all={rpc}")) };
    let expected = engine.run(&recipe).pixels().to_vec();
    let (way, lists, done) = (Arc::clone(&proxy), Arc::clone(&other), AtomicBool::new(false));
    let said = engine.run_until(&recipe, move |event| {
        if matches!(event, Event::Step { step, .. } if step.done == 2) && !done.swap(true, Ordering::Relaxed) {
            way.cut();
            lists.handle().list_devices().unwrap();
            lists.devices();
        }
        false
    });
    assert!(lost(&said), "{:?}", said.end());
    assert_eq!(engine.run(&recipe).pixels(), expected);
}

/// What begins a connection to our server: our handshake, then ggml's.
fn hello(server: &Server) -> Vec<u8> {
    let version = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().wire_version;
    let length = u8::try_from(version.len()).unwrap();
    [&b"atelier\n\x01"[..], &[length], version.as_bytes(), &message(HELLO, &[0; 24])].concat()
}

fn message(command: u8, body: &[u8]) -> Vec<u8> {
    [&[command][..], &(body.len() as u64).to_le_bytes(), body].concat()
}

/// Sends all bytes and reads until the other end closes.
fn send_all(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    // It may close before the end, which the system reports as a reset.
    let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn answers(server: &Server) -> bool {
    probe("127.0.0.1", server.port().parse().unwrap()).is_ok()
}

/// The process that lends; another one has taken its place where it died.
#[cfg(target_os = "linux")]
fn process_of(server: &Server) -> u32 {
    server.lending_process()
}

#[cfg(not(target_os = "linux"))]
fn process_of(server: &Server) -> bool {
    server.words.contains("crashed")
}

#[cfg(target_os = "linux")]
#[test]
fn a_lender_allocates_for_a_borrower_only_what_arrives() {
    const ROOM: u64 = 256 << 20;
    let server = Server::start(&["--device", "CPU"]);
    let hello = hello(&server);
    let process = process_of(&server);
    let before = server.peak_memory_bytes();
    // Nine bytes that announce 64 GiB, without a buffer for them and with one.
    let announced = [&[SET_TENSOR][..], &(60_u64 << 30).to_le_bytes()].concat();
    let total = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().devices[0].memory_total_bytes;
    let half = message(ALLOC_BUFFER, &[&0_u32.to_le_bytes()[..], &(total / 2).to_le_bytes()].concat());
    let large = [&[SET_TENSOR][..], &(total / 2).to_le_bytes()].concat();
    for bytes in [[&hello[..], &announced].concat(), [&hello[..], &half, &large, &vec![0; 1 << 20]].concat()] {
        send_all(&server.address, &bytes);
        let grown = server.peak_memory_bytes().saturating_sub(before);
        assert!(grown < ROOM, "{grown} bytes");
        assert!(answers(&server));
    }
    assert_eq!(process_of(&server), process);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lender_that_crashes_is_there_again_at_the_same_address() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU"]);
    let rpc = add(&engine, &server.address);
    let recipe = on(&format!("all={rpc}"));
    let expected = engine.run(&recipe).pixels().to_vec();
    server.crash();
    server.words.wait_for("Restarting");
    // Its second "Listening" comes after this one.
    server.words.wait_for_times("Listening at", 2);
    assert!(answers(&server));
    assert_eq!(engine.run(&recipe).pixels(), expected);
}

#[test]
fn a_borrower_gets_no_more_than_the_devices_memory() {
    let server = Server::start(&["--simulate-devices", "GPU0:0.5"]);
    let buffer = |bytes: u64| message(ALLOC_BUFFER, &[&0_u32.to_le_bytes()[..], &bytes.to_le_bytes()].concat());
    let wanted = [1 << 20, u64::MAX, u64::MAX - 100, 1 << 40, 512 << 20, 1 << 20];
    let requests: Vec<u8> = wanted.iter().flat_map(|bytes| buffer(*bytes)).collect();
    let answer = send_all(&server.address, &[hello(&server), requests].concat());
    // Address and size of each, after the answers' lengths.
    let buffers: Vec<u64> = answer[answer.len() - wanted.len() * 24..]
        .chunks_exact(24)
        .map(|answer| u64::from_le_bytes(answer[8..16].try_into().unwrap()))
        .collect();
    let given: Vec<bool> = buffers.iter().map(|address| *address != 0).collect();
    assert_eq!(given, [true, false, false, false, false, true]);
    assert!(answers(&server));
}

#[test]
fn a_borrower_gets_no_more_than_is_lent() {
    let server = Server::start(&["--simulate-devices", "GPU0:0.5,GPU1:0.5", "--device", "GPU0,GPU1", "--memory", "0.25"]);
    let devices = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().devices;
    let memory: Vec<u64> = devices.iter().flat_map(|device| [device.memory_total_bytes, device.memory_free_bytes]).collect();
    assert_eq!(memory, [256 << 20; 4]);
    server.words.wait_for("256.00 MiB");
    let buffer =
        |device: u32, mebibytes: u64| message(ALLOC_BUFFER, &[&device.to_le_bytes()[..], &(mebibytes << 20).to_le_bytes()].concat());
    // Of each device alone there would be more.
    let wanted = [(0, 200), (1, 100), (1, 56), (0, 1)];
    let requests: Vec<u8> = wanted.iter().flat_map(|(device, size)| buffer(*device, *size)).collect();
    let memory = message(GET_DEVICE_MEMORY, &1_u32.to_le_bytes());
    let answer = send_all(&server.address, &[hello(&server), requests, memory].concat());
    let (buffers, memory) = answer[answer.len() - (wanted.len() + 1) * 24..].split_at(wanted.len() * 24);
    let given: Vec<bool> = buffers.chunks_exact(24).map(|answer| answer[8..16] != [0; 8]).collect();
    assert_eq!(given, [true, false, true, false]);
    let numbers: Vec<u64> = memory[8..].chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect();
    assert_eq!(numbers, [0, 256 << 20], "free and in total");
}

#[test]
fn connections_that_say_nothing_shut_nobody_out() {
    let server = Server::start(&["--device", "CPU"]);
    let silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    for _ in 0..3 {
        assert!(answers(&server));
    }
    drop(silent);
}

/// What a borrower sends for a whole picture, sent again by somebody else: cut at every message, in
/// part, with bytes changed.
#[test]
fn a_recorded_borrower_replayed_and_spoilt_does_not_end_the_lender() {
    const SEED: u64 = 16;
    const MUTATIONS: usize = 200;
    let _alone = alone();
    let (engine, server, proxy, rpc) = engine_with_lender();
    let process = process_of(&server);
    proxy.record();
    let expected = engine.run(&on(&format!("all=cpu,vae={rpc}"))).pixels().to_vec();
    engine.handle().unload().unwrap();
    engine.residency(|residency| residency.models.is_empty());
    let recorded = proxy.requests().into_iter().max_by_key(Vec::len).unwrap();
    let messages = messages(&recorded);
    assert!(messages.len() > 20, "{}", messages.len());
    let (mut random, start) = (StdRng::seed_from_u64(SEED), messages[0]);
    for (_, end) in &messages {
        send_all(&server.address, &recorded[..*end]);
        send_all(&server.address, &recorded[..*end - 1]);
    }
    for _ in 0..MUTATIONS {
        let mut bytes = recorded.clone();
        for _ in 0..random.random_range(1..8) {
            let (from, to) = messages[random.random_range(0..messages.len())];
            // The head of a message and the tensor in it, rather than its weights.
            let at = from + random.random_range(0..(to - from).min(2000));
            bytes[at.max(start.0)] = wrong_byte(&mut random);
        }
        if random.random_range(0..4) == 0 {
            let (from, to) = messages[random.random_range(0..messages.len())];
            let twice = bytes[from..to].to_vec();
            bytes.splice(to..to, twice);
        }
        send_all(&server.address, &bytes);
    }
    println!("seed {SEED}, {MUTATIONS} mutations of {} messages", messages.len());
    assert!(answers(&server));
    assert_eq!(process_of(&server), process, "it died, and was started again");
    assert_eq!(engine.run(&on(&format!("all=cpu,vae={rpc}"))).pixels(), expected);
}

/// An engine that borrows a lender's processor through a proxy, under the name given last.
fn engine_with_lender() -> (Engine, Server, Proxy, String) {
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU"]);
    let proxy = Proxy::to(&server.address);
    let rpc = add(&engine, &proxy.address);
    (engine, server, proxy, rpc)
}

/// Any byte, or one at the edges of numbers.
fn wrong_byte(random: &mut StdRng) -> u8 {
    if random.random() { random.random() } else { [0, 1, 0x7f, 0xff][random.random_range(0..4)] }
}

/// Begin and end of each message after both handshakes.
fn messages(sent: &[u8]) -> Vec<(usize, usize)> {
    // "atelier\n", the purpose, and a version after its length.
    let mut at = 10 + usize::from(sent[9]);
    let mut found = Vec::new();
    while let Some(length) = sent.get(at + 1..at + 9) {
        let end = at + 9 + usize::try_from(u64::from_le_bytes(length.try_into().unwrap())).unwrap();
        if end > sent.len() {
            break;
        }
        found.push((at, end));
        at = end;
    }
    found
}

/// Makes the picture after trouble that has ended. What a connection of that time still carries may
/// cost a job; then the next is tried.
fn assert_works_again(engine: &Engine, proxy: &Proxy, recipe: &Recipe, expected: &[u8]) {
    const TRIES: usize = 3;
    let mut ends = (0..TRIES).map(|_| {
        // Asks what the server says of its devices now.
        engine.add_server(&proxy.address).unwrap();
        engine.run(recipe)
    });
    let said = ends.find(|said| !lost(said)).unwrap();
    assert_eq!(said.pixels(), expected);
}

/// A lender that is cut off after any number of bytes.
#[test]
fn a_lender_cut_at_any_byte_is_an_error_and_then_works_again() {
    const CUTS: u64 = 24;
    let _alone = alone();
    let (engine, _server, proxy, rpc) = engine_with_lender();
    let recipe = on(&format!("all={rpc}"));
    let before = proxy.answered();
    let expected = engine.run(&recipe).pixels().to_vec();
    let whole = proxy.answered() - before;
    let mut lost_jobs = 0;
    for cut in 0..CUTS {
        engine.handle().unload().unwrap();
        engine.residency(|residency| residency.models.is_empty());
        proxy.cut_after(whole * cut / CUTS + cut % 9);
        let said = engine.run(&recipe);
        // A question about memory, asked beside the job, may be what is cut; the job then connects
        // again and is whole.
        assert!(lost(&said) || said.pixels() == expected, "cut {cut}: {:?}", said.end());
        lost_jobs += u64::from(lost(&said));
        proxy.cut();
    }
    assert!(lost_jobs > CUTS / 2, "{lost_jobs} of {CUTS} jobs noticed");
    assert_works_again(&engine, &proxy, &recipe, &expected);
}

/// A lender whose answers are changed: the picture may be, the program lives.
#[test]
fn a_lender_that_lies_ends_no_program() {
    const SEED: u64 = 17;
    const LIES: usize = 30;
    let _alone = alone();
    let (engine, _server, proxy, rpc) = engine_with_lender();
    // A picture of one colour would switch flash attention off for the next one.
    let recipe = Recipe { flash_attention: false, ..on(&format!("all={rpc}")) };
    let expected = engine.run(&recipe).pixels().to_vec();
    let mut failed = 0;
    for lie in 0..LIES {
        let random = Mutex::new(StdRng::seed_from_u64(SEED + lie as u64));
        proxy.spoil(move |_, bytes| {
            let mut random = random.lock().unwrap();
            // One answer in many: some lies shall come late.
            if random.random_range(0..60) == 0 {
                let at = random.random_range(0..bytes.len());
                bytes[at] = wrong_byte(&mut random);
            }
        });
        engine.handle().unload().unwrap();
        let said = engine.run(&recipe);
        assert!(matches!(said.end(), End::Done { .. } | End::Failed(_)), "{:?}", said.end());
        failed += usize::from(matches!(said.end(), End::Failed(_)));
    }
    println!("seed {SEED}, {LIES} lies, {failed} of them noticed");
    proxy.be_honest();
    engine.handle().unload().unwrap();
    assert_works_again(&engine, &proxy, &recipe, &expected);
}

/// A server that answers our handshake like `server`, and then with these messages.
fn fake(version: &str, answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let welcome =
        [&b"atelier\n\x01"[..], &[u8::try_from(version.len()).unwrap()], version.as_bytes(), &2_u32.to_le_bytes(), b"[]"].concat();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (welcome, answers) = (welcome.clone(), answers.clone());
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                if stream.read(&mut bytes).is_err() || stream.write_all(&welcome).is_err() {
                    return;
                }
                for answer in answers {
                    if !matches!(stream.read(&mut bytes), Ok(1..)) || stream.write_all(&answer).is_err() {
                        return;
                    }
                }
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    address
}

fn answer(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u64).to_le_bytes()[..], body].concat()
}

#[test]
fn a_lender_with_numbers_beyond_reason_is_refused() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU"]);
    let version = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().wire_version;
    let hello = answer(&[&[4, 0, 0, 0][..], &[0; 24]].concat());
    let count = |count: u32| answer(&count.to_le_bytes());
    let number = |number: u64| answer(&number.to_le_bytes());
    for answers in [
        vec![hello.clone(), count(u32::MAX)],
        vec![hello.clone(), count(65)],
        vec![hello.clone(), answer(&[1; 9])],
        vec![hello.clone(), u64::MAX.to_le_bytes().to_vec()],
        vec![hello.clone(), count(1), number(0)],
        vec![hello.clone(), count(1), number(3)],
        vec![hello.clone(), count(1), number(u64::MAX)],
        vec![hello.clone(), count(1), number(64), number(0)],
        vec![answer(&[&[9, 0, 0, 0][..], &[0; 24]].concat())],
    ] {
        let address = fake(&version, answers.clone());
        let added = engine.add_server(&address);
        assert!(matches!(added, Err(RemoteError::Lost(_))), "{answers:?}: {added:?}");
    }
    assert!(matches!(engine.run(&on("cpu")).end(), End::Done { .. }));
}

/// While one lender keeps its answer to itself, another one is borrowed from, and a cancel is seen.
#[test]
fn a_silent_lender_keeps_no_other_waiting() {
    let _alone = alone();
    let (engine, other) = (Engine::start(), Engine::start());
    let (silent, honest) = (Server::start(&["--device", "CPU"]), Server::start(&["--device", "CPU"]));
    let proxy = Arc::new(Proxy::to(&silent.address));
    let (slow, fast) = (add(&engine, &proxy.address), add(&engine, &honest.address));
    let expected = engine.run(&on("cpu")).pixels().to_vec();
    let (way, done) = (Arc::clone(&proxy), AtomicBool::new(false));
    let (stuck, is_stuck) = std::sync::mpsc::channel();
    let said = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            engine.run_until(&on(&format!("all={slow}")), move |event| {
                if matches!(event, Event::Phase { phase: JobPhase::Encoding, .. }) && !done.swap(true, Ordering::Relaxed) {
                    way.be_silent(true);
                    stuck.send(()).unwrap();
                }
                false
            })
        });
        is_stuck.recv().unwrap();
        assert_eq!(other.run(&on(&format!("all={fast}"))).pixels(), expected);
        other.handle().list_devices().unwrap();
        assert!(other.devices().iter().any(|device| device.name == slow));
        proxy.wait_for_answer();
        let start = Instant::now();
        engine.handle().cancel_all();
        let said = waiting.join().unwrap();
        println!("a cancel while a lender is silent took {:?}", start.elapsed());
        said
    });
    assert!(matches!(said.end(), End::Cancelled), "{:?}", said.end());
    proxy.be_silent(false);
    let again = engine.run(&on(&format!("all={slow}")));
    assert_eq!(again.pixels(), expected);
}
