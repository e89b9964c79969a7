//! Layout of a folder of models (Atelier's own, ComfyUI's, A1111's or Forge's, or none in
//! particular), and from it the places of files and what each inner folder is for.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use directories::UserDirs;

use super::yaml;
use crate::manifest::Role;
use atelier_core::recipe::FileRole;

/// A file larger than this is no list of folders.
const MAX_BYTES: u64 = 1 << 20;
/// ComfyUI's list of further folders.
const EXTRA_PATHS: &str = "extra_model_paths.yaml";

/// Program whose layout a folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Atelier: one folder a model, each with a manifest.
    Own,
    /// ComfyUI.
    ComfyUi,
    /// A1111's web interface, or Forge.
    A1111,
    /// Nobody in particular.
    Plain,
}

impl Layout {
    /// The word for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Own => "atelier",
            Self::ComfyUi => "comfyui",
            Self::A1111 => "a1111",
            Self::Plain => "folder",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Own => "Atelier",
            Self::ComfyUi => "ComfyUI",
            Self::A1111 => "A1111",
            Self::Plain => "folder",
        }
    }
}

/// Purpose of an inner folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Files of one role.
    Role(Role),
    /// Text encoders of every kind.
    TextEncoder,
}

/// A folder with models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The folder, as the person named it.
    pub path: PathBuf,
    /// Its layout.
    pub layout: Layout,
    /// The folders to look through, and what each is for as a whole.
    pub roots: Vec<(PathBuf, Option<Hint>)>,
}

impl Folder {
    /// Atelier's own folder.
    #[must_use]
    pub fn own(path: &Path) -> Self {
        Self { path: path.to_owned(), layout: Layout::Own, roots: vec![(path.to_owned(), None)] }
    }

    /// A folder that the person added: looks which program laid it out. An `extra_model_paths.yaml`
    /// may be named itself.
    #[must_use]
    pub fn recognise(path: &Path) -> Self {
        let has = |inner: &str| path.join(inner).is_dir();
        if path.is_file() {
            return Self { path: path.to_owned(), layout: Layout::ComfyUi, roots: extra_roots(path) };
        }
        let mut roots = Vec::new();
        let layout = if has("models/Stable-diffusion") {
            roots.push((path.join("models"), None));
            roots.push((path.join("embeddings"), Some(Hint::Role(Role::Embedding))));
            Layout::A1111
        } else if has("models/checkpoints") || has("models/diffusion_models") || has("models/unet") {
            roots.push((path.join("models"), None));
            roots.extend(extra_roots(&path.join(EXTRA_PATHS)));
            Layout::ComfyUi
        } else {
            roots.push((path.to_owned(), None));
            if has("Stable-diffusion") {
                Layout::A1111
            } else if has("checkpoints") && (has("loras") || has("vae")) {
                Layout::ComfyUi
            } else {
                Layout::Plain
            }
        };
        roots.retain(|(root, _)| layout == Layout::Plain || root.is_dir());
        Self { path: path.to_owned(), layout, roots }
    }
}

/// Contents of a folder of this name, in the trees of ComfyUI, A1111 and Forge.
pub(super) fn hint_of(folder: &str) -> Option<Hint> {
    let part = |role| Some(Hint::Role(Role::Part(role)));
    match folder.to_ascii_lowercase().as_str() {
        "checkpoints" | "stable-diffusion" => part(FileRole::Model),
        "diffusion_models" | "unet" => part(FileRole::Diffusion),
        "vae" => part(FileRole::Vae),
        "vae_approx" | "vae-approx" => part(FileRole::Taesd),
        "clip_vision" => part(FileRole::ClipVision),
        "controlnet" => part(FileRole::Controlnet),
        "photomaker" => part(FileRole::Photomaker),
        "upscale_models" | "esrgan" | "realesrgan" => part(FileRole::Upscaler),
        "text_encoders" | "text_encoder" | "clip" => Some(Hint::TextEncoder),
        "loras" | "lora" | "lycoris" => Some(Hint::Role(Role::Lora)),
        "embeddings" => Some(Hint::Role(Role::Embedding)),
        _ => None,
    }
}

/// The folders that ComfyUI is told of beside its own.
fn extra_roots(list: &Path) -> Vec<(PathBuf, Option<Hint>)> {
    let mut text = String::new();
    let read = File::open(list).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    let beside = list.parent().unwrap_or(Path::new("."));
    let mut roots: Vec<(PathBuf, Option<Hint>)> = Vec::new();
    for entries in yaml::sections(&text).into_values() {
        let base = entries.iter().find(|(key, _)| key == "base_path").and_then(|(_, values)| values.first());
        let base = base.map_or_else(|| beside.to_owned(), |it| beside.join(at_home(it)));
        for (key, values) in &entries {
            let hint = hint_of(key);
            if hint.is_none() {
                continue;
            }
            for value in values {
                let root = base.join(at_home(value));
                if root.is_dir() && !roots.iter().any(|(it, _)| *it == root) {
                    roots.push((root, hint));
                }
            }
        }
    }
    roots
}

/// `~` is the home folder.
fn at_home(path: &str) -> PathBuf {
    let rest = path.strip_prefix("~/").or_else(|| path.strip_prefix("~\\"));
    match (rest, UserDirs::new()) {
        (Some(rest), Some(home)) => home.home_dir().join(rest),
        _ => PathBuf::from(path),
    }
}

/// True if two paths are the same folder, links followed.
#[must_use]
pub(crate) fn same_folder(one: &Path, two: &Path) -> bool {
    one == two || matches!((fs::canonicalize(one), fs::canonicalize(two)), (Ok(one), Ok(two)) if one == two)
}

#[cfg(test)]
mod tests;
