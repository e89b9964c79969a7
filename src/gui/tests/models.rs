//! Tests of the Models view, used as a person uses it, with a home folder and a server of their
//! own.

#[path = "../../../tests/downloads/server.rs"]
#[allow(dead_code, reason = "the tests of the downloads need more of it")]
mod server;

mod browse;
mod downloads;
mod folders;

use std::fs;

use testkit::tiny;

use crate::gui::models::{Availability, DownloadsState, FileCheck, FitLevel, ModelKind, StateFilter, TokenState};
use crate::gui::shared::Screen;
use crate::gui::tests::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::GIB;
use atelier_core::paths::Paths;
use atelier_downloads::{Downloads, ProxyChoice, RetryPolicy, Status, TokenStore};
use atelier_library::{Catalogue, LibraryConfig, Sha256};
use server::{Fault, Served, Server};

/// Deletes for good, in the trash's place.
fn delete(path: &Path) -> Result<(), String> {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    gone.map_err(|error| error.to_string())
}

pub(super) fn library(home: &Path, endpoint: &str) -> LibraryOptions {
    let endpoint = endpoint.to_owned();
    let downloads = move |options: &mut atelier_downloads::Options| {
        (options.token, options.proxy, options.endpoint) = (None, ProxyChoice::None, endpoint.clone());
        let usual = RetryPolicy::default();
        options.retry_policy = RetryPolicy { first_wait: Duration::ZERO, longest_wait: Duration::ZERO, tries: 1, ..usual };
    };
    LibraryOptions {
        paths: Paths::beneath(home),
        watch: false,
        downloads: Arc::new(downloads),
        tokens: TokenStore::in_folder,
        trash: delete,
    }
}

/// The Models view of a person with this home folder.
fn open_view(folder: tempfile::TempDir, endpoint: &str) -> Studio {
    let library = library(folder.path(), endpoint);
    let builtin = Err("The built-in model is not there.".to_owned());
    let settings = Settings { recipe: Recipe { prompt: "a lake".into(), ..Recipe::default() }, ..Settings::default() };
    let mut studio = Studio::with_library(settings, builtin, [1440.0, 1400.0], folder, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.until("the library", |app| app.state.models.library.complete && app.state.models.downloads != DownloadsState::Starting);
    studio
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes a catalogue of the person with these entries.
fn write_catalogue(home: &Path, entries: &serde_json::Value) {
    let paths = Paths::beneath(home);
    fs::create_dir_all(paths.catalogues()).unwrap();
    fs::write(paths.catalogues().join("mine.json"), entries.to_string()).unwrap();
}

/// Catalogue entry with one file on the server.
fn entry(server: &Server, id: &str, name: &str) -> serde_json::Value {
    let file = serde_json::json!({ "role": "diffusion", "filename": format!("{id}.gguf"), "url": server.at(&format!("/{id}")) });
    serde_json::json!({ "id": id, "name": name, "family": "Z-Image", "files": [file], "checked": true })
}

/// Installs a model in Atelier's own folder, with a manifest that sets 5 steps.
fn install(home: &Path, id: &str) -> tiny::TinyFiles {
    let folder = Paths::beneath(home).models.join(id);
    fs::create_dir_all(&folder).unwrap();
    let files = tiny::zimage(&folder, &tiny::Options::default()).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let manifest = serde_json::json!({ "id": id, "name": "Mine", "family": "Z-Image", "defaults": { "steps": 5 }, "files": [
        { "role": "diffusion", "filename": name(&files.diffusion) },
        { "role": "llm", "filename": name(&files.llm) },
        { "role": "tae", "filename": name(&files.taesd) },
    ]});
    fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    files
}

/// Device of this machine with all of its memory free.
fn device(kind: DeviceKind, gib: u64) -> Device {
    Device {
        name: format!("{kind:?}"),
        description: String::new(),
        kind,
        gpu: None,
        memory_total_bytes: gib * GIB,
        memory_free_bytes: gib * GIB,
        memory_allocated_bytes: 0,
    }
}

impl Studio {
    /// Names of the shown cards, in their order.
    fn card_names(&self) -> Vec<&str> {
        let view = &self.app().state.models;
        view.shown.iter().map(|at| view.library.cards[*at].name.as_str()).collect()
    }

    fn availability(&self, id: &str) -> Option<Availability> {
        self.app().state.models.card(id).map(|it| it.availability)
    }
}
