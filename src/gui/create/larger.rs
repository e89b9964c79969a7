//! Upscaling a finished picture.

use std::path::{Path, PathBuf};

use crate::gui::shared::Shared;
use atelier_core::recipe::{Hires, ImageSource, InitImage, Recipe, RedrawTiles};
use atelier_language::tr;
use atelier_library::ModelKind;

/// Denoising strength where details are drawn anew: enough for texture, too little to change what
/// is seen.
const REDRAW_STRENGTH: f32 = 0.35;

/// What is made of a finished picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remake {
    Upscale(UpscaleMethod),
    /// The picture of which it is a draft.
    FinishDraft,
}

/// How a finished picture is upscaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpscaleMethod {
    /// Twice as wide and high, with an upscaler where there is one.
    Plain,
    /// The same, with its details generated anew.
    Redraw,
    /// The same, with its details generated anew in tiles.
    Tiles,
}

impl UpscaleMethod {
    /// Words of its menu entry, and its effect in a sentence.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => (tr!("create-upscale-2"), tr!("create-upscale-this-picture-to")),
            Self::Redraw => (tr!("create-upscale-2-and-refine"), tr!("create-upscale-this-picture-and")),
            Self::Tiles => (tr!("create-upscale-2-in-tiles"), tr!("create-upscale-this-picture-and-regenerate-its")),
        }
    }
}

/// Upscalers of this disk: name and file.
pub(crate) fn upscalers(shared: &Shared) -> impl Iterator<Item = (&str, &Path)> {
    shared.cards_with_file(ModelKind::Upscaler).map(|(card, path)| (card.name.as_str(), path))
}

/// A second pass with this upscaler. A person who chooses a file agrees to open it, also where it
/// is a pickle.
pub(crate) fn with_upscaler(hires: &Hires, upscaler: Option<PathBuf>) -> Hires {
    Hires { allow_pickle: upscaler.is_some(), latent: hires.latent.filter(|_| upscaler.is_none()), upscaler, ..hires.clone() }
}

/// The recipe that upscales a picture of this recipe. A model that is not on this machine is
/// replaced by the chosen one.
pub(super) fn upscaling(of: &Recipe, image: ImageSource, way: UpscaleMethod, shared: &Shared) -> Recipe {
    let strength = match way {
        UpscaleMethod::Plain => 0.0,
        UpscaleMethod::Redraw | UpscaleMethod::Tiles => REDRAW_STRENGTH,
    };
    let upscaler = upscalers(shared).next().map(|(_, path)| path.to_owned());
    let files = if of.files.is_empty() { shared.next.recipe.files.clone() } else { of.files.clone() };
    let mut recipe = Recipe { files, placement: shared.next.recipe.placement.clone(), threads: shared.next.recipe.threads, ..of.clone() };
    recipe.remove_init();
    recipe.earlier_steps.clear();
    recipe.last_step = None;
    recipe.init = Some(InitImage { image, strength: 0.0 });
    let tiles = (way == UpscaleMethod::Tiles).then(RedrawTiles::default);
    recipe.hires = Some(with_upscaler(&Hires { strength, tiles, ..Hires::default() }, upscaler));
    recipe
}
