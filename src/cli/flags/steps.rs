//! The flags of a picture that is like another one, or goes on from its steps; of drafts and of
//! start noise between two seeds.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::Args;

use super::{PICTURE, SAMPLING, known_seed, unit};
use atelier_core::recipe::{Seed, SeedBlend};

/// Flags of commands that make pictures.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct LikeFlags {
    /// Take prompt, seed, settings and model from this picture, whichever program made it; other
    /// flags override them
    #[arg(long, value_name = "PICTURE", help_heading = PICTURE)]
    pub(in crate::cli) like: Option<PathBuf>,
    /// Branch off after STEP steps of the picture of --like, with the prompt and settings given
    /// here. Another --seed changes the noise of the remaining steps: the same composition with
    /// other details
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u32).range(1..), requires = "like", help_heading = PICTURE)]
    pub(in crate::cli) from_step: Option<u32>,
    /// Finish the draft of --like that --last-step stopped
    #[arg(long, requires = "like", conflicts_with = "from_step", help_heading = PICTURE)]
    pub(in crate::cli) finish: bool,
}

/// Flags of a picture's steps and start noise.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct StepFlags {
    /// Stop after this step: a draft, which --like DRAFT --finish completes
    #[arg(long, value_name = "STEP", help_heading = SAMPLING)]
    pub(in crate::cli) last_step: Option<u32>,
    /// Second seed, blended into the start noise (variation seed)
    #[arg(long, value_name = "N", value_parser = known_seed, allow_negative_numbers = true, help_heading = SAMPLING)]
    pub(in crate::cli) blend_seed: Option<Seed>,
    /// Strength of the second seed, 0 to 1: 0.1 changes details, 1 is the picture of the second
    /// seed [default: 0.2]
    #[arg(long, value_name = "X", value_parser = unit, requires = "blend_seed", help_heading = SAMPLING)]
    pub(in crate::cli) blend: Option<f32>,
}

impl StepFlags {
    /// The second seed.
    pub(in crate::cli) fn seed_blend(&self) -> Option<SeedBlend> {
        let seed = self.blend_seed?;
        Some(SeedBlend { seed, amount: self.blend.unwrap_or(SeedBlend::default().amount) })
    }
}
