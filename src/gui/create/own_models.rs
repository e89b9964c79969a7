//! Models of this machine, among which a picture that is read finds its own. Plain data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::shared::Shared;
use atelier_core::recipe::ModelFiles;
use atelier_studio::library_service::LibrarySnapshot;
use atelier_studio::opened_picture::KnownModels;

/// Models of this machine, among which a picture's recipe finds its own.
pub(crate) struct OwnModels {
    /// Their files, those in use first.
    files: Vec<PathBuf>,
    /// The library, for pictures of other programs.
    library: Arc<LibrarySnapshot>,
}

impl OwnModels {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self { files: known_files(shared), library: Arc::clone(&shared.library) }
    }

    pub(crate) fn known(&self) -> KnownModels<'_> {
        KnownModels { files: &self.files, cards: &self.library.cards }
    }
}

fn known_files(shared: &Shared) -> Vec<PathBuf> {
    let builtin = shared.next.builtin.as_ref().ok().map(|builtin| builtin.files());
    let own = shared.next.custom_recipe.as_ref().map(|recipe| &recipe.files);
    let files = [Some(&shared.next.recipe.files), builtin, own].into_iter().flatten().flat_map(ModelFiles::iter);
    let loras = shared.next.recipe.loras.iter().map(|lora| lora.path.as_path());
    let of_library = shared.library.cards.iter().flat_map(|card| &card.files).filter_map(|file| file.path.as_deref());
    files.map(|(_, path)| path).chain(loras).chain(of_library).map(Path::to_owned).collect()
}
