//! Files beside the chosen ones that could take their place.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_core::placement::Change;
use atelier_core::recipe::{FileRole, Recipe};
use atelier_library::{HeaderCache, file_name};

/// Files of a folder that are examined.
const MAX_EXAMINED: usize = 64;
/// Files that are offered for a module.
const MAX_OFFERED: usize = 2;
/// Parts of names by which the VAE of SDXL is known that does not overflow in half precision.
const FP16_FIX: [&str; 2] = ["fp16-fix", "fp16_fix"];

/// Files beside the one in this role that could take its place and are smaller, the largest first.
pub(crate) fn smaller_files(headers: &mut HeaderCache, recipe: &Recipe, role: FileRole) -> Vec<PathBuf> {
    let bytes = recipe.files.get(role).map_or(0, size_of);
    alternatives(headers, recipe, role, |path| size_of(path) < bytes)
}

/// Changes to files beside the chosen ones with which a picture that overflowed may not: the fixed
/// VAE, and another quantisation of the diffusion module, by its name.
pub(crate) fn other_files(headers: &mut HeaderCache, recipe: &Recipe) -> Vec<Change> {
    let is_fixed = |path: &Path| FP16_FIX.iter().any(|part| file_name(path).to_lowercase().contains(part));
    let has_fix = recipe.files.get(FileRole::Vae).is_some_and(is_fixed);
    let vae = if has_fix { Vec::new() } else { alternatives(headers, recipe, FileRole::Vae, is_fixed) };
    let main = recipe.files.main().map(file_name).unwrap_or_default();
    let is_same_model = |path: &Path| {
        let name = file_name(path);
        let common = main.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
        common * 2 >= main.chars().count().max(name.chars().count())
    };
    let roles = [FileRole::Diffusion, FileRole::Model];
    let mains =
        roles.into_iter().flat_map(|role| alternatives(headers, recipe, role, is_same_model).into_iter().map(move |path| (role, path)));
    let mains: Vec<_> = mains.take(1).collect();
    let vae = vae.into_iter().take(1).map(|path| (FileRole::Vae, path));
    vae.chain(mains).map(|(role, path)| Change::Quantisation { module: role.module(), name: file_name(&path) }).collect()
}

/// Files beside the one in this role that are wanted and could take its place, the largest first.
fn alternatives(headers: &mut HeaderCache, recipe: &Recipe, role: FileRole, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Some(chosen) = recipe.files.get(role) else { return Vec::new() };
    let Ok(known) = headers.get(chosen) else { return Vec::new() };
    let mut found: Vec<(u64, PathBuf)> = model_files(chosen)
        .filter(|path| path != chosen && is_wanted(path))
        .filter(|path| headers.get(path).is_ok_and(|other| (other.kind.role, other.kind.family) == (known.kind.role, known.kind.family)))
        .map(|path| (size_of(&path), path))
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    let mut offered = Vec::new();
    for (_, path) in found {
        let mut files = recipe.files.clone();
        files.set(role, &path);
        // A file that makes no model with the others is no alternative.
        let fits = headers.check(&files, &recipe.loras).is_ok_and(|checked| checked.files == files);
        if fits && offered.len() < MAX_OFFERED {
            offered.push(path);
        }
    }
    offered
}

fn model_files(beside: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = beside.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let is_model =
        |path: &PathBuf| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("gguf") || it.eq_ignore_ascii_case("safetensors"));
    entries.map(|entry| entry.path()).filter(move |path| is_model(path)).take(MAX_EXAMINED)
}

fn size_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |it| it.len())
}
