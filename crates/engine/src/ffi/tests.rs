//! What only the seam itself can show: the hook for devices other than the CPU, and engine faults that checks above would prevent.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use testkit::{broken, tiny};

use super::{CallError, Context, Encodings, Load, PreviewMode, Shot, Sink, Status, force_hook};
use crate::event::{LogLevel, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, Recipe, Rgb8};

/// The engine's callbacks and the hook's settings belong to the process.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct Quiet {
    denoising: AtomicBool,
    /// How often the engine asked, while denoising, whether to stop.
    asked: AtomicU32,
    /// Says yes from this question on; 0: never.
    stop_at: u32,
    finished_steps: AtomicU32,
}

impl Sink for Quiet {
    fn log(&self, _: LogLevel, _: &str) {}
    fn phase(&self, phase: PhaseKind) {
        self.denoising.store(phase == PhaseKind::Denoising, Ordering::Relaxed);
    }
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, done: u32, _: u32, _: f32, _: f32) {
        self.finished_steps.fetch_max(done, Ordering::Relaxed);
    }
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        let asked = self.asked.fetch_add(u32::from(self.denoising.load(Ordering::Relaxed)), Ordering::Relaxed);
        self.stop_at > 0 && asked >= self.stop_at
    }
}

fn load(files: &tiny::TinyFiles) -> Load {
    Load {
        files: [(FileRole::Diffusion, files.diffusion.clone()), (FileRole::Llm, files.llm.clone()), (FileRole::Taesd, files.taesd.clone())]
            .into_iter()
            .collect(),
        threads: 1,
        flash_attention: true,
        backend: "CPU".into(),
        params_backend: String::new(),
    }
}

fn make(dir: &Path) -> tiny::TinyFiles {
    tiny::zimage(dir, &tiny::Options::default()).unwrap()
}

fn open(load: &Load) -> Result<Context, CallError> {
    Context::new(load, &Encodings::default(), "", &Quiet::default())
}

fn picture(context: &mut Context, sink: &Quiet) -> Result<Rgb8, CallError> {
    let recipe = Recipe { prompt: "a lake".into(), steps: 2, guidance: 1.0, ..Recipe::default() };
    let shot = Shot {
        recipe: &recipe,
        width: 64,
        height: 64,
        seed: 1,
        vae_tiling: false,
        init: None,
        mask: None,
        references: &[],
        control: None,
        lora_key: "",
    };
    context.generate(&shot, Some((PreviewMode::Projection, 1)), sink)
}

#[test]
fn the_hook_of_other_devices_gives_the_same_picture_and_stops_inside_a_step() {
    let _lock = one_at_a_time();
    let dir = tempfile::tempdir().unwrap();
    let load = load(&make(dir.path()));
    let plain = picture(&mut open(&load).unwrap(), &Quiet::default()).unwrap();

    // Backends are hooked when they are made, so the context comes after.
    force_hook(8, true);
    let mut hooked = open(&load).unwrap();
    force_hook(8, false);

    assert_eq!(picture(&mut hooked, &Quiet::default()).unwrap(), plain);
    let asking = Quiet::default();
    assert_eq!(picture(&mut hooked, &asking).unwrap(), plain);
    assert!(asking.asked.load(Ordering::Relaxed) > 20, "asked between chunks: {asking:?}");
    let stopping = Quiet { stop_at: 5, ..Quiet::default() };
    let error = picture(&mut hooked, &stopping).unwrap_err();
    assert_eq!((error.status, stopping.finished_steps.load(Ordering::Relaxed)), (Status::Cancelled, 0));
    assert_eq!(picture(&mut hooked, &Quiet::default()).unwrap(), plain);
    force_hook(0, false);
}

#[test]
fn an_assert_in_the_engine_is_an_error_and_other_contexts_live_on() {
    let _lock = one_at_a_time();
    let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut good = open(&load(&make(good.path()))).unwrap();
    let before = picture(&mut good, &Quiet::default()).unwrap();
    let bad = load(&broken::wrong_width(bad.path()).unwrap());
    let error = open(&bad).and_then(|mut context| picture(&mut context, &Quiet::default())).unwrap_err();
    assert_eq!(error.status, Status::Aborted);
    assert!(error.message.contains("GGML_ASSERT"), "{error}");
    assert_eq!(picture(&mut good, &Quiet::default()).unwrap(), before);
}

#[test]
fn a_second_roll_of_a_prompt_runs_no_text_encoder() {
    let _lock = one_at_a_time();
    let dir = tempfile::tempdir().unwrap();
    let mut context = open(&load(&make(dir.path()))).unwrap();
    let first = picture(&mut context, &Quiet::default()).unwrap();
    assert_eq!(context.encodings(), Some((0, 1)));
    assert_eq!(picture(&mut context, &Quiet::default()).unwrap(), first);
    assert_eq!(context.encodings(), Some((1, 1)));
}

#[test]
fn a_text_with_a_nul_is_refused() {
    let _lock = one_at_a_time();
    let dir = tempfile::tempdir().unwrap();
    let mut load = load(&make(dir.path()));
    load.backend = "CPU\0".into();
    assert_eq!(open(&load).err().map(|error| error.status), Some(Status::Failed));
}
