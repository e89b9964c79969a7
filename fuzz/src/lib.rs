//! Bodies of the fuzz targets, one a reader: each takes a file that means no good, and returns true
//! if its reader took it. `tests/readers.rs` runs them too.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_core::canvas::StartFit;
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, Rgb8};
use atelier_downloads::{UnpackList, downloaded_files, is_download_list, unpack_archive};
use atelier_gallery::{Database, FolderKind, Order, Query};
use atelier_library::disk::{FactsCache, FileEntry, inspect_file, sections_of_model_paths};
use atelier_library::{Catalogue, FileName, HeaderCache, Link, Manifest, read_header, read_onnx_header};
use atelier_media::canvas_file::read_canvas;
use atelier_media::{
    Metadata, RestoredRecipe, StoredRecipe, a1111, fit_image, image_size, read_image, read_mask, read_metadata, read_stealth_settings,
    settings_of_texts, write_picture,
};
use atelier_peers::{EventReader, StudioLink};

/// A reader: a name that is a folder of `corpus`, and its body.
pub type Reader = (&'static str, fn(&[u8]) -> bool);

pub const READERS: [Reader; 15] = [
    ("model_file", model_file),
    ("picture", picture),
    ("picture_text", picture_text),
    ("picture_settings", picture_settings),
    ("settings_text", settings_text),
    ("command_line", command_line),
    ("link", link),
    ("archive", archive),
    ("manifest", manifest),
    ("catalogue", catalogue),
    ("download_queue", download_queue),
    ("facts_cache", facts_cache),
    ("canvas", canvas),
    ("marks", marks),
    ("studio_events", studio_events),
];

/// A file in a folder of its own; both are gone when it is dropped.
struct Scratch {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("room for temporary files");
        Self { folder, path }
    }
}

/// safetensors and GGUF: checkpoints, modules, LoRAs, embeddings and upscalers.
pub fn model_file(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("file.safetensors", bytes);
    let path = &scratch.path;
    let header = read_header(path);
    let _ = inspect_file(path);
    let _ = read_onnx_header(path);
    let mut cache = HeaderCache::default();
    for role in FileRole::ALL {
        let files: ModelFiles = [(role, path.clone())].into_iter().collect();
        // What is no header is none in any role, and would be read once more for each.
        if cache.check(&files, &[]).is_err() && header.is_err() {
            break;
        }
    }
    let Ok(header) = header else { return false };
    for tensor in &header.tensors {
        assert!(tensor.offset + tensor.bytes <= header.file_bytes);
    }
    true
}

/// PNG, JPEG and WebP, with what stands in them.
pub fn picture(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("picture.png", bytes);
    if let Ok(metadata) = read_metadata(&scratch.path) {
        let _ = format!("{metadata:?}");
    }
    let source = ImageSource::File(scratch.path.clone());
    let size = image_size(&source);
    // A picture of few bytes may unfold to a gigabyte, as it is meant to; that is slow and says
    // nothing.
    if !matches!(size, Ok((width, height)) if u64::from(width) * u64::from(height) <= 1 << 22) {
        return false;
    }
    let _ = read_mask(&source, 16, 16, StartFit::Fit);
    let Ok(image) = read_image(&source) else { return false };
    fit_image(&image, 16, 8, StartFit::Crop).is_ok_and(|it| (it.width(), it.height()) == (16, 8))
}

/// What programs write into pictures: Atelier's recipe, and A1111's parameters.
pub fn picture_text(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let parameters = a1111::parse(&text);
    let _ = a1111::format(&parameters);
    let Some(recipe) = StoredRecipe::from_json(&text) else { return false };
    let RestoredRecipe { .. } = recipe.into_recipe(|_, _, _| None);
    true
}

/// Settings that any program left in a picture, also hidden ones.
pub fn picture_settings(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("picture.png", bytes);
    // As above.
    let size = image_size(&ImageSource::File(scratch.path.clone()));
    if !matches!(size, Ok((width, height)) if u64::from(width) * u64::from(height) <= 1 << 22) {
        return false;
    }
    read_stealth_settings(&scratch.path).is_ok_and(|settings| settings.tool.is_some())
}

/// A text that any program may have written, under each key that is known.
pub fn settings_text(bytes: &[u8]) -> bool {
    const KEYS: [&str; 9] =
        ["parameters", "UserComment", "prompt", "workflow", "invokeai_metadata", "sd-metadata", "Dream", "Comment", "fooocus_scheme"];
    let text = String::from_utf8_lossy(bytes);
    let taken = KEYS.map(|key| {
        let texts = [(key, text.as_ref()), ("Software", "NovelAI")].map(|(key, text)| (key.to_owned(), text.to_owned()));
        let without_mark = settings_of_texts(texts.iter().take(1).cloned().collect());
        let _ = settings_of_texts(texts.to_vec());
        without_mark.tool.is_some()
    });
    taken.contains(&true)
}

/// Command lines of sd-cli, and ComfyUI's lists of folders.
pub fn command_line(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let _ = sections_of_model_paths(&text);
    atelier_core::sd_cli::read(&text).is_ok()
}

pub fn link(bytes: &[u8]) -> bool {
    let Some(link) = Link::read(&String::from_utf8_lossy(bytes)) else { return false };
    let _ = (link.names_a_file(), link.job(None), link.job(Some("model.safetensors")));
    true
}

/// Zip archives of models.
pub fn archive(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("archive.zip", bytes);
    let names = ["model.safetensors", "sub/model.gguf"];
    let mut is_taken = false;
    for flat in [false, true] {
        let folder = scratch.folder.path().join(format!("unpacked-{flat}"));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        for name in names {
            let names = FileName::try_from(name.to_owned()).into_iter().collect();
            is_taken |= unpack_archive(&scratch.path, &folder, &UnpackList { names, flat });
        }
    }
    assert!(!scratch.folder.path().join("outside.safetensors").exists());
    is_taken
}

/// A model's own description.
pub fn manifest(bytes: &[u8]) -> bool {
    Manifest::parse(&String::from_utf8_lossy(bytes), Path::new("manifest.json")).is_ok()
}

/// Lists of models that can be downloaded.
pub fn catalogue(bytes: &[u8]) -> bool {
    let mut catalogue = Catalogue::shipped();
    let wrong = catalogue.add(&String::from_utf8_lossy(bytes), Path::new("catalogue.json"));
    for entry in catalogue.entries() {
        let _ = catalogue.find(&entry.id);
    }
    wrong.is_empty()
}

/// What the queue of downloads remembers.
pub fn download_queue(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("downloads.json", bytes);
    let _ = downloaded_files(scratch.folder.path());
    is_download_list(scratch.folder.path())
}

/// What the library remembers of files.
pub fn facts_cache(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("facts.json", bytes);
    let entry = FileEntry { path: "/a.safetensors".into(), bytes: 1, modified: Some(2), hint: None };
    FactsCache::open(&scratch.path).get(&entry).is_some()
}

/// Canvases with their layers.
pub fn canvas(bytes: &[u8]) -> bool {
    let scratch = Scratch::new("canvas.atelier", bytes);
    let Ok(content) = read_canvas(&scratch.path) else { return false };
    assert!(content.layers().iter().all(|layer| layer.name.len() < 1 << 20));
    true
}

/// What a person said of pictures, as it lies beside them.
pub fn marks(bytes: &[u8]) -> bool {
    let scratch = Scratch::new(".atelier-marks.jsonl", bytes);
    let folder = scratch.folder.path();
    let picture = Rgb8::new(1, 1, vec![9; 3]).expect("a picture of a pixel");
    write_picture(&folder.join("a.png"), &picture, &Metadata::default()).expect("room for temporary files");
    let data = tempfile::tempdir().expect("a folder for temporary files");
    let (mut database, _) = Database::open(&data.path().join("gallery.sqlite")).expect("a new database");
    let own = database.add_folder(folder, FolderKind::Own).expect("a new database");
    let unseen = ReadingMarks::open(&data.path().join("reading"));
    let scan = database.scan(own.id, &unseen, &mut |_| {}, &|| false).expect("a folder with a picture");
    assert_eq!(scan.added, 1);
    !database.search(&Query::parse("rating>=1"), Order::Newest).expect("a search").is_empty()
}

/// What another studio tells of a job, in pieces; and its link.
pub fn studio_events(bytes: &[u8]) -> bool {
    let _ = String::from_utf8_lossy(bytes).parse::<StudioLink>();
    let mut reader = EventReader::default();
    let mut events = 0;
    for piece in bytes.chunks(97) {
        match reader.push(piece) {
            Some(some) => events += some.len(),
            None => return false,
        }
    }
    events > 0
}
