//! Log files of the window: bounded in size and number, written on a thread of their own.
//!
//! They hold what the program itself says from `info` on, and warnings of others. Prompts are said
//! at no level that gets here, tokens at none at all; names of files are, because they are what
//! goes wrong, but not of pictures, which are words of prompts (`log_text`). They are their owner's
//! alone.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, Targets};

use atelier_core::owner_only;
use atelier_core::paths::{Paths, remove_if_there};

use super::log_text::LogWriter;

/// Largest log file, in bytes; a little more where one line is long.
const MAX_FILE_BYTES: u64 = 512 << 10;
/// Number of log files, the current one included.
const MAX_FILES: usize = 5;
/// Lines that wait for the thread that writes them; those beyond are left out. Each takes 32 bytes from the start on.
const MAX_WAITING_LINES: usize = 8192;

/// Folder of the logs.
#[must_use]
pub fn folder(paths: &Paths) -> PathBuf {
    paths.data.join("logs")
}

/// Messages that are written into the files.
#[must_use]
pub fn filter() -> Targets {
    // The engine's own chatter names what a picture is of.
    Targets::new().with_default(LevelFilter::WARN).with_target("atelier", LevelFilter::INFO).with_target("engine", LevelFilter::WARN)
}

/// Opens the current log file. Lines are written on a thread until the guard is dropped.
///
/// # Errors
/// If the folder cannot be written to.
pub fn open(folder: &Path) -> io::Result<(NonBlocking, WorkerGuard)> {
    let file = LogWriter(RotatingFile::open(folder, MAX_FILE_BYTES, MAX_FILES)?);
    Ok(NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING_LINES).finish(file))
}

/// The last lines of the logs, at most so many bytes. Empty where there are none.
#[must_use]
pub fn tail(folder: &Path, max_bytes: u64) -> String {
    let current = read_end(&path_of(folder, 0), max_bytes);
    let before = read_end(&path_of(folder, 1), max_bytes.saturating_sub(current.len() as u64));
    let bytes = [before, current].concat();
    let text = String::from_utf8_lossy(&bytes);
    // The first line is cut.
    if bytes.len() as u64 >= max_bytes { text.split_once('\n').map_or("", |(_, rest)| rest).to_owned() } else { text.into_owned() }
}

fn read_end(path: &Path, max_bytes: u64) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(max_bytes)))?;
        let mut bytes = Vec::new();
        file.take(max_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // There is none, or none that can be read: then there is nothing to show.
    read().unwrap_or_default()
}

/// `atelier.log`, then `atelier.1.log` and so on, the older the larger the number.
fn path_of(folder: &Path, age: usize) -> PathBuf {
    folder.join(if age == 0 { "atelier.log".to_owned() } else { format!("atelier.{age}.log") })
}

/// A file that is put aside once it is large enough; the oldest of those put aside is deleted.
struct RotatingFile {
    folder: PathBuf,
    file: File,
    bytes: u64,
    max_bytes: u64,
    max_files: usize,
}

impl RotatingFile {
    fn open(folder: &Path, max_bytes: u64, max_files: usize) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let (file, bytes) = append(&path_of(folder, 0))?;
        Ok(Self { folder: folder.to_owned(), file, bytes, max_bytes, max_files })
    }

    fn rotate(&mut self) -> io::Result<()> {
        remove_if_there(&path_of(&self.folder, self.max_files - 1))?;
        for age in (0..self.max_files - 1).rev() {
            match fs::rename(path_of(&self.folder, age), path_of(&self.folder, age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        (self.file, self.bytes) = append(&path_of(&self.folder, 0))?;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<(File, u64)> {
    let file = File::options().create(true).append(true).open(path)?;
    owner_only::restrict_file(&file)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

impl Write for RotatingFile {
    /// Writes a whole line. Where the file is full and cannot be put aside, because another window
    /// has it open, nothing more is kept.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes >= self.max_bytes && self.rotate().is_err() {
            return Ok(line.len());
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_bounded_in_size_and_number_and_the_newest_lines_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = RotatingFile::open(folder.path(), 100, 3).unwrap();
        for n in 0..100 {
            writeln!(log, "line {n:04}").unwrap();
        }
        drop(log);
        assert_eq!(names(folder.path()), ["atelier.1.log", "atelier.2.log", "atelier.log"]);
        for name in names(folder.path()) {
            assert!(fs::metadata(folder.path().join(name)).unwrap().len() <= 110);
        }
        assert!(tail(folder.path(), 1000).ends_with("line 0098\nline 0099\n"));
    }

    #[test]
    fn the_next_start_goes_on_where_the_last_one_stopped() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..3 {
            writeln!(RotatingFile::open(folder.path(), 1000, 3).unwrap(), "start {n}").unwrap();
        }
        assert_eq!(tail(folder.path(), 1000), "start 0\nstart 1\nstart 2\n");
        assert_eq!(names(folder.path()), ["atelier.log"]);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_a_log_also_one_that_an_older_version_left() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_of(folder.path(), 0), "old\n").unwrap();
        fs::set_permissions(path_of(folder.path(), 0), fs::Permissions::from_mode(0o644)).unwrap();
        let mut log = RotatingFile::open(folder.path(), 1, 3).unwrap();
        for n in 0..3 {
            writeln!(log, "line {n}").unwrap();
        }
        for name in names(folder.path()) {
            assert_eq!(fs::metadata(folder.path().join(&name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn the_end_of_a_log_begins_with_a_whole_line_and_goes_on_over_two_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_of(folder.path(), 1), "one\ntwo\n").unwrap();
        fs::write(path_of(folder.path(), 0), "three\n").unwrap();
        assert_eq!(tail(folder.path(), 100), "one\ntwo\nthree\n");
        assert_eq!(tail(folder.path(), 12), "two\nthree\n");
        assert_eq!(tail(&folder.path().join("none"), 12), "");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(open(&folder.path().join("file/logs")).is_err());
    }

    #[test]
    fn the_program_is_heard_and_the_engine_only_when_it_warns() {
        let filter = filter();
        assert!(filter.would_enable("atelier_engine::job", &Level::INFO) && !filter.would_enable("atelier::gui", &Level::DEBUG));
        assert!(filter.would_enable("engine", &Level::WARN) && !filter.would_enable("engine", &Level::INFO));
        assert!(filter.would_enable("zbus", &Level::WARN) && !filter.would_enable("zbus", &Level::INFO));
    }
}
