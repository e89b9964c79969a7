//! Tiny models of several families with random changes go the whole way through the engine:
//! planned, loaded, and run for one step.
//!
//! Each change happens in a child process with a limit of memory; a child that dies, or says
//! nothing for too long, is a defect. The environment chooses how many changes there are
//! (`ATELIER_FUZZ_MUTATIONS`, 60), their seed (`ATELIER_FUZZ_SEED`), and which family is changed
//! (`ATELIER_FUZZ_FAMILY`: one of testkit's, `lora`, `upscaler`, `role` for a file in a role that
//! is not its own, or `pickle`, an upscaler of PyTorch's; by default those that take a fraction of
//! a second). A child may say nothing for `ATELIER_FUZZ_SILENCE` seconds (180). The changes of a
//! seed are always the same.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::recipe::{FileRole, ImageSource, Lora, ModelFiles, PlacementText, Recipe, Rgb8, Seed};
use atelier_engine::{End, Event, PreviewOptions, Task};
use support::engine::Engine;
use testkit::draft::{Draft, Random};
use testkit::families::{self, FAMILIES, Part};
use testkit::tiny;

const DEFAULT_MUTATIONS: u64 = 60;
/// Changes that one child makes.
const BATCH: u64 = 100;
/// Seconds that a child may be silent; all it does takes a fraction of a second of an idle
/// processor, or some seconds with a real CLIP.
const DEFAULT_SILENCE_S: u64 = 180;
/// Address space of a child in KiB; most of it is never touched.
const MEMORY_KIB: u64 = 12 << 20;
/// What takes a fraction of a second, as often as it is chosen.
const QUICK: [&str; 14] = [
    "zimage",
    "zimage",
    "zimage",
    "zimage-gguf",
    "zimage-gguf",
    "zimage-vae",
    "ovis",
    "ovis",
    "ovis",
    "sd15",
    "lora",
    "upscaler",
    "pickle",
    "role",
];
/// Variable by which a child is told what to do: seed, first change, end, family.
const CHILD: &str = "ATELIER_FUZZ_CHILD";

fn main() -> ExitCode {
    if let Ok(orders) = env::var(CHILD) {
        child(&orders);
        return ExitCode::SUCCESS;
    }
    let number = |name: &str, otherwise| env::var(name).map_or(otherwise, |text| text.parse().expect(name));
    let (mutations, seed) = (number("ATELIER_FUZZ_MUTATIONS", DEFAULT_MUTATIONS), number("ATELIER_FUZZ_SEED", 1));
    let family = env::var("ATELIER_FUZZ_FAMILY").ok();
    let begun = Instant::now();
    let mut defects = Vec::new();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let first = number("ATELIER_FUZZ_FIRST", 0);
    let silence = Duration::from_secs(number("ATELIER_FUZZ_SILENCE", DEFAULT_SILENCE_S));
    let mut next = first;
    while next < first + mutations {
        let end = (next + BATCH).min(first + mutations);
        let orders = Orders { seed, first: next, end, family: family.as_deref().unwrap_or("quick"), silence };
        next = run_child(&orders, &mut outcomes, &mut defects);
    }
    println!("{mutations} changes of models, seed {seed}, {:.0} s: {} defects", begun.elapsed().as_secs_f32(), defects.len());
    for (outcome, count) in &outcomes {
        println!("  {count:6} {outcome}");
    }
    for defect in &defects {
        println!("{defect}");
    }
    if defects.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Changes that a child makes, and how long it may say nothing.
struct Orders<'a> {
    seed: u64,
    first: u64,
    end: u64,
    family: &'a str,
    silence: Duration,
}

/// Runs changes in a child; returns the first one that was not reached.
fn run_child(orders: &Orders<'_>, outcomes: &mut BTreeMap<String, u64>, defects: &mut Vec<String>) -> u64 {
    let Orders { seed, first, end, family, silence } = *orders;
    let mut child = spawn(&format!("{seed} {first} {end} {family}"));
    let lines = lines_of(&mut child);
    let mut current: Option<(u64, String)> = None;
    let reason = loop {
        match lines.recv_timeout(silence) {
            Ok(line) => {
                let mut words = line.splitn(3, ' ');
                match (words.next(), words.next().and_then(|it| it.parse().ok()), words.next()) {
                    (Some("begin"), Some(index), Some(what)) => current = Some((index, what.to_owned())),
                    (Some("end"), Some(_), Some(outcome)) => {
                        *outcomes.entry(outcome.to_owned()).or_default() += 1;
                        if is_verbose()
                            && let Some((index, what)) = &current
                        {
                            println!("{index} {what}: {outcome}");
                        }
                        current = None;
                    }
                    _ => {}
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                break format!("nothing happened for {silence:?}");
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().unwrap();
                if status.success() && current.is_none() {
                    return end;
                }
                break status.to_string();
            }
        }
    };
    let _ = child.wait();
    let (index, what) = current.unwrap_or((first, "before the first change".into()));
    defects.push(format!("seed {seed}, change {index}: {reason}: {what}"));
    println!("seed {seed}, change {index}: {reason}: {what}");
    index + 1
}

fn spawn(orders: &str) -> Child {
    let program = env::current_exe().unwrap();
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY_KIB} && exec \"$0\"")]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    let quiet = if is_verbose() { Stdio::inherit() } else { Stdio::null() };
    command.env(CHILD, orders).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(quiet).spawn().unwrap()
}

fn is_verbose() -> bool {
    env::var_os("ATELIER_FUZZ_VERBOSE").is_some()
}

fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

fn child(orders: &str) {
    // A panic on any thread is a defect, also where the engine goes on.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        hook(info);
        std::process::abort();
    }));
    let mut words = orders.split(' ');
    let mut number = || words.next().and_then(|it| it.parse::<u64>().ok()).unwrap();
    let (seed, first, end) = (number(), number(), number());
    let chosen = words.next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut specimens = Specimens { dir: dir.path(), engine: Engine::start(), parts: BTreeMap::new() };
    for index in first..end {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
        let subject = if chosen == "quick" { random.one_of(&QUICK) } else { chosen };
        specimens.try_one(index, subject, &mut random);
    }
}

struct Specimens<'a> {
    dir: &'a Path,
    engine: Engine,
    /// Files as they are, by family and role.
    parts: BTreeMap<String, Vec<(FileRole, Part, PathBuf)>>,
}

impl Specimens<'_> {
    fn load(&mut self, family: &str) {
        if self.parts.contains_key(family) {
            return;
        }
        let dir = self.dir.join(family);
        std::fs::create_dir_all(&dir).unwrap();
        let parts = families::family(family, &dir).unwrap().into_iter().map(|(role, part)| {
            let path = part.write(&dir, role).unwrap();
            let role = FileRole::ALL.into_iter().find(|it| it.key() == role).expect(role);
            (role, part, path)
        });
        let parts = parts.collect();
        self.parts.insert(family.to_owned(), parts);
    }

    /// Makes one change, and says before and after it what happens. The first one of all changes
    /// nothing.
    fn try_one(&mut self, index: u64, subject: &str, random: &mut Random) {
        let family = if FAMILIES.contains(&subject) { subject } else { "zimage" };
        self.load(family);
        let parts = &self.parts[family];
        let mut files: ModelFiles = parts.iter().map(|(role, _, path)| (*role, path.clone())).collect();
        let path = |extension: &str| self.dir.join(format!("changed-{index}.{extension}"));
        let change = |draft: &Draft, random: &mut Random| {
            let mut draft = draft.clone();
            let what = if index == 0 { "nothing is changed".to_owned() } else { draft.mutate(random) };
            let path = path(draft.extension());
            draft.write(&path).unwrap();
            (format!("{subject}: {what}"), path)
        };
        let mut loras = Vec::new();
        let mut upscaler = None;
        let (what, changed) = match subject {
            "lora" => {
                let (what, path) = change(&families::lora(), random);
                loras.push(Lora::new(path.clone(), 1.0));
                (what, path)
            }
            "upscaler" => {
                let (what, path) = change(&families::upscaler().unwrap(), random);
                upscaler = Some(path.clone());
                (what, path)
            }
            // Files whose kind is not known for sure before the engine reads them.
            "role" => {
                let role = random.one_of(&[FileRole::LlmVision, FileRole::ClipVision, FileRole::Controlnet, FileRole::Photomaker]);
                let (what, path) = change(&families::fragment(), random);
                files.set(role, path.clone());
                (format!("{what} ({})", role.key()), path)
            }
            "pickle" => {
                let original = tiny::upscaler_pth(self.dir, 2, 1).unwrap();
                let mut bytes = std::fs::read(&original).unwrap();
                // The pickle comes first; the directory is at the end.
                let place = if random.below(4) == 0 { bytes.len() - 2000..bytes.len() } else { 0..8000 };
                let mut part = bytes[place.clone()].to_vec();
                random.damage(&mut part);
                bytes.splice(place, part);
                let path = path("pth");
                std::fs::write(&path, bytes).unwrap();
                upscaler = Some(path.clone());
                ("pickle: some bytes are damaged".to_owned(), path)
            }
            _ => {
                let drafts = parts.iter().filter_map(|(role, part, _)| if let Part::Draft(it) = part { Some((*role, it)) } else { None });
                let drafts: Vec<_> = drafts.collect();
                // The first one half of the time: it has the most tensors.
                let (role, draft) = if random.below(2) == 0 { drafts[0] } else { random.one_of(&drafts) };
                let (what, path) = change(draft, random);
                files.set(role, path.clone());
                (format!("{what} ({})", role.key()), path)
            }
        };
        println!("begin {index} {what}");
        let task = match upscaler {
            Some(model) => Task::Upscale {
                image: ImageSource::Pixels(Rgb8::new(32, 32, vec![127; 32 * 32 * 3]).unwrap()),
                model,
                allow_pickle: true,
                placement: PlacementText::default(),
                threads: Some(2),
            },
            None => Task::Generate {
                recipe: Box::new(Recipe {
                    files,
                    loras,
                    prompt: "a lake <think>".into(),
                    width: 64,
                    height: 64,
                    steps: 1,
                    guidance: 1.0,
                    seed: Some(Seed(42)),
                    // Two threads: what fails on the second one must not end the process either.
                    threads: Some(2),
                    ..Recipe::default()
                }),
                preview: PreviewOptions::Off,
                shares_steps: false,
            },
        };
        if let Task::Generate { recipe, .. } = &task {
            let _ = self.engine.estimate(recipe);
        }
        let said = self.engine.run_task(task);
        let has_begun = said.events.iter().any(|event| matches!(event, Event::Begin { .. }));
        let outcome = match said.end() {
            End::Done { .. } => "made a picture",
            End::Failed(failure) if failure.cause.is_some() => "out of memory",
            End::Failed(_) if has_begun => "failed in the engine",
            End::Failed(_) => "refused by their headers",
            End::Cancelled => "cancelled",
        };
        if let (End::Failed(failure), true) = (said.end(), is_verbose()) {
            eprintln!("{index}: {} {} {:?}", failure.advice.sentence, failure.advice.hint, failure.log);
        }
        println!("end {index} {outcome}");
        std::fs::remove_file(changed).unwrap();
    }
}
