//! Options, the cache folder, and starting the program.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::squashfs::{Fields, Image};

const HELP: &str = "\
Atelier as an AppImage. All arguments go to Atelier, except these:

  --appimage-extract   unpack into ./squashfs-root
  --appimage-offset    print the byte at which the squashfs image begins
  --appimage-version   print the version of this front
  --appimage-help      print this";

/// Beneath the cache folder.
const FOLDER: &str = "atelier-appimage";
/// In each unpacked version; locked while it runs.
const LOCK: &str = ".running";

pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let arguments: Vec<OsString> = env::args_os().collect();
    let itself = fs::read_link("/proc/self/exe").map_err(|error| format!("Atelier cannot find its own file: {error}"))?;
    let damaged = |error: io::Error| format!("{} cannot be read: {error}. Download it again.", itself.display());
    let mut file = File::open(&itself).map_err(damaged)?;
    let start = end_of_elf(&mut file).map_err(damaged)?;
    match arguments.get(1).and_then(|it| it.to_str()) {
        Some("--appimage-help") => println!("{HELP}"),
        Some("--appimage-version") => println!("Atelier's AppImage runtime {}", env!("CARGO_PKG_VERSION")),
        Some("--appimage-offset") => println!("{start}"),
        Some("--appimage-extract") => {
            let extracted = Image::open(file, start).and_then(|mut image| image.extract(Path::new("squashfs-root")));
            extracted.map_err(|error| format!("It could not be unpacked into squashfs-root: {error}"))?;
        }
        Some("--appimage-mount") => return Err("This AppImage is not mounted; use --appimage-extract.".to_owned()),
        _ => {
            let mut image = Image::open(file, start).map_err(damaged)?;
            let folder = unpacked(&mut image, &cache_folder()?)?;
            return Err(start_program(&folder, &itself, &arguments));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the sections of a 64-bit ELF file end, which is its end, as AppImages find it.
fn end_of_elf(file: &mut File) -> io::Result<u64> {
    let mut head = [0; 64];
    file.read_exact(&mut head)?;
    let mut fields = Fields(&head);
    fields.skip(40)?;
    let sections = fields.u64()?;
    fields.skip(10)?;
    let [size, count] = [fields.u16()?, fields.u16()?].map(u64::from);
    Ok(sections + size * count)
}

fn cache_folder() -> Result<PathBuf, String> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.map(|it| it.join(FOLDER)).ok_or_else(|| "Atelier does not know where to unpack itself: set HOME or XDG_CACHE_HOME.".to_owned())
}

/// The folder with the unpacked image, which is made where it is not there yet.
fn unpacked(image: &mut Image, cache: &Path) -> Result<PathBuf, String> {
    let folder = cache.join(format!("{:016x}", hash(image.superblock())));
    if folder.join(LOCK).is_file() {
        return Ok(folder);
    }
    let failed = |error: io::Error| {
        let cache = cache.display();
        format!("Atelier could not unpack itself into {cache}: {error}. Free some space there, or set XDG_CACHE_HOME to another folder.")
    };
    fs::create_dir_all(cache).map_err(failed)?;
    remove_unused(cache);
    // Whole or not there, also where two start at once.
    let part = cache.join(format!("{}.part", std::process::id()));
    let _ = fs::remove_dir_all(&part);
    let made = image.extract(&part).and_then(|()| File::create(part.join(LOCK)).map(drop)).and_then(|()| fs::rename(&part, &folder));
    if let Err(error) = made {
        let _ = fs::remove_dir_all(&part);
        if !folder.join(LOCK).is_file() {
            return Err(failed(error));
        }
    }
    Ok(folder)
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Removes the versions that no process holds. What cannot be removed stays; it costs only space.
fn remove_unused(cache: &Path) {
    for folder in fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => drop(fs::remove_dir_all(&folder)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

/// Becomes the program, which holds the lock until it ends. Returns only the reason why not.
fn start_program(folder: &Path, itself: &Path, arguments: &[OsString]) -> String {
    let lock = File::open(folder.join(LOCK)).and_then(|lock| lock.lock_shared().map(|()| lock));
    let lock = match lock.and_then(|lock| fcntl_setfd(&lock, FdFlags::empty()).map(|()| lock).map_err(io::Error::from)) {
        Ok(lock) => lock,
        Err(error) => return format!("{} cannot be used: {error}. Delete it and start Atelier again.", folder.display()),
    };
    let program = folder.join("AppRun");
    let mut command = Command::new(&program);
    command.args(arguments.iter().skip(1)).env("APPIMAGE", itself).env("APPDIR", folder);
    if let Some(name) = arguments.first() {
        command.env("ARGV0", name);
    }
    let error = command.exec();
    drop(lock);
    format!(
        "{} cannot be started: {error}. If that folder forbids programs, set XDG_CACHE_HOME to one that allows them.",
        program.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_run_stay_and_others_go() {
        let cache = tempfile::tempdir().unwrap();
        let [running, old, foreign] = ["running", "old", "foreign"].map(|name| cache.path().join(name));
        for folder in [&running, &old, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        let held = File::create(running.join(LOCK)).unwrap();
        held.lock_shared().unwrap();
        File::create(old.join(LOCK)).unwrap();
        remove_unused(cache.path());
        assert!(running.exists() && foreign.exists() && !old.exists());
    }

    #[test]
    fn this_test_ends_where_its_sections_do() {
        let itself = env::current_exe().unwrap();
        let end = end_of_elf(&mut File::open(&itself).unwrap()).unwrap();
        assert_eq!(end, fs::metadata(&itself).unwrap().len());
    }

    #[test]
    fn what_is_no_image_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(Image::open(file.try_clone().unwrap(), 0).is_err());
        file.set_len(4096).unwrap();
        assert!(Image::open(file, 0).is_err());
    }
}
