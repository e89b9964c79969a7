//! Loose files made into a model: for a diffusion module, the text encoders and the decoder that
//! belong to it, from what is on the disk; and what is missing, with where it can be had.
//!
//! Pure: it goes by what headers told before (`disk`). What it proposes is still checked by
//! [`check_files`](super::check_files) before the engine sees it.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use super::catalogue::{Catalogue, Offer};
use super::check::part_name;
use super::diffusers;
use super::disk::{DiskFile, Facts};
use super::family::{Family, Latents};
use super::header::file_name;
use super::manifest::Role;
use atelier_core::format::file_size;
use atelier_core::recipe::{FileRole, ModelFiles};
use atelier_language::tr;

/// A proposal for the files of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// The family.
    pub family: Family,
    /// The main file, and for each part that it needs the file that fits best.
    pub files: ModelFiles,
    /// Parts that nothing on the disk can be.
    pub missing: Vec<Missing>,
}

/// A part that is not on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// Its role.
    pub role: FileRole,
    /// Its name in a sentence: `a text encoder (Qwen3-4B)`.
    pub what: String,
    /// The file of the catalogue that would fill the gap.
    pub offer: Option<Offer>,
}

impl Missing {
    /// Bytes to download, estimated where not exact; `None` if unknown.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.offer.as_ref().and_then(|it| it.file.bytes())
    }

    /// The file of the catalogue that would fill the gap, without folders.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        self.offer.as_ref().map(|it| last_part(it.file.filename.as_str()))
    }

    /// The model of the catalogue that the file comes with, whose terms it is under.
    #[must_use]
    pub fn offered_with(&self) -> Option<&str> {
        self.offer.as_ref().map(|it| it.model.as_str())
    }

    /// A sentence that names the part and its source.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.offer {
            Some(Offer { model, file }) => {
                let bytes = file.bytes().map(|it| tr!("library-about", value = file_size(it))).unwrap_or_default();
                tr!("library-also-needs-included-with", what = self.what, filename = file.filename.as_str(), bytes, model)
            }
            None => tr!("library-also-needs", what = self.what),
        }
    }
}

/// Proposes the files of a model round its main file, those of `preferred` first where they fit;
/// `None` where the file is not the main file of a family that is known.
#[must_use]
pub fn assemble(main: &DiskFile, files: &[Arc<DiskFile>], catalogue: &Catalogue, preferred: &ModelFiles) -> Option<Assembly> {
    let facts = main.facts()?;
    let Some(Role::Part(role @ (FileRole::Model | FileRole::Diffusion))) = facts.role else { return None };
    let family = facts.family.filter(|it| !it.is_video())?;
    let mut assembly = Assembly { family, files: ModelFiles::default(), missing: Vec::new() };
    assembly.files.set(role, main.path.clone());
    for group in family.needs() {
        if group.iter().any(|role| facts.contains.contains(role)) {
            continue;
        }
        let found = group.iter().find_map(|role| Some((*role, best(main, facts, family, *role, files, catalogue, preferred)?)));
        if let Some((role, file)) = found {
            assembly.files.set(role, file.path.clone());
        } else if let Some(role) = group.first() {
            let offer = catalogue.offer(family, *role, &file_name(&main.path));
            assembly.missing.push(Missing { role: *role, what: part_name(family, *role), offer });
        }
    }
    Some(assembly)
}

/// The file that fits best: the preferred one goes first, then one that the catalogue names for the
/// family, then one in the same folder, then the best quality that is not larger than the main
/// file, then the smallest.
fn best<'a>(
    main: &DiskFile,
    facts: &Facts,
    family: Family,
    role: FileRole,
    files: &'a [Arc<DiskFile>],
    catalogue: &Catalogue,
    preferred: &ModelFiles,
) -> Option<&'a DiskFile> {
    let named = catalogue.offer(family, role, &file_name(&main.path)).map(|it| it.file.filename.as_str().to_owned());
    let worth = |file: &&DiskFile| {
        let is_preferred = preferred.get(role) == Some(file.path.as_path());
        let is_named = named.as_deref().is_some_and(|name| file_name(&file.path) == last_part(name));
        let folder = diffusers::model_of(&main.path);
        let near = file.path.parent() == main.path.parent() || (folder.is_some() && diffusers::model_of(&file.path) == folder);
        let modest = file.bytes <= main.bytes;
        let quality = if modest { i128::from(file.bytes) } else { -i128::from(file.bytes) };
        (is_preferred, is_named, near, modest, quality, Reverse(file.path.clone()))
    };
    files.iter().map(Arc::as_ref).filter(|it| fits(facts, family, role, it)).max_by_key(worth)
}

/// True if a file can be this part of a model, by the rules of `check`.
fn fits(main: &Facts, family: Family, role: FileRole, file: &DiskFile) -> bool {
    let Some(facts) = file.facts().filter(|it| it.role == Some(Role::Part(role))) else { return false };
    match role {
        FileRole::Llm => {
            let width = main.reads.filter(|(role, _)| *role == FileRole::Llm).map(|(_, width)| width).or(family.encoder_width());
            let known_width = width.is_some_and(|it| facts.text_width == Some(it));
            let words = family.tokens().is_none_or(|needed| facts.vocabulary.is_some_and(|it| it >= needed));
            known_width && words
        }
        FileRole::T5xxl => facts.text_width == Some(4096) && (facts.name.starts_with("UMT5") == (family == Family::Wan)),
        FileRole::ClipL => facts.text_width == Some(if family == Family::Sd2 { 1024 } else { 768 }),
        FileRole::Vae | FileRole::Taesd => {
            let wan = facts.family == Some(Family::QwenImage);
            match family.latents() {
                Latents::Kl(channels) => !wan && facts.latent_channels == Some(channels),
                Latents::Wan => wan,
                Latents::Other => false,
            }
        }
        _ => true,
    }
}

fn last_part(name: &str) -> String {
    file_name(Path::new(name))
}

#[cfg(test)]
mod tests;
