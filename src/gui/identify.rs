//! Kinds of files that a person drops, types or chooses. Reads headers, so it runs on the disk
//! thread.

use std::path::Path;

use atelier_core::recipe::FileRole;
use atelier_media::canvas_file::CANVAS_ENDING;

/// Kind of a file that was dropped, typed or chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A part of a model.
    Role(FileRole),
    Lora,
    Embedding,
    Picture,
    /// A canvas that was saved.
    Canvas,
    /// A model that looks at pictures.
    Vision,
    /// A model file, but nobody knows which part.
    Unknown,
    /// Neither a model nor a picture.
    Unsupported,
    /// Not there, or a folder.
    Missing,
}

/// Kind of this file, by its header, else by its name. Blocks.
#[must_use]
pub(crate) fn identify(path: &Path) -> FileKind {
    let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if !path.is_file() {
        return FileKind::Missing;
    }
    match extension.as_str() {
        "png" | "jpg" | "jpeg" | "webp" => FileKind::Picture,
        CANVAS_ENDING => FileKind::Canvas,
        "safetensors" | "gguf" | "ckpt" | "pth" | "pt" | "bin" | "sft" => match atelier_library::read_header(path) {
            Ok(header) => {
                let kind = atelier_library::identify(&header);
                match kind.role {
                    _ if kind.is_lora => FileKind::Lora,
                    Some(role) => FileKind::Role(role),
                    None if atelier_library::is_embedding(&header) => FileKind::Embedding,
                    None => FileKind::Unknown,
                }
            }
            // A pickle has no header, and what is wrong with a damaged file is said when it is
            // used.
            Err(_) => match guess_role(path) {
                Some(role) => FileKind::Role(role),
                None if names(path, &["lora", "lycoris", "locon"]) => FileKind::Lora,
                None => FileKind::Unknown,
            },
        },
        "onnx" if atelier_library::read_onnx_header(path).is_ok_and(|header| header.role().is_some()) => FileKind::Vision,
        _ => FileKind::Unsupported,
    }
}

fn names(path: &Path, hints: &[&str]) -> bool {
    let name = path.file_name().map(|it| it.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    hints.iter().any(|hint| name.contains(hint))
}

/// Role of a file without a header, by its name; `None` if the name does not tell.
#[must_use]
pub fn guess_role(path: &Path) -> Option<FileRole> {
    use FileRole::{ClipG, ClipL, ClipVision, Controlnet, Diffusion, Llm, LlmVision, Model, Photomaker, T5xxl, Taesd, Upscaler, Vae};
    // The first row that fits decides, so the particular comes before the general.
    let hints: [(&[&str], FileRole); 13] = [
        (&["mmproj"], LlmVision),
        (&["taesd", "taef1", "taef2", "taew", "tae_", "tae-", "tiny_autoencoder"], Taesd),
        (&["clip_vision", "clip-vision", "clipvision", "image_encoder"], ClipVision),
        (&["clip_l", "clip-l"], ClipL),
        (&["clip_g", "clip-g"], ClipG),
        (&["t5xxl", "t5-xxl", "t5_xxl", "umt5", "t5-v1_1-xxl"], T5xxl),
        (&["photomaker"], Photomaker),
        (&["control_", "control-", "controlnet", "control_v"], Controlnet),
        (&["esrgan", "upscale", "_x4", "4x_", "4x-", "2x_"], Upscaler),
        (&["vae", "ae.safetensors", "ae.sft", "autoencoder"], Vae),
        (&["z-image", "z_image", "zimage", "qwen-image", "qwen_image", "flux", "chroma", "unet", "diffusion_model", "dit"], Diffusion),
        (&["qwen", "mistral", "gemma", "llama", "text_encoder", "text-encoder", "llm"], Llm),
        (&["sd_xl", "sdxl", "sd-v1", "sd_v1", "v1-5", "v2-1", "sd15", "sd1.5", "sd3", "checkpoint", ".ckpt"], Model),
    ];
    if names(path, &["lora", "lycoris", "locon"]) {
        return None;
    }
    hints.into_iter().find(|(words, _)| names(path, words)).map(|(_, role)| role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn well_known_files_find_their_role_by_name() {
        use FileRole::{ClipL, ClipVision, Diffusion, Llm, Model, T5xxl, Taesd, Upscaler, Vae};
        let cases = [
            ("z_image_turbo-Q4_0.gguf", Some(Diffusion)),
            ("Qwen3-4B-Instruct-2507-Q4_K_M.gguf", Some(Llm)),
            ("ae.safetensors", Some(Vae)),
            ("sdxl_vae-fp16-fix.safetensors", Some(Vae)),
            ("flux1-dev-Q8_0.gguf", Some(Diffusion)),
            ("qwen-image-Q4.gguf", Some(Diffusion)),
            ("clip_l.safetensors", Some(ClipL)),
            ("clip_vision_h.safetensors", Some(ClipVision)),
            ("t5xxl_fp16.safetensors", Some(T5xxl)),
            ("taesd_decoder.safetensors", Some(Taesd)),
            ("v1-5-pruned-emaonly.safetensors", Some(Model)),
            ("RealESRGAN_x4plus.pth", Some(Upscaler)),
            ("flux-style-lora.safetensors", None),
            ("dreamy.safetensors", None),
        ];
        for (name, role) in cases {
            assert_eq!(guess_role(Path::new(name)), role, "{name}");
        }
    }

    #[test]
    fn dropped_things_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "x").unwrap();
            path
        };
        assert_eq!(identify(&make("a photo.JPG")), FileKind::Picture);
        assert_eq!(identify(&make("ae.safetensors")), FileKind::Role(FileRole::Vae));
        assert_eq!(identify(&make("ink-lora.safetensors")), FileKind::Lora);
        assert_eq!(identify(&make("dreamy.safetensors")), FileKind::Unknown);
        assert_eq!(identify(&make("my lake.ATELIER")), FileKind::Canvas);
        assert_eq!(identify(&make("letter.txt")), FileKind::Unsupported);
        assert_eq!(identify(folder.path()), FileKind::Missing);
    }
}
