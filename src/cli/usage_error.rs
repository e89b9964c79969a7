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
    #[error("no model is named; give one with --model, or its parts with --diffusion-model, --llm, --vae and so on")]
    NoModel,
    #[error("Atelier writes PNG files; give the output a name that ends in .png")]
    NotPng,
    #[error("--control-image needs a ControlNet; name its file with --control-net")]
    NoControlNet,
    #[error("{}: {}; name a folder with pictures of the person with --pm-id-images-dir", .0.display(), .1)]
    NoPerson(std::path::PathBuf, String),
    #[error("{0}")]
    Person(Advice),
    #[error("{} tells nothing of how it was made; see what it holds with: atelier inspect --stealth", .0.display())]
    NoSettings(std::path::PathBuf),
    #[error("{} is finished; --finish is for drafts, which --last-step makes", .0.display())]
    NoDraft(std::path::PathBuf),
    #[error("{0} Name another one with --model")]
    ModelOfPicture(String),
    #[error("{0} has no effect here: it says how a part of a picture is made. Add --only-masked or --outpaint, or leave it out.")]
    OnlyOfAPart(&'static str),
    #[error("{0}")]
    WithoutEffect(&'static str),
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
            Self::NoSettings(_) | Self::ModelOfPicture(_) | Self::NoHome(_) | Self::Builtin(_) | Self::Model(_) | Self::Places(_)
        )
    }
}
