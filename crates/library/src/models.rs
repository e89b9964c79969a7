//! The models of this person: those that Atelier downloaded, those that loose files make, and those that the catalogue offers, as cards for
//! a list; and what the engine needs to run one.
//!
//! Reads manifests and asks for sizes, so it is for worker threads and the command line.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::assemble::{Assembly, assemble};
use super::catalogue::Catalogue;
use super::check::Problem;
use super::disk::{DiskFile, Stock};
use super::header::file_name;
use super::manifest::{Defaults, FaultyFile, Licence, MANIFEST, Manifest, Role};
use super::naming::{free_id, name_of, slug};
use atelier_core::format::file_size;
use atelier_core::recipe::{FileRole, Lora, ModelFiles, Recipe};

/// A model in Atelier's own folder.
#[derive(Debug)]
pub struct Installed {
    /// What its manifest says.
    pub manifest: Manifest,
    /// Its folder.
    pub folder: PathBuf,
    /// Its parts, or the first file that is not as it should be.
    pub files: Result<ModelFiles, FaultyFile>,
}

/// A model that loose files make.
#[derive(Clone, Debug, PartialEq)]
pub struct Loose {
    /// What programs call it, made from the file's name.
    pub id: String,
    /// The file with its diffusion module.
    pub main: Arc<DiskFile>,
    /// Its files, and what is missing.
    pub assembly: Assembly,
}

/// Everything that is known of models.
#[derive(Debug)]
pub struct Models {
    /// What can be had.
    pub catalogue: Catalogue,
    /// What Atelier downloaded.
    pub installed: Vec<Installed>,
    /// What loose files make.
    pub loose: Vec<Loose>,
    /// Manifests that are wrong, in sentences.
    pub problems: Vec<String>,
}

/// A model in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// What programs call it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The family it belongs to.
    pub family: Option<String>,
    /// What it is good for.
    pub description: String,
    /// Its terms, where they are known.
    pub licence: Option<Licence>,
    /// Where it is.
    pub state: CardState,
    /// Its files.
    pub files: Vec<CardFile>,
    /// What it takes on disk, or would, if only about; `None` where a file does not say.
    pub bytes: Option<u64>,
    /// What is missing or wrong, in sentences.
    pub problems: Vec<String>,
    /// Its other sizes, with what they take.
    pub variants: Vec<(String, Option<u64>)>,
    /// The settings that suit it.
    pub defaults: Defaults,
}

/// Where a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardState {
    /// Downloaded, and whole as far as names and sizes tell.
    OnDisk,
    /// Downloaded, and a file is missing or another.
    Damaged,
    /// Loose files make it.
    InPlace,
    /// A loose file that still needs others.
    Incomplete,
    /// It can be downloaded.
    Catalogue,
}

impl CardState {
    /// The word shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::OnDisk => "on disk",
            Self::Damaged => "damaged",
            Self::InPlace => "in place",
            Self::Incomplete => "incomplete",
            Self::Catalogue => "catalogue",
        }
    }

    /// Whether it can be used now.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::OnDisk | Self::InPlace)
    }
}

impl Card {
    /// Whether some of it is on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.state != CardState::Catalogue
    }

    /// Whether every one of these words is somewhere in it: in the id, name, family, description, licence, or a file's name.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let licence = self.licence.as_ref().map_or("", |it| it.name());
        let mut hay = [&self.id, &self.name, self.family.as_deref().unwrap_or_default(), &self.description, licence].join("\n");
        for file in &self.files {
            hay.push('\n');
            hay.push_str(&file.name);
        }
        let hay = hay.to_lowercase();
        text.to_lowercase().split_whitespace().all(|word| hay.contains(word))
    }
}

/// A file of a model in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFile {
    /// What it is for.
    pub role: Role,
    /// What it is called.
    pub name: String,
    /// Where it is, if it is on this disk.
    pub path: Option<PathBuf>,
    /// Its size in bytes, if only about.
    pub bytes: Option<u64>,
}

/// What the engine needs to run a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Runnable {
    /// What programs call it.
    pub id: String,
    /// What people call it.
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
            problems.push(format!("{} and {} hold the same model.", earlier.folder.display(), later.folder.display()));
        }
        same
    });
    (models, problems)
}

impl Models {
    /// Puts together what is known: reads the manifests of Atelier's own folder and assembles loose files.
    #[must_use]
    pub fn new(models_root: &Path, catalogue: Catalogue, stock: &Stock) -> Self {
        let (installed, problems) = installed(models_root);
        let mut models = Self { catalogue, installed, loose: Vec::new(), problems };
        let mut ids: HashSet<String> = models.installed.iter().map(|it| it.manifest.id.clone()).collect();
        let own = |file: &DiskFile| models.installed.iter().any(|it| file.path.starts_with(&it.folder));
        let mut loose = Vec::new();
        for main in stock.files.iter().filter(|it| it.is_main() && !own(it)) {
            let Some(assembly) = assemble(main, &stock.files, &models.catalogue) else { continue };
            let id = free_id(&slug(&main.path), &ids);
            ids.insert(id.clone());
            loose.push(Loose { id, main: Arc::clone(main), assembly });
        }
        models.loose = loose;
        models
    }

    /// Every model as a card: what is here first, then what can be had.
    #[must_use]
    pub fn cards(&self) -> Vec<Card> {
        let mut cards: Vec<Card> = self.installed.iter().map(|it| self.card_of_installed(it)).collect();
        cards.extend(self.loose.iter().map(|it| self.card_of_loose(it)));
        let here: HashSet<&str> = self.installed.iter().map(|it| it.manifest.id.as_str()).collect();
        cards.extend(self.catalogue.entries().iter().filter(|it| !here.contains(it.id.as_str())).map(card_of_entry));
        cards
    }

    /// The card of this name: `ID`, `ID:VARIANT`, or the path of a loose file.
    #[must_use]
    pub fn card(&self, name: &str) -> Option<Card> {
        if let Some(it) = self.installed_as(name) {
            return Some(self.card_of_installed(it));
        }
        let loose = self.loose.iter().find(|it| it.id == name || it.main.path == Path::new(name));
        loose.map(|it| self.card_of_loose(it)).or_else(|| self.catalogue.find(name).as_ref().map(card_of_entry))
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

    /// What the engine needs to run the model of this name.
    ///
    /// # Errors
    /// Where there is none, or it is not whole; the problem says what to do.
    pub fn runnable(&self, name: &str) -> Result<Runnable, Problem> {
        if let Some(it) = self.installed_as(name) {
            return it.runnable();
        }
        if let Some(it) = self.loose.iter().find(|it| it.id == name || it.main.path == Path::new(name)) {
            return it.runnable(&self.catalogue);
        }
        if let Some(entry) = self.catalogue.find(name) {
            let bytes = entry.bytes().map(|it| format!(" (about {})", file_size(it))).unwrap_or_default();
            return Err(Problem {
                sentence: format!("{} is not on this disk.", entry.name),
                hint: format!("Get it with: atelier models pull {name}{bytes}."),
            });
        }
        Err(self.unknown(name))
    }

    /// The file of a downloaded upscaler.
    ///
    /// # Errors
    /// Where there is none of this name, or it is not whole.
    pub fn upscaler(&self, name: &str) -> Result<PathBuf, Problem> {
        let Some(it) = self.installed_as(name) else { return Err(self.runnable(name).err().unwrap_or_else(|| self.unknown(name))) };
        let files = it.whole_files()?;
        files.get(FileRole::Upscaler).map(Path::to_owned).ok_or_else(|| Problem {
            sentence: format!("{} is no upscaler.", it.manifest.name),
            hint: "Choose an ESRGAN model; they are found with: atelier models search ESRGAN.".into(),
        })
    }

    /// There is no model of this name: what to say, with the name that may have been meant.
    #[must_use]
    pub fn unknown(&self, name: &str) -> Problem {
        let known = self.installed.iter().map(|it| it.manifest.id.as_str()).chain(self.loose.iter().map(|it| it.id.as_str()));
        let alike = |id: &str| strsim::normalized_damerau_levenshtein(id, name);
        let near = known.chain(self.catalogue.like(name)).max_by(|one, two| alike(one).total_cmp(&alike(two)));
        Problem {
            sentence: format!("There is no model and no file called {name}."),
            hint: match near.filter(|it| alike(it) > 0.5) {
                Some(near) => format!("Did you mean {near}?"),
                None => "See what there is with: atelier models list.".into(),
            },
        }
    }

    fn card_of_installed(&self, it: &Installed) -> Card {
        let manifest = &it.manifest;
        let mut card = card_of_entry(manifest);
        card.state = if it.files.is_ok() { CardState::OnDisk } else { CardState::Damaged };
        card.problems = it.files.as_ref().err().map(ToString::to_string).into_iter().collect();
        for (file, card_file) in manifest.files.iter().zip(&mut card.files) {
            let path = file.filename.in_folder(&it.folder);
            if let Ok(about) = fs::metadata(&path) {
                (card_file.bytes, card_file.path) = (Some(about.len()), Some(path));
            }
        }
        card.bytes = sum(&card.files);
        if let Some(entry) = self.catalogue.entry(&manifest.id) {
            card.variants = variants(entry);
        }
        card
    }

    fn card_of_loose(&self, it: &Loose) -> Card {
        let facts = it.main.facts();
        let title = facts.and_then(|it| it.training.title.clone());
        let role = |role| Role::Part(role);
        let files = it.assembly.files.iter().map(|(part, path)| CardFile {
            role: role(part),
            name: file_name(path),
            path: Some(path.to_owned()),
            // Counted once, by who looked at it.
            bytes: if path == it.main.path { Some(it.main.bytes) } else { fs::metadata(path).ok().map(|it| it.len()) },
        });
        let files: Vec<CardFile> = files.collect();
        let quantisation = facts.map(|it| it.quantisation.as_str()).unwrap_or_default();
        Card {
            id: it.id.clone(),
            name: title.unwrap_or_else(|| name_of(&it.main.path)),
            family: Some(it.assembly.family.label().into()),
            description: format!("{} in {quantisation}, used where it is.", facts.map(|it| it.name.as_str()).unwrap_or_default()),
            licence: None,
            state: if it.assembly.missing.is_empty() { CardState::InPlace } else { CardState::Incomplete },
            bytes: sum(&files),
            files,
            problems: it.assembly.missing.iter().map(super::assemble::Missing::sentence).collect(),
            variants: Vec::new(),
            defaults: self.catalogue.defaults_for(it.assembly.family, &file_name(&it.main.path)),
        }
    }
}

impl Installed {
    /// What the engine needs to run it.
    ///
    /// # Errors
    /// Where a file is not as it should be, or it is no model but a part of one.
    pub fn runnable(&self) -> Result<Runnable, Problem> {
        let Manifest { id, name, defaults, .. } = &self.manifest;
        let files = self.whole_files()?;
        if files.main().is_none() {
            return Err(Problem {
                sentence: format!("{name} makes no pictures by itself: it is a part of other models."),
                hint: "Choose a model with a diffusion module.".into(),
            });
        }
        let loras = self.manifest.files.iter().filter(|it| it.role == Role::Lora);
        let loras = loras.map(|it| Lora { path: it.filename.in_folder(&self.folder), strength: 1.0 }).collect();
        Ok(Runnable { id: id.clone(), name: name.clone(), files: files.clone(), loras, defaults: defaults.clone() })
    }
}

impl Installed {
    fn whole_files(&self) -> Result<&ModelFiles, Problem> {
        let Manifest { id, name, .. } = &self.manifest;
        self.files.as_ref().map_err(|error| Problem {
            sentence: format!("{name} is not whole. {error}"),
            hint: format!("Get it again with: atelier models pull {id}."),
        })
    }
}

impl Loose {
    /// What the engine needs to run it.
    ///
    /// # Errors
    /// Where files are missing.
    pub fn runnable(&self, catalogue: &Catalogue) -> Result<Runnable, Problem> {
        let name = file_name(&self.main.path);
        if let Some(missing) = self.assembly.missing.first() {
            let hint = match &missing.offer {
                Some(offer) => format!("It comes with: atelier models pull {}.", offer.model),
                None => "Add the folder that has it with: atelier models add FOLDER.".into(),
            };
            return Err(Problem { sentence: format!("{name}: {}", missing.sentence()), hint });
        }
        let defaults = catalogue.defaults_for(self.assembly.family, &name);
        Ok(Runnable { id: self.id.clone(), name, files: self.assembly.files.clone(), loras: Vec::new(), defaults })
    }
}

fn card_of_entry(entry: &Manifest) -> Card {
    let file =
        |it: &super::manifest::ModelFile| CardFile { role: it.role, name: it.filename.as_str().into(), path: None, bytes: it.bytes() };
    Card {
        id: entry.id.clone(),
        name: entry.name.clone(),
        family: entry.family.clone(),
        description: entry.description.clone(),
        licence: entry.licence.clone(),
        state: CardState::Catalogue,
        files: entry.files.iter().map(file).collect(),
        bytes: entry.bytes(),
        problems: Vec::new(),
        variants: variants(entry),
        defaults: entry.defaults.clone(),
    }
}

fn variants(entry: &Manifest) -> Vec<(String, Option<u64>)> {
    entry.variants.iter().map(|it| (it.name.clone(), entry.as_variant(&it.name).and_then(|it| it.bytes()))).collect()
}

fn sum(files: &[CardFile]) -> Option<u64> {
    files.iter().try_fold(0u64, |sum, it| Some(sum.saturating_add(it.bytes?)))
}

#[cfg(test)]
mod tests;
