//! Options of the window.

use std::path::PathBuf;
use std::sync::Arc;

use crate::http::DEFAULT_PORT;
use atelier_core::paths::Paths;
use atelier_language::Language;
use atelier_library::Builtin;
use atelier_peers::Network;
use atelier_studio::canvas_backups::OwnFolder;
use atelier_studio::library_service::LibraryOptions;
use atelier_studio::updates::Feed;

/// Options of the window, and its files.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file of the settings; `None` keeps nothing.
    pub settings_path: Option<PathBuf>,
    /// This person's folders; `None` keeps nothing.
    pub paths: Option<Paths>,
    /// Folder of finished pictures, unless the settings name another one.
    pub pictures_folder: PathBuf,
    /// Draw with wgpu instead of OpenGL, also where the settings do not say so. Without the feature
    /// `wgpu` this has no effect.
    pub wgpu: bool,
    /// The model that comes with the program; where it cannot be used, a sentence that says why.
    pub builtin: Result<Arc<Builtin>, String>,
    /// Where new versions are published; `None` never asks.
    pub updates: Option<Feed>,
    /// Options of the library; `None` has none.
    pub library: Option<LibraryOptions>,
    /// The language of the system, where Atelier speaks it.
    pub system_language: Option<Language>,
    /// The port at which models are shared; 0: a free one.
    pub sharing_port: u16,
    /// Where other studios are looked for.
    pub studios_network: Network,
    /// Another window of this person is open and does not answer; `None`: this is the only one.
    pub beside: Option<Beside>,
}

/// What a window has for itself beside another one whose files it leaves alone.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Where it keeps backups of canvases; `None` where the system refuses it a folder.
    pub backups: Option<Arc<OwnFolder>>,
}

impl Options {
    /// The usual places of this person; nothing is kept where the system names no home.
    #[must_use]
    pub fn usual() -> Self {
        let builtin = Builtin::find().map(Arc::new).map_err(|error| error.to_string());
        if let Err(sentence) = &builtin {
            tracing::warn!("{sentence}");
        }
        let paths = Paths::find().ok();
        let nowhere = || PathBuf::from("Pictures").join("Atelier");
        Self {
            settings_path: paths.as_ref().map(|it| it.settings_file.clone()),
            paths: paths.clone(),
            pictures_folder: paths.as_ref().map_or_else(nowhere, |it| it.pictures.clone()),
            wgpu: false,
            builtin,
            updates: Feed::of_build(),
            library: paths.map(LibraryOptions::usual),
            system_language: sys_locale::get_locale().and_then(|locale| Language::from_locale(&locale)),
            sharing_port: DEFAULT_PORT,
            studios_network: Network::Local,
            beside: None,
        }
    }

    /// Options of a window beside another one of this person, which has the settings and the
    /// canvases. Blocks.
    #[must_use]
    pub fn beside(self) -> Self {
        let create = |paths: &Paths| {
            let folder = OwnFolder::create(&paths.canvases());
            folder.inspect_err(|error| tracing::warn!("there is no folder for backups of canvases: {error}")).ok()
        };
        let backups = self.paths.as_ref().and_then(create).map(Arc::new);
        Self { settings_path: None, beside: Some(Beside { backups }), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_places_are_the_persons_own() {
        let options = Options::usual();
        assert!(options.pictures_folder.ends_with("Atelier"));
        assert!(options.settings_path.is_none_or(|path| path.ends_with("settings.json")));
    }
}
