//! Parts of the settings, and kinds of files that they name.

use super::FileRole;

/// A part of the settings that is taken over, kept or saved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The prompt, with the template and the seed by which it was chosen.
    Prompt,
    /// The negative prompt.
    NegativePrompt,
    /// The model, and how it is opened.
    Model,
    /// Width and height.
    Size,
    /// Steps, guidance, sampler and scheduler, and what belongs to them.
    Sampling,
    /// The seed, the seed blended into it, and the generator of the noise.
    Seed,
    /// The number of pictures.
    Count,
    /// Ways to take less memory or time.
    Effort,
    /// The start picture, its mask, and how it is used.
    Start,
    /// Start pictures of further pictures: at hand, and of no picture.
    FurtherStarts,
    /// Reference pictures.
    References,
    /// What a model's own encoders read: a control picture, a person.
    Control,
    /// The upscaled second pass.
    Upscale,
    /// The steps that a branch or a draft has.
    Steps,
    /// LoRAs.
    Loras,
    /// LoRAs that are switched off: at hand, and of no picture.
    DisabledLoras,
    /// Embeddings.
    Embeddings,
    /// Devices and threads of this machine.
    Machine,
}

impl Part {
    /// True for what another picture or a style can bring: where modules run is about a machine,
    /// and LoRAs that are switched off and further start pictures about a desk.
    #[must_use]
    pub const fn is_portable(self) -> bool {
        !matches!(self, Self::Machine | Self::DisabledLoras | Self::FurtherStarts)
    }
}

/// A kind of file that a stored recipe names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredFile {
    /// A file of the model.
    File(FileRole),
    /// A low-rank adapter.
    Lora,
    /// A textual inversion.
    Embedding,
    /// A start, reference or control picture, a mask, or a picture of a person.
    Image,
    /// Features of the faces in pictures of a person.
    IdEmbedding,
}
