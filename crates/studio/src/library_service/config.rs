//! Settings of the library: folders, parallel downloads, accepted licences, the token. Each change
//! is written before it takes effect.

use std::path::{Path, PathBuf};
use std::thread;

use atelier_downloads::Token;
use atelier_language::tr;
use atelier_library::disk::{FileStatus, has_model_ending, inspect_file};
use atelier_library::{Catalogue, LibraryConfig, LibraryConfigError, Models, why_no_pickles};

use super::message::Message;
use super::snapshot::TokenState;
use super::worker::Worker;

impl Worker {
    /// Changes the settings, here and in the file; false, after a notice, where they could not be
    /// written.
    fn change_config(&mut self, change: impl FnOnce(&mut LibraryConfig) -> Result<(), LibraryConfigError>) -> bool {
        match LibraryConfig::change(&self.options.paths.library_file(), change) {
            Ok(config) => {
                self.config = config;
                true
            }
            Err(error) => {
                self.notice(error.to_string());
                false
            }
        }
    }

    pub(super) fn accept_licence(&mut self, id: &str) {
        let is_written = self.change_config(|config| {
            config.accept(id);
            Ok(())
        });
        if is_written {
            self.publish();
        }
    }

    /// Uses a folder, or the one that a file is in, where it is. A YAML file is a list of folders.
    pub(super) fn add_folder(&mut self, path: &Path) {
        let is_model = path.is_file() && !is_list(path);
        if let Some(why) = Some(path).filter(|_| is_model).and_then(why_no_model) {
            return self.notice(why);
        }
        let folder = if is_model { path.parent().unwrap_or(path) } else { path };
        let is_known = self.scan.folders.iter().flat_map(|it| &it.roots).any(|(root, _)| folder.starts_with(root));
        if is_known {
            self.notice(tr!("studio-is-already-in-the", path = path.display()));
            self.rescan();
            return;
        }
        if self.change_config(|config| config.add_folder(folder)) {
            self.notice(tr!("studio-is-used-in-place", folder = folder.display()));
            self.scan_folders();
        }
    }

    pub(super) fn forget_folder(&mut self, folder: &Path) {
        let forget = |config: &mut LibraryConfig| {
            config.forget_folder(folder);
            Ok(())
        };
        if self.change_config(forget) {
            self.scan_folders();
        }
    }

    pub(super) fn set_models_root(&mut self, root: Option<PathBuf>) {
        let is_written = self.change_config(|config| {
            config.models_root = root;
            Ok(())
        });
        if is_written {
            // The queue writes into one folder only.
            self.start_downloads();
            self.scan_folders();
        }
    }

    pub(super) fn set_parallel_files(&mut self, files: usize) {
        let is_written = self.change_config(|config| {
            config.downloads_at_once = Some(files.clamp(1, 8));
            Ok(())
        });
        if is_written {
            let files = self.config.at_once();
            self.with_downloads(|it| it.set_at_once(files));
            self.publish();
        }
    }

    /// Reads the settings again, which the command line may have changed. Returns a sentence where
    /// the file cannot be read.
    pub(super) fn reload_config(&mut self) -> Option<String> {
        let (config, problem) = self.options.read_config();
        if problem.is_some() || config == self.config {
            return problem;
        }
        let has_moved = config.models_root != self.config.models_root;
        self.config = config;
        if has_moved {
            self.start_downloads();
        }
        self.scan_folders();
        None
    }

    /// Reads settings and catalogues as at the start.
    pub(super) fn reload_all(&mut self) {
        let problem = self.reload_config();
        let (catalogue, faults) = Catalogue::open(&self.options.paths.catalogues(), &[]);
        self.problems = problem.into_iter().chain(faults.iter().map(ToString::to_string)).collect();
        self.models = Models::new(&self.models_root(), catalogue, &self.scan).into();
        self.publish();
    }

    fn scan_folders(&mut self) {
        self.scanner.set_folders(self.models_root(), self.config.folders.clone());
        self.publish();
    }

    /// Saves a token on a thread of its own: the keyring may ask the person.
    pub(super) fn save_token(&self, token: Option<Token>) {
        let (store, messages) = ((self.options.tokens)(&self.options.paths.downloads()), self.messages.clone());
        let spawned = thread::Builder::new().name("token".into()).spawn(move || {
            let result = store.save(token.as_ref());
            // Without a saved one, the token of another program is used.
            let token = token.or_else(|| Token::find(&store));
            let _ = messages.send(Message::TokenSaved(token, result));
        });
        if spawned.is_err() {
            self.notice(tr!("studio-the-token-could-not-be-saved"));
        }
    }

    pub(super) fn token_saved(&mut self, token: Option<Token>, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.notice(tr!("studio-the-token-could-not", error));
        }
        let is_saved = (self.options.tokens)(&self.options.paths.downloads()).load().is_some();
        self.token = match &token {
            Some(_) if is_saved => TokenState::Saved,
            Some(_) => TokenState::External,
            None => TokenState::None,
        };
        self.with_downloads(|it| it.set_token(token));
        self.publish();
    }
}

/// Why a file is no model that can be used, in sentences; `None` where it is one.
fn why_no_model(path: &Path) -> Option<String> {
    let name = path.display();
    if !has_model_ending(path) {
        return Some(tr!("studio-is-not-a-model-file", name));
    }
    match inspect_file(path) {
        FileStatus::Faulty { advice, .. } => Some(tr!("studio-nothing-was-added", advice)),
        FileStatus::Pickle => Some(tr!("studio-nothing-was-added-is", name, pickle = why_no_pickles())),
        FileStatus::Known(facts) if facts.role.is_none() => Some(tr!("studio-nothing-was-added-atelier", name)),
        FileStatus::Known(_) | FileStatus::Unread => None,
    }
}

/// True for a list of folders, as `ComfyUI` has it.
fn is_list(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("yaml") || it.eq_ignore_ascii_case("yml"))
}
