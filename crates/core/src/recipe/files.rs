//! The files of a model by role, and the modules that they bring along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use crate::module::Module;

/// The role of a file in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// A whole model in one file: diffusion, text encoder and VAE.
    Model,
    /// The diffusion module alone.
    Diffusion,
    /// A second diffusion module, which computes what the picture does not show (Ideogram 4).
    UncondDiffusion,
    /// A language model used as text encoder (Qwen3, Mistral, ...).
    Llm,
    /// The vision half of such a language model (mmproj).
    LlmVision,
    /// CLIP-L text encoder.
    ClipL,
    /// CLIP-G text encoder.
    ClipG,
    /// T5-XXL text encoder.
    T5xxl,
    /// CLIP vision encoder.
    ClipVision,
    /// Variational autoencoder.
    Vae,
    /// Tiny autoencoder: previews, or a fast stand-in for the VAE.
    Taesd,
    /// ControlNet.
    Controlnet,
    /// `PhotoMaker` identity encoder.
    Photomaker,
    /// ESRGAN upscaler.
    Upscaler,
}

impl FileRole {
    /// Every role, in the order in which a person fills them in.
    pub const ALL: [Self; 14] = [
        Self::Model,
        Self::Diffusion,
        Self::UncondDiffusion,
        Self::Llm,
        Self::LlmVision,
        Self::ClipL,
        Self::ClipG,
        Self::T5xxl,
        Self::ClipVision,
        Self::Vae,
        Self::Taesd,
        Self::Controlnet,
        Self::Photomaker,
        Self::Upscaler,
    ];

    /// The name used in stored files; also sd-cli's flag without its dashes where it has one.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Diffusion => "diffusion",
            Self::UncondDiffusion => "uncond_diffusion",
            Self::Llm => "llm",
            Self::LlmVision => "llm_vision",
            Self::ClipL => "clip_l",
            Self::ClipG => "clip_g",
            Self::T5xxl => "t5xxl",
            Self::ClipVision => "clip_vision",
            Self::Vae => "vae",
            Self::Taesd => "taesd",
            Self::Controlnet => "controlnet",
            Self::Photomaker => "photomaker",
            Self::Upscaler => "upscaler",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Model => tr!("core-full-model"),
            Self::Diffusion => tr!("core-diffusion"),
            Self::UncondDiffusion => tr!("core-unconditional-diffusion"),
            Self::Llm => tr!("core-text-encoder-llm"),
            Self::LlmVision => tr!("core-llm-vision"),
            Self::ClipL => tr!("core-text-encoder-clip-l"),
            Self::ClipG => tr!("core-text-encoder-clip-g"),
            Self::T5xxl => tr!("core-text-encoder-t5-xxl"),
            Self::ClipVision => tr!("core-clip-vision"),
            Self::Vae => "VAE",
            Self::Taesd => tr!("core-tiny-autoencoder"),
            Self::Controlnet => "ControlNet",
            Self::Photomaker => "PhotoMaker",
            Self::Upscaler => tr!("core-upscaler"),
        }
    }

    /// The module that a file of this role belongs to; of a whole model, the one that most of it
    /// is.
    #[must_use]
    pub const fn module(self) -> Module {
        match self {
            Self::Model | Self::Diffusion | Self::UncondDiffusion => Module::Diffusion,
            Self::ClipL => Module::ClipL,
            Self::ClipG => Module::ClipG,
            Self::T5xxl => Module::T5,
            Self::Llm | Self::LlmVision => Module::Llm,
            Self::ClipVision => Module::ClipVision,
            Self::Vae | Self::Taesd => Module::Vae,
            Self::Controlnet => Module::Controlnet,
            Self::Photomaker => Module::Photomaker,
            Self::Upscaler => Module::Upscaler,
        }
    }

    /// True for a file with the diffusion module: a whole model, or that module alone.
    #[must_use]
    pub const fn is_main(self) -> bool {
        matches!(self, Self::Model | Self::Diffusion)
    }

    /// Why a file of this role has no effect on the pictures that Atelier makes, as a sentence;
    /// `None` where it has one.
    #[must_use]
    pub fn without_effect(self) -> Option<&'static str> {
        match self {
            Self::ClipVision => Some(tr!("core-clip-vision-belongs-to")),
            Self::Upscaler => Some(tr!("core-an-upscaler-works-on")),
            Self::Model
            | Self::Diffusion
            | Self::UncondDiffusion
            | Self::Llm
            | Self::LlmVision
            | Self::ClipL
            | Self::ClipG
            | Self::T5xxl
            | Self::Vae
            | Self::Taesd
            | Self::Controlnet
            | Self::Photomaker => None,
        }
    }

    /// The role with this [`key`](Self::key).
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.key() == key)
    }
}

/// The files of a model, one for each role it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelFiles(BTreeMap<FileRole, PathBuf>);

impl ModelFiles {
    /// The file with this role.
    #[must_use]
    pub fn get(&self, role: FileRole) -> Option<&Path> {
        self.0.get(&role).map(PathBuf::as_path)
    }

    /// Sets the file of this role, replacing the one there.
    pub fn set(&mut self, role: FileRole, path: impl Into<PathBuf>) {
        self.0.insert(role, path.into());
    }

    /// Removes the file of this role.
    pub fn remove(&mut self, role: FileRole) {
        self.0.remove(&role);
    }

    /// The file with the diffusion module, by which a model is named: the whole model, else the
    /// diffusion module alone. `None`: these files make no pictures.
    #[must_use]
    pub fn main(&self) -> Option<&Path> {
        self.get(FileRole::Model).or_else(|| self.get(FileRole::Diffusion))
    }

    /// The modules with which these files make a picture, in the order of [`Module::ALL`]. A whole
    /// model brings a text encoder and a VAE: which encoders it has, only its header says. The
    /// upscaler takes no part.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let is_whole = self.get(FileRole::Model).is_some();
        let has =
            |module| self.iter().any(|(role, _)| role.module() == module) || (is_whole && matches!(module, Module::ClipL | Module::Vae));
        Module::ALL.into_iter().filter(|module| *module != Module::Upscaler && has(*module)).collect()
    }

    /// Every role that has a file, with the file.
    pub fn iter(&self) -> impl Iterator<Item = (FileRole, &Path)> {
        self.0.iter().map(|(role, path)| (*role, path.as_path()))
    }

    /// True where no role has a file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(FileRole, PathBuf)> for ModelFiles {
    fn from_iter<T: IntoIterator<Item = (FileRole, PathBuf)>>(files: T) -> Self {
        Self(files.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(roles: &[FileRole]) -> ModelFiles {
        roles.iter().map(|role| (*role, PathBuf::from(role.key()))).collect()
    }

    #[test]
    fn every_role_is_found_by_its_key() {
        for role in FileRole::ALL {
            assert_eq!(FileRole::from_key(role.key()), Some(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.key());
        }
    }

    #[test]
    fn every_module_has_a_role_and_the_upscaler_is_no_exception() {
        assert_eq!(FileRole::Upscaler.module(), Module::Upscaler);
        for module in Module::ALL {
            assert!(FileRole::ALL.into_iter().any(|role| role.module() == module), "{module:?}");
        }
    }

    #[test]
    fn files_bring_their_modules_and_the_upscaler_makes_no_picture() {
        let roles = [FileRole::Diffusion, FileRole::Llm, FileRole::ClipL, FileRole::Taesd, FileRole::ClipVision, FileRole::Upscaler];
        assert_eq!(files(&roles).modules(), [Module::Diffusion, Module::ClipL, Module::Llm, Module::ClipVision, Module::Vae]);
        assert_eq!(files(&[FileRole::Model]).modules(), [Module::Diffusion, Module::ClipL, Module::Vae]);
        assert_eq!(files(&[FileRole::Upscaler]).modules(), []);
    }

    #[test]
    fn the_main_file_is_the_whole_model_or_else_the_diffusion_module() {
        assert_eq!(files(&[FileRole::Diffusion, FileRole::Model]).main(), Some(Path::new("model")));
        assert_eq!(files(&[FileRole::Vae, FileRole::Diffusion]).main(), Some(Path::new("diffusion")));
        assert_eq!(files(&[FileRole::Vae]).main(), None);
    }
}
