//! Downloads against a server that misbehaves on purpose.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod connection;
mod faults;
#[cfg(target_os = "linux")]
mod full_disk;
mod kills;
mod queue;
mod refusals;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_downloads::{DownloadJob, Downloads, Event, Failure, FileRequest, Options, ProxyChoice, RetryPolicy, Source};
use atelier_library::{FileName, Sha256};
use server::Server;

/// Longer than anything here takes; a test that waits so long has failed.
const LIMIT: Duration = Duration::from_mins(1);

/// Bytes that look like nothing, the same for each seed.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..bytes.div_ceil(8)).flat_map(|_| next().to_le_bytes()).take(bytes).collect()
}

fn sum(bytes: &[u8]) -> Sha256 {
    Sha256::of(bytes).unwrap()
}

fn name(text: &str) -> FileName {
    FileName::try_from(text.to_owned()).unwrap()
}

/// A file whose size and hash nobody knows.
fn wanted(url: String, filename: &str) -> FileRequest {
    FileRequest { source: Source::Url(url), filename: name(filename), size: None, sha256: None, unpack: None }
}

/// A file whose size and hash are known.
fn known(url: String, filename: &str, body: &[u8]) -> FileRequest {
    FileRequest { size: Some(body.len() as u64), sha256: Some(sum(body)), ..wanted(url, filename) }
}

fn job(id: &str, files: Vec<FileRequest>) -> DownloadJob {
    DownloadJob { id: id.into(), name: id.to_uppercase(), folder: id.into(), files, manifest: None, licence_url: None }
}

/// A folder with a journal and models, and the queue that works in it.
struct Home {
    folder: tempfile::TempDir,
    options: Options,
    downloads: Option<Downloads>,
}

/// Options that wait for nothing.
fn options(folder: &Path) -> Options {
    Options {
        token: None,
        endpoint: "http://127.0.0.1:9".into(),
        proxy: ProxyChoice::None,
        retry_policy: RetryPolicy {
            first_wait: Duration::ZERO,
            longest_wait: Duration::ZERO,
            stall: Duration::from_secs(20),
            ..RetryPolicy::default()
        },
        ..Options::new(folder.join("journal"), folder.join("models"))
    }
}

impl Home {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path());
        change(&mut options);
        let downloads = Some(Downloads::start(options.clone(), || {}).unwrap());
        Self { folder, options, downloads }
    }

    fn plain() -> Self {
        Self::new(|_| {})
    }

    fn queue(&self) -> &Downloads {
        self.downloads.as_ref().unwrap()
    }

    /// As if the program had been closed and opened again.
    fn restart(&mut self) {
        self.downloads = None;
        self.downloads = Some(Downloads::start(self.options.clone(), || {}).unwrap());
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join("models").join(inside)
    }

    fn read(&self, inside: &str) -> Vec<u8> {
        std::fs::read(self.path(inside)).unwrap()
    }

    /// Every file beneath the folder of models.
    fn files(&self) -> Vec<String> {
        let root = self.path("");
        let (mut folders, mut found) = (vec![root.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"));
                }
            }
        }
        found.sort();
        found
    }

    /// The first event that this accepts; those before it are lost, ends of other jobs among them.
    fn wait<T>(&self, mut accept: impl FnMut(&Event) -> Option<T>) -> T {
        loop {
            let event = self.queue().next_within(LIMIT);
            let event = event.unwrap_or_else(|| panic!("nothing happens any longer: {:?}", self.queue().snapshot()));
            if let Some(accepted) = accept(&event) {
                return accepted;
            }
        }
    }

    /// Waits for a job's end.
    fn end(&self, id: &str) -> Result<(), Failure> {
        self.wait(|event| match event {
            Event::Done { id: it } if it == id => Some(Ok(())),
            Event::Failed { id: it, failure } if it == id => Some(Err(failure.clone())),
            _ => None,
        })
    }

    /// Adds a job and waits for its end.
    fn run(&self, job: DownloadJob) -> Result<(), Failure> {
        let id = job.id.clone();
        self.queue().add(job).unwrap();
        self.end(&id)
    }

    /// Waits until so many bytes of a job are there.
    fn wait_for_bytes(&self, id: &str, bytes: u64) {
        let has_bytes = || self.queue().snapshot().iter().any(|it| it.id == id && it.progress.bytes >= bytes);
        self.wait(|event| (*event == Event::QueueChanged && has_bytes()).then_some(()));
    }
}

#[test]
fn the_files_of_a_job_and_its_manifest_are_in_their_places_at_its_end() {
    let (server, home) = (Server::start(), Home::plain());
    let bodies = [noise(1, 300_000), noise(2, 70_000), Vec::new()];
    for (at, body) in bodies.iter().enumerate() {
        server.file(&format!("/{at}"), body, []);
    }
    let files = vec![
        known(server.at("/0"), "model.gguf", &bodies[0]),
        wanted(server.at("/1"), "deep/er/vae.gguf"),
        wanted(server.at("/2"), "empty"),
    ];
    home.run(DownloadJob { manifest: Some("{\"id\": \"a\"}".into()), ..job("a", files) }).unwrap();
    assert_eq!(home.files(), ["a/deep/er/vae.gguf", "a/empty", "a/manifest.json", "a/model.gguf"]);
    assert_eq!((home.read("a/model.gguf"), home.read("a/deep/er/vae.gguf")), (bodies[0].clone(), bodies[1].clone()));
    assert_eq!(home.read("a/manifest.json"), b"{\"id\": \"a\"}");
    assert_eq!(server.sent(), 370_000);
    assert!(home.queue().snapshot().is_empty());
    assert!(home.queue().try_next().is_none(), "one end, and nothing after it");
}
