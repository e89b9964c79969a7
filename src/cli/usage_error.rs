//! Command lines that cannot be carried out.

use atelier_core::advice::Advice;
use atelier_core::paths::NoHome;
use atelier_core::placement::PlacementError;
use atelier_core::sd_cli::CommandError;
use atelier_library::{BuiltinError, LibraryConfigError, Problem};

/// The flags mean nothing together, or what they name is not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    #[error("{0}")]
    NoSuchCommand(String),
    #[error("no model is given; choose one with --model, or its parts with --diffusion-model, --llm, --vae and so on")]
    NoModel,
    #[error("Atelier writes PNG files; choose an output name that ends in .png")]
    NotPng,
    #[error("--control-image needs a ControlNet; set its file with --control-net")]
    NoControlNet,
    #[error("{}: {}; choose a folder with pictures of the person with --pm-id-images-dir", .0.display(), .1)]
    NoPerson(std::path::PathBuf, String),
    #[error("{0}")]
    Person(Advice),
    #[error("{} contains no settings; show its contents with: atelier inspect --stealth", .0.display())]
    NoSettings(std::path::PathBuf),
    #[error("the prompt of {} could not be read; give one with --prompt, or show what the picture contains with: atelier inspect", .0.display())]
    NoPrompt(std::path::PathBuf),
    #[error("{} is already finished; --finish is for drafts made with --last-step", .0.display())]
    NoDraft(std::path::PathBuf),
    #[error("{0} Choose another one with --model")]
    ModelOfPicture(String),
    #[error("{0} has no effect without --only-masked or --outpaint. Add one of them, or remove {0}.")]
    OnlyOfAPart(&'static str),
    #[error("{0}")]
    WithoutEffect(&'static str),
    #[error("{0}")]
    Sheet(String),
    #[error("{0}, and --init-img is given {1} times; run the command for each start picture")]
    SeveralStarts(&'static str, usize),
    #[error("{0}")]
    StartPicture(String),
    #[error("{0} Choose the folder of the lists with --wildcards, or write the words into the prompt")]
    Template(String),
    #[error("{} does not exist, and the job needs it; check the name", .0.display())]
    MissingFile(std::path::PathBuf),
    #[error("{} has no prompts: it is read as text, with one prompt on each line", .0.display())]
    NoPrompts(std::path::PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    TextFile(std::path::PathBuf, String),
    #[error("standard input holds one text: read the prompt or the negative prompt from a file")]
    OneStandardInput,
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    NoHome(#[from] NoHome),
    #[error(transparent)]
    Builtin(#[from] BuiltinError),
    #[error(transparent)]
    Model(#[from] Problem),
    #[error(transparent)]
    Places(#[from] LibraryConfigError),
}

impl UsageError {
    /// True where the flags are right and a model, folder or setting that they need is missing.
    pub(super) const fn is_missing_resource(&self) -> bool {
        matches!(
            self,
            Self::NoSettings(_)
                | Self::NoPrompt(_)
                | Self::ModelOfPicture(_)
                | Self::MissingFile(_)
                | Self::NoHome(_)
                | Self::Builtin(_)
                | Self::Model(_)
                | Self::Places(_)
        )
    }
}
