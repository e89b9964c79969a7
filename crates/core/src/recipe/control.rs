//! The picture that controls a composition: how strongly, in which steps, and what is made of it first.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ImageSource;
use super::sampling::{UnknownName, named_by_engine};

/// A picture for the `ControlNet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlImage {
    /// The picture; resized to the recipe's size where it differs.
    pub image: ImageSource,
    /// Control strength, 0 to 1.
    pub strength: f32,
    /// Part of the steps after which the `ControlNet` begins, 0 to 1.
    #[serde(default)]
    pub start: f32,
    /// Part of the steps after which it ends, 0 to 1.
    #[serde(default = "all_steps")]
    pub end: f32,
    /// What is made of the picture before a model sees it; `None`: it is used as it is.
    #[serde(default)]
    pub preprocessor: Option<Preprocessor>,
}

impl ControlImage {
    /// The strength where nobody has chosen one; also sd-cli's.
    pub const USUAL_STRENGTH: f32 = 0.9;
    /// The part of the steps after which it ends where nobody has chosen one.
    pub const USUAL_END: f32 = 1.0;

    /// The picture with the usual settings.
    #[must_use]
    pub const fn new(image: ImageSource) -> Self {
        Self { image, strength: Self::USUAL_STRENGTH, start: 0.0, end: Self::USUAL_END, preprocessor: None }
    }

    /// The picture with another strength.
    #[must_use]
    pub fn with_strength(image: ImageSource, strength: f32) -> Self {
        Self { strength, ..Self::new(image) }
    }
}

pub(super) const fn all_steps() -> f32 {
    ControlImage::USUAL_END
}

named_by_engine! {
    /// What makes a control picture of any picture.
    Preprocessor {
        /// Thin outlines, white on black.
        Canny = "canny", "Canny";
        /// Broad and soft outlines, white on black.
        SoftEdge = "softedge", "Soft edge";
        /// Dark lines of a drawing or a photo, white on black.
        LineArt = "lineart", "Line art";
        /// Few thick strokes, white on black.
        Scribble = "scribble", "Scribble";
        /// Without its details.
        Tile = "tile", "Tile";
        /// Dark and light exchanged.
        Invert = "invert", "Invert";
        /// The shades of a depth map over their whole range.
        DepthMap = "depthmap", "Depth map";
    }
}

impl Preprocessor {
    /// The one of A1111's preprocessors ("modules") that makes such pictures; `None` of one that is
    /// not here.
    #[must_use]
    pub fn named_by_a1111(module: &str) -> Option<Self> {
        let module = module.trim().to_ascii_lowercase().replace('_', "");
        Self::ALL.iter().copied().find(|it| module.starts_with(it.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preprocessors_of_a1111_are_known_by_the_pictures_that_they_make() {
        let named = |module| Preprocessor::named_by_a1111(module);
        assert_eq!(named("canny"), Some(Preprocessor::Canny));
        assert_eq!(named("softedge_pidinet"), Some(Preprocessor::SoftEdge));
        assert_eq!(named("lineart_anime_denoise"), Some(Preprocessor::LineArt));
        assert_eq!(named("Scribble_XDoG"), Some(Preprocessor::Scribble));
        assert_eq!(named("tile_resample"), Some(Preprocessor::Tile));
        assert_eq!(named("invert (from white bg & black line)"), Some(Preprocessor::Invert));
        assert_eq!([named("none"), named("depth_midas"), named("")], [None; 3]);
    }

    #[test]
    fn a_control_picture_of_an_earlier_version_acts_in_all_steps() {
        let image: ControlImage = serde_json::from_str(r#"{"image":{"file":"pose.png"},"strength":0.4}"#).unwrap();
        assert_eq!(image, ControlImage::with_strength(ImageSource::File("pose.png".into()), 0.4));
    }
}
