//! The command line against a scripted engine.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::json::{Line, Outcome};
use super::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed, SeedNumber};
use atelier_engine::{
    Begin, End, EngineEnd, Event, Failure, JobId, JobPhase, LogLevel, Picture, Preview, Query, Request, Step, Task, Timings, channel,
};

mod strangers;

/// A writer whose text can be read by its clones.
#[derive(Clone, Default)]
pub(super) struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Outcome of a run.
pub(super) struct RunOutcome {
    pub(super) exit: Exit,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs a command line with a scripted engine, in folders beneath `home`.
fn run_with(home: &Path, args: &[&str], interrupt: &Arc<Interrupt>, engine: impl FnOnce(&EngineEnd) + Send + 'static) -> RunOutcome {
    let mut out = SharedBuffer::default();
    let written = out.clone();
    let (exit, err) = run_into(home, args, interrupt, &mut out, engine);
    RunOutcome { exit, out: written.text(), err }
}

fn run_into(
    home: &Path,
    args: &[&str],
    interrupt: &Arc<Interrupt>,
    out: &mut (dyn Write + Send),
    engine: impl FnOnce(&EngineEnd) + Send + 'static,
) -> (Exit, String) {
    let command = flags::Cli::try_parse_from([&["atelier"], args].concat()).unwrap().command.unwrap();
    let err = SharedBuffer::default();
    let mut thread = None;
    let start = |wake| {
        let (handle, port) = channel(wake);
        thread = Some(thread::spawn(move || engine(&port)));
        handle
    };
    let env = Env {
        out,
        err: Box::new(err.clone()),
        terminal: false,
        answers: None,
        paths: || Ok(Paths::beneath(home)),
        builtin: || Err(BuiltinError::Missing { looked: Vec::new() }),
        interrupt: Arc::clone(interrupt),
        listen: |_| Ok(()),
    };
    let exit = run_in(command, start, env);
    if let Some(thread) = thread {
        thread.join().unwrap();
    }
    (exit, err.text())
}

pub(super) fn run_once(args: &[&str], engine: impl FnOnce(&EngineEnd) + Send + 'static) -> (RunOutcome, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let ran = run_with(home.path(), args, &Arc::default(), engine);
    (ran, home)
}

/// The same in a home that other runs have used.
pub(super) fn run_once_at(home: &Path, args: &[&str], engine: impl FnOnce(&EngineEnd) + Send + 'static) -> RunOutcome {
    run_with(home, args, &Arc::default(), engine)
}

#[test]
fn settings_are_printed_as_a_command_without_an_engine() {
    let home = tempfile::tempdir().unwrap();
    let print = |args: &[&str]| run_with(home.path(), args, &Arc::default(), |_| panic!("the engine was started"));
    let ran = print(&generate(&["--seed", "3", "--as-command"]));
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""));
    assert!(ran.out.starts_with("sd-cli --model model.gguf --prompt 'a lake' ") && ran.out.ends_with("--diffusion-fa\n"), "{}", ran.out);
    let again = print(&["generate", "--as-command", "--from-command", ran.out.trim()]);
    assert_eq!((again.exit, again.out), (Exit::Done, ran.out));
    for seed in ["9223372036854775808", "18446744073709551615"] {
        let ran = print(&generate(&["--seed", seed, "--as-command"]));
        assert!(ran.out.contains(&format!(" --seed {seed} ")), "{}", ran.out);
        assert_eq!(print(&["generate", "--as-command", "--from-command", ran.out.trim()]).out, ran.out);
    }
    let lacking = print(&["generate", "--as-command", "--from-command", "sd -m m --fps 9"]);
    assert_eq!((lacking.exit, lacking.err.as_str()), (Exit::Done, "left out: --fps 9: Atelier makes no videos\n"));
    assert_eq!(print(&["generate", "--as-command", "--from-command", "a cat"]).exit, Exit::Usage);
    let bare = print(&generate(&["--seed", "3", "--as-command", "--disable-image-metadata"]));
    assert!(bare.out.ends_with(" --disable-image-metadata\n"), "{}", bare.out);
    assert_eq!(print(&["generate", "--as-command", "--from-command", bare.out.trim()]).out, bare.out);
}

#[test]
fn an_option_of_sd_cli_that_generate_lacks_is_explained() {
    let said = |args: &[&str]| {
        let mut err = Vec::new();
        let args = ["atelier", "generate", "-p", "x"].iter().chain(args).map(OsString::from);
        assert!(matches!(parse_to(args, &mut err), Err(Exit::Usage)));
        String::from_utf8(err).unwrap()
    };
    assert!(said(&["--fps", "9"]).ends_with("note: --fps of sd-cli: Atelier makes no videos\n"));
    assert!(said(&["-M", "upscale"]).contains("note: -M of sd-cli: each mode is a command"));
    assert!(!said(&["--shiny"]).contains("note:") && !said(&["--steps", "many"]).contains("note:"));
}

const GENERATE: &[&str] = &["generate", "-m", "model.gguf", "-p", "a lake"];

fn generate(more: &[&'static str]) -> Vec<&'static str> {
    [GENERATE, more].concat()
}

fn image(value: u8) -> Arc<Rgb8> {
    Arc::new(Rgb8::new(4, 2, vec![value; 24]).unwrap())
}

fn picture(index: u32) -> Picture {
    Picture {
        info: PictureInfo { index, seed: Some(Seed(42 + u64::from(index))), cpu_math: None, merged_loras: false },
        notes: vec![PictureNote::changed("The size was snapped.")],
        image: image(index as u8),
    }
}

fn begin(pictures: u32) -> Begin {
    let seeds = (0..pictures).map(|n| Seed(42 + u64::from(n))).collect();
    Begin { width: 4, height: 2, steps: 2, seeds, notes: vec!["The size was snapped.".into()] }
}

fn done(pictures: u32) -> End {
    let pictures = (0..pictures).map(|index| picture(index).info).collect();
    End::Done { pictures, timings: Timings { total_secs: 1.5, ..Timings::default() }, notes: vec!["One colour only.".into()] }
}

/// The task of the only job that is submitted.
fn task(port: &EngineEnd) -> (JobId, Task) {
    match port.next() {
        Some(Request::Job { job, task }) => (job, task),
        other => panic!("{other:?}"),
    }
}

fn recipe(port: &EngineEnd) -> (JobId, Recipe) {
    match task(port) {
        (job, Task::Generate { recipe, .. }) => (job, *recipe),
        other => panic!("{other:?}"),
    }
}

/// An engine that makes every picture that is asked for.
fn paints(port: &EngineEnd) {
    let (job, recipe) = recipe(port);
    assert!(port.start(job).is_some());
    port.send(Event::Begin { job, begin: begin(recipe.batch_count) });
    port.send(Event::Phase { job, phase: JobPhase::Encoding });
    for index in 0..recipe.batch_count {
        port.send(Event::Phase { job, phase: JobPhase::Denoising { picture: index } });
        port.send(Event::Step { job, step: Step { picture: index, done: 1, total: 2, fraction: 0.0, step_secs: 0.5 } });
        port.send(Event::Picture { job, picture: picture(index) });
    }
    port.send(Event::Log { job: Some(job), level: LogLevel::Info, text: "the engine's own words".into() });
    port.send(Event::End { job, end: done(recipe.batch_count) });
}

#[test]
fn a_picture_is_saved_among_the_persons_pictures_and_its_path_printed() {
    let (ran, home) = run_once(&generate(&[]), paints);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let path = Path::new(ran.out.trim_end());
    assert!(path.starts_with(Paths::beneath(home.path()).pictures), "{}", ran.out);
    let metadata = atelier_media::read_metadata(path).unwrap();
    assert!(metadata.parameters.unwrap().starts_with("a lake\nSteps: 20, CFG scale: 7, Seed: 42, Size: 4x2, Model: model"));
    assert!(metadata.recipe.is_some());
    assert!(
        ran.err.starts_with("The size was snapped.\nEncoding the prompt\nSampling picture")
            && ran.err.contains("One colour only.\nDone in 1.5 s"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("own words"), "{}", ran.err);
}

#[test]
fn a_batch_goes_to_numbered_files_and_replaces_what_was_named() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("deep/a.png");
    std::fs::create_dir(home.path().join("deep")).unwrap();
    std::fs::write(&out, "old").unwrap();
    let ran = run_with(home.path(), &[GENERATE, &["-b", "2", "-o", out.to_str().unwrap()]].concat(), &Arc::default(), paints);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let second = home.path().join("deep/a_2.png");
    assert_eq!(ran.out, format!("{}\n{}\n", out.display(), second.display()));
    for (path, seed) in [(&out, "Seed: 42"), (&second, "Seed: 43")] {
        assert!(atelier_media::read_metadata(path).unwrap().parameters.unwrap().contains(seed));
    }
    let (gallery, _) = atelier_studio::picture_index::open_gallery(&Paths::beneath(home.path())).unwrap();
    let ids = [&out, &second].map(|path| gallery.find_path(path).unwrap().unwrap());
    assert_eq!(gallery.picture(ids[0]).unwrap().unwrap().batch, [ids[1]]);
}

#[test]
fn a_picture_is_kept_and_said_where_the_gallery_cannot_be_written_to() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("data/gallery.sqlite")).unwrap();
    let ran = run_with(home.path(), &generate(&[]), &Arc::default(), paints);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(Path::new(ran.out.trim_end()).is_file(), "{}", ran.out);
    assert_eq!(ran.err.matches("not in the gallery yet").count(), 1, "{}", ran.err);
}

#[test]
fn verbose_shows_the_engines_log() {
    let (ran, _home) = run_once(&generate(&["-v"]), paints);
    assert!(ran.err.contains("[info] the engine's own words"), "{}", ran.err);
}

/// Waits for what another thread is bound to do.
fn until(what: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(5);
    while !what() {
        assert!(Instant::now() < deadline, "it never came");
        thread::yield_now();
    }
}

#[test]
fn json_is_one_event_a_line_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let previews = home.path().join("previews");
    let expected = previews.join("preview_1_001.png");
    let preview = expected.clone();
    let engine = move |port: &EngineEnd| {
        let (job, _) = recipe(port);
        port.start(job).unwrap();
        port.send(Event::Begin { job, begin: begin(1) });
        port.send(Event::Preview { job, preview: Preview { picture: 0, step: 1, place: None, image: image(9) } });
        // The end sweeps away a preview that nobody has read.
        until(|| preview.exists());
        port.send(Event::Picture { job, picture: picture(0) });
        port.send(Event::Log { job: Some(job), level: LogLevel::Debug, text: "too much".into() });
        port.send(Event::Log { job: Some(job), level: LogLevel::Warn, text: "hm".into() });
        port.send(Event::End { job, end: done(1) });
    };
    let args = [GENERATE, &["--json", "--preview", previews.to_str().unwrap()]].concat();
    let ran = run_with(home.path(), &args, &Arc::default(), engine);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let lines: Vec<Line> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [
        Line::Begin { seeds, .. },
        Line::Preview { path: preview, step: 1, .. },
        Line::Picture { path, seed: SeedNumber(Some(Seed(42))), width: 4, height: 2, .. },
        Line::Log { text, .. },
        Line::End { outcome: Outcome::Done { .. }, .. },
    ] = &lines[..]
    else {
        panic!("{lines:?}")
    };
    assert_eq!((&seeds[..], Path::new(preview), text.as_str()), (&[Seed(42)][..], expected.as_path(), "hm"));
    assert!(Path::new(path).is_file());
    assert_eq!(ran.err, "The size was snapped.\nOne colour only.\n");
}

#[test]
fn a_failure_is_a_sentence_and_a_hint_and_leaves_standard_output_empty() {
    let engine = |port: &EngineEnd| {
        let (job, _) = task(port);
        port.start(job).unwrap();
        let failure = Failure { log: vec!["x".into()], ..Failure::new("The file is cut short.", "Download the file again.") };
        port.send(Event::End { job, end: End::Failed(failure) });
    };
    let (ran, _home) = run_once(&generate(&[]), engine);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert_eq!(ran.err, "error: The file is cut short.\nDownload the file again.\nAdd --verbose for the engine's log.\n");
}

#[test]
fn an_engine_that_dies_is_a_failure() {
    let (ran, _home) = run_once(&generate(&["--json"]), |port| {
        let (job, _) = task(port);
        port.start(job).unwrap();
    });
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains(r#""outcome":"failed""#) && ran.err.contains("error: The engine stopped"), "{} {}", ran.out, ran.err);
}

#[test]
fn flags_that_cannot_be_meant_never_start_the_engine() {
    for args in [
        &["generate", "-p", "x", "--vae", "v"][..],
        &["generate", "-p", "x", "-m", "m.gguf", "--backend", "disk"],
        &["upscale", "-m", "m.gguf", "-i", "a", "-o", "b.jpg"],
    ] {
        let (ran, _home) = run_once(args, |_| panic!("started"));
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
    }
}

#[test]
fn ctrl_c_cancels_and_what_was_made_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let interrupt: Arc<Interrupt> = Arc::default();
    let pressed = Arc::clone(&interrupt);
    let ran = run_with(home.path(), &generate(&["-b", "2"]), &interrupt, move |port| {
        let (job, _) = task(port);
        let flag = port.start(job).unwrap();
        port.send(Event::Begin { job, begin: begin(2) });
        port.send(Event::Picture { job, picture: picture(0) });
        assert!(!flag.load(Ordering::Relaxed));
        assert_eq!(pressed.press(), Press::First);
        assert!(flag.load(Ordering::Relaxed), "the first press cancels");
        assert_eq!(pressed.press(), Press::Again);
        port.send(Event::End { job, end: End::Cancelled });
    });
    assert_eq!(ran.exit, Exit::Cancelled);
    assert!(ran.err.ends_with("Cancelled.\n"), "{}", ran.err);
    assert!(Path::new(ran.out.trim_end()).is_file());
}

#[test]
fn ctrl_c_before_the_job_is_submitted_is_not_lost() {
    let home = tempfile::tempdir().unwrap();
    let interrupt: Arc<Interrupt> = Arc::default();
    interrupt.press();
    let ran = run_with(home.path(), &generate(&["--json"]), &interrupt, |port| {
        let (job, _) = task(port);
        // The press comes while the job waits, or when it has just begun.
        if let Some(flag) = port.start(job) {
            until(|| flag.load(Ordering::Relaxed));
            port.send(Event::End { job, end: End::Cancelled });
        }
    });
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Cancelled, "{\"event\":\"end\",\"job\":1,\"outcome\":\"cancelled\"}\n"));
}

#[test]
fn a_picture_that_cannot_be_kept_stops_the_job() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("file/a.png");
    let args = [GENERATE, &["--json", "-b", "9", "-o", out.to_str().unwrap()]].concat();
    let in_the_way = home.path().join("file");
    let ran = run_with(home.path(), &args, &Arc::default(), move |port| {
        let (job, _) = task(port);
        let flag = port.start(job).unwrap();
        // After the place was tried.
        std::fs::write(&in_the_way, "in the way").unwrap();
        port.send(Event::Begin { job, begin: begin(9) });
        port.send(Event::Picture { job, picture: picture(0) });
        until(|| flag.load(Ordering::Relaxed));
        port.send(Event::End { job, end: End::Cancelled });
    });
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("error: The picture could not be written to"), "{}", ran.err);
    let last = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert!(matches!(last, Line::End { outcome: Outcome::Failed { message, .. }, .. } if message.contains("could not be written")));
}

#[test]
fn a_reader_that_has_left_is_no_reason_to_stop() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for json in [&[][..], &["--json"]] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("a.png");
        let args = [GENERATE, &["-o", out.to_str().unwrap()], json].concat();
        let (exit, err) = run_into(home.path(), &args, &Arc::default(), &mut Closed, paints);
        assert_eq!(exit, Exit::Done);
        assert!(out.is_file() && !err.contains("warning"), "{err}");
    }
}

#[test]
fn an_upscaled_picture_keeps_what_its_source_said() {
    let home = tempfile::tempdir().unwrap();
    let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
    let source = atelier_media::save_picture(home.path(), &recipe, None, picture(0).info, &[], &image(7)).unwrap();
    let out = home.path().join("big.png");
    let args = ["upscale", "-m", "4x.pth", "-i", source.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let ran = run_with(home.path(), &args, &Arc::default(), |port| {
        let (job, task) = task(port);
        assert!(matches!(task, Task::Upscale { .. }));
        port.start(job).unwrap();
        port.send(Event::Phase { job, phase: JobPhase::Upscaling { tile: 0, tiles: 4 } });
        port.send(Event::Picture { job, picture: picture(0) });
        port.send(Event::End { job, end: done(1) });
    });
    assert_eq!((ran.exit, ran.out), (Exit::Done, format!("{}\n", out.display())), "{}", ran.err);
    let text = atelier_media::read_metadata(&out).unwrap().parameters.unwrap();
    assert!(text.starts_with("a lake\n") && text.contains("Postprocess upscaler: 4x"), "{text}");
}

pub(super) fn names_devices(port: &EngineEnd) {
    assert_eq!(port.queries().next().map(|(question, _)| question), Some(Query::Devices));
    let kind = DeviceKind::IntegratedGpu;
    let device = Device {
        name: "Vulkan0".into(),
        description: "Some graphics".into(),
        kind,
        gpu: None,
        memory_total_bytes: 8,
        memory_free_bytes: 4,
        memory_allocated_bytes: 0,
    };
    port.send(Event::Devices(vec![device]));
}

#[test]
fn devices_are_listed_as_a_table_or_as_json() {
    let (ran, _home) = run_once(&["devices"], names_devices);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.contains("Vulkan0  integrated GPU  8 B"), "{}", ran.out);
    let (ran, _home) = run_once(&["devices", "--json"], names_devices);
    let device = r#"{"event":"devices","devices":[{"name":"Vulkan0","description":"Some graphics","kind":"integrated_gpu","memory_total_bytes":8,"memory_free_bytes":4}]"#;
    let processor = atelier_engine::processor();
    let [engine, detected, allowed] =
        [processor.compiled, processor.detected, processor.allowed].map(atelier_core::processor::CpuLevel::name);
    let expected = format!(r#"{device},"processor":{{"engine":"{engine}","detected":"{detected}","allowed":"{allowed}"}}}}"#);
    assert_eq!(ran.out, format!("{expected}\n"));
}

#[test]
fn an_engine_that_is_gone_is_a_failure() {
    for args in [GENERATE, &["devices"]] {
        let home = tempfile::tempdir().unwrap();
        let command = flags::Cli::try_parse_from([&["atelier"], args].concat()).unwrap().command.unwrap();
        let err = SharedBuffer::default();
        let env = Env {
            out: &mut SharedBuffer::default(),
            err: Box::new(err.clone()),
            terminal: false,
            answers: None,
            paths: || Ok(Paths::beneath(home.path())),
            builtin: || Err(BuiltinError::Missing { looked: Vec::new() }),
            interrupt: Arc::default(),
            listen: |_| Ok(()),
        };
        assert_eq!(run_in(command, |wake| channel(wake).0, env), Exit::Failed);
        assert_eq!(err.text(), "error: the engine has stopped; restart Atelier\n");
    }
}

#[test]
fn files_are_for_the_window_and_a_mistyped_command_is_no_file() {
    let parsed = |args: &[&str]| parse(["atelier"].iter().chain(args).map(OsString::from)).ok();
    let files = parsed(&["/tmp/a.png", "b.gguf"]).unwrap();
    assert!(files.command.is_none() && files.files == [Path::new("/tmp/a.png"), Path::new("b.gguf")]);
    assert!(parsed(&[]).is_some_and(|it| it.command.is_none() && it.files.is_empty()));
    assert!(parsed(&["devices"]).is_some_and(|it| it.command.is_some() && it.files.is_empty()));
    assert!(parsed(&["--simulate-devices", "GPU0:4", "devices"]).is_some_and(|it| it.command.is_some()));
    assert!(parsed(&["genrate"]).is_none());
    assert!(mistyped_command(Path::new("genrate")).is_some_and(|it| it.ends_with("did you mean generate?")));
    assert!(mistyped_command(Path::new("xyz")).is_some_and(|it| it.contains("--help")));
    assert!(mistyped_command(Path::new("Cargo.toml")).is_none() && mistyped_command(Path::new("src")).is_none(), "it is there");
}
