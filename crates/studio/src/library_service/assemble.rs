//! A model round a file that was dropped: its other parts among the files of this machine.

use std::path::Path;
use std::sync::Arc;

use atelier_core::recipe::ModelFiles;
use atelier_library::disk::{DiskFile, folder_files};
use atelier_library::{Missing, assemble, file_name};

use super::message::{AssembledModel, LibraryEvent};
use super::worker::Worker;

/// Files beside the dropped one whose headers are read.
const MAX_NEIGHBOURS: usize = 64;

impl Worker {
    /// Finds the parts of the model with this main file, and sends it. Files that are named stay as
    /// they are.
    pub(super) fn assemble_model(&self, files: &ModelFiles, preferred: &ModelFiles) {
        let Some(main) = files.main() else { return };
        let mut known = self.scan.files.clone();
        let mut add = |path: &Path| {
            if !known.iter().any(|file| file.path == path) {
                known.push(Arc::new(DiskFile::inspect(path)));
            }
        };
        for (_, path) in files.iter().chain(preferred.iter()) {
            add(path);
        }
        for path in main.parent().map(folder_files).unwrap_or_default().into_iter().take(MAX_NEIGHBOURS) {
            add(&path);
        }
        let name = file_name(main);
        let file = known.iter().find(|file| file.path == main);
        let assembly = file.and_then(|file| assemble(file, &known, &self.models.catalogue, preferred));
        let model = match assembly {
            Some(assembly) => {
                let missing = assembly.missing.iter().filter(|it| files.get(it.role).is_none()).map(Missing::sentence).collect();
                let defaults = Some(self.models.catalogue.defaults_for(assembly.family, &name));
                let files = assembly.files.iter().chain(files.iter()).map(|(role, path)| (role, path.to_owned())).collect();
                AssembledModel { name, files, defaults, missing }
            }
            None => AssembledModel { name, files: files.clone(), defaults: None, missing: Vec::new() },
        };
        self.send(LibraryEvent::ModelAssembled(Box::new(model)));
    }
}
