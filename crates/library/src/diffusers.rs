//! Folders of diffusers: a model whose parts lie in folders of their own beside `model_index.json`,
//! each in a file of everybody's name, in one precision or several, whole or in shards.

use std::fs;
use std::path::{Path, PathBuf};

use super::header::read_header;
use super::kind::identify;
use super::shards;
use atelier_core::recipe::{FileRole, ModelFiles};

/// The file that says that a folder is a model.
const INDEX: &str = "model_index.json";
/// The file that says that a folder is a part of one.
const CONFIG: &str = "config.json";
/// The folders of the parts that a picture needs; others (a safety checker, a tokenizer) are left.
pub(crate) const PARTS: [&str; 6] = ["unet", "transformer", "text_encoder", "text_encoder_2", "text_encoder_3", "vae"];
/// Folders of a part that names its model.
const DIFFUSION: [&str; 2] = ["unet", "transformer"];
/// Names that weights have in every such folder.
pub(crate) const NAMES: [&str; 3] = ["diffusion_pytorch_model", "model", "pytorch_model"];
/// A folder of weights holds a few dozen files; what is beyond is another kind of folder.
const MAX_ENTRIES: usize = 1000;

/// The files of a model that is a folder, one of each part, or of one part of it; empty for any
/// other path. Blocks.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    if !folder.is_dir() {
        return Vec::new();
    }
    if folder.join(INDEX).is_file() {
        return PARTS.iter().filter_map(|part| weights(&folder.join(part))).collect();
    }
    if folder.join(CONFIG).is_file() { weights(folder).into_iter().collect() } else { Vec::new() }
}

/// These files, with the parts of a folder that is a model, or a part of one, in the folder's place.
/// A file that is named by itself stands before that of a folder. Reads headers.
#[must_use]
pub fn open_folders(named: &ModelFiles) -> ModelFiles {
    let mut opened = ModelFiles::default();
    let mut parts = Vec::new();
    for (role, path) in named.iter() {
        match files(path).as_slice() {
            [] => opened.set(role, path),
            [file] if !path.join(INDEX).is_file() => opened.set(role, file),
            all => parts.extend_from_slice(all),
        }
    }
    for file in parts {
        let role = read_header(&file).ok().and_then(|header| identify(&header).role).or_else(|| usual_role(&file));
        if let Some(role) = role.filter(|role| opened.get(*role).is_none()) {
            opened.set(role, file);
        }
    }
    opened
}

/// What a file is for whose header cannot be read: what is wrong with it is said when it is used.
fn usual_role(file: &Path) -> Option<FileRole> {
    match file.parent()?.file_name()?.to_str()? {
        "vae" => Some(FileRole::Vae),
        part if DIFFUSION.contains(&part) => Some(FileRole::Diffusion),
        "text_encoder" => Some(FileRole::ClipL),
        _ => None,
    }
}

/// The folder of the model whose part this file is.
pub(crate) fn model_of(path: &Path) -> Option<&Path> {
    let part = path.parent()?;
    PARTS.contains(&part.file_name()?.to_str()?).then(|| part.parent())?
}

/// True for a file in the folder of the part that names its model.
pub(crate) fn is_diffusion(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).is_some_and(|name| DIFFUSION.contains(&name))
}

/// The weights in a folder: those of full precision, else of half.
fn weights(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.take(MAX_ENTRIES).flatten().map(|entry| entry.path());
    let ranked = entries.filter_map(|path| Some((rank(&path)?, path)));
    ranked.min().map(|(_, path)| path)
}

/// Order in which files are taken; `None` for what is no weights.
fn rank(path: &Path) -> Option<(bool, u8)> {
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.rsplit_once('.')?;
    // What is no safetensors is refused later, by its name.
    let is_pickle = match ending {
        "safetensors" => false,
        "bin" => true,
        _ => return None,
    };
    if shards::is_later(path) {
        return None;
    }
    // `model.fp16-00001-of-00002`
    let whole = stem.split_once("-00001-of-").map_or(stem, |(whole, _)| whole);
    let (plain, variant) = whole.split_once('.').unwrap_or((whole, ""));
    let variant = match variant {
        "" => 0,
        "bf16" | "fp16" => 1,
        // Weights for training on: `non_ema`.
        _ => 2,
    };
    NAMES.contains(&plain).then_some((is_pickle, variant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_part_the_weights_of_full_precision_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in [
            "unet/diffusion_pytorch_model.fp16.safetensors",
            "unet/diffusion_pytorch_model.non_ema.safetensors",
            "unet/config.json",
            "text_encoder/model.fp16-00002-of-00002.safetensors",
            "text_encoder/model.fp16-00001-of-00002.safetensors",
            "text_encoder/model.safetensors.index.fp16.json",
            "text_encoder_2/model.safetensors",
            "text_encoder_2/model.fp16.safetensors",
            "vae/diffusion_pytorch_model.bin",
            "safety_checker/model.safetensors",
        ] {
            write(name);
        }
        let names = |folder: &Path| {
            let name = |path: PathBuf| path.strip_prefix(dir.path()).unwrap().to_str().unwrap().replace('\\', "/");
            files(folder).into_iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names(dir.path()), [""; 0], "no index");
        assert_eq!(names(&dir.path().join("unet")), ["unet/diffusion_pytorch_model.fp16.safetensors"], "one part");
        write("model_index.json");
        let all = [
            "unet/diffusion_pytorch_model.fp16.safetensors",
            "text_encoder/model.fp16-00001-of-00002.safetensors",
            "text_encoder_2/model.safetensors",
            "vae/diffusion_pytorch_model.bin",
        ];
        assert_eq!(names(dir.path()), all);
        assert!(files(&dir.path().join("model_index.json")).is_empty());
    }

    #[test]
    fn a_part_knows_its_model() {
        assert_eq!(model_of(Path::new("/m/ink/vae/a.safetensors")), Some(Path::new("/m/ink")));
        assert_eq!(model_of(Path::new("/m/ink/a.safetensors")), None);
        assert!(is_diffusion(Path::new("/m/ink/transformer/a.safetensors")) && !is_diffusion(Path::new("/m/ink/vae/a.safetensors")));
    }
}
