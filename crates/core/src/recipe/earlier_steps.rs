//! The first steps of a picture that is a branch of another: they have the settings of that one.

use serde::{Deserialize, Serialize};

use super::{Lora, Seed, SeedBlend};

/// Steps of a picture before those of its recipe, with settings of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierSteps {
    /// The last of these steps, from 1; they begin after those of the entry before.
    pub until_step: u32,
    /// File name of the picture that they were taken from, for people.
    pub picture: Option<String>,
    /// Their seed. Where it is not that of the steps after them, those begin with the estimate of
    /// these and noise of their own. `None`: the picture's own.
    pub seed: Option<Seed>,
    /// The other seed of their start noise.
    pub seed_blend: Option<SeedBlend>,
    /// The prompt of these steps.
    pub prompt: String,
    /// Their negative prompt.
    pub negative_prompt: String,
    /// Their classifier-free guidance.
    pub guidance: f32,
    /// Their guidance of distilled models.
    pub distilled_guidance: f32,
    /// Their control strength; without effect without a control picture.
    pub control_strength: f32,
    /// Part of all steps of the picture after which the `ControlNet` begins, 0 to 1.
    pub control_start: f32,
    /// Part of all steps of the picture after which it ends, 0 to 1.
    pub control_end: f32,
    /// Their low-rank adapters.
    pub loras: Vec<Lora>,
}

impl EarlierSteps {
    /// More branches of branches than these are no recipe.
    pub const MAX: usize = 16;

    /// True where other steps have the same settings, wherever they are.
    #[must_use]
    pub(super) fn has_settings_of(&self, other: &Self) -> bool {
        let anywhere = |it: &Self| Self { until_step: 0, picture: None, ..it.clone() };
        anywhere(self) == anywhere(other)
    }
}
