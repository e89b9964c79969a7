//! What a recipe could be instead: decoded in tiles, smaller, of other files that lie beside the chosen ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::asked::Asked;
use super::{EstimateError, Estimates, Outdated};
use atelier_core::device::Device;
use atelier_core::placement::{Alternative, Change, Module, Needs};
use atelier_core::recipe::FileRole;

/// Sizes that are offered, as parts of each side.
const PARTS: [(u32, u32); 2] = [(3, 4), (1, 2)];
/// Files of a folder that are looked at.
const MOST_LOOKED_AT: usize = 64;
/// Files that are offered for a module.
const MOST_OFFERED: usize = 2;
/// Pixels of a side below which no model makes a picture worth having.
const LEAST_SIDE: u32 = 256;

impl Estimates {
    /// Changes to the recipe, with what it takes then. One that cannot be estimated is left out.
    pub(super) fn alternatives(
        &mut self,
        asked: &Asked,
        needs: &Needs,
        devices: &[Device],
        outdated: &dyn Outdated,
    ) -> Result<Vec<Alternative>, EstimateError> {
        let mut found = Vec::new();
        let mut others: Vec<(Vec<Change>, Asked)> = Vec::new();
        let tiled = asked.with_tiling();
        others.extend(tiled.clone().map(|tiled| (vec![Change::VaeTiling], tiled)));
        for (part, of) in PARTS {
            let smaller = asked.with_size(asked.recipe.width / of * part, asked.recipe.height / of * part);
            let (width, height) = (smaller.recipe.width, smaller.recipe.height);
            if width.min(height) >= LEAST_SIDE.min(asked.recipe.width.min(asked.recipe.height) / 2) {
                let size = Change::Size { width, height };
                others.extend(smaller.with_tiling().map(|tiled| (vec![Change::VaeTiling, size.clone()], tiled)));
                others.push((vec![size], smaller));
            }
        }
        for (role, module) in [(FileRole::Diffusion, Module::Diffusion), (FileRole::Llm, Module::Te), (FileRole::T5xxl, Module::Te)] {
            for path in self.smaller_files(asked, role) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let mut recipe = asked.recipe.clone();
                recipe.files.set(role, path);
                others.push((vec![Change::Quantisation { module, name }], Asked { recipe, ..asked.clone() }));
            }
        }
        for (changes, other) in others {
            let is_same_model = other.recipe.files == asked.recipe.files;
            let its =
                if is_same_model { self.smaller_needs(&other, needs, devices, outdated) } else { self.needs(&other, devices, outdated) };
            match its {
                Ok(its) if its != *needs => found.push(Alternative { changes, needs: its }),
                Ok(_) | Err(EstimateError::Failed(_)) => {}
                Err(EstimateError::Outdated) => return Err(EstimateError::Outdated),
            }
        }
        Ok(found)
    }

    /// Files beside the one in this role that could take its place and are smaller, the largest first.
    fn smaller_files(&mut self, asked: &Asked, role: FileRole) -> Vec<PathBuf> {
        let Some(chosen) = asked.recipe.files.get(role) else { return Vec::new() };
        let Ok(known) = self.headers.get(chosen) else { return Vec::new() };
        let bytes = size_of(chosen);
        let mut found: Vec<(u64, PathBuf)> = model_files(chosen)
            .filter(|path| path != chosen && size_of(path) < bytes)
            .filter(|path| {
                self.headers.get(path).is_ok_and(|other| (other.kind.role, other.kind.family) == (known.kind.role, known.kind.family))
            })
            .map(|path| (size_of(&path), path))
            .collect();
        found.sort_by(|one, other| other.cmp(one));
        let mut offered = Vec::new();
        for (_, path) in found {
            let mut files = asked.recipe.files.clone();
            files.set(role, &path);
            // What would not make a model with the other files is no alternative.
            let fits = self.headers.check(&files, &asked.recipe.loras).is_ok_and(|checked| checked.files == files);
            if fits && offered.len() < MOST_OFFERED {
                offered.push(path);
            }
        }
        offered
    }
}

fn model_files(beside: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = beside.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let is_model =
        |path: &PathBuf| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("gguf") || it.eq_ignore_ascii_case("safetensors"));
    entries.map(|entry| entry.path()).filter(move |path| is_model(path)).take(MOST_LOOKED_AT)
}

fn size_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |it| it.len())
}
