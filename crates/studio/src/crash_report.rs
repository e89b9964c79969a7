//! Crash reports: a file on this disk with what somebody needs who can help. Nothing is sent.
//!
//! While a window is open a marker is on the disk. A panic of the window's own thread writes its
//! report at once; an end without a word (an assert of the engine, a kill) shows at the next start,
//! by the marker. Where the system itself ended or started anew meanwhile, that is no crash. A
//! panic on another thread ends no window: whoever waits for that thread tells it.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::macros::format_description;

use super::log_text::{log_text, without_quotations};
use crate::terminal;
use crate::{logs, version};
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::owner_only;
use atelier_core::paths::{Paths, remove_if_there, write_new, write_private};
use atelier_core::plain_text::quoted_path;

/// Name of the marker in the folder of data.
const MARKER_NAME: &str = "window-is-open.json";
/// Largest marker that is read, in bytes.
const MAX_MARKER_BYTES: u64 = 256 << 10;
/// Bytes of the log's end that a report holds.
const LOG_BYTES: u64 = 64 << 10;
/// Reports that are kept; older ones are deleted.
const MAX_REPORTS: usize = 10;

/// Folder of the reports.
#[must_use]
pub fn folder(paths: &Paths) -> PathBuf {
    paths.data.join("crash-reports")
}

/// The marker: what is known of a window while it is open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Marker {
    version: String,
    engine: String,
    /// Seconds since 1970.
    started_secs: u64,
    /// A line for each device.
    devices: Vec<String>,
    /// The report that a panic wrote.
    report: Option<PathBuf>,
}

/// A window that is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    paths: Paths,
    marker: Arc<Mutex<Marker>>,
}

/// A window that did not end as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCrash {
    pub report: PathBuf,
}

impl Watch {
    /// A watch that has not begun.
    #[must_use]
    pub fn new(paths: &Paths) -> Self {
        let marker = Marker {
            version: version::FULL.to_owned(),
            engine: atelier_engine::version().to_owned(),
            started_secs: now_secs(),
            devices: Vec::new(),
            report: None,
        };
        Self { paths: paths.clone(), marker: Arc::new(Mutex::new(marker)) }
    }

    /// Looks whether the last window ended as it should, then puts the marker of this one there.
    /// The caller is this person's only window. Blocks.
    #[must_use]
    pub fn begin(&self) -> Option<LastCrash> {
        let crash = take_crash(&self.paths, boot_secs());
        self.write();
        crash
    }

    /// The engine's devices, for a report. Blocks.
    pub fn set_devices(&self, devices: &[Device]) {
        self.marker.lock().devices = devices.iter().map(device_line).collect();
        self.write();
    }

    /// The window ends as it should. Blocks.
    pub fn end(&self) {
        if self.marker.lock().report.is_none()
            && let Err(error) = remove_if_there(&self.marker_path())
        {
            tracing::warn!("the mark of an open window could not be removed: {error}");
        }
    }

    /// Writes a report of every panic of the thread that calls this.
    pub fn hook_panics(&self) {
        let (watch, window) = (self.clone(), std::thread::current().id());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            let words = panic_words(info, without_quotations);
            tracing::error!("{words}");
            if std::thread::current().id() == window {
                watch.panicked(&words, &Backtrace::force_capture());
            }
        }));
    }

    fn panicked(&self, words: &str, backtrace: &Backtrace) {
        let Some(mut marker) = self.marker.try_lock() else { return };
        let report = write_report(&self.paths, &marker, &format!("{words}\n\n{backtrace}"));
        if let Ok(path) = report {
            let words = format!("Atelier crashed. A report was saved to {}; nothing was sent.", quoted_path(&path));
            // Nothing can be said where standard error is closed.
            let _ = writeln!(terminal::stderr(), "{words}");
            marker.report = Some(path);
            drop(marker);
            self.write();
        }
    }

    fn marker_path(&self) -> PathBuf {
        self.paths.data.join(MARKER_NAME)
    }

    fn write(&self) {
        let written = serde_json::to_vec_pretty(&*self.marker.lock())
            .map_err(io::Error::from)
            .and_then(|text| write_private(&self.marker_path(), &text));
        if let Err(error) = written {
            tracing::warn!("the mark of an open window could not be written: {error}");
        }
    }
}

/// The crash of the last window, with its report; the marker is gone then. `booted_secs`: when the
/// system started, in seconds since 1970.
fn take_crash(paths: &Paths, booted_secs: u64) -> Option<LastCrash> {
    let path = paths.data.join(MARKER_NAME);
    let size = fs::metadata(&path).ok()?.len();
    let text = if size <= MAX_MARKER_BYTES { fs::read(&path).ok()? } else { Vec::new() };
    let marker: Marker = serde_json::from_slice(&text).unwrap_or_default();
    if let Err(error) = fs::remove_file(&path) {
        tracing::warn!("{} could not be removed: {error}", path.display());
    }
    let folder = folder(paths);
    // The file is shown to the person, so it is one of ours and no other.
    if let Some(report) = marker.report.as_ref().filter(|it| it.parent() == Some(&folder) && it.is_file()) {
        return Some(LastCrash { report: report.clone() });
    }
    if marker.started_secs < booted_secs {
        return None;
    }
    let words = "The program ended without an error message. The engine or the system may have stopped it; memory may have run out.";
    write_report(paths, &marker, words)
        .inspect_err(|error| tracing::warn!("no crash report could be written: {error}"))
        .ok()
        .map(|report| LastCrash { report })
}

/// Writes a report and returns its path. Old ones are deleted.
fn write_report(paths: &Paths, marker: &Marker, words: &str) -> io::Result<PathBuf> {
    let folder = folder(paths);
    // The log's lines were written by the rule already; one of an older version, or a panic's
    // words, were not.
    let text = log_text(&without_home(&report_text(paths, marker, words), std::env::home_dir().as_deref()));
    let now = OffsetDateTime::now_local().unwrap_or_else(|_| OffsetDateTime::now_utc());
    let stamp = now.format(format_description!("[year]-[month]-[day]_[hour]-[minute]-[second]")).unwrap_or_default();
    let names = (1..100).map(|n| if n == 1 { format!("crash_{stamp}.txt") } else { format!("crash_{stamp}_{n}.txt") });
    let path = write_new(&folder, names, |file| {
        owner_only::restrict_file(file)?;
        file.write_all(text.as_bytes())
    })?;
    delete_old(&folder);
    Ok(path)
}

fn report_text(paths: &Paths, marker: &Marker, words: &str) -> String {
    let mut text = String::from("Crash report of Atelier\nNothing was sent. Read this report before you share it.\n\n");
    // Writing into a text never fails.
    let mut line = |name: &str, value: &str| writeln!(text, "{name:<9} {value}").unwrap_or_default();
    line("Version", &marker.version);
    line("Engine", &marker.engine);
    line("System", &system());
    for device in &marker.devices {
        line("Device", device);
    }
    let ran = Duration::from_secs(now_secs().saturating_sub(marker.started_secs));
    if marker.started_secs > 0 {
        line("Started", &format!("{} minutes before this report was written", ran.as_secs() / 60));
    }
    text + &format!("\n{words}\n\nThe last lines of the log:\n\n{}", logs::tail(&logs::folder(paths), LOG_BYTES))
}

fn device_line(device: &Device) -> String {
    let Device { name, description, kind, memory_total_bytes, memory_free_bytes, .. } = device;
    let (total, free) = (memory_size(*memory_total_bytes), memory_size(*memory_free_bytes));
    format!("{name}: {}, {description}, {total}, {free} free at the start", kind.label())
}

/// The name of a home folder is nobody's concern.
fn without_home(text: &str, home: Option<&Path>) -> String {
    match home.and_then(Path::to_str).filter(|home| home.len() > 1) {
        Some(home) => text.replace(home, "~"),
        None => text.to_owned(),
    }
}

fn delete_old(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut reports: Vec<PathBuf> = entries.filter(|path| is_report(path)).collect();
    // Names begin with their time.
    reports.sort();
    for path in reports.iter().rev().skip(MAX_REPORTS) {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!("an old crash report could not be deleted: {error}");
        }
    }
}

fn is_report(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.strip_prefix("crash_").is_some_and(|rest| rest.strip_suffix(".txt").is_some()))
}

/// A panic in a sentence; `edit` is done with its message.
pub fn panic_words(info: &PanicHookInfo<'_>, edit: impl FnOnce(&str) -> String) -> String {
    let thread = std::thread::current();
    let message = edit(info.payload_as_str().unwrap_or("a panic without a message"));
    let place = info.location().map_or_else(String::new, |it| format!(" at {it}"));
    format!("The thread \"{}\" panicked{place}: {message}", thread.name().unwrap_or("unnamed"))
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn boot_secs() -> u64 {
    sysinfo::System::boot_time()
}

/// Name and version of the system, its processor and memory.
fn system() -> String {
    let name = sysinfo::System::long_os_version().unwrap_or_else(|| std::env::consts::OS.to_owned());
    let kernel = sysinfo::System::kernel_version().unwrap_or_default();
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{name}, kernel {kernel}, {}, {threads} threads, {} of RAM", std::env::consts::ARCH, memory_size(system.total_memory()))
}

#[cfg(test)]
mod tests;
