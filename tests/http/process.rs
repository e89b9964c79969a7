//! `atelier serve` as a person starts it.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_library::{BUILTIN_VARIABLE, LibraryConfig, MANIFEST};
use serde_json::{Value, json};

use crate::client::{Sent, get, post};
use crate::sdapi::until;
use crate::support::tiny;

/// The program, with a home of its own and without a built-in model.
pub(crate) fn atelier(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn serve(home: &tempfile::TempDir, args: &[&str]) -> Command {
    atelier(home.path(), &[&["serve"], args].concat())
}

/// Starts a server and waits for its address.
fn start(home: &tempfile::TempDir, args: &[&str]) -> (Child, SocketAddr) {
    spawn(&mut serve(home, args))
}

fn spawn(command: &mut Command) -> (Child, SocketAddr) {
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
    (child, address)
}

/// Ends it as Ctrl-C does.
pub(crate) fn stop(child: Child) -> Output {
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn it_tells_its_address_serves_and_ends_by_ctrl_c() {
    let home = tempfile::tempdir().unwrap();
    let (child, address) = start(&home, &["--port", "0"]);
    assert!(address.ip().is_loopback());
    assert_eq!(get(address, "/healthz").ok()["status"], "ok");
    let output = stop(child);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("Only programs on this computer can use this server."), "{said}");
}

#[cfg(unix)]
#[test]
fn a_person_gets_a_token_that_stays_the_same() {
    let home = tempfile::tempdir().unwrap();
    let token_of = |said: &str| said.lines().find_map(|line| line.strip_prefix("Token of Anna: ").map(str::to_owned));
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let (child, address) = start(&home, &["--port", "0", "--require-token", "--person", "Anna"]);
        assert_eq!(get(address, "/sdapi/v1/cmd-flags").status, 401);
        if let Some(token) = tokens.first() {
            let header = format!("Bearer {token}");
            assert_eq!(Sent::new(address, "GET", "/sdapi/v1/cmd-flags", &[("Authorization", &header)], b"").answer().status, 200);
        }
        let output = stop(child);
        tokens.push(token_of(&String::from_utf8_lossy(&output.stderr)).expect("the token is told"));
    }
    assert_eq!(tokens[0], tokens[1]);
}

#[cfg(unix)]
#[test]
fn a_server_for_this_computer_alone_is_not_announced_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let (child, address) = start(&home, &["--port", "0", "--announce", "--name", "Studio of Anna"]);
    assert_eq!(get(address, "/healthz").ok()["status"], "ok", "it serves all the same");
    let said = String::from_utf8_lossy(&stop(child).stderr).into_owned();
    assert!(said.contains("Nothing is announced in the network") && said.contains("--allow-network"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_distilled_model_has_its_own_guidance_unless_the_server_is_told_to_keep_what_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let model = home.path().join("model");
    std::fs::create_dir(&model).unwrap();
    let mut files = Vec::new();
    for (role, file) in [("diffusion", &tiny().diffusion), ("llm", &tiny().llm), ("tae", &tiny().taesd)] {
        let name = file.file_name().unwrap();
        std::fs::copy(file, model.join(name)).unwrap();
        files.push(json!({"role": role, "filename": name.to_str().unwrap()}));
    }
    let defaults = json!({"steps": 2, "cfg": 1.0, "width": 64, "height": 64});
    let manifest = json!({"id": "tiny-turbo", "name": "Tiny Turbo", "files": files, "defaults": defaults});
    std::fs::write(model.join(MANIFEST), manifest.to_string()).unwrap();
    let made_with = |more: &[&str]| {
        let args = [&["--port", "0", "--threads", "1"], more].concat();
        let (child, address) = spawn(serve(&home, &args).env(BUILTIN_VARIABLE, &model));
        let wish = json!({"prompt": "a lake", "steps": 3, "cfg_scale": 4.5, "width": 64, "height": 64, "seed": 7});
        let made = post(address, "/sdapi/v1/txt2img", &wish).ok();
        stop(child);
        (serde_json::from_str::<Value>(made["info"].as_str().unwrap()).unwrap(), made["images"][0].clone())
    };
    let ((usual, of_model), (kept, as_asked)) = (made_with(&[]), made_with(&["--keep-guidance"]));
    assert_eq!((usual["sd_model_name"].as_str(), usual["cfg_scale"].as_f64()), (Some("Tiny Turbo"), Some(1.0)), "{usual}");
    assert!(usual["atelier"]["notes"].to_string().contains("in place of 4.5"), "{usual}");
    assert_eq!(kept["cfg_scale"].as_f64(), Some(4.5), "{kept}");
    assert!(!kept["atelier"]["notes"].to_string().contains("distilled"), "{kept}");
    assert_ne!(of_model, as_asked);
}

#[cfg(unix)]
#[test]
fn no_word_of_a_request_is_in_the_log() {
    const RARE: &str = "quagga";
    let home = tempfile::tempdir().unwrap();
    let folder = tiny().diffusion.parent().unwrap().to_owned();
    LibraryConfig::change(&Paths::beneath(home.path()).library_file(), |config| config.add_folder(&folder)).unwrap();
    // The engine's own lines have the prompt, where the person at the machine wants to see them.
    let (child, address) = spawn(serve(&home, &["--port", "0", "--threads", "1"]).env("ATELIER_LOG", "trace,engine=warn"));
    let headers = [("Authorization", "Bearer quagga-quagga-quagga"), ("User-Agent", RARE)];
    let send = |body: &str| Sent::new(address, "POST", "/sdapi/v1/txt2img?quagga", &headers, body.as_bytes());
    let made = send(r#"{"prompt": "a quagga", "auth": "user:quagga", "quagga": 1, "width": 64, "height": 64, "steps": 2}"#).answer();
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(send(r#"{"auth": "user:quagga", oops"#).answer().status, 400);
    assert_eq!(send(r#"{"sampler_name": "quagga"}"#).answer().status, 404);
    assert_eq!(get(address, "/sdapi/v1/quagga").status, 404);
    let stopped = send(r#"{"prompt": "a quagga", "width": 64, "height": 64, "steps": 150, "n_iter": 10}"#);
    until(address, "the job", |it| it["state"]["job_count"].as_u64() > Some(0));
    drop(stopped);
    until(address, "the end", |it| it["state"]["job_count"] == 0);
    let said = String::from_utf8_lossy(&stop(child).stderr).into_owned();
    assert!(said.contains("its client is gone"), "the log is there: {said}");
    assert!(!said.contains(RARE), "{said}");
}

#[test]
fn it_refuses_what_would_surprise() {
    let home = tempfile::tempdir().unwrap();
    let refused = |args: &[&str]| {
        let output = serve(&home, args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = refused(&["--host", "0.0.0.0", "--port", "0"]);
    assert!(code == Some(2) && said.contains("--allow-network"), "{code:?} {said}");
    let (code, said) = refused(&["--port", "0", "--token", "short"]);
    assert!(code == Some(2) && said.contains("at least 16"), "{code:?} {said}");
    let (code, said) = refused(&["--port", "0", "--allow-origin", "*"]);
    assert!(code == Some(2) && said.contains("not an origin"), "{code:?} {said}");
    let (code, said) = refused(&["--port", "0", "--name", "Studio of Anna"]);
    assert!(code == Some(2) && said.contains("--announce"), "{code:?} {said}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = refused(&["--port", &port]);
    assert!(code == Some(1) && said.contains(&port) && said.contains("--port"), "{code:?} {said}");
}
