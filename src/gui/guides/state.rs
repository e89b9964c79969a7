//! State of the guides. What they are is in the recipe; here is what a preprocessor makes of the
//! control picture.

use eframe::egui::TextureHandle;

use atelier_core::recipe::{ControlImage, Recipe};

/// State of the guides.
#[derive(Default)]
pub struct State {
    /// The last control picture that was asked for, and what came of it.
    pub(crate) look: Option<ControlLook>,
    /// True while one is being made.
    pub(crate) is_looking: bool,
    /// The size that the last start picture gave the next one, in pixels: it is no choice of the
    /// person's.
    pub(super) size_of_start: Option<(u32, u32)>,
}

/// What a model is given of a control picture.
pub(crate) struct ControlLook {
    pub(crate) wanted: WantedLook,
    /// Why there is none, or the picture; `None` while it is being made.
    pub(crate) made: Option<Result<TextureHandle, String>>,
}

/// A control picture with a preprocessor, and the size in pixels that it is made in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WantedLook {
    pub(crate) control: ControlImage,
    pub(crate) size: (u32, u32),
}

impl WantedLook {
    /// That of a recipe; `None` where its control picture is used as it is.
    pub(crate) fn of(recipe: &Recipe) -> Option<Self> {
        let control = recipe.control.as_ref().filter(|control| control.preprocessor.is_some())?;
        // Neither strength nor steps change what is made.
        let control = ControlImage { preprocessor: control.preprocessor, ..ControlImage::new(control.image.clone()) };
        Some(Self { control, size: (recipe.width, recipe.height) })
    }
}

impl State {
    /// What the preprocessor made of the control picture of this recipe, or why it made nothing;
    /// `None` before that, and where the picture is used as it is.
    pub(crate) fn look_of(&self, recipe: &Recipe) -> Option<&Result<TextureHandle, String>> {
        let look = self.look.as_ref().filter(|look| WantedLook::of(recipe).as_ref() == Some(&look.wanted))?;
        look.made.as_ref()
    }
}
