//! The processor's arithmetic: `cargo xtask bench -- --cpu [--python PATH] [--rounds N] [--only
//! TEXT]`. CPU time of one thread; the engine as it is (`exact`), ours by level, and PyTorch where
//! `PATH` (or `ATELIER_PYTHON`) is a Python that has it; then products of quantised weights in eight
//! bits beside f32 (`--only int8` alone). All programs take turns, `rounds` times, and the best of
//! each counts, so that all see the same machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use atelier_core::cpu_math::CpuMath;
use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe};
use atelier_engine::{End, Event, PreviewOptions, Task, start};
use atelier_library::Builtin;

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
/// Columns: the name, the kernels' level and the program's arithmetic with the level of
/// instructions that it may use.
const OURS: [(&str, &str, CpuMath, &str); 3] = [
    ("AVX2", "Avx2", CpuMath::F32, "avx2"),
    ("AVX-512", "Avx512", CpuMath::F32, "avx512"),
    ("bf16", "Avx512Bf16", CpuMath::Bf16, "avx512-bf16"),
];
const ENGINE: &str = "engine";
const PYTORCH: [(&str, &str, &str); 4] =
    [("PyTorch f32", "f32", "nchw"), ("PyTorch bf16", "bf16", "nchw"), ("f32 NHWC", "f32", "nhwc"), ("bf16 NHWC", "bf16", "nhwc")];

/// Best values by row and column.
type Table = BTreeMap<(String, String), f64>;

pub(super) fn measure(python: Option<PathBuf>, rounds: usize, only: &str) -> Outcome<()> {
    let wanted = |rows: &[&'static str]| -> Vec<&'static str> { rows.iter().copied().filter(|row| row.contains(only)).collect() };
    let python = python.or_else(|| std::env::var_os("ATELIER_PYTHON").map(PathBuf::from));
    if python.is_none() {
        println!("PyTorch is left out: name a Python that has it with --python.");
    }
    let (operations, parts) = (wanted(&OPERATIONS), wanted(&PARTS));
    let quantised: Vec<&str> = QUANTISED.into_iter().filter(|sizes| format!("int8 {sizes}").contains(only)).collect();
    let mut table = Table::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds} ...");
        programs(&operations, python.as_deref(), &mut table)?;
        products_in_int8(&quantised, &mut table)?;
        for part in &parts {
            models(part, python.as_deref(), &mut table)?;
        }
    }
    print(&table, "GFLOP/s", &operations.iter().filter(|row| !row.starts_with("attention")).copied().collect::<Vec<_>>(), true);
    print(&table, "milliseconds", &operations.iter().filter(|row| row.starts_with("attention")).copied().collect::<Vec<_>>(), false);
    print_int8(&table, &quantised);
    print(&table, "CPU seconds", &parts, false);
    for part in &parts {
        let peak = |column: &str| table.get(&(format!("{part} peak"), column.to_owned())).map_or(0.0, |bytes| bytes / 1e6);
        let peaks: Vec<String> = OURS.iter().map(|(column, ..)| format!("{column} {:.0}", peak(column))).collect();
        println!("most memory, {part}, MB: {ENGINE} {:.0}, {}", peak(ENGINE), peaks.join(", "));
    }
    Ok(())
}

/// Runs every program that measures operations.
fn programs(rows: &[&str], python: Option<&Path>, table: &mut Table) -> Outcome<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let examples = examples()?;
    take(Command::new(examples.join("operations")).args(rows), ENGINE, table)?;
    for (column, level, ..) in OURS {
        // A level that this processor lacks has no column.
        let _ = take(Command::new(examples.join("rates")).args([level, PEAK]).args(rows), column, table);
    }
    pytorch(python, rows, table)
}

/// The folder of the programs that measure operations.
fn examples() -> Outcome<PathBuf> {
    Ok(std::env::current_exe()?.ancestors().nth(2).ok_or("no build folder")?.join("examples"))
}

/// Products in eight bits beside those of the same sizes in f32, with weights of 16 bits.
fn products_in_int8(sizes: &[&str], table: &mut Table) -> Outcome<()> {
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
    for (level, column) in INT8_LEVELS {
        // A level that this processor lacks has no table.
        let _ = take(Command::new(examples()?.join("rates")).arg(level).args(&rows), column, table);
    }
    Ok(())
}

/// How many times as quick as in f32 products in eight bits are.
fn print_int8(table: &Table, sizes: &[&str]) {
    for (_, column) in INT8_LEVELS {
        let get = |row: String| table.get(&(row, column.to_owned())).copied();
        let lines = sizes.iter().filter_map(|sizes| {
            let in_f32 = get(format!("product {sizes}"))?;
            let ratio =
                |format: &str| get(format!("int8 {format} {sizes}")).map_or_else(|| "-".to_owned(), |it| format!("{:.2}", it / in_f32));
            Some(format!("| {sizes} | {} |", FORMATS.map(ratio).join(" | ")))
        });
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            println!(
                "\n| {column}, times as quick as f32 | {} |\n|---|{}\n{}",
                FORMATS.join(" | "),
                "---|".repeat(FORMATS.len()),
                lines.join("\n")
            );
        }
    }
}

fn pytorch(python: Option<&Path>, rows: &[&str], table: &mut Table) -> Outcome<()> {
    let Some(python) = python else { return Ok(()) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pytorch/measure.py");
    for (column, kind, layout) in PYTORCH {
        // The layout is one of images.
        let rows = rows.iter().filter(|row| layout == "nchw" || row.starts_with("convolution") || row.ends_with("512"));
        take(Command::new(python).arg(&script).args([kind, layout]).args(rows).env("OMP_NUM_THREADS", "1"), column, table)?;
    }
    Ok(())
}

/// A part of a model by every arithmetic, each in a process of its own, and by PyTorch.
fn models(part: &str, python: Option<&Path>, table: &mut Table) -> Outcome<()> {
    let child = || -> Outcome<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--cpu-part", part]);
        Ok(command)
    };
    take(child()?.env("ATELIER_CPU_MATH", CpuMath::Exact.name()), ENGINE, table)?;
    for (column, _, math, level) in OURS {
        let _ = take(child()?.env("ATELIER_CPU_MATH", math.name()).env("ATELIER_CPU_LEVEL", level), column, table);
    }
    pytorch(python, &[part], table)
}

/// Runs a program and keeps the best of what it measured: the most of rates, the least of times and
/// memory.
fn take(command: &mut Command, column: &str, table: &mut Table) -> Outcome<()> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((row, value)) = line.split_once('\t') else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        let is_rate = ["product", "convolution", "int8", PEAK].iter().any(|kind| row.starts_with(kind));
        let better = if is_rate { f64::max } else { f64::min };
        table.entry((row.to_owned(), column.to_owned())).and_modify(|best| *best = better(*best, value)).or_insert(value);
    }
    Ok(())
}

fn print(table: &Table, unit: &str, rows: &[&str], is_rate: bool) {
    if rows.is_empty() {
        return;
    }
    let columns: Vec<&str> =
        std::iter::once(ENGINE).chain(OURS.iter().map(|(column, ..)| *column)).chain(PYTORCH.iter().map(|(column, ..)| *column)).collect();
    println!("\n| {unit} | {} | f32: ours / PyTorch | bf16: ours / PyTorch | of the peak, f32, bf16 |", columns.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len() + 3));
    for row in rows {
        let get = |column: &str| table.get(&((*row).to_owned(), column.to_owned())).copied();
        let peak = |column: &str| table.get(&(PEAK.to_owned(), column.to_owned())).copied();
        let number = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| if value < 20.0 { format!("{value:.2}") } else { format!("{value:.0}") })
        };
        // Above 1 ours is quicker.
        let ratio = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
            (Some(ours), Some(theirs)) if is_rate => format!("{:.2}", ours / theirs),
            (Some(ours), Some(theirs)) => format!("{:.2}", theirs / ours),
            _ => "-".to_owned(),
        };
        let quickest = if is_rate { f64::max } else { f64::min };
        let single = get("AVX2").into_iter().chain(get("AVX-512")).reduce(quickest);
        let share = |column: &str| match (get(column), peak(column)) {
            (Some(rate), Some(peak)) if is_rate => format!("{:.0} %", 100.0 * rate / peak),
            _ => "-".to_owned(),
        };
        let cells: Vec<String> = columns.iter().map(|column| number(get(column))).collect();
        println!(
            "| {row} | {} | {} | {} | {}, {} |",
            cells.join(" | "),
            ratio(single, get("PyTorch f32")),
            ratio(get("bf16"), get("PyTorch bf16")),
            share("AVX-512"),
            share("bf16")
        );
    }
}

/// Measures a part of a model in this process and prints it, with the most memory.
pub(super) fn part(part: &str, folder: &Path) -> Outcome<()> {
    let [name, phase, side] = part.split(' ').collect::<Vec<_>>()[..] else { return Err(format!("no part is called {part}").into()) };
    let side = side.parse()?;
    let mut recipe = Recipe {
        width: side,
        height: side,
        threads: Some(1),
        placement: PlacementText { backend: "cpu".into(), ..PlacementText::default() },
        ..Recipe::default()
    };
    if name == "builtin" {
        Builtin::find()?.apply(&mut recipe);
        (recipe.width, recipe.height) = (side, side);
    } else {
        recipe.files = ModelFiles::from_iter([(FileRole::Model, testkit::sd15_cached(folder)?)]);
        recipe.flash_attention = atelier_engine::cpu_math() != CpuMath::Exact;
    }
    recipe.guidance = 1.0;
    recipe.steps = if phase == "step" { 3 } else { 1 };
    recipe.prompt = "a lake".into();
    let engine = start(|| {});
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let (mut last, mut done, mut steps) = (None, 0, Vec::new());
    let decode = loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            // Parts of a step are told too.
            Event::Step { step, .. } if step.done > done => {
                done = step.done;
                let now = cpu_time();
                if let Some(last) = last.replace(now) {
                    steps.push(now.saturating_sub(last).as_secs_f64());
                }
            }
            Event::End { end: End::Done { .. }, .. } => {
                break last.map(|last: Duration| cpu_time().saturating_sub(last).as_secs_f64());
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
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
}
