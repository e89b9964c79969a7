//! What a recipe lacks before a picture can be made.

use atelier_language::tr;

/// The first requirement of a picture that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmetRequirement {
    /// There is neither a whole model nor a diffusion model.
    Model,
    /// The chosen model is another studio's, and this can be done with models of this computer alone.
    OwnModel,
    /// A diffusion model has no text encoder.
    TextEncoder,
    /// The prompt is empty, and there is no start picture.
    Prompt,
    /// There is a control picture and no ControlNet.
    Controlnet,
    /// There is a `PhotoMaker` and no picture of a person.
    Person,
    /// There are pictures of a person and no `PhotoMaker`.
    Photomaker,
    /// The prompt does not say where the person is.
    PersonWord,
    /// The prompt names a LoRA whose file is not known.
    Lora,
}

impl UnmetRequirement {
    /// The next step for the person, as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Model => tr!("studio-choose-a-model-to"),
            Self::OwnModel => tr!("studio-the-chosen-model-belongs"),
            Self::TextEncoder => tr!("studio-add-the-text-encoder"),
            Self::Prompt => tr!("studio-write-a-prompt-first"),
            Self::Controlnet => tr!("studio-the-control-picture-needs"),
            Self::Person => tr!("studio-photomaker-needs-pictures-of"),
            Self::Photomaker => tr!("studio-the-pictures-of-a"),
            Self::PersonWord => tr!("studio-write-the-word-img"),
            Self::Lora => tr!("studio-the-prompt-uses-an"),
        }
    }
}
