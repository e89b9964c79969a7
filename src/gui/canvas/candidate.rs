//! What is known of candidates, and of the jobs that make them.

use eframe::egui::TextureHandle;

use crate::gui::canvas::tasks::CandidateBase;
use atelier_core::canvas::{LayerId, PixelRect, TileImage};
use atelier_core::recipe::{Person, Recipe};
use atelier_engine::JobId;

/// A candidate.
pub struct Candidate {
    /// Its seed.
    pub seed: i64,
    /// The region that it is of.
    pub region: Option<LayerId>,
    /// What it changes.
    pub(crate) patch: TileImage,
    /// The rectangle that the overlay shows.
    pub(crate) bounds: PixelRect,
    pub(crate) overlay: TextureHandle,
    pub(crate) thumbnail: TextureHandle,
}

/// A job that was asked for, whose pictures become candidates.
pub(crate) struct Run {
    /// The recipe without its pictures, which the queue puts into files.
    pub(crate) recipe: Recipe,
    /// The engine's number, once a picture has come.
    pub(crate) job: Option<JobId>,
    pub(crate) base: CandidateBase,
}

impl Run {
    pub(crate) fn new(recipe: &Recipe, base: CandidateBase) -> Self {
        Self { recipe: without_pictures(recipe), job: None, base }
    }
}

/// A recipe without its pictures.
pub(crate) fn without_pictures(recipe: &Recipe) -> Recipe {
    let person = Person { images: Vec::new(), ..recipe.person.clone() };
    Recipe { init: None, mask: None, control: None, reference_images: Vec::new(), person, ..recipe.clone() }
}
