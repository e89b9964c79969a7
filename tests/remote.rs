//! Devices of another machine, which here is another process on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use atelier::cli::json::Line;
use atelier_core::device::DeviceKind;
use atelier_core::paths::HOME_VARIABLE;
use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, InitImage, Lora, ModelFiles, Person, PlacementText, Recipe};
use atelier_engine::{Cause, End, Event, JobPhase, OutOfMemory, RemoteError, Task, probe};
use support::engine::Engine;
use support::lender::Server;
use support::proxy::Stock;
use support::{family, files, folder, of_clip, picture, recipe, written};
use testkit::{families, tiny};

/// The event at which something is done to a job.
type Moment = fn(&Event) -> bool;

/// The devices of this process are shared by its tests.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the one device of a server and returns its name.
fn borrow(engine: &Engine, server: &Server) -> String {
    let devices = engine.add_server(&server.address).unwrap();
    assert_eq!(devices.len(), 1);
    devices[0].name.clone()
}

fn on(backend: &str, params_backend: &str) -> Recipe {
    let placement = PlacementText { backend: backend.into(), params_backend: params_backend.into(), ..PlacementText::default() };
    Recipe { placement, ..recipe() }
}

#[test]
fn every_module_on_a_remote_device_makes_the_same_picture() {
    let _alone = alone();
    let engine = Engine::start();
    let cpu = engine.run(&on("cpu", "")).pixels().to_vec();
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    for (backend, params) in [
        (format!("all=cpu,te={rpc}"), ""),
        (format!("all=cpu,diffusion={rpc}"), ""),
        (format!("all=cpu,vae={rpc}"), ""),
        (format!("all={rpc}"), ""),
        (format!("all={rpc}"), "cpu"),
        (format!("all={rpc}"), "disk"),
    ] {
        assert_eq!(engine.run(&on(&backend, params)).pixels(), cpu, "{backend} {params}");
    }
    engine.handle().list_devices().unwrap();
    let device = engine.devices().into_iter().find(|device| device.name == rpc).unwrap();
    assert_eq!(device.kind, DeviceKind::Remote);
    assert!(device.description.ends_with(&format!(" at {}", server.address)), "{}", device.description);
    assert!(device.memory_total_bytes > 0);
}

#[test]
fn a_remote_device_is_used_only_where_it_is_named() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--simulate-devices", "GPU0:1"]);
    borrow(&engine, &server);
    assert!(matches!(engine.run(&on("", "")).end(), End::Done { .. }));
    assert!(engine.run(&on("gpu", "")).failure().advice.sentence.contains("gpu"), "the remote device is no GPU of this machine");
    assert!(!server.words.contains("was disconnected"));
}

#[test]
fn a_budget_holds_for_a_remote_device_too() {
    let _alone = alone();
    let engine = Engine::start();
    let options = tiny::Options { layers: 5, ..tiny::Options::default() };
    let deep = tiny::zimage(&folder("deep"), &options).unwrap();
    let mut files = files();
    files.set(FileRole::Diffusion, deep.diffusion);
    let cpu = engine.run(&Recipe { files: files.clone(), ..on("cpu", "") });
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    let mut recipe = Recipe { files, ..on(&format!("all=cpu,diffusion={rpc}"), "cpu") };
    recipe.placement.max_vram = format!("{rpc}=0.006");
    let said = engine.run(&recipe);
    assert_eq!(said.pixels(), cpu.pixels());
    assert!(said.events.iter().any(|event| matches!(event, Event::Log { text, .. } if text.contains("graph cut max_vram"))));
}

#[test]
fn a_server_killed_at_any_moment_is_an_error_and_a_new_one_in_its_place_works() {
    let _alone = alone();
    let engine = Engine::start();
    let cpu = engine.run(&on("cpu", "")).pixels().to_vec();
    let server = Arc::new(Mutex::new(Server::start(&["--device", "CPU"])));
    let (address, port, rpc) = {
        let server = server.lock().unwrap();
        (server.address.clone(), server.port().to_owned(), borrow(&engine, &server))
    };
    let moments: [(&str, Moment); 4] = [
        ("while encoding", |event| matches!(event, Event::Phase { phase: JobPhase::Encoding, .. })),
        ("while weights travel", |event| {
            matches!(event, Event::Phase { phase: JobPhase::Loading { module: Some(Module::Diffusion), .. }, .. })
        }),
        ("inside a step", |event| matches!(event, Event::Step { step, .. } if step.done == 1)),
        ("while decoding", |event| matches!(event, Event::Phase { phase: JobPhase::Decoding { .. }, .. })),
    ];
    for (when, moment) in moments {
        engine.handle().unload().unwrap();
        let (victim, done) = (Arc::clone(&server), AtomicBool::new(false));
        let said = engine.run_until(&on(&format!("all={rpc}"), ""), move |event| {
            if moment(event) && !done.swap(true, Ordering::Relaxed) {
                victim.lock().unwrap().kill();
            }
            false
        });
        let failure = said.failure();
        assert_eq!(
            failure.cause.as_ref().map(|cause| matches!(cause, Cause::Remote(problem) if problem.server() == address)),
            Some(true),
            "{when}: {failure:?}"
        );
        assert!(failure.advice.sentence.contains(&address) && !failure.advice.hint.is_empty(), "{when}: {failure:?}");
        assert_eq!(engine.run(&on("cpu", "")).pixels(), cpu, "the engine lives on after a kill {when}");
        let gone = engine.run(&on(&format!("all={rpc}"), ""));
        assert!(matches!(gone.failure().cause, Some(Cause::Remote(RemoteError::Unreachable(_)))), "{when}: {:?}", gone.failure());
        *server.lock().unwrap() = Server::at(&port, &["--device", "CPU"]);
        assert_eq!(engine.run(&on(&format!("all={rpc}"), "")).pixels(), cpu, "a new server after a kill {when}");
    }
}

#[test]
fn a_cancelled_job_on_a_remote_device_leaves_it_usable() {
    let _alone = alone();
    let engine = Engine::start();
    let cpu = engine.run(&on("cpu", "")).pixels().to_vec();
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    let recipe = on(&format!("all={rpc}"), "");
    let said = engine.run_until(&recipe, |event| matches!(event, Event::Step { step, .. } if step.done == 1));
    assert!(matches!(said.end(), End::Cancelled), "{:?}", said.end());
    assert_eq!(engine.run(&recipe).pixels(), cpu);
}

#[test]
fn memory_can_be_asked_for_while_a_remote_device_computes() {
    let _alone = alone();
    let (engine, other) = (Engine::start(), Engine::start());
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    // It would compute for minutes, and is cancelled once it was asked beside.
    let recipe = Recipe { steps: 1000, batch_count: 20, ..on(&format!("all={rpc}"), "") };
    let was_asked = Arc::new(AtomicBool::new(false));
    let (at_work, is_at_work) = mpsc::channel();
    thread::scope(|scope| {
        let enough = Arc::clone(&was_asked);
        let said = scope.spawn(|| {
            engine.run_until(&recipe, move |event| {
                if matches!(event, Event::Step { .. } | Event::End { .. }) {
                    let _ = at_work.send(());
                }
                enough.load(Ordering::SeqCst)
            })
        });
        is_at_work.recv().unwrap();
        let answers: Vec<_> = (0..3)
            .map(|_| {
                other.handle().list_devices().unwrap();
                other.devices().into_iter().find(|device| device.name == rpc).map(|device| device.memory_total_bytes)
            })
            .collect();
        was_asked.store(true, Ordering::SeqCst);
        let said = said.join().unwrap();
        assert!(matches!(said.end(), End::Cancelled), "{:?}", said.end());
        let all = answers.iter().all(|bytes| bytes.is_some_and(|bytes| bytes > 0));
        assert!(all, "it answers, or what it last said is remembered: {answers:?}");
    });
}

#[test]
fn a_remote_device_without_room_is_named() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--simulate-devices", "NANO:0.002"]);
    let rpc = borrow(&engine, &server);
    let said = engine.run(&on(&format!("all=cpu,diffusion={rpc}"), ""));
    let Some(Cause::OutOfMemory(OutOfMemory { device, bytes_wanted, bytes_free, .. })) = &said.failure().cause else {
        panic!("{:?}", said.failure())
    };
    assert_eq!(*device, rpc);
    assert!(bytes_wanted > bytes_free && *bytes_free > 0, "{:?}", said.failure());
}

/// What is lent in total is less than the device has.
#[test]
fn a_lender_that_lends_too_little_is_named_as_short_of_memory() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU", "--memory", "0.004"]);
    let rpc = borrow(&engine, &server);
    engine.handle().list_devices().unwrap();
    let device = engine.devices().into_iter().find(|device| device.name == rpc).unwrap();
    assert_eq!(device.memory_total_bytes, 4_294_967, "{device:?} {}", server.address);
    let failure = engine.run(&on(&format!("all={rpc}"), "")).failure().clone();
    let Some(Cause::OutOfMemory(OutOfMemory { device, bytes_wanted, bytes_free, .. })) = failure.cause else { panic!("{failure:?}") };
    assert_eq!(device, rpc);
    assert!(bytes_wanted > bytes_free && bytes_free <= 4_294_967, "{bytes_wanted} of {bytes_free}");
    for wrong in ["0", "-1", "much", "NaN", "inf"] {
        assert_eq!(atelier(&["serve-device", &format!("--memory={wrong}")]).status.code(), Some(2), "{wrong}");
    }
}

/// An address says nothing of who listens there now.
#[test]
fn a_lender_at_the_address_of_another_is_listed_with_its_own_memory() {
    let _alone = alone();
    let engine = Engine::start();
    let first = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &first);
    assert!(matches!(engine.run(&on(&format!("all={rpc}"), "")).end(), End::Done { .. }));
    let port = first.port().to_owned();
    drop(first);
    let _second = Server::at(&port, &["--device", "CPU", "--memory", "0.004"]);
    let devices = engine.add_server(&format!("127.0.0.1:{port}")).unwrap();
    assert_eq!(devices.iter().map(|device| device.memory_total_bytes).collect::<Vec<_>>(), [4_294_967], "{devices:?}");
}

fn with_photomaker() -> ModelFiles {
    let dir = folder("photomaker");
    let mut files = written(families::reading("sdxl"), &dir);
    let path = dir.join("photomaker.safetensors");
    families::photomaker().write(&path).unwrap();
    files.set(FileRole::Photomaker, path);
    files
}

/// All that the engine sends is something that a lender takes.
#[test]
fn every_family_of_tiny_models_makes_the_same_picture_with_a_lender() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    let everywhere = PlacementText { backend: format!("all={rpc}"), ..PlacementText::default() };
    let clip_skip = of_clip().clip_skip;
    let compare = |name: &str, recipe: Recipe| {
        // On the processor zeros are not copied.
        let memory_map = matches!(name, "sd15" | "sd3" | "person");
        let cpu = engine.run(&Recipe { memory_map, ..recipe.clone() }).pixels().to_vec();
        engine.handle().unload().unwrap();
        let remote = engine.run(&Recipe { placement: everywhere.clone(), ..recipe });
        assert_eq!(remote.pixels(), cpu, "{name}");
        engine.handle().unload().unwrap();
    };
    // SDXL comes with the person.
    for name in ["zimage", "zimage-vae", "zimage-gguf", "ovis", "sd15", "sd3"] {
        // A second text is more of the same, and most of the time where CLIP has its real size.
        let guidance = if name == "sd3" { 1.0 } else { 2.0 };
        compare(name, Recipe { files: family(name), guidance, negative_prompt: "fog".into(), clip_skip, steps: 1, ..on("cpu", "") });
    }
    // What only some pictures need: an encoder, LoRAs (of quantised weights too), a person.
    let encoded = Recipe { init: Some(InitImage { image: picture(64, 64, 0), strength: 0.9 }), ..on("cpu", "") };
    let lora = |name: &str| {
        let path = folder("lora").join("lora.safetensors");
        families::lora().write(&path).unwrap();
        Recipe { files: family(name), loras: vec![Lora::new(path, 0.8)], ..on("cpu", "") }
    };
    let person = Recipe {
        files: with_photomaker(),
        prompt: "a woman img by a lake".into(),
        person: Person { images: vec![picture(96, 61, 0)], ..Person::default() },
        ..on("cpu", "")
    };
    for (name, recipe) in
        [("start picture", encoded), ("LoRA", lora("zimage")), ("LoRA of quantised weights", lora("zimage-gguf")), ("person", person)]
    {
        compare(name, Recipe { clip_skip, steps: 1, ..recipe });
    }
    let model = tiny::upscaler(&folder("upscaler"), 2, 1).unwrap();
    let upscale = |backend: String| {
        let placement = PlacementText { backend, ..PlacementText::default() };
        let (image, model) = (picture(32, 32, 0), model.clone());
        engine.run_task(Task::Upscale { image, model, allow_pickle: false, placement, threads: Some(1) }).pixels().to_vec()
    };
    assert_eq!(upscale(format!("upscaler={rpc}")), upscale("cpu".into()));
    assert!(!server.words.contains("was disconnected"));
}

#[test]
fn one_borrower_works_at_a_time_and_others_are_told() {
    let _alone = alone();
    let engine = Engine::start();
    let server = Server::start(&["--device", "CPU"]);
    let rpc = borrow(&engine, &server);
    assert!(matches!(engine.run(&on(&format!("all={rpc}"), "")).end(), End::Done { .. }));
    // The model is resident, so the device is still lent.
    let output = atelier(&["devices", "--rpc-servers", &server.address]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("lent to another program"), "{err}");
    let report = probe("127.0.0.1", server.port().parse().unwrap()).unwrap();
    assert_eq!(report.devices.len(), 1, "looking is possible meanwhile");
    engine.handle().unload().unwrap();
    let output = atelier(&["devices", "--json", "--rpc-servers", &server.address]);
    let Line::Devices { devices, .. } = serde_json::from_slice(&output.stdout).unwrap() else { panic!("{output:?}") };
    assert!(devices.iter().any(|device| device.name == "RPC0" && device.kind == "remote" && device.memory_total_bytes > 0), "{devices:?}");
}

#[test]
fn large_weights_travel_once_and_a_spoilt_cache_is_noticed() {
    let _alone = alone();
    let engine = Engine::start();
    let options = tiny::Options { encoder_width: 64, ..tiny::Options::default() };
    let wide = tiny::zimage(&folder("wide"), &options).unwrap();
    let mut files = files();
    files.set(FileRole::Llm, wide.llm);
    files.set(FileRole::Diffusion, wide.diffusion);
    let cache = folder("cache");
    for entry in std::fs::read_dir(&cache).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let server = Server::start(&["--device", "CPU", "--cache", cache.to_str().unwrap()]);
    let rpc = borrow(&engine, &server);
    let cpu = engine.run(&Recipe { files: files.clone(), ..on("cpu", "") });
    let remote = Recipe { files, ..on(&format!("all=cpu,te={rpc}"), "") };
    assert_eq!(engine.run(&remote).pixels(), cpu.pixels());
    let kept: Vec<PathBuf> = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].metadata().unwrap().len() > 10 << 20 && kept[0].extension().is_none(), "{kept:?}");
    engine.handle().unload().unwrap();
    assert_eq!(engine.run(&remote).pixels(), cpu.pixels(), "from the cache");
    let mut bytes = std::fs::read(&kept[0]).unwrap();
    bytes[12345] ^= 0xff;
    std::fs::write(&kept[0], bytes).unwrap();
    engine.handle().unload().unwrap();
    assert_eq!(engine.run(&remote).pixels(), cpu.pixels(), "a spoilt file is not used");
}

#[test]
fn a_look_at_a_server_tells_what_it_lends_and_how_good_the_way_is() {
    let server = Server::start(&["--simulate-devices", "GPU0:8,GPU1:6"]);
    let report = probe("127.0.0.1", server.port().parse().unwrap()).unwrap();
    let names: Vec<_> = report.devices.iter().map(|it| (it.name.as_str(), it.kind, it.memory_total_bytes)).collect();
    assert_eq!(names, [("GPU0", DeviceKind::Gpu, 8 << 30), ("GPU1", DeviceKind::Gpu, 6 << 30)]);
    assert!(
        report.round_trip > Duration::ZERO && report.bandwidth.is_some_and(|it| it > 0.0) && report.wire_version.starts_with("2/"),
        "{report:?}"
    );
}

/// A server that answers the first connection with these bytes, or hangs up where there are none,
/// or says nothing at all.
fn stranger(answer: Option<&'static [u8]>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        match answer {
            Some(bytes) => {
                let _ = stream.read(&mut [0; 1]);
                let _ = stream.write_all(bytes);
            }
            None => drop(stream.read_to_end(&mut Vec::new())),
        }
    });
    port
}

#[test]
fn what_is_no_server_of_ours_is_refused_with_a_sentence() {
    let look = |port| probe("127.0.0.1", port).unwrap_err();
    assert!(matches!(look(stranger(Some(b""))), RemoteError::NotAtelier(_)), "a stock server hangs up");
    assert!(matches!(look(stranger(Some(b"HTTP/1.1 400 Bad Request\r\n"))), RemoteError::NotAtelier(_)));
    assert!(matches!(look(stranger(None)), RemoteError::Silent(_)));
    assert!(matches!(look(stranger(Some(b"atelier\n\x03\x05other"))), RemoteError::OtherVersion { theirs, .. } if theirs == "other"));
    // A port that no listener of another test is ever given.
    assert!(matches!(look(1), RemoteError::Unreachable(_)));
    assert!(matches!(probe("no-such-machine.invalid", 1), Err(RemoteError::Unknown(_))));
}

#[test]
fn a_stock_server_is_borrowed_from_and_named_as_such() {
    let _alone = alone();
    let engine = Engine::start();
    // A text encoder whose weights our own lender would be asked for by their hash.
    let options = tiny::Options { encoder_width: 64, ..tiny::Options::default() };
    let wide = tiny::zimage(&folder("wide-stock"), &options).unwrap();
    let mut files = files();
    files.set(FileRole::Llm, wide.llm);
    files.set(FileRole::Diffusion, wide.diffusion);
    let cpu = engine.run(&Recipe { files: files.clone(), ..on("cpu", "") }).pixels().to_vec();
    let server = Server::start(&["--device", "CPU"]);
    let ours = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().wire_version;
    let stock = Stock::start(&server.address, &ours, None, false);
    let report = probe("127.0.0.1", stock.address.rsplit_once(':').unwrap().1.parse().unwrap()).unwrap();
    assert!(report.is_stock && report.bandwidth.is_none() && report.wire_version.starts_with("ggml 4."), "{report:?}");
    assert_eq!(report.devices.len(), 1);
    let devices = engine.add_server(&stock.address).unwrap();
    assert_eq!(devices[0].description, format!("ggml rpc-server at {}", stock.address));
    assert!(devices[0].memory_total_bytes > 0);
    let rpc = &devices[0].name;
    // Without the VAE, whose convolutions a stock server computes in another way.
    assert_eq!(engine.run(&Recipe { files: files.clone(), ..on(&format!("all={rpc},vae=cpu"), "") }).pixels(), cpu);
    assert!(matches!(engine.run(&Recipe { files, ..on(&format!("all={rpc}"), "") }).end(), End::Done { .. }));
    let commands = stock.commands.lock().unwrap();
    assert!(commands.contains(&6) && !commands.contains(&7), "weights are sent, not asked for by a hash of ours");
}

#[test]
fn a_stock_server_that_cannot_be_used_gets_a_sentence() {
    let answer = |body: &[u8]| [&(body.len() as u64).to_le_bytes()[..], body].concat();
    let look = |stock: &Stock| probe("127.0.0.1", stock.address.rsplit_once(':').unwrap().1.parse().unwrap()).unwrap_err();
    let newer = Stock::start("", "", Some(answer(&[&[5, 1, 0, 0][..], &[0; 24]].concat())), false);
    let older = Stock::start("", "", Some(answer(&[3, 6, 1])), true);
    let number = |stock| match look(stock) {
        RemoteError::StockVersion { theirs, ours, .. } => (theirs, ours),
        other => panic!("{other:?}"),
    };
    assert_eq!(number(&newer), ("5.1.0".into(), "4.0.0".into()));
    assert_eq!(number(&older), ("3.6.1".into(), "4.0.0".into()));
    let said = look(&older).to_string();
    assert!(said.contains("rpc-server") && said.contains("3.6.1") && said.contains("4.0.0"), "{said}");
}

#[test]
fn a_stock_client_and_one_that_says_nothing_keep_nobody_waiting() {
    let server = Server::start(&["--device", "CPU"]);
    let silent = TcpStream::connect(&server.address).unwrap();
    let mut stock = TcpStream::connect(&server.address).unwrap();
    // ggml's own greeting: command 14 and 24 bytes.
    stock.write_all(&[14, 24, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    server.words.wait_for("not Atelier");
    assert!(probe("127.0.0.1", server.port().parse().unwrap()).is_ok());
    server.words.wait_for("no message was received");
    drop(silent);
}

#[test]
fn bytes_that_are_no_protocol_after_the_greeting_do_not_end_the_server() {
    let server = Server::start(&["--device", "CPU"]);
    let version = probe("127.0.0.1", server.port().parse().unwrap()).unwrap().wire_version;
    let length = u8::try_from(version.len()).unwrap();
    let hello = [b"atelier\n\x01".as_slice(), &[length], version.as_bytes()].concat();
    let rpc_hello = [&[14_u8, 24, 0, 0, 0, 0, 0, 0, 0][..], &[0; 24]].concat();
    // A command that is none; a tensor that lies nowhere; a length beyond reason.
    let tensor = [&[6_u8, 0, 2, 0, 0, 0, 0, 0, 0][..], &[0xee; 512]].concat();
    let graph = [&[10_u8, 0, 2, 0, 0, 0, 0, 0, 0][..], &[0; 512]].concat();
    let endless = [&[6_u8][..], &[0xff; 8]].concat();
    for (after, borrowers) in [vec![99], tensor, graph, endless].into_iter().zip(1..) {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(&[hello.clone(), rpc_hello.clone(), after.clone()].concat()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // The server may close with bytes unread, which the system reports as a reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.starts_with(b"atelier\n\x01"), "{after:?}");
        assert!(probe("127.0.0.1", server.port().parse().unwrap()).is_ok(), "{after:?}");
        // Until it has left, the next one is told that the devices are lent.
        server.words.wait_for_times("disconnected", borrowers);
    }
}

fn atelier(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_atelier")).env(HOME_VARIABLE, folder("home")).args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_program_makes_the_same_file_with_borrowed_devices_in_the_order_given() {
    let (first, second) = (Server::start(&["--device", "CPU"]), Server::start(&["--simulate-devices", "GPU0:1"]));
    let home = folder("program");
    let files = files();
    let make = |name: &str, backend: &str, servers: &str| {
        let out = home.join(name);
        let role = |role| files.get(role).unwrap().to_str().unwrap();
        let mut args = vec!["generate", "-p", "a lake", "-W", "64", "-H", "64", "--cfg", "1", "--steps", "2", "--seed", "7", "-t", "1"];
        args.extend(["--diffusion-model", role(FileRole::Diffusion), "--llm", role(FileRole::Llm), "--taesd", role(FileRole::Taesd)]);
        args.extend(["--backend", backend, "-o", out.to_str().unwrap()]);
        if !servers.is_empty() {
            args.extend(["--rpc-servers", servers]);
        }
        let output = atelier(&args);
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), image::open(&out).ok().map(|image| image.to_rgb8().into_raw()))
    };
    let both = format!("{},{}", first.address, second.address);
    let (code, err, cpu) = make("cpu.png", "cpu", "");
    assert_eq!(code, Some(0), "{err}");
    let (code, err, remote) = make("remote.png", "te=cpu,diffusion=rpc1,vae=rpc0", &both);
    assert_eq!((code, remote), (Some(0), cpu), "{err}");
    second.words.wait_for("disconnected");
    let (code, err, nothing) = make("nothing.png", "rpc0", "127.0.0.1:1");
    assert_eq!((code, nothing), (Some(1), None));
    assert!(err.contains("warning: nothing responds at 127.0.0.1:1") && err.contains("rpc0"), "{err}");
}

#[test]
fn lending_to_a_network_is_asked_for_and_warned_of() {
    let refused = atelier(&["serve-device", "--host", "0.0.0.0", "--port", "0"]);
    let err = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err.contains("no encryption") && err.contains("--allow-network"), "{err}");
    let server = Server::start(&["--host", "0.0.0.0", "--allow-network", "--device", "CPU"]);
    server.words.wait_for("WARNING");
    server.words.wait_for("ssh -N -L");
    // This machine's kernel has what confines a lender.
    #[cfg(target_os = "linux")]
    server.words.wait_for("is sandboxed");
    #[cfg(target_os = "linux")]
    assert!(!server.words.contains("take over"));
    let help = atelier(&["serve-device", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(help.contains("no encryption and no login") && help.contains("ssh -N -L"), "{help}");
    let unknown = atelier(&["serve-device", "--device", "cuda9", "--port", "0"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("choose one of CPU"));
}
