//! What a model's saved placements are found by. Pure.

use atelier_core::recipe::ModelFiles;

/// Key of a model's saved placements: the names of its files, without their folders.
pub(in crate::gui) fn model_key(files: &ModelFiles) -> String {
    let names = files.iter().filter_map(|(_, path)| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::Module;
    use atelier_core::recipe::FileRole;

    #[test]
    fn files_say_which_modules_there_are_and_what_their_model_is_called() {
        let mut files = ModelFiles::default();
        files.set(FileRole::Diffusion, "/m/z.gguf");
        files.set(FileRole::Llm, "/m/q.gguf");
        files.set(FileRole::Taesd, "/m/t.safetensors");
        assert_eq!(files.modules(), [Module::Diffusion, Module::Llm, Module::Vae]);
        assert_eq!(model_key(&files), "z.gguf + q.gguf + t.safetensors");
    }
}
