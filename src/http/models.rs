//! The models that clients may name: those of the library that can run, with the adapters,
//! autoencoders and upscalers beside them. Names lead to files of the library; no client's word is a
//! path.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_core::paths::Paths;
use atelier_core::recipe::{FileRole, embedding_word};
use atelier_library::{Builtin, Family, ModelCard, ModelKind, Role, Runnable, file_name, lora_named, name_of};
use atelier_studio::model_names::{Library, lora_files};
use parking_lot::Mutex;

/// Age at which a list is made again when a client asks for it.
const MAX_AGE: Duration = Duration::from_mins(1);

/// A model that makes pictures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedModel {
    /// `NAME [first ten digits of the sum]`, or the name where no sum is known; unique.
    pub(crate) title: String,
    /// Its name for people.
    pub(crate) name: String,
    /// The name of its main file, without folders.
    pub(crate) file: String,
    pub(crate) sha256: Option<String>,
    /// Where it is known.
    pub(crate) family: Option<Family>,
    /// It changes a reference picture as its prompt says.
    pub(crate) edits: bool,
    pub(crate) runnable: Runnable,
}

impl ListedModel {
    /// The first ten digits of its sum.
    pub(crate) fn hash(&self) -> Option<&str> {
        self.sha256.as_deref().and_then(|sum| sum.get(..10))
    }
}

/// A file that has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The first eight digits of its sum, where that is known.
    hash: Option<String>,
}

impl NamedFile {
    /// `NAME [first eight digits of the sum]`, as A1111 lists it, or the name where no sum is known.
    pub(crate) fn title(&self) -> String {
        self.hash.as_ref().map_or_else(|| self.name.clone(), |hash| format!("{} [{hash}]", self.name))
    }
}

/// Everything that can be named.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelList {
    pub(crate) models: Vec<ListedModel>,
    pub(crate) loras: Vec<PathBuf>,
    pub(crate) vaes: Vec<NamedFile>,
    pub(crate) controlnets: Vec<NamedFile>,
    pub(crate) upscalers: Vec<NamedFile>,
    pub(crate) embeddings: Vec<PathBuf>,
}

impl ModelList {
    /// Reads the library. Blocks.
    fn read(paths: &Paths, models_root: Option<&Path>, catalogues: &[PathBuf], builtin: Option<&Builtin>) -> Self {
        let library = match Library::open(paths, models_root, catalogues) {
            Ok(library) => library,
            Err(error) => {
                tracing::warn!("{error}");
                let models = builtin.map(|builtin| vec![atelier_library::builtin_card(builtin)]).unwrap_or_default();
                return Self { models: listed(&models), ..Self::default() };
            }
        };
        let (models, scan) = library.all(&|| true);
        let cards = library.cards(&models, &scan, builtin);
        let named = |name: String, path: PathBuf| NamedFile {
            hash: sum_of(&cards, &path).and_then(|sum| sum.get(..8).map(str::to_owned)),
            name,
            path,
        };
        let parts = |role: Role| {
            let files = scan.files.iter().filter(|file| file.role() == Some(role));
            files.map(|file| named(name_of(&file.path), file.path.clone())).collect::<Vec<_>>()
        };
        let upscalers = cards.iter().filter(|card| card.kind == ModelKind::Upscaler).filter_map(|card| {
            let path = card.files.iter().find_map(|file| file.path.clone())?;
            // A pickle is never opened for a client.
            let is_safe = atelier_library::read_header(&path).is_ok();
            is_safe.then(|| named(card.name.clone(), path))
        });
        Self {
            models: listed(&cards),
            loras: lora_files(&scan),
            vaes: parts(Role::Part(FileRole::Vae)),
            controlnets: parts(Role::Part(FileRole::Controlnet)),
            upscalers: upscalers.collect(),
            embeddings: parts(Role::Embedding).into_iter().map(|file| file.path).collect(),
        }
    }

    /// The model that this text means: a title, a name, a file's name, a sum, an id, or a title
    /// whose sum was cut off.
    pub(crate) fn model(&self, text: &str) -> Option<&ListedModel> {
        let text = text.trim();
        let same = |it: &str| it.eq_ignore_ascii_case(text);
        let by: [&dyn Fn(&ListedModel) -> bool; 6] = [
            &|it| it.title == text,
            &|it| same(&it.name),
            &|it| same(&it.file) || same(&stem(&it.file)),
            &|it| it.hash().is_some_and(same) || it.sha256.as_deref().is_some_and(same),
            &|it| same(&it.runnable.id),
            &|it| same(it.title.split(" [").next().unwrap_or_default()),
        ];
        let found = by.iter().find_map(|is_it| self.models.iter().find(|it| is_it(it)));
        found.or_else(|| {
            let (name, _) = text.rsplit_once(" [")?;
            self.models.iter().find(|it| it.name.eq_ignore_ascii_case(name) || it.file.eq_ignore_ascii_case(name))
        })
    }

    /// The LoRA that this name means.
    pub(crate) fn lora(&self, name: &str) -> Option<&Path> {
        // What the library has is told apart by its ending alone, and nothing is looked for elsewhere.
        lora_named(name, self.loras.iter().map(PathBuf::as_path)).filter(|_| !name.trim().is_empty())
    }

    /// The embeddings that these prompts name.
    pub(crate) fn embeddings_in(&self, prompts: &[&str]) -> Vec<PathBuf> {
        let is_named = |path: &&PathBuf| {
            let word = embedding_word(path);
            prompts.iter().any(|prompt| atelier_core::recipe::names_embedding(prompt, &word))
        };
        self.embeddings.iter().filter(is_named).cloned().collect()
    }
}

/// The file of this name, with its ending or without, and with a sum behind it or not.
pub(crate) fn named_file<'a>(files: &'a [NamedFile], name: &str) -> Option<&'a NamedFile> {
    let name = name.trim();
    let short = name.split(" [").next().unwrap_or_default();
    files
        .iter()
        .find(|it| [name, short].iter().any(|name| it.name.eq_ignore_ascii_case(name) || file_name(&it.path).eq_ignore_ascii_case(name)))
}

fn stem(file: &str) -> String {
    Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The sum of a file, where one of these cards has it.
fn sum_of(cards: &[ModelCard], path: &Path) -> Option<String> {
    let mut files = cards.iter().flat_map(|card| &card.files).filter(|file| file.path.as_deref() == Some(path));
    files.find_map(|file| file.sha256).map(|sum| sum.to_string())
}

/// The cards that can run, with titles that are unique.
fn listed(cards: &[ModelCard]) -> Vec<ListedModel> {
    let mut models: Vec<ListedModel> = Vec::new();
    for card in cards.iter().filter(|card| card.kind == ModelKind::Model) {
        let Some(runnable) = card.runnable.clone().filter(|it| it.files.main().is_some()) else { continue };
        let main = runnable.files.main().map(Path::to_owned).unwrap_or_default();
        let sha256 = sum_of(std::slice::from_ref(card), &main);
        let name = if models.iter().any(|it| it.name == card.name) { format!("{} ({})", card.name, card.id) } else { card.name.clone() };
        let title = match sha256.as_deref().and_then(|sum| sum.get(..10)) {
            Some(sum) => format!("{name} [{sum}]"),
            None => name.clone(),
        };
        let (file, family) = (file_name(&main), card.family.as_deref().and_then(Family::from_label));
        let edits = family.is_some_and(|it| [&card.id, &card.name, &file].iter().any(|name| it.edits_references(name)));
        models.push(ListedModel { title, name, file, sha256, family, edits, runnable });
    }
    models
}

/// Where models are looked for.
#[derive(Clone, Debug)]
pub(crate) struct ModelPlaces {
    pub(crate) paths: Paths,
    pub(crate) models_root: Option<PathBuf>,
    pub(crate) catalogues: Vec<PathBuf>,
    pub(crate) builtin: Option<Builtin>,
}

/// The list, read when it is asked for and not too old.
pub(crate) struct Models {
    places: ModelPlaces,
    list: Mutex<Option<(Instant, Arc<ModelList>)>>,
}

impl Models {
    pub(crate) const fn new(places: ModelPlaces) -> Self {
        Self { places, list: Mutex::new(None) }
    }

    /// The list, also an older one. Blocks where there is none that is new enough.
    pub(crate) fn get(&self) -> Arc<ModelList> {
        let mut list = self.list.lock();
        match &*list {
            Some((read, models)) if read.elapsed() < MAX_AGE => Arc::clone(models),
            _ => self.read(&mut list),
        }
    }

    /// Reads the folders again. Blocks.
    pub(crate) fn refresh(&self) -> Arc<ModelList> {
        self.read(&mut self.list.lock())
    }

    fn read(&self, list: &mut Option<(Instant, Arc<ModelList>)>) -> Arc<ModelList> {
        let ModelPlaces { paths, models_root, catalogues, builtin } = &self.places;
        let models = Arc::new(ModelList::read(paths, models_root.as_deref(), catalogues, builtin.as_ref()));
        *list = Some((Instant::now(), Arc::clone(&models)));
        models
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::ModelFiles;

    fn model(name: &str, file: &str, sum: Option<&str>, id: &str) -> ListedModel {
        let files: ModelFiles = [(FileRole::Model, PathBuf::from("/models").join(file))].into_iter().collect();
        let runnable =
            Runnable { id: id.into(), name: name.into(), files, loras: Vec::new(), defaults: atelier_library::Defaults::default() };
        let title = sum.map_or_else(|| name.to_owned(), |sum| format!("{name} [{}]", &sum[..10]));
        ListedModel { title, name: name.into(), file: file.into(), sha256: sum.map(str::to_owned), family: None, edits: false, runnable }
    }

    #[test]
    fn a_file_is_listed_with_its_sum_and_found_with_it_or_without() {
        let named = |name: &str, hash: Option<&str>| NamedFile {
            name: name.into(),
            path: format!("/m/{name}.gguf").into(),
            hash: hash.map(str::to_owned),
        };
        let files = [named("canny", Some("01234567")), named("depth", None)];
        assert_eq!(files.each_ref().map(NamedFile::title), ["canny [01234567]", "depth"]);
        for name in ["canny [01234567]", "canny", "canny.gguf", "Canny [89abcdef]"] {
            assert_eq!(named_file(&files, name), files.first(), "{name}");
        }
        assert_eq!(named_file(&files, "01234567"), None);
    }

    #[test]
    fn a_model_is_found_by_whatever_clients_remember_and_never_by_a_path() {
        let sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let list = ModelList {
            models: vec![model("Dream", "dream.safetensors", Some(sum), "dream:q8"), model("Other", "other.gguf", None, "other")],
            loras: vec!["/models/loras/ink.safetensors".into()],
            ..ModelList::default()
        };
        for name in ["Dream [0123456789]", "dream", "dream.safetensors", "0123456789", sum, "dream:q8", "Dream [ffffffffff]", " Dream "] {
            assert_eq!(list.model(name).map(|it| it.name.as_str()), Some("Dream"), "{name}");
        }
        for name in ["", "nobody", "/models/dream.safetensors", "../dream.safetensors", "012345678"] {
            assert_eq!(list.model(name), None, "{name}");
        }
        assert!(list.lora("ink").is_some() && list.lora("ink.safetensors").is_some());
        assert!(list.lora("").is_none() && list.lora("/etc/passwd").is_none() && list.lora("../ink").is_none());
    }
}
