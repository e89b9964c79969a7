//! Options, the cache folder, and starting the program.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::squashfs::{Fields, Image, PART_ENDING, new_part_name, sync_folder};

const HELP: &str = "\
Atelier as an AppImage. All arguments go to Atelier, except these:

  --appimage-extract   unpack into ./squashfs-root
  --appimage-offset    print the byte at which the squashfs image begins
  --appimage-version   print the version of this front
  --appimage-help      print this";

/// Beneath the cache folder.
const FOLDER: &str = "atelier-appimage";
/// In each unpacked version, locked while it runs, and in each that is being unpacked.
const LOCK: &str = ".running";
/// What is being unpacked and has no lock is this old where its start was ended.
const PART_MAX_AGE: Duration = Duration::from_hours(1);
/// Tries to hold the unpacked image while other starts make and remove theirs.
const MAX_TRIES: u32 = 20;

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
    let damaged = |error: io::Error| format!("{} cannot be read: {error}. Download the file again.", itself.display());
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
            let (folder, lock) = unpacked(&mut image, &cache_folder()?)?;
            return Err(start_program(&folder, &lock, &itself, &arguments));
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

/// The folder with the unpacked image, which is made where it is not there yet, and completed where
/// something of it was removed. It stays for as long as the file is open.
fn unpacked(image: &mut Image, cache: &Path) -> Result<(PathBuf, File), String> {
    let folder = cache.join(format!("{:016x}", hash(image.superblock())));
    let failed = |error: io::Error| {
        let cache = cache.display();
        format!("Atelier could not unpack itself into {cache}: {error}. Free some space there, or set XDG_CACHE_HOME to another folder.")
    };
    for _ in 0..MAX_TRIES {
        if let Some(lock) = hold(&folder).map_err(failed)? {
            image.complete(&folder).map_err(failed)?;
            return Ok((folder, lock));
        }
        fs::create_dir_all(cache).map_err(failed)?;
        remove_unused(cache);
        if let Some(lock) = unpack(image, cache, &folder).map_err(failed)? {
            return Ok((folder, lock));
        }
    }
    Err(failed(io::Error::other("other programs change that folder all the time")))
}

/// Holds a folder of the cache, so that nobody removes it; `None` where it is not there.
fn hold(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    // A cleaner may have removed it alone.
    let made = || File::options().create(true).append(true).open(&path);
    let opened = File::open(&path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { made() } else { Err(error) });
    let lock = match opened {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    lock.lock_shared()?;
    // While this waited, another version may have removed the folder, and another start may have
    // made it again.
    let is_same = |there: fs::Metadata, held: &fs::Metadata| (there.dev(), there.ino()) == (held.dev(), held.ino());
    let held = lock.metadata()?;
    Ok(fs::metadata(&path).is_ok_and(|there| is_same(there, &held)).then_some(lock))
}

/// Unpacks the image into this folder, whole or not at all, and holds it. `None` where another
/// start was faster.
fn unpack(image: &mut Image, cache: &Path, folder: &Path) -> io::Result<Option<File>> {
    let part = cache.join(new_part_name());
    fs::create_dir(&part)?;
    let unpacked = (|| {
        // The part is held too: what nobody holds was left by a start that was ended.
        let Some(_part_lock) = hold(&part)? else { return Ok(None) };
        let whole = part.join("whole");
        image.extract(&whole)?;
        let Some(lock) = hold(&whole)? else { return Ok(None) };
        sync_folder(&whole)?;
        match fs::rename(&whole, folder) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => return Ok(None),
            Err(error) => return Err(error),
        }
        sync_folder(cache)?;
        Ok(Some(lock))
    })();
    let _ = fs::remove_dir_all(&part);
    unpacked
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Removes the versions that no process holds, and what starts left that were ended. What cannot be
/// removed stays; it costs only space.
fn remove_unused(cache: &Path) {
    for folder in fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path()) {
        match File::open(folder.join(LOCK)) {
            Ok(lock) => {
                if lock.try_lock().is_ok() {
                    remove(&folder);
                }
            }
            // One that has just been made has no lock for a moment.
            Err(_) if is_part(&folder) && age(&folder).is_some_and(|age| age > PART_MAX_AGE) => remove(&folder),
            Err(_) => {}
        }
    }
}

/// Removes a folder, which is no version any more from the first moment on.
fn remove(folder: &Path) {
    let part = folder.with_file_name(new_part_name());
    if fs::rename(folder, &part).is_ok() {
        let _ = fs::remove_dir_all(part);
    }
}

fn is_part(folder: &Path) -> bool {
    folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(PART_ENDING))
}

fn age(folder: &Path) -> Option<Duration> {
    fs::symlink_metadata(folder).ok()?.modified().ok()?.elapsed().ok()
}

/// Becomes the program, which holds the lock until it ends. Returns only the reason why not.
fn start_program(folder: &Path, lock: &File, itself: &Path, arguments: &[OsString]) -> String {
    if let Err(error) = fcntl_setfd(lock, FdFlags::empty()) {
        return format!("{} cannot be used: {error}. Delete it and start Atelier again.", folder.display());
    }
    let program = folder.join("AppRun");
    let mut command = Command::new(&program);
    command.args(arguments.iter().skip(1)).env("APPIMAGE", itself).env("APPDIR", folder);
    if let Some(name) = arguments.first() {
        command.env("ARGV0", name);
    }
    let error = command.exec();
    format!(
        "{} cannot be started: {error}. If that folder forbids programs, set XDG_CACHE_HOME to one that allows them.",
        program.display()
    )
}

#[cfg(test)]
mod tests;
