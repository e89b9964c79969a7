//! Memory over many jobs, in a process of its own so that nothing else counts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use atelier_core::device::DeviceKind;
use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{FileRole, Recipe, Seed};
use atelier_engine::{End, PreviewOptions, Task};
use atelier_library::BUILTIN_VARIABLE;
use support::engine::Engine;
use support::{files, folder, recipe, resident_bytes};

/// One test at a time: the memory is that of the process.
fn lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn fifty_jobs_do_not_grow_the_memory() {
    let _lock = lock();
    let engine = Engine::start();
    let job = |n: u64| {
        let said = engine.run_task(Task::Generate {
            recipe: Box::new(Recipe { prompt: format!("picture {}", n % 5), seed: Some(Seed(n)), steps: 2, ..recipe() }),
            preview: PreviewOptions::Projection { every: 1 },
            shares_steps: false,
        });
        assert!(matches!(said.end(), End::Done { .. }));
    };
    (0..10).for_each(job);
    let before = resident_bytes();
    (10..60).for_each(job);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more after 50 jobs");
}

/// Bytes of RAM that the engine says it has.
fn allocated_bytes(engine: &Engine) -> u64 {
    engine.handle().list_devices().unwrap();
    engine.devices().into_iter().find(|device| device.kind == DeviceKind::Cpu).unwrap().memory_allocated_bytes
}

#[test]
fn compute_buffers_are_kept_and_counted_and_go_with_the_model() {
    let _lock = lock();
    let engine = Engine::start();
    let first = engine.run(&recipe()).pixels().to_vec();
    let weights = engine.residency(|it| it.models.len() == 1 && it.models[0].bytes() > 0).models[0].bytes();
    // No weights are read from now on.
    engine.run(&Recipe { prompt: "a red fox".into(), seed: Some(Seed(7)), ..recipe() });
    let kept = allocated_bytes(&engine);
    assert!(kept > weights, "{kept} bytes with {weights} of weights");
    // Other numbers lie in them now.
    assert_eq!(engine.run(&recipe()).pixels(), first);
    assert_eq!(allocated_bytes(&engine), kept, "the same memory again");
    engine.handle().unload().unwrap();
    assert_eq!(allocated_bytes(&engine), 0);
}

/// The same pictures in a process that keeps no buffers.
#[test]
fn pictures_are_those_that_are_made_without_kept_buffers() {
    let home = folder("kept-buffers");
    let made = |keep: &str| -> Vec<Vec<u8>> {
        let out = home.join(format!("{keep}.png"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.env(HOME_VARIABLE, &home).env(BUILTIN_VARIABLE, home.join("none")).env("ATELIER_KEEP_BUFFERS", keep).stdin(Stdio::null());
        command.args(["generate", "-W", "64", "-H", "64", "--cfg", "1", "--steps", "2", "--seed", "42", "-t", "1", "-b", "3"]);
        for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
            command.arg(flag).arg(files().get(role).unwrap());
        }
        let output = command.args(["-p", "a lake", "-o"]).arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let paths = ["", "_2", "_3"].map(|number| home.join(format!("{keep}{number}.png")));
        paths.iter().map(|path| image::open(path).unwrap().to_rgb8().into_raw()).collect()
    };
    assert_eq!(made("1"), made("0"));
}
