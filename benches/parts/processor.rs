//! The processor's arithmetic: `cargo xtask bench -- --cpu [--python PATH] [--rounds N] [--threads N]
//! [--only TEXT]`. CPU time of one thread, and the time that passes with two; the engine as it is
//! (`exact`, one thread), ours by level, and PyTorch, `OpenVINO` and ONNX Runtime where `PATH` (or
//! `ATELIER_PYTHON`) is a Python that has them; then products of quantised weights in eight bits
//! beside f32 (`--only int8` alone). Each round lets every program have its turn, and the median of
//! the rounds counts, so that all see the same machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use atelier_core::cpu_math::CpuMath;
use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe, TensorType};
use atelier_engine::{End, Event, PreviewOptions, Task, start};
use atelier_library::Builtin;

use super::rows::median;
use super::{LIMIT, Outcome, peak_bytes};

/// Features, tokens and depth; sizes of images and channels; head size, tokens and heads: those of
/// image models.
const OPERATIONS: [&str; 17] = [
    "product 320 4096 320",
    "product 1280 256 1280",
    "product 10240 256 1280",
    "product 3840 1088 3840",
    "product 768 77 3072",
    "product 9728 64 2560",
    "convolution 64x64 320>320",
    "convolution 16x16 1280>1280",
    "convolution 8x8 1280>1280",
    "convolution 128x128 512>512",
    "convolution 256x256 256>256",
    "convolution 256x256 128>128",
    "convolution 256x256 64>64",
    "convolution 256x256 64>3",
    "attention 40 4096 8",
    "attention 64 1024 20",
    "attention 128 1088 16",
];
/// A step without guidance or a decode, and the picture's side.
const PARTS: [&str; 6] = ["builtin step 512", "builtin decode 512", "sd15 step 256", "sd15 step 512", "sd15 decode 256", "sd15 decode 512"];
const PEAK: &str = "peak";
/// Features, tokens and depth of products with quantised weights.
const QUANTISED: [&str; 6] = ["1280 256 1280", "3840 1088 3840", "9728 64 2560", "10240 256 1280", "320 4096 320", "768 77 3072"];
/// Types of quantised weights, by their names in the kernels.
const FORMATS: [&str; 6] = ["Q8_0", "Q6K", "Q5K", "Q5_0", "Q4K", "Q4_0"];
/// Levels of f32 beside which there are products in eight bits, with the names of their columns.
const INT8_LEVELS: [(&str, &str); 2] = [("Avx2", "int8 beside AVX2"), ("Avx512", "int8 beside AVX-512")];
/// A form of ours.
struct Ours {
    column: &'static str,
    /// The kernels' name for it.
    level: &'static str,
    /// The program's arithmetic with the level of instructions that it may use.
    part: Option<(CpuMath, &'static str)>,
}

static OURS: [Ours; 4] = [
    Ours { column: "AVX2", level: "Avx2", part: Some((CpuMath::F32, "avx2")) },
    Ours { column: "AVX-512", level: "Avx512", part: Some((CpuMath::F32, "avx512")) },
    Ours { column: "bf16", level: "Avx512Bf16", part: Some((CpuMath::Bf16, "avx512-bf16")) },
    // Parts of models use tiles as bf16 wherever there are any.
    Ours { column: "AMX", level: "AmxBf16", part: None },
];
const OURS_F32: &[&str] = &["AVX2", "AVX-512"];
const OURS_BF16: &[&str] = &["bf16", "AMX"];
/// Weights in `Q8_0`, computed in eight bits.
const OURS_INT8: &[&str] = &["Q8_0"];
const ENGINE: &str = "engine";

/// What others compute with, by a script in `benches/peers`.
struct Peer {
    name: &'static str,
    /// Names in `PyPI`, which are those of the modules.
    packages: &'static [&'static str],
    script: &'static str,
    /// Columns, each with the script's first two arguments.
    columns: &'static [(&'static str, [&'static str; 2])],
}

static PEERS: [Peer; 3] = [
    Peer {
        name: "PyTorch",
        packages: &["torch"],
        script: "pytorch.py",
        columns: &[
            ("PyTorch f32", ["f32", "nchw"]),
            ("PyTorch bf16", ["bf16", "nchw"]),
            ("PyTorch f32 NHWC", ["f32", NHWC]),
            ("PyTorch bf16 NHWC", ["bf16", NHWC]),
        ],
    },
    Peer {
        name: "OpenVINO",
        packages: &["openvino", "onnx"],
        script: "runtimes.py",
        columns: &[("OpenVINO f32", ["openvino", "f32"]), ("OpenVINO bf16", ["openvino", "bf16"]), ("OpenVINO int8", ["openvino", "int8"])],
    },
    Peer {
        name: "ONNX Runtime",
        packages: &["onnxruntime", "onnx"],
        script: "runtimes.py",
        columns: &[("ONNX Runtime", ["onnxruntime", "f32"]), ("ONNX Runtime int8", ["onnxruntime", "int8"])],
    },
];
const NHWC: &str = "nhwc";

/// Ratios of the quickest of our columns to the quickest of theirs; above 1 ours is quicker.
const RATIOS: [(&str, &[&str], &[&str]); 7] = [
    ("f32 / PyTorch", OURS_F32, &["PyTorch f32", "PyTorch f32 NHWC"]),
    ("f32 / OpenVINO", OURS_F32, &["OpenVINO f32"]),
    ("f32 / ONNX Runtime", OURS_F32, &["ONNX Runtime"]),
    ("bf16 / PyTorch", OURS_BF16, &["PyTorch bf16", "PyTorch bf16 NHWC"]),
    ("bf16 / OpenVINO", OURS_BF16, &["OpenVINO bf16"]),
    ("Q8_0 / OpenVINO int8", OURS_INT8, &["OpenVINO int8"]),
    ("Q8_0 / ONNX Runtime int8", OURS_INT8, &["ONNX Runtime int8"]),
];

pub(super) fn measure(python: Option<PathBuf>, folder: &Path, rounds: usize, threads: Option<u32>, only: &str) -> Outcome<()> {
    let wanted = |rows: &[&'static str]| -> Vec<&'static str> { rows.iter().copied().filter(|row| row.contains(only)).collect() };
    let (operations, parts) = (wanted(&OPERATIONS), wanted(&PARTS));
    let quantised: Vec<&str> = QUANTISED.into_iter().filter(|sizes| format!("int8 {sizes}").contains(only)).collect();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let threads: Vec<u32> = threads.map_or_else(|| (1..=cores.min(2)).collect(), |threads| vec![threads]);
    let mut bench = Bench::new(python.or_else(|| std::env::var_os("ATELIER_PYTHON").map(PathBuf::from)), folder)?;
    // A fault late in an hour's work does not take the tables away.
    let outcome = (1..=rounds).try_for_each(|round| {
        for &threads in &threads {
            eprintln!("round {round} of {rounds}, {} ...", in_words(threads));
            bench.operations(&operations, threads)?;
            for part in &parts {
                bench.part(part, threads)?;
            }
        }
        bench.products_in_int8(&quantised)
    });
    bench.print_peaks();
    let (times, rates): (Vec<_>, Vec<_>) = operations.iter().copied().partition(|row| row.starts_with("attention"));
    for &threads in &threads {
        bench.print("GFLOP/s", &rates, threads);
        bench.print("milliseconds", &times, threads);
        bench.print("seconds", &parts, threads);
    }
    bench.print_int8(&quantised);
    for part in &parts {
        bench.print_memory(part, threads.first().copied().unwrap_or(1));
    }
    outcome
}

fn in_words(threads: u32) -> String {
    if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") }
}

/// More of it is better.
fn is_rate(row: &str) -> bool {
    ["product", "convolution", "int8", PEAK].iter().any(|kind| row.starts_with(kind))
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| if value < 20.0 { format!("{value:.2}") } else { format!("{value:.0}") })
}

fn print_table(title: &str, columns: &[&str], lines: &[String]) {
    println!("\n| {title} | {} |\n|---|{}\n{}", columns.join(" | "), "---|".repeat(columns.len()), lines.join("\n"));
}

struct Bench {
    /// The folder of the programs that measure operations.
    examples: PathBuf,
    /// Where peers keep their graphs, which take minutes to make and 6 GB.
    graphs: PathBuf,
    /// Those that this processor has.
    ours: Vec<&'static Ours>,
    /// Peers that are there, and the Python that has them.
    peers: Vec<(&'static Peer, PathBuf)>,
    /// What each round measured, by threads, row and column.
    table: BTreeMap<(u32, String, String), Vec<f64>>,
}

impl Bench {
    fn new(python: Option<PathBuf>, folder: &Path) -> Outcome<Self> {
        let examples = std::env::current_exe()?.ancestors().nth(2).ok_or("no build folder")?.join("examples");
        let rates = examples.join("rates");
        // A level that this processor lacks is told on the standard error.
        let is_there =
            |ours: &&Ours| Command::new(&rates).args([ours.level, "1"]).stderr(Stdio::null()).status().is_ok_and(|it| it.success());
        let ours = OURS.iter().filter(is_there).collect();
        let mut peers = Vec::new();
        match python {
            Some(python) => {
                for peer in &PEERS {
                    if peer.packages.iter().all(|package| has(&python, package)) {
                        peers.push((peer, python.clone()));
                    } else {
                        println!("{} is left out: {} -m pip install {}", peer.name, python.display(), peer.packages.join(" "));
                    }
                }
            }
            None => println!("PyTorch, OpenVINO and ONNX Runtime are left out: name a Python that has them with --python."),
        }
        Ok(Self { examples, graphs: folder.join("graphs"), ours, peers, table: BTreeMap::new() })
    }

    /// Runs every program that measures operations.
    fn operations(&mut self, rows: &[&str], threads: u32) -> Outcome<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if threads == 1 {
            self.take(Command::new(self.examples.join("operations")).args(rows), ENGINE, 1)?;
        }
        for ours in self.ours.clone() {
            let mut command = self.rates(ours.level, threads);
            if threads == 1 {
                command.arg(PEAK);
            }
            self.take(command.args(rows), ours.column, threads)?;
        }
        let products: Vec<String> = rows.iter().filter_map(|row| in_int8(row)).collect();
        if let Some((level, _)) = self.int8_levels().last().filter(|_| !products.is_empty()) {
            self.take(self.rates(level, threads).args(products), OURS_INT8[0], threads)?;
        }
        self.others(rows, threads);
        Ok(())
    }

    fn rates(&self, level: &str, threads: u32) -> Command {
        let mut command = Command::new(self.examples.join("rates"));
        command.args([level, &threads.to_string()]);
        command
    }

    fn int8_levels(&self) -> Vec<(&'static str, &'static str)> {
        INT8_LEVELS.into_iter().filter(|(level, _)| self.ours.iter().any(|ours| ours.level == *level)).collect()
    }

    /// Products in eight bits beside those of the same sizes in f32, with weights of 16 bits.
    fn products_in_int8(&mut self, sizes: &[&str]) -> Outcome<()> {
        let mut rows: Vec<String> = sizes.iter().map(|sizes| format!("product {sizes}")).collect();
        for sizes in sizes {
            let depth: usize = sizes.rsplit(' ').next().unwrap_or_default().parse()?;
            // Blocks of these have 256 values.
            let fits = |format: &&str| !format.ends_with('K') || depth.is_multiple_of(256);
            rows.extend(FORMATS.into_iter().filter(fits).map(|format| format!("int8 {format} {sizes}")));
        }
        if rows.is_empty() {
            return Ok(());
        }
        for (level, column) in self.int8_levels() {
            self.take(self.rates(level, 1).args(&rows), column, 1)?;
        }
        Ok(())
    }

    /// A part of a model by every arithmetic, each in a process of its own.
    fn part(&mut self, part: &str, threads: u32) -> Outcome<()> {
        let child = |math: CpuMath| -> Outcome<Command> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--cpu-part", part, "--threads", &threads.to_string()]).env("ATELIER_CPU_MATH", math.name());
            Ok(command)
        };
        if threads == 1 {
            self.take(&mut child(CpuMath::Exact)?, ENGINE, 1)?;
        }
        for ours in self.ours.clone() {
            if let Some((math, level)) = ours.part {
                self.take(child(math)?.env("ATELIER_CPU_LEVEL", level), ours.column, threads)?;
            }
        }
        // The built-in model has no quantised weights.
        if part.starts_with("sd15") {
            self.take(&mut child(CpuMath::Int8)?, OURS_INT8[0], threads)?;
        }
        self.others(&[part], threads);
        Ok(())
    }

    /// The same rows by peers. One that fails has said why, and the others go on.
    fn others(&mut self, rows: &[&str], threads: u32) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
        for (peer, python) in self.peers.clone() {
            for (column, arguments) in peer.columns {
                // The layout is one of images.
                let rows = rows.iter().filter(|row| !arguments.contains(&NHWC) || row.starts_with("convolution") || row.ends_with("512"));
                let mut command = Command::new(&python);
                command.arg(scripts.join(peer.script)).args(arguments).arg(threads.to_string()).args(rows);
                command.env("OMP_NUM_THREADS", threads.to_string()).env("ATELIER_GRAPHS", &self.graphs);
                if let Err(error) = self.take(&mut command, column, threads) {
                    eprintln!("{column}: {error}");
                }
            }
        }
    }

    /// Runs a program and keeps what it measured.
    fn take(&mut self, command: &mut Command, column: &str, threads: u32) -> Outcome<()> {
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{command:?} ended with {}", output.status).into());
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((row, value)) = line.split_once('\t') else { continue };
            let Some(value) = value.parse::<f64>().ok().filter(|value| value.is_finite()) else { continue };
            eprintln!("{column}, {}: {row} {}", in_words(threads), cell(Some(value)));
            self.table.entry((threads, row.to_owned(), column.to_owned())).or_default().push(value);
        }
        Ok(())
    }

    /// The median of the rounds.
    fn get(&self, threads: u32, row: &str, column: &str) -> Option<f64> {
        self.table.get(&(threads, row.to_owned(), column.to_owned())).map(|values| median(values.clone()))
    }

    /// The quickest of several columns.
    fn quickest(&self, threads: u32, row: &str, columns: &[&str]) -> Option<f64> {
        let quicker = if is_rate(row) { f64::max } else { f64::min };
        columns.iter().filter_map(|column| self.in_row(threads, row, column)).reduce(quicker)
    }

    /// As [`get`](Self::get); a product's `Q8_0` has a row of its own name.
    fn in_row(&self, threads: u32, row: &str, column: &str) -> Option<f64> {
        let int8 = in_int8(row).filter(|_| OURS_INT8.contains(&column));
        self.get(threads, int8.as_deref().unwrap_or(row), column)
    }

    fn print_peaks(&self) {
        let peaks = self.ours.iter().filter_map(|ours| Some(format!("{} {:.0}", ours.column, self.get(1, PEAK, ours.column)?)));
        let peaks: Vec<String> = peaks.collect();
        if !peaks.is_empty() {
            println!("\nPeak of one thread, GFLOP/s: {}", peaks.join(", "));
        }
    }

    /// What was measured, then ratios and shares of the peak.
    fn print(&self, unit: &str, rows: &[&str], threads: u32) {
        if rows.is_empty() {
            return;
        }
        let columns = columns();
        let measured = |row: &&str| {
            let cells: Vec<String> = columns.iter().map(|column| cell(self.in_row(threads, row, column))).collect();
            format!("| {row} | {} |", cells.join(" | "))
        };
        print_table(&format!("{unit}, {}", in_words(threads)), &columns, &rows.iter().map(measured).collect::<Vec<_>>());
        let compared = |row: &&str| {
            let ratio = |(_, ours, theirs): (&str, &[&str], &[&str])| {
                let (ours, theirs) = (self.quickest(threads, row, ours)?, self.quickest(threads, row, theirs)?);
                Some(if is_rate(row) { ours / theirs } else { theirs / ours })
            };
            let share = |columns: &[&str]| {
                let peak = self.quickest(1, PEAK, columns)? * f64::from(threads);
                self.quickest(threads, row, columns).filter(|_| is_rate(row)).map(|rate| format!("{:.0} %", 100.0 * rate / peak))
            };
            let ratios = RATIOS.map(|it| ratio(it).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")));
            let shares = [OURS_F32, &["bf16"], &["AMX"]].map(|columns| share(columns).unwrap_or_else(|| "-".to_owned()));
            format!("| {row} | {} | {} |", ratios.join(" | "), shares.join(" | "))
        };
        let titles: Vec<&str> =
            RATIOS.iter().map(|(title, ..)| *title).chain(["f32 of the peak", "bf16 of the peak", "AMX of the peak"]).collect();
        print_table(&format!("ours / theirs, {}", in_words(threads)), &titles, &rows.iter().map(compared).collect::<Vec<_>>());
    }

    /// How many times as quick as in f32 products in eight bits are.
    fn print_int8(&self, sizes: &[&str]) {
        for (_, column) in self.int8_levels() {
            let lines = sizes.iter().filter_map(|sizes| {
                let in_f32 = self.get(1, &format!("product {sizes}"), column)?;
                let ratio = |format: &str| self.get(1, &format!("int8 {format} {sizes}"), column).map(|rate| rate / in_f32);
                Some(format!("| {sizes} | {} |", FORMATS.map(|format| cell(ratio(format))).join(" | ")))
            });
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                print_table(&format!("{column}, times as quick as f32"), &FORMATS, &lines);
            }
        }
    }

    fn print_memory(&self, part: &str, threads: u32) {
        let row = format!("{part} {PEAK}");
        let peaks = columns().into_iter().filter_map(|column| Some(format!("{column} {:.0}", self.get(threads, &row, column)? / 1e6)));
        let peaks: Vec<String> = peaks.collect();
        if !peaks.is_empty() {
            println!("most memory, {part}, MB: {}", peaks.join(", "));
        }
    }
}

/// Columns of the tables, measured or not.
fn columns() -> Vec<&'static str> {
    let ours = OURS.iter().map(|ours| ours.column).chain(OURS_INT8.iter().copied());
    let theirs = PEERS.iter().flat_map(|peer| peer.columns).map(|(column, _)| *column);
    std::iter::once(ENGINE).chain(ours).chain(theirs).collect()
}

/// The name that the kernels' program has for a product with weights in `Q8_0`.
fn in_int8(row: &str) -> Option<String> {
    row.strip_prefix("product ").map(|sizes| format!("int8 Q8_0 {sizes}"))
}

/// A Python has a module. It is not loaded: that takes seconds.
fn has(python: &Path, module: &str) -> bool {
    let script = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
    Command::new(python).args(["-c", script, module]).status().is_ok_and(|status| status.success())
}

/// Measures a part of a model in this process and prints it, with the most memory.
pub(super) fn part(part: &str, folder: &Path, threads: u32) -> Outcome<()> {
    let [name, phase, side] = part.split(' ').collect::<Vec<_>>()[..] else { return Err(format!("no part is called {part}").into()) };
    let side = side.parse()?;
    let mut recipe = Recipe {
        width: side,
        height: side,
        threads: Some(threads),
        placement: PlacementText { backend: "cpu".into(), ..PlacementText::default() },
        ..Recipe::default()
    };
    if name == "builtin" {
        Builtin::find()?.apply(&mut recipe);
        (recipe.width, recipe.height) = (side, side);
    } else {
        recipe.files = ModelFiles::from_iter([(FileRole::Model, testkit::sd15_cached(folder)?)]);
        let math = atelier_engine::cpu_math();
        recipe.flash_attention = math != CpuMath::Exact;
        recipe.weight_type = (math == CpuMath::Int8).then_some(TensorType::Q8_0);
    }
    recipe.guidance = 1.0;
    recipe.steps = if phase == "step" { 3 } else { 1 };
    recipe.prompt = "a lake".into();
    let begun = Instant::now();
    // With several threads the time that passes is what they are for.
    let now = || if threads == 1 { cpu_time() } else { begun.elapsed() };
    let engine = start(|| {});
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let (mut last, mut done, mut steps) = (None, 0, Vec::new());
    let decode = loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            // Parts of a step are told too.
            Event::Step { step, .. } if step.done > done => {
                done = step.done;
                let now = now();
                if let Some(last) = last.replace(now) {
                    steps.push(now.saturating_sub(last).as_secs_f64());
                }
            }
            Event::End { end: End::Done { .. }, .. } => {
                break last.map(|last: Duration| now().saturating_sub(last).as_secs_f64());
            }
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    };
    let secs = if phase == "step" { steps.into_iter().reduce(f64::min) } else { decode };
    println!("{part}\t{}", secs.ok_or("no steps")?);
    if let Some(bytes) = peak_bytes("self") {
        println!("{part} peak\t{bytes}");
    }
    Ok(())
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
