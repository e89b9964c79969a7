//! A process that lends devices: `atelier serve-device`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use atelier_core::paths::HOME_VARIABLE;

use super::folder;

/// Longer than anything here takes on the slowest machine: reaching it is a failure.
const LIMIT: Duration = Duration::from_mins(10);

/// Standard error of a server.
#[derive(Default)]
pub(crate) struct Words {
    text: Mutex<String>,
    more: Condvar,
}

impl Words {
    pub(crate) fn contains(&self, what: &str) -> bool {
        self.text.lock().unwrap().contains(what)
    }

    pub(crate) fn wait_for(&self, what: &str) {
        self.wait_for_times(what, 1);
    }

    pub(crate) fn wait_for_times(&self, what: &str, times: usize) {
        let text = self.text.lock().unwrap();
        let (text, timeout) = self.more.wait_timeout_while(text, LIMIT, |text| text.matches(what).count() < times).unwrap();
        assert!(!timeout.timed_out(), "the server never said {what:?}: {text}");
    }
}

/// A process that lends devices, ended with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) words: Arc<Words>,
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::at("0", args)
    }

    /// With `args` after `serve-device`, and before it where they begin with `--simulate-devices`.
    pub(crate) fn at(port: &str, args: &[&str]) -> Self {
        let (before, after) = if args.first() == Some(&"--simulate-devices") { args.split_at(2) } else { args.split_at(0) };
        let mut child = Command::new(env!("CARGO_BIN_EXE_atelier"))
            .env(HOME_VARIABLE, folder("home"))
            .args(before)
            .args(["serve-device", "--port", port, "-t", "1"])
            .args(after)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let words = Arc::new(Words::default());
        let (said, err) = (Arc::clone(&words), child.stderr.take().unwrap());
        thread::spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                let mut text = said.text.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
                drop(text);
                said.more.notify_all();
            }
        });
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.ends_with('\n'), "the server did not begin: {}", words.text.lock().unwrap());
        Self { child, address: address.trim().to_owned(), words }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// The process that lends, which the one that was started watches.
    #[cfg(target_os = "linux")]
    pub(crate) fn lending_process(&self) -> u32 {
        let parent = format!("PPid:\t{}", self.child.id());
        let is_ours = |process: &u32| {
            std::fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|status| status.lines().any(|line| line == parent))
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_ours).unwrap()
    }

    /// The most memory that the lending process has held, in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.lending_process())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Ends the lending process as a crash does.
    #[cfg(target_os = "linux")]
    pub(crate) fn crash(&self) {
        let process = self.lending_process().to_string();
        assert!(Command::new("kill").args(["-ABRT", &process]).status().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
