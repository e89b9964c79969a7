//! What a picture file says of how it was made, in the same terms for every program.

use crate::StoredRecipe;

/// Program that wrote a picture's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Atelier.
    Atelier,
    /// A1111 or a program that writes its form: Forge, sd-cli, Krita AI diffusion.
    A1111,
    /// `ComfyUI`.
    ComfyUi,
    /// `InvokeAI`.
    InvokeAi,
    /// Fooocus.
    Fooocus,
    /// `SwarmUI`.
    SwarmUi,
    /// `NovelAI`.
    NovelAi,
    /// Draw Things.
    DrawThings,
    /// Easy Diffusion.
    EasyDiffusion,
}

/// What a picture file says of how it was made. A field that the file does not tell is empty, never guessed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureSettings {
    /// The program; `None` where the file has no settings.
    pub tool: Option<Tool>,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The prompt.
    pub prompt: Option<String>,
    /// The negative prompt.
    pub negative_prompt: Option<String>,
    /// The seed.
    pub seed: Option<i64>,
    /// Denoising steps.
    pub steps: Option<u32>,
    /// Classifier-free guidance.
    pub guidance: Option<f32>,
    /// Sampler, in the program's words.
    pub sampler: Option<String>,
    /// Scheduler, in the program's words.
    pub scheduler: Option<String>,
    /// The model.
    pub model: Option<PictureModel>,
    /// LoRAs, in order.
    pub loras: Vec<PictureLora>,
    /// The recipe, where Atelier made the picture.
    pub recipe: Option<StoredRecipe>,
    /// The texts as they stand in the file, by key.
    pub raw_texts: Vec<(String, String)>,
    /// Fields that the file has and Atelier does not understand, by name and value.
    pub not_understood: Vec<(String, String)>,
}

/// A model by name or hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureModel {
    /// Its name, as the program writes it: often a file name without ending.
    pub name: Option<String>,
    /// Its hash in hexadecimal, whole or shortened, as the program writes it.
    pub hash: Option<String>,
}

/// A LoRA by name or hash, with its strength.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureLora {
    /// Its name, as the program writes it.
    pub name: String,
    /// Its hash in hexadecimal, whole or shortened.
    pub hash: Option<String>,
    /// Its strength; 1 where the program does not say.
    pub strength: f32,
}
