//! The models of this person: those that Atelier downloaded, those that loose files make, and those
//! that the catalogue offers, as cards for a list; and what the engine needs to run one.
//!
//! Reads manifests and asks for sizes, so it is for worker threads and the command line.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::assemble::{Assembly, assemble};
use super::catalogue::Catalogue;
use super::disk::{DiskFile, ScanResult};
use super::header::file_name;
use super::manifest::{Defaults, FaultyFile, MANIFEST, Manifest, Role};
use super::naming::{free_id, slug};
use super::problem::Problem;
use atelier_core::format::file_size;
use atelier_core::recipe::{FileRole, Lora, ModelFiles, Recipe};
use atelier_language::tr;

/// A model in Atelier's own folder.
#[derive(Debug)]
pub struct Installed {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its folder.
    pub folder: PathBuf,
    /// Its parts, or the first file that is not as it should be.
    pub files: Result<ModelFiles, FaultyFile>,
}

/// A model that loose files make.
#[derive(Clone, Debug, PartialEq)]
pub struct Loose {
    /// Its id, made from the file's name.
    pub id: String,
    /// The file with its diffusion module.
    pub main: Arc<DiskFile>,
    /// Its files, and what is missing.
    pub assembly: Assembly,
}

/// Everything that is known of models.
#[derive(Debug)]
pub struct Models {
    /// The catalogue.
    pub catalogue: Catalogue,
    /// Downloaded models.
    pub installed: Vec<Installed>,
    /// Models of loose files.
    pub loose: Vec<Loose>,
    /// Manifests that are wrong, in sentences.
    pub problems: Vec<String>,
}

/// Files and settings with which the engine runs a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Runnable {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its files.
    pub files: ModelFiles,
    /// Adapters that belong to it.
    pub loras: Vec<Lora>,
    /// The settings that suit it.
    pub defaults: Defaults,
}

impl Runnable {
    /// Makes the recipe's model this one, with the settings that suit it.
    pub fn apply(&self, recipe: &mut Recipe) {
        recipe.files = self.files.clone();
        recipe.loras.clone_from(&self.loras);
        recipe.drop_unusable_guides();
        self.defaults.apply(recipe);
    }
}

/// The models in Atelier's own folder, by id, and what is wrong with manifests, in sentences.
#[must_use]
pub fn installed(models_root: &Path) -> (Vec<Installed>, Vec<String>) {
    let (mut models, mut problems) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(models_root).into_iter().flatten().flatten() {
        // A link would lead to a folder that is somebody else's.
        if !entry.file_type().is_ok_and(|it| it.is_dir()) {
            continue;
        }
        let folder = entry.path();
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            continue;
        }
        match Manifest::read(&path) {
            Ok(manifest) => {
                let files = manifest.locate(&folder);
                models.push(Installed { manifest, folder, files });
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    models.sort_by(|one, two| (&one.manifest.id, &one.folder).cmp(&(&two.manifest.id, &two.folder)));
    models.dedup_by(|later, earlier| {
        let same = later.manifest.id == earlier.manifest.id;
        if same {
            problems.push(tr!("library-and-contain-the-same", folder = earlier.folder.display(), folder_2 = later.folder.display()));
        }
        same
    });
    (models, problems)
}

impl Models {
    /// Puts together what is known: reads the manifests of Atelier's own folder and assembles loose
    /// files.
    #[must_use]
    pub fn new(models_root: &Path, catalogue: Catalogue, scan: &ScanResult) -> Self {
        let (installed, problems) = installed(models_root);
        let mut models = Self { catalogue, installed, loose: Vec::new(), problems };
        let mut ids: HashSet<String> = models.installed.iter().map(|it| it.manifest.id.clone()).collect();
        let own = |file: &DiskFile| models.installed.iter().any(|it| file.path.starts_with(&it.folder));
        let mut loose = Vec::new();
        for main in scan.files.iter().filter(|it| it.is_main() && !own(it)) {
            let Some(assembly) = assemble(main, &scan.files, &models.catalogue, &ModelFiles::default()) else { continue };
            let id = free_id(&slug(&main.path), &ids);
            ids.insert(id.clone());
            loose.push(Loose { id, main: Arc::clone(main), assembly });
        }
        models.loose = loose;
        models
    }

    /// The loose file of this name: the main file of a model, or any other, by its path.
    #[must_use]
    pub fn loose_file(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let loose = self.loose.iter().find(|it| it.id == name || it.main.path == path).map(|it| it.main.path.clone());
        loose.or_else(|| (path.is_absolute() && path.is_file()).then(|| path.to_owned()))
    }

    /// The downloaded model of this name.
    #[must_use]
    pub fn installed_as(&self, name: &str) -> Option<&Installed> {
        let id = self.catalogue.find(name).map_or_else(|| name.to_owned(), |it| it.id);
        self.installed.iter().find(|it| it.manifest.id == id)
    }

    /// Files and settings of the model of this name, for the engine.
    ///
    /// # Errors
    /// If there is none, or it is not whole; the problem says what to do.
    pub fn runnable(&self, name: &str) -> Result<Runnable, Problem> {
        if let Some(it) = self.installed_as(name) {
            return it.runnable();
        }
        if let Some(it) = self.loose.iter().find(|it| it.id == name || it.main.path == Path::new(name)) {
            return it.runnable(&self.catalogue);
        }
        if let Some(entry) = self.catalogue.find(name) {
            let bytes = entry.bytes().map(|it| tr!("library-about-2", value = file_size(it))).unwrap_or_default();
            return Err(Problem::new(
                tr!("library-is-not-on-this", name = entry.name),
                tr!("library-download-it-with-atelier-models-pull", name, bytes),
            ));
        }
        Err(self.unknown(name))
    }

    /// The file of a downloaded upscaler.
    ///
    /// # Errors
    /// If there is none of this name, or it is not whole.
    pub fn upscaler(&self, name: &str) -> Result<PathBuf, Problem> {
        let Some(it) = self.installed_as(name) else { return Err(self.runnable(name).err().unwrap_or_else(|| self.unknown(name))) };
        let files = it.whole_files()?;
        files
            .get(FileRole::Upscaler)
            .map(Path::to_owned)
            .ok_or_else(|| Problem::new(tr!("library-is-not-an-upscaler", name = it.manifest.name), tr!("library-choose-an-esrgan-model")))
    }

    /// There is no model of this name: what to say, with the name that may have been meant.
    #[must_use]
    pub fn unknown(&self, name: &str) -> Problem {
        let known = self.installed.iter().map(|it| it.manifest.id.as_str()).chain(self.loose.iter().map(|it| it.id.as_str()));
        let alike = |id: &str| strsim::normalized_damerau_levenshtein(id, name);
        let near = known.chain(self.catalogue.like(name)).max_by(|one, two| alike(one).total_cmp(&alike(two)));
        Problem::new(
            tr!("library-there-is-no-model", name),
            match near.filter(|it| alike(it) > 0.5) {
                Some(near) => tr!("library-did-you-mean", near),
                None => tr!("library-list-the-models-with").into(),
            },
        )
    }
}

impl Installed {
    /// Its files and settings, for the engine.
    ///
    /// # Errors
    /// If a file is not as it should be, or it is no model but a part of one.
    pub fn runnable(&self) -> Result<Runnable, Problem> {
        let Manifest { id, name, defaults, .. } = &self.manifest;
        let files = self.whole_files()?;
        if files.main().is_none() {
            return Err(Problem::new(tr!("library-cannot-make-pictures-on", name), tr!("library-choose-a-model-with")));
        }
        let loras = self.manifest.files.iter().filter(|it| it.role == Role::Lora);
        let loras = loras.map(|it| Lora::new(it.filename.in_folder(&self.folder), 1.0)).collect();
        Ok(Runnable { id: id.clone(), name: name.clone(), files: files.clone(), loras, defaults: defaults.clone() })
    }
}

impl Installed {
    fn whole_files(&self) -> Result<&ModelFiles, Problem> {
        let Manifest { id, name, .. } = &self.manifest;
        self.files
            .as_ref()
            .map_err(|error| Problem::new(tr!("library-is-incomplete", name, error), tr!("library-download-it-again-with", id)))
    }
}

impl Loose {
    /// Its files and settings, for the engine.
    ///
    /// # Errors
    /// If files are missing.
    pub fn runnable(&self, catalogue: &Catalogue) -> Result<Runnable, Problem> {
        let name = file_name(&self.main.path);
        if let Some(missing) = self.assembly.missing.first() {
            let hint = match &missing.offer {
                Some(offer) => tr!("library-download-it-with-atelier", model = offer.model),
                None => tr!("library-add-a-folder-that-contains-it").into(),
            };
            return Err(Problem::new(format!("{name}: {}", missing.sentence()), hint));
        }
        let defaults = catalogue.defaults_for(self.assembly.family, &name);
        Ok(Runnable { id: self.id.clone(), name, files: self.assembly.files.clone(), loras: Vec::new(), defaults })
    }
}

#[cfg(test)]
mod tests;
