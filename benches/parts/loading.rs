//! How fast a model's weights are read: `cargo xtask bench -- --loading [--file MODEL] [--rounds
//! N]`. The files of a whole model, by default a random SD1.5 as safetensors and as GGUF, in the
//! system's cache and out of it, beside plain reads of the same bytes: by one thread through the
//! cache, and by two past it, which is what the disk can. All take turns, and the best of each
//! counts.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use atelier_core::recipe::{FileRole, PlacementText, Recipe};
use atelier_engine::{End, Event, PreviewOptions, Task, start};
use rustix::fs::{Advice, OFlags, fadvise};

use super::{LIMIT, Outcome, peak_bytes};

/// Of a plain read.
const CHUNK_BYTES: usize = 4 << 20;
/// Of places in the file and in memory, for reads past the cache.
const ALIGNMENT: usize = 4096;
/// Threads that read past the cache.
const THREADS: usize = 2;

/// The files that are measured where none is named, made at the first call.
pub(super) fn files(folder: &Path) -> Outcome<[PathBuf; 2]> {
    let safetensors = testkit::sd15_cached(folder)?;
    let gguf = safetensors.with_extension("gguf");
    if !gguf.exists() {
        eprintln!("making a GGUF of it ...");
        let home = tempfile::tempdir()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.env("ATELIER_HOME", home.path()).args(["models", "convert", "--type", "f16", "-o"]).arg(&gguf).arg(&safetensors);
        let status = command.stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("the model was not converted: {status}").into());
        }
    }
    Ok([safetensors, gguf])
}

pub(super) fn measure(files: &[PathBuf], rounds: usize) -> Outcome<()> {
    println!("The best of {rounds}; the limit is the quicker one of the reads beside it.\n");
    println!(
        "| file | GB | in the cache | loading | GB/s | plain read | two threads past the cache | loading / limit | most memory / file |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for file in files {
        for is_cached in [true, false] {
            println!("{}", row(file, is_cached, rounds)?);
        }
    }
    Ok(())
}

fn row(file: &Path, is_cached: bool, rounds: usize) -> Outcome<String> {
    let bytes = file.metadata()?.len() as f64;
    let (mut plain, mut past, mut loading, mut memory) = (f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        set_cached(file, is_cached)?;
        plain = plain.min(read(file)?);
        // What lies in memory is not the disk's to give.
        if !is_cached {
            set_cached(file, is_cached)?;
            past = past.min(read_past_cache(file)?.unwrap_or(f64::INFINITY));
        }
        set_cached(file, is_cached)?;
        let (secs, peak) = load(file)?;
        (loading, memory) = (loading.min(secs), memory.min(peak));
    }
    let past_cell = if past.is_finite() { format!("{past:.2} s") } else { "-".to_owned() };
    let name = file.extension().unwrap_or_default().to_string_lossy();
    let (size, rate, ratio, share) = (bytes / 1e9, bytes / loading / 1e9, loading / plain.min(past), memory / bytes);
    let state = if is_cached { "yes" } else { "no" };
    Ok(format!("| {name} | {size:.2} | {state} | {loading:.2} s | {rate:.2} | {plain:.2} s | {past_cell} | {ratio:.2} | {share:.2} |"))
}

/// Brings the file into the system's cache, or out of it.
fn set_cached(file: &Path, is_cached: bool) -> Outcome<()> {
    if is_cached {
        read(file)?;
        return Ok(());
    }
    let file = File::open(file)?;
    // Pages that are not on the disk yet stay.
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

/// Seconds of a plain read, which keeps nothing.
fn read(file: &Path) -> Outcome<f64> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut file = File::open(file)?;
    let begun = Instant::now();
    while file.read(&mut chunk)? > 0 {}
    Ok(begun.elapsed().as_secs_f64())
}

/// Seconds of a read past the system's cache, which keeps nothing; `None` where the file system
/// refuses.
fn read_past_cache(file: &Path) -> Outcome<Option<f64>> {
    let Ok(file) = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(file) else { return Ok(None) };
    let bytes = file.metadata()?.len();
    let next = AtomicU64::new(0);
    let read_some = || -> io::Result<()> {
        let mut memory = vec![0_u8; CHUNK_BYTES + ALIGNMENT];
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        let chunk = &mut memory[first..first + CHUNK_BYTES];
        loop {
            let at = next.fetch_add(CHUNK_BYTES as u64, Ordering::Relaxed);
            if at >= bytes {
                return Ok(());
            }
            if (file.read_at(chunk, at)? as u64) < (bytes - at).min(CHUNK_BYTES as u64) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    };
    let begun = Instant::now();
    let results = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(read_some)).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a reading thread failed")).collect::<Result<Vec<_>, _>>()
    })?;
    results.into_iter().collect::<io::Result<()>>()?;
    Ok(Some(begun.elapsed().as_secs_f64()))
}

/// Seconds of loading, and the most memory, of a process of its own: one that has read a file
/// before reads it otherwise.
fn load(file: &Path) -> Outcome<(f64, f64)> {
    let output = Command::new(std::env::current_exe()?).arg("--loading-part").arg(file).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the model was not loaded: {}", output.status).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (secs, peak) = text.trim().split_once('\t').ok_or("nothing was measured")?;
    Ok((secs.parse()?, peak.parse()?))
}

/// Makes a small picture in this process, and prints what loading took.
pub(super) fn part(file: &Path) -> Outcome<()> {
    let recipe = Recipe {
        files: [(FileRole::Model, file.to_owned())].into_iter().collect(),
        prompt: "a lake".into(),
        width: 64,
        height: 64,
        steps: 1,
        guidance: 1.0,
        placement: PlacementText { backend: "cpu".into(), ..PlacementText::default() },
        ..Recipe::default()
    };
    let engine = start(|| {});
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            Event::End { end: End::Done { timings, .. }, .. } => {
                println!("{}\t{}", timings.load_secs, peak_bytes("self").unwrap_or_default());
                return Ok(());
            }
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }
}
