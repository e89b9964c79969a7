//! An index with pictures, for tests.

use std::path::{Path, PathBuf};

use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, PictureInfo, Recipe, Rgb8, Seed};
use atelier_media::{Metadata, write_picture};
use tempfile::TempDir;

use crate::{Database, FolderId, FolderKind, NewPicture, Order, PictureId, PictureKind, Query, ScanReport};

pub(crate) struct Fixture {
    pub(crate) home: TempDir,
    pub(crate) database: Database,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (database, _) = Database::open(&home.path().join("data/gallery.sqlite")).unwrap();
        Self { home, database }
    }

    /// The database, opened again after its file was deleted.
    pub(crate) fn lose_database(self) -> Self {
        let Self { home, database } = self;
        drop(database);
        let path = home.path().join("data/gallery.sqlite");
        std::fs::remove_file(&path).unwrap();
        let (database, state) = Database::open(&path).unwrap();
        assert_eq!(state, crate::DatabaseState::New);
        Self { home, database }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a picture of a recipe and sets its file's time, in seconds since 1970.
    pub(crate) fn write(&self, name: &str, recipe: &Recipe, seconds: u64) -> PathBuf {
        let path = self.path(name);
        write_recipe(&path, recipe);
        set_time(&path, seconds);
        path
    }

    /// Writes a picture and records it as Atelier's own.
    pub(crate) fn record(&mut self, name: &str, recipe: &Recipe, seconds: u64) -> PictureId {
        let path = self.write(name, recipe, seconds);
        self.database.record_picture(&NewPicture::read(&path, PictureKind::Kept).unwrap()).unwrap()
    }

    pub(crate) fn add_folder(&mut self, name: &str, kind: FolderKind) -> FolderId {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        self.database.add_folder(&path, kind).unwrap().id
    }

    /// The marks of a start of the program.
    pub(crate) fn marks(&self) -> ReadingMarks {
        ReadingMarks::open(&self.path("data/reading"))
    }

    pub(crate) fn scan(&mut self, folder: FolderId) -> ScanReport {
        let marks = self.marks();
        self.database.scan(folder, &marks, &mut |_| {}, &|| false).unwrap()
    }

    /// File names of what a search finds.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        self.found_in_order(query, Order::Newest)
    }

    pub(crate) fn found_in_order(&self, query: &str, order: Order) -> Vec<String> {
        let ids = self.database.search(&Query::parse(query), order).unwrap();
        let pictures = self.database.pictures(&ids).unwrap();
        assert_eq!(pictures.iter().map(|it| it.id).collect::<Vec<_>>(), ids);
        pictures.iter().map(|it| it.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    pub(crate) fn id(&self, name: &str) -> PictureId {
        self.database.find_path(&self.path(name)).unwrap().unwrap()
    }
}

/// A recipe with this prompt and seed.
pub(crate) fn recipe(prompt: &str, seed: u64) -> Recipe {
    let mut recipe = Recipe { prompt: prompt.into(), seed: Some(Seed(seed)), ..Recipe::default() };
    recipe.files.set(FileRole::Diffusion, "/models/z_image_turbo-Q4.gguf");
    recipe
}

pub(crate) fn with_lora(recipe: Recipe, name: &str) -> Recipe {
    Recipe { loras: vec![Lora::new(format!("/loras/{name}.safetensors").into(), 0.7)], ..recipe }
}

pub(crate) fn from_picture(recipe: Recipe, path: &Path) -> Recipe {
    Recipe { init: Some(InitImage { image: ImageSource::File(path.into()), strength: 0.5 }), ..recipe }
}

pub(crate) fn write_recipe(path: &Path, recipe: &Recipe) {
    let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
    // Other pixels for each seed, as real pictures have.
    let Seed(seed) = recipe.seed.unwrap_or_default();
    let image = Rgb8::new(8, 6, (0..144).map(|n| seed.wrapping_mul(31).wrapping_add(n * 7) as u8).collect()).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_picture(path, &image, &Metadata::of(recipe, None, info, &[], &image)).unwrap();
}

pub(crate) fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Every file and folder beneath a folder, with bytes and time.
pub(crate) fn contents(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>, std::time::SystemTime)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        all.push((folder.clone(), None, folder.metadata().unwrap().modified().unwrap()));
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.clone(), std::fs::read(&path).ok(), path.metadata().unwrap().modified().unwrap()));
            }
        }
    }
    all.sort();
    all
}
