//! The program beside another one, which is a script here.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

#[test]
fn arguments_streams_and_exit_code_are_the_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let console = folder.path().join("console");
    fs::copy(env!("CARGO_BIN_EXE_atelier-console"), &console).unwrap();

    let alone = Command::new(&console).output().unwrap();
    assert_eq!(alone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&alone.stderr).starts_with("error: Atelier could not be started: "));

    let script = folder.path().join("atelier");
    fs::write(&script, "#!/bin/sh\nprintf '%s|' \"$@\"\ncat\necho told >&2\nexit 130\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = Command::new(&console)
        .args(["generate", "-p", "a \"red\" fox 狐"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"input").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "generate|-p|a \"red\" fox 狐|input");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "told\n");
    assert_eq!(output.status.code(), Some(130));
}
