//! Cut-outs and detections, computed in a process of its own.
//!
//! The models are files of strangers, and what a graph takes of memory and time shows only when it
//! runs: so it runs in a child process with limits of both. The parent writes the picture to its
//! standard input, and reads a line of JSON, then bytes, from its standard output.

use std::io::{self, BufRead, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use atelier_core::advice::Advice;
use atelier_core::canvas::Mask;
use atelier_core::recipe::Rgb8;
use atelier_core::sentences::{sentence, with_stop};
use atelier_language::{Language, choose_language, chosen_language, tr};
use atelier_vision::{CutoutFamily, Detection, Detector, Segmenter};

/// What a model computes with, at most.
#[derive(Clone, Copy, Debug)]
pub struct VisionLimits {
    /// Bytes of memory; held on Linux.
    pub memory_bytes: u64,
    /// Time for opening and computing.
    pub time: Duration,
}

/// How a model is run.
#[derive(Clone, Copy)]
pub struct VisionWorker<'a> {
    /// The program that serves [`WORKER_ARGUMENT`]: this one.
    pub program: &'a Path,
    /// Threads, at least 1.
    pub threads: usize,
    pub limits: VisionLimits,
    /// Asked every few milliseconds; true ends the process.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl<'a> VisionWorker<'a> {
    /// With the limits of this machine, on so many threads, or on all of them.
    #[must_use]
    pub fn of_machine(program: &'a Path, threads: Option<usize>, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
        Self { program, threads, limits: VisionLimits::of_machine(), is_cancelled }
    }
}

/// Work for a model that looks at a picture.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VisionTask {
    /// Opacities of what is in front, in the colours of this family, or of the one that the file
    /// seems to be of.
    CutOut { family: Option<CutoutFamily> },
    /// Places of what is found with at least this probability, 0 to 1.
    Detect { min_probability: f32 },
}

/// What is sent before the picture's bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    model: PathBuf,
    task: VisionTask,
    threads: usize,
    width: u32,
    height: u32,
    memory_bytes: u64,
    /// Tag of the language of errors.
    language: String,
}

/// What comes back before the mask's bytes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    CutOut { family: CutoutFamily },
    Detect { detections: Vec<Detection> },
    Failed { error: String },
}

/// Opacities of what is in front of a picture.
#[derive(Debug)]
pub struct Cutout {
    /// In the picture's size; 255 is in front.
    pub mask: Mask,
    /// The family whose colours the model was given.
    pub family: CutoutFamily,
}

/// Argument with which the program is started to do one piece of work.
pub const WORKER_ARGUMENT: &str = "vision-worker";
/// Time between two looks at a process that computes.
const POLL: Duration = Duration::from_millis(20);
/// Maximum bytes of the line before a picture or mask.
const MAX_LINE_BYTES: u64 = 1 << 20;

impl VisionLimits {
    /// Nine tenths of the memory that is free now, and ten minutes.
    #[must_use]
    pub fn of_machine() -> Self {
        let mut system = sysinfo::System::new();
        system.refresh_memory();
        Self { memory_bytes: system.available_memory() / 10 * 9, time: Duration::from_mins(10) }
    }
}

/// Runs a segmenter on a picture, in another process. Waits for it.
pub fn cut_out(worker: &VisionWorker<'_>, model: &Path, family: Option<CutoutFamily>, picture: &Rgb8) -> Result<Cutout, Advice> {
    match run(worker, model, VisionTask::CutOut { family }, picture)? {
        (Answer::CutOut { family }, pixels) => {
            let mask = Mask::new(picture.width(), picture.height(), pixels).ok_or_else(crashed)?;
            Ok(Cutout { mask, family })
        }
        _ => Err(crashed()),
    }
}

/// Runs a detector on a picture, in another process; the most probable first. `min_probability` is
/// 0 to 1. Waits for it.
pub fn detect(worker: &VisionWorker<'_>, model: &Path, min_probability: f32, picture: &Rgb8) -> Result<Vec<Detection>, Advice> {
    let (Answer::Detect { detections }, _) = run(worker, model, VisionTask::Detect { min_probability }, picture)? else {
        return Err(crashed());
    };
    Ok(detections)
}

/// The ellipses within detections, each larger by `grow_px` on all sides: what is generated anew
/// where faces are to be.
#[must_use]
pub fn mask_of(detections: &[Detection], width: u32, height: u32, grow_px: u32) -> Mask {
    let mut mask = Mask::filled(width, height, 0);
    let grow = f64::from(grow_px);
    for rect in detections.iter().map(|detection| detection.rect) {
        let (half_width, half_height) = (f64::from(rect.width) / 2.0 + grow, f64::from(rect.height) / 2.0 + grow);
        let (x, y) = (f64::from(rect.left) + f64::from(rect.width) / 2.0, f64::from(rect.top) + f64::from(rect.height) / 2.0);
        let rows = ((y - half_height).max(0.0) as u32)..((y + half_height).ceil().clamp(0.0, f64::from(height)) as u32);
        for row in rows {
            for column in ((x - half_width).max(0.0) as u32)..((x + half_width).ceil().clamp(0.0, f64::from(width)) as u32) {
                let across = (f64::from(column) + 0.5 - x) / half_width;
                let down = (f64::from(row) + 0.5 - y) / half_height;
                if across * across + down * down <= 1.0 {
                    mask.pixels_mut()[row as usize * width as usize + column as usize] = 255;
                }
            }
        }
    }
    mask
}

fn crashed() -> Advice {
    Advice::new(tr!("studio-the-model-needed-more"), tr!("studio-choose-another-model"))
}

fn run(worker: &VisionWorker<'_>, model: &Path, task: VisionTask, picture: &Rgb8) -> Result<(Answer, Vec<u8>), Advice> {
    let VisionWorker { program, threads, limits, is_cancelled } = *worker;
    let not_started = |error: io::Error| Advice::new(tr!("studio-the-model-could-not", error), "");
    let (width, height) = (picture.width(), picture.height());
    let language = chosen_language().tag().to_owned();
    let order = Order { model: model.to_owned(), task, threads, width, height, memory_bytes: limits.memory_bytes, language };
    let mut line = serde_json::to_vec(&order).map_err(|error| not_started(error.into()))?;
    line.push(b'\n');
    let mut command = Command::new(program);
    command.arg(WORKER_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut worker = Process(command.spawn().map_err(not_started)?);
    let (input, output) = (worker.0.stdin.take(), worker.0.stdout.take());
    let (Some(input), Some(mut output)) = (input, output) else { return Err(crashed()) };
    let max_bytes = MAX_LINE_BYTES + u64::from(width) * u64::from(height);
    let answer = thread::scope(|scope| {
        // A worker that ends before it has read all is told by its answer, or by none.
        scope.spawn(move || write_order(input, &line, picture.pixels()));
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            output.by_ref().take(max_bytes).read_to_end(&mut bytes).map(|_| bytes)
        });
        let deadline = Instant::now() + limits.time;
        while !reader.is_finished() {
            if is_cancelled() {
                worker.end();
                return Err(Advice::new(tr!("studio-cancelled"), ""));
            }
            if Instant::now() > deadline {
                worker.end();
                let minutes = limits.time.as_secs().div_ceil(60);
                return Err(Advice::new(tr!("studio-the-model-was-not", minutes), tr!("studio-choose-a-smaller-model")));
            }
            thread::sleep(POLL);
        }
        reader.join().map_err(|_| crashed())?.map_err(|_| crashed())
    })?;
    let end = answer.iter().position(|byte| *byte == b'\n').ok_or_else(crashed)?;
    match serde_json::from_slice(&answer[..end]).map_err(|_| crashed())? {
        Answer::Failed { error } => Err(of_clauses(&error)),
        done => Ok((done, answer[end + 1..].to_vec())),
    }
}

/// A process that ends with this value.
struct Process(Child);

impl Process {
    fn end(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn write_order(mut input: ChildStdin, line: &[u8], pixels: &[u8]) {
    // Whoever does not read has ended, which its output tells.
    let _ = input.write_all(line).and_then(|()| input.write_all(pixels));
}

/// An error of two clauses as a sentence and a hint.
fn of_clauses(error: &str) -> Advice {
    let (what, next) = error.rsplit_once("; ").unwrap_or((error, ""));
    // The first begins with the file's name, which stays as it is.
    Advice::new(with_stop(what.to_owned()), if next.is_empty() { String::new() } else { sentence(next) })
}

/// Serves one order from `input` to `output`: what the program does that is started with
/// [`WORKER_ARGUMENT`].
///
/// # Errors
/// An order that is none, or a pipe that is closed.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    let order: Order = serde_json::from_slice(&line)?;
    choose_language(Language::from_locale(&order.language).unwrap_or_default());
    let mut pixels = vec![0; order.width as usize * order.height as usize * 3];
    input.read_exact(&mut pixels)?;
    let picture = Rgb8::new(order.width, order.height, pixels).ok_or(io::ErrorKind::InvalidData)?;
    limit_memory(order.memory_bytes);
    let (answer, mask) = answer(&order, &picture).unwrap_or_else(|error| (Answer::Failed { error }, None));
    serde_json::to_writer(&mut *output, &answer)?;
    output.write_all(b"\n")?;
    output.write_all(mask.as_ref().map_or(&[], Mask::pixels))?;
    output.flush()
}

fn answer(order: &Order, picture: &Rgb8) -> Result<(Answer, Option<Mask>), String> {
    match &order.task {
        VisionTask::CutOut { family } => {
            let segmenter = Segmenter::open(&order.model, *family, order.threads).map_err(|error| error.to_string())?;
            let mask = segmenter.cut_out(picture).map_err(|error| error.to_string())?;
            Ok((Answer::CutOut { family: segmenter.family() }, Some(mask)))
        }
        VisionTask::Detect { min_probability } => {
            let detector = Detector::open(&order.model, order.threads).map_err(|error| error.to_string())?;
            let detections = detector.detect(picture, *min_probability).map_err(|error| error.to_string())?;
            Ok((Answer::Detect { detections }, None))
        }
    }
}

/// Has an allocation beyond this fail, which ends this process and no other.
#[cfg(target_os = "linux")]
fn limit_memory(bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Without the limit the time alone is limited.
    let _ = setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
}

#[cfg(not(target_os = "linux"))]
const fn limit_memory(_bytes: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::PixelRect;

    #[test]
    fn a_mask_has_an_ellipse_for_each_detection() {
        let rect = PixelRect { left: 10, top: 10, width: 20, height: 10 };
        let found = [Detection { rect, probability: 1.0, class: "face".into() }];
        let mask = mask_of(&found, 64, 32, 0);
        assert_eq!((mask.row(15)[20], mask.row(15)[11], mask.row(10)[10], mask.row(21)[20]), (255, 255, 0, 0));
        assert_eq!(mask.bounds(), Some(rect));
        // Beyond the picture there is nothing.
        let grown = mask_of(&found, 64, 32, 30);
        assert_eq!((grown.row(0)[20], grown.row(31)[20]), (255, 255));
    }

    #[test]
    fn an_error_of_two_clauses_is_a_sentence_and_a_hint() {
        assert_eq!(of_clauses("a.onnx is no model; choose another"), Advice::new("a.onnx is no model.", "Choose another."));
    }
}
