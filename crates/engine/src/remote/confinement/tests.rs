//! A process of its own gives up the rights that a lender gives up, and tries what somebody who has
//! taken it over would try.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::env;
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::{Confinement, Confining};

/// Set for the process that is confined: the folder that stands for a home, and whether it has
/// drivers.
const CHILD: &str = "ATELIER_TEST_CONFINED";
const WITH_DRIVERS: &str = "ATELIER_TEST_CONFINED_DRIVERS";
/// It was confined, and this is what it could do.
const ESCAPED: i32 = 3;
/// The kernel of this machine has no means.
const NOT_CONFINED: i32 = 4;

/// Runs the test of this name again in a process of its own, as a lender.
fn run_confined(home: &Path, has_drivers: bool) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "remote::confinement::tests::the_process_that_is_confined", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("HOME", home).env(CHILD, home);
    // A leak sanitizer forks at the end, which a lender may not.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    if has_drivers {
        command.env(WITH_DRIVERS, "1");
    }
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_ne!(output.status.code(), Some(NOT_CONFINED), "this machine's kernel confines nothing: {said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// What it may not do; the names of those that worked.
fn escapes(home: &Path, listened: u16, socket: &Path, has_drivers: bool) -> Vec<&'static str> {
    let mut escapes = Vec::new();
    let mut tried = |name, worked: bool| {
        if worked {
            escapes.push(name);
        }
    };
    tried("read a file at home", fs::read(home.join("letter.txt")).is_ok());
    tried("list the home folder", fs::read_dir(home).is_ok());
    tried("write a file at home", fs::write(home.join("new.txt"), b"x").is_ok());
    tried("delete a file at home", fs::remove_file(home.join("letter.txt")).is_ok());
    tried("change a file's permissions", fs::set_permissions(home.join("letter.txt"), Permissions::from_mode(0o777)).is_ok());
    tried("start a program", Command::new("/bin/true").status().is_ok());
    tried("connect", TcpStream::connect(("127.0.0.1", listened)).is_ok());
    tried("listen", TcpListener::bind("127.0.0.1:0").is_ok());
    tried("open a datagram socket", UdpSocket::bind("127.0.0.1:0").is_ok());
    tried("connect to a local socket", UnixStream::connect(socket).is_ok());
    tried("start a program on another thread", thread::spawn(|| Command::new("/bin/true").status().is_ok()).join().unwrap());
    if !has_drivers {
        tried("read the system's files", fs::read("/etc/passwd").is_ok());
        tried("write to /tmp", fs::write("/tmp/atelier-confined", b"x").is_ok());
    }
    escapes
}

#[test]
#[ignore = "the tests below run it in a process of its own"]
fn the_process_that_is_confined() {
    let Some(home) = env::var_os(CHILD).map(PathBuf::from) else { return };
    let has_drivers = env::var_os(WITH_DRIVERS).is_some();
    let cache = home.join("weights");
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = home.join("socket");
    let _local = UnixListener::bind(&socket).unwrap();
    let address = outside.local_addr().unwrap();
    // What it was given before stays: this end will be accepted.
    let mut borrower = TcpStream::connect(address).unwrap();
    // All of it works until then.
    assert!(
        fs::read(home.join("letter.txt")).is_ok() && Command::new("/bin/true").status().is_ok() && UnixStream::connect(&socket).is_ok()
    );
    assert!(TcpListener::bind("127.0.0.1:0").is_ok() && fs::read("/etc/passwd").is_ok());
    let confining = Confining::begin(Some(&cache));
    let confinement = confining.finish(has_drivers);
    if let Confinement::None(reason) = &confinement {
        eprintln!("{reason}");
        std::process::exit(NOT_CONFINED);
    }
    assert_eq!(confinement, if has_drivers { Confinement::Drivers } else { Confinement::Strict });
    let escapes = escapes(&home, address.port(), &socket, has_drivers);
    println!("worked: {escapes:?}");
    // What a lender needs.
    fs::write(cache.join("part"), b"weights").unwrap();
    fs::rename(cache.join("part"), cache.join("whole")).unwrap();
    assert_eq!(fs::read(cache.join("whole")).unwrap(), b"weights");
    assert!(fs::read_to_string("/proc/meminfo").unwrap().contains("MemAvailable"));
    let (mut accepted, _) = outside.accept().unwrap();
    let sent = thread::spawn(move || borrower.write_all(b"ask"));
    let mut bytes = [0; 3];
    accepted.read_exact(&mut bytes).unwrap();
    sent.join().unwrap().unwrap();
    std::process::exit(if escapes.is_empty() { 0 } else { ESCAPED });
}

fn home() -> tempfile::TempDir {
    let home = tempfile::Builder::new().tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    fs::create_dir(home.path().join("weights")).unwrap();
    fs::write(home.path().join("letter.txt"), b"private").unwrap();
    home
}

#[test]
fn a_lender_of_the_processor_keeps_its_folder_of_weights_and_nothing_else() {
    let home = home();
    run_confined(home.path(), false);
    assert_eq!(fs::read(home.path().join("letter.txt")).unwrap(), b"private");
}

#[test]
fn a_lender_of_graphics_cards_keeps_what_drivers_need() {
    let home = home();
    run_confined(home.path(), true);
    assert_eq!(fs::read(home.path().join("letter.txt")).unwrap(), b"private");
}
