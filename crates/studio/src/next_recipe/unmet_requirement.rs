//! What a recipe lacks before a picture can be made.

/// The first requirement of a picture that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmetRequirement {
    /// There is neither a whole model nor a diffusion model.
    Model,
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
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Model => "Choose a model to start.",
            Self::TextEncoder => "Add the text encoder that belongs to this model.",
            Self::Prompt => "Write a prompt first.",
            Self::Controlnet => "The control picture needs a ControlNet: add one to the model, or remove the picture.",
            Self::Person => "PhotoMaker needs pictures of a person: add one among the guides, or take its file out of the model.",
            Self::Photomaker => "The pictures of a person need a PhotoMaker: add its file to the model, or remove the pictures.",
            Self::PersonWord => "Write the word img once in the prompt, after the word for the person: a woman img by a lake.",
            Self::Lora => "The prompt uses an unknown LoRA: add its file, or remove its tag.",
        }
    }
}
