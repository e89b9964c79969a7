//! Downloaded items, as they are checked and removed: a model as a whole, or a file that came by a
//! link.

use std::path::{Path, PathBuf};

use super::manifest::Sha256;
use super::models::{Installed, Models};
use super::removal::{DownloadRecord, Removal, RemovalError};
use super::verify::{Verified, verify, verify_loose};

/// Something that was downloaded.
#[derive(Clone, Debug)]
pub enum InstalledItem<'m> {
    /// A model with a manifest.
    Model(&'m Installed),
    /// A file that came by a link: its name, and where it is.
    File(String, PathBuf),
}

impl InstalledItem<'_> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Model(model) => &model.manifest.id,
            Self::File(name, _) => name,
        }
    }

    /// Reads every byte of it, as [`verify`] does.
    pub fn verify(&self, sums: &dyn Fn(&Path) -> Option<Sha256>, watch: &mut dyn FnMut(u64) -> bool) -> Option<Vec<Verified>> {
        match self {
            Self::Model(model) => verify(&model.manifest, &model.folder, sums, watch),
            Self::File(_, path) => verify_loose(path.clone(), sums(path), watch).map(|it| vec![it]),
        }
    }

    /// Says what would happen where it is taken away.
    ///
    /// # Errors
    /// If nothing may be deleted.
    pub fn plan_removal(&self, models_root: &Path, models: &Models, downloaded: &[DownloadRecord]) -> Result<Removal, RemovalError> {
        match self {
            Self::Model(model) => Removal::plan(model, models_root, models, downloaded),
            Self::File(name, path) => Removal::plan_file(name, path, models_root, models, downloaded),
        }
    }
}
