//! What is known of candidates, and of the jobs that make them.

use eframe::egui::TextureHandle;

use crate::gui::canvas::work::{AnalysisBasis, CandidateBase};
use crate::gui::create::forming::Origin;
use atelier_core::canvas::{LayerId, PixelRect, TileImage};
use atelier_core::recipe::{Person, Recipe, Seed};
use atelier_engine::JobId;

pub struct Candidate {
    /// The engine's number of its picture.
    pub(crate) origin: Origin,
    pub seed: Option<Seed>,
    /// The region that it is of.
    pub region: Option<LayerId>,
    pub(crate) patch: TileImage,
    /// The rectangle that the overlay shows.
    pub(crate) bounds: PixelRect,
    pub(crate) overlay: TextureHandle,
    pub(crate) thumbnail: TextureHandle,
}

/// A job that was asked for, whose pictures become candidates.
pub(crate) struct CandidateRun {
    /// The recipe without its pictures, which the queue puts into files.
    pub(crate) recipe: Recipe,
    /// The engine's number, once a picture has come.
    pub(crate) job: Option<JobId>,
    pub(crate) base: CandidateBase,
}

impl CandidateRun {
    pub(crate) fn new(recipe: &Recipe, base: CandidateBase) -> Self {
        Self { recipe: without_pictures(recipe), job: None, base }
    }
}

/// What was asked for with a seed that the person chose.
pub(crate) struct SeedUse {
    basis: AnalysisBasis,
    /// The recipe without its pictures, with the chosen seed.
    recipe: Recipe,
    /// The first seed that no picture has yet.
    next: Seed,
}

/// The seed for a recipe with the seed `chosen`: that one, and where the same was asked for before, the
/// first that no candidate has. The engine gives the pictures of a batch one seed after the other.
pub(crate) fn next_seed(uses: &mut Vec<SeedUse>, basis: AnalysisBasis, recipe: &Recipe, chosen: Seed) -> Seed {
    // Other pixels make another picture of the same seed.
    uses.retain(|it| it.basis.version == basis.version);
    let same = without_pictures(recipe);
    let known = uses.iter().position(|it| it.basis == basis && it.recipe == same);
    let at = known.unwrap_or_else(|| {
        uses.push(SeedUse { basis, next: chosen, recipe: same });
        uses.len() - 1
    });
    let seed = uses[at].next;
    uses[at].next = seed.after(u64::from(recipe.batch_count.max(1)));
    seed
}

/// A recipe without its pictures.
pub(crate) fn without_pictures(recipe: &Recipe) -> Recipe {
    let person = Person { images: Vec::new(), ..recipe.person.clone() };
    Recipe { init: None, mask: None, control: None, reference_images: Vec::new(), person, ..recipe.clone() }
}
