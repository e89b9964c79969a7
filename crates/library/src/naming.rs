//! Names of models: for people, after their files, and ids.

use std::collections::HashSet;
use std::path::Path;

use super::diffusers;

/// Name for people of a model of this file: its name without the extension; of a name that
/// everybody uses, the name of its folder.
#[must_use]
pub fn name_of(path: &Path) -> String {
    const OF_ADAPTERS: [&str; 2] = ["pytorch_lora_weights", "adapter_model"];
    const OTHER_PARTS: [&str; 2] = ["controlnet", "image_encoder"];
    let text = |name: Option<&std::ffi::OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    let stem = text(path.file_stem());
    let plain = stem.split('.').next().unwrap_or(&stem);
    if !diffusers::NAMES.contains(&plain) && !OF_ADAPTERS.contains(&plain) {
        return stem;
    }
    let is_part = |folder: &str| diffusers::PARTS.contains(&folder) || OTHER_PARTS.contains(&folder);
    let mut folders = path.ancestors().skip(1).map(|it| text(it.file_name()));
    match (folders.next(), folders.next()) {
        // The part that makes a model what it is has its name.
        (Some(_), Some(model)) if diffusers::is_diffusion(path) && !model.is_empty() => model,
        (Some(part), Some(model)) if is_part(&part) && !model.is_empty() => format!("{model} {part}"),
        (Some(folder), _) if !folder.is_empty() => folder,
        _ => stem,
    }
}

/// The LoRA that a prompt names, `ink`, `ink.safetensors` or `old/ink`: the file whose path ends
/// so, in the letters of that case first.
#[must_use]
pub fn lora_named<'a>(name: &str, files: impl Iterator<Item = &'a Path>) -> Option<&'a Path> {
    let wanted = name.replace('\\', "/");
    let ends_so = |path: &str, wanted: &str| path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    let mut alike = None;
    for file in files {
        let forms = [file.with_extension(""), file.to_owned()].map(|path| path.to_string_lossy().replace('\\', "/"));
        if forms.iter().any(|path| ends_so(path, &wanted)) {
            return Some(file);
        }
        if alike.is_none() && forms.iter().any(|path| ends_so(&path.to_lowercase(), &wanted.to_lowercase())) {
            alike = Some(file);
        }
    }
    alike
}

/// A file's name, without its ending, in the letters of an id.
pub(crate) fn slug(path: &Path) -> String {
    letters(&path.file_stem().unwrap_or_default().to_string_lossy())
}

/// A text in the letters of an id.
pub(crate) fn letters(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let letters: String = text.to_lowercase().chars().map(kept).collect();
    let letters = letters.trim_matches(['-', '.']);
    if letters.is_empty() { "model".into() } else { letters.into() }
}

/// The id, or the first that is free with a number after it.
pub(crate) fn free_id(id: &str, taken: &HashSet<String>) -> String {
    let numbered = (2..).map(|n: u64| format!("{id}-{n}"));
    std::iter::once(id.to_owned()).chain(numbered).find(|it| !taken.contains(it)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_everybody_uses_gives_way_to_the_folders() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("/m/ink.safetensors"), "ink");
        assert_eq!(name("/m/ann--ink/vae/diffusion_pytorch_model.fp16.safetensors"), "ann--ink vae");
        assert_eq!(name("/m/ann--ink/unet/diffusion_pytorch_model.safetensors"), "ann--ink");
        assert_eq!(name("/m/ann--ink/pytorch_lora_weights.safetensors"), "ann--ink");
        assert_eq!(name("model.gguf"), "model");
    }

    #[test]
    fn a_lora_is_found_by_its_name_with_or_without_ending_and_folder() {
        let files = ["/l/Ink.safetensors", "/l/ink.gguf", "/l/old/oil v1.5.safetensors", "/l/pink.gguf"].map(Path::new);
        let named = |name: &str| lora_named(name, files.into_iter()).and_then(Path::to_str);
        assert_eq!(named("ink"), Some("/l/ink.gguf"), "in the same letters");
        assert_eq!((named("INK"), named("ink.safetensors")), (Some("/l/Ink.safetensors"), Some("/l/Ink.safetensors")));
        assert_eq!(
            (named("old/oil v1.5"), named("old\\oil v1.5"), named("v1.5")),
            (Some("/l/old/oil v1.5.safetensors"), Some("/l/old/oil v1.5.safetensors"), None)
        );
    }

    #[test]
    fn an_id_has_the_letters_of_ids_and_is_nobody_elses() {
        assert_eq!(slug(Path::new("/m/My Model (v2).safetensors")), "my-model--v2");
        assert_eq!((slug(Path::new("/m/湖.gguf")), letters("..")), ("model".into(), "model".into()));
        let taken = HashSet::from(["ink".to_owned(), "ink-2".to_owned()]);
        assert_eq!((free_id("ink", &taken), free_id("wash", &taken)), ("ink-3".into(), "wash".into()));
    }
}
