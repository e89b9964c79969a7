//! A picture file that is opened: the recipe in it, with the files that it names found on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{ImageSource, PictureInfo, Recipe};
use atelier_media::RequiredFile;

/// A picture file with a recipe of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedPicture {
    /// Its recipe; files that are not on this machine are left out of it.
    pub recipe: Recipe,
    /// Names of the model's files that are not on this machine.
    pub missing_files: Vec<String>,
    /// Names of the LoRAs and pictures that are not on this machine.
    pub missing_extras: Vec<String>,
    /// Its seed; the index in its batch is not known.
    pub info: PictureInfo,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Reads a picture file of Atelier; `None` where it is none, or cannot be read. `known` are the model files of this machine; pictures that
/// the recipe starts from are looked for beside the file. Blocks.
#[must_use]
pub fn read_opened_picture(path: &Path, known: &[PathBuf]) -> Option<OpenedPicture> {
    let stored = atelier_media::read_metadata(path).ok()?.recipe?;
    let cpu_math = stored.cpu_math();
    let (width, height) = atelier_media::image_size(&ImageSource::File(path.to_owned())).ok()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_it = |path: &Path, bytes: u64| fs::metadata(path).is_ok_and(|file| file.is_file() && (bytes == 0 || file.len() == bytes));
    let restored = stored.into_recipe(|need, name, bytes| match need {
        RequiredFile::Image => Some(folder.join(name)).filter(|path| is_it(path, bytes)),
        RequiredFile::File(_) | RequiredFile::Lora => {
            known.iter().find(|path| path.file_name().is_some_and(|it| it == name) && is_it(path, bytes)).cloned()
        }
    });
    let (files, extras): (Vec<_>, Vec<_>) = restored.missing.into_iter().partition(|it| matches!(it.need, RequiredFile::File(_)));
    let names = |missing: Vec<atelier_media::MissingFile>| missing.into_iter().map(|it| it.name).filter(|it| !it.is_empty()).collect();
    let info = PictureInfo { index: 0, seed: restored.recipe.seed, cpu_math };
    Some(OpenedPicture { recipe: restored.recipe, missing_files: names(files), missing_extras: names(extras), info, width, height })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FileRole, Lora, Rgb8};

    fn picture(folder: &Path, recipe: &Recipe) -> PathBuf {
        let pixels = Rgb8::new(8, 4, vec![9; 96]).unwrap();
        crate::studio::results::store_picture(
            folder,
            recipe,
            PictureInfo { index: 2, seed: 77, cpu_math: Some(atelier_core::cpu_math::CpuMath::F32) },
            &pixels,
        )
        .unwrap()
    }

    #[test]
    fn the_recipe_comes_back_with_the_files_of_this_machine_by_name_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let (model, other) = (folder.path().join("m.gguf"), folder.path().join("elsewhere/m.gguf"));
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        fs::write(&model, "four").unwrap();
        fs::write(&other, "another size").unwrap();
        let mut recipe = Recipe { prompt: "a lake".into(), width: 8, height: 4, ..Recipe::default() };
        recipe.files.set(FileRole::Diffusion, &model);
        recipe.loras = vec![Lora { path: "/nowhere/ink.safetensors".into(), strength: 0.5 }];
        let path = picture(folder.path(), &recipe);

        let opened = read_opened_picture(&path, &[other.clone(), model.clone()]).unwrap();
        assert_eq!(opened.recipe.files.get(FileRole::Diffusion), Some(model.as_path()));
        assert_eq!((opened.recipe.prompt.as_str(), opened.recipe.seed, opened.info.seed), ("a lake", 77, 77));
        assert_eq!((opened.width, opened.height), (8, 4));
        assert_eq!(opened.info.cpu_math, Some(atelier_core::cpu_math::CpuMath::F32));
        assert_eq!((opened.missing_files, opened.missing_extras), (vec![], vec!["ink.safetensors".to_owned()]));
        assert_eq!(read_opened_picture(&path, &[other]).unwrap().missing_files, ["m.gguf"]);
    }

    #[test]
    fn what_atelier_did_not_make_is_none_of_its_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("a.png");
        fs::write(&text, "no picture").unwrap();
        assert!(read_opened_picture(&text, &[]).is_none() && read_opened_picture(folder.path(), &[]).is_none());
    }
}
