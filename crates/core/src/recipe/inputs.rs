//! What a recipe is made from beside numbers and words: pictures with strengths, adapters, the text
//! of a placement.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ControlImage, ImageSource, Seed, steps_before};
use crate::cpu_math::CpuMath;
use crate::module_set::ModuleSet;

/// One picture of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureInfo {
    /// Its index in the batch, from 0.
    pub index: u32,
    /// Its seed; `None` where nobody knows it, as of a picture of another program that does not tell
    /// its own.
    pub seed: Option<Seed>,
    /// How the processor computed, where it had a part in the picture and the bytes are not those
    /// of the engine's own code.
    #[serde(default)]
    pub cpu_math: Option<CpuMath>,
    /// Its LoRAs were merged into the weights, which makes other bytes.
    #[serde(default)]
    pub merged_loras: bool,
}

/// A picture to start from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InitImage {
    /// The picture; resized to the recipe's size where it differs.
    pub image: ImageSource,
    /// Denoising strength: 0 keeps the picture, 1 ignores it.
    pub strength: f32,
}

/// The size of a picture that is made from one of the size `own`: its shape, and no more pixels
/// than `usual`, which suits the model. Of a size that was asked for in part, the other side
/// follows.
#[must_use]
pub fn shaped_as(own: (u32, u32), usual: (u32, u32), asked: (Option<u32>, Option<u32>)) -> (u32, u32) {
    let (width, height) = (f64::from(own.0.max(1)), f64::from(own.1.max(1)));
    let pixels = f64::from(usual.0) * f64::from(usual.1);
    let scale = match asked {
        (Some(asked), _) => f64::from(asked) / width,
        (None, Some(asked)) => f64::from(asked) / height,
        (None, None) => (pixels / (width * height)).sqrt().min(1.0),
    };
    if scale == 1.0 {
        return own;
    }
    // What every model can make.
    let side = |side: f64| ((side * scale / 64.0).round().max(1.0) * 64.0) as u32;
    (side(width), side(height))
}

impl InitImage {
    /// The strength where nobody has chosen one; also sd-cli's.
    pub const USUAL_STRENGTH: f32 = 0.75;
}

/// A low-rank adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lora {
    /// The adapter's file.
    pub path: PathBuf,
    /// Its strength; 1 is what it was trained for.
    pub strength: f32,
    /// Its strength in text encoders, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder_strength: Option<f32>,
    /// Part of the steps after which it begins, 0 to 1.
    #[serde(default)]
    pub start: f32,
    /// Part of the steps after which it ends, 0 to 1.
    #[serde(default = "super::control::all_steps")]
    pub end: f32,
}

impl Lora {
    /// Strengths that a picture is made with; negative ones push away.
    pub const STRENGTHS: std::ops::RangeInclusive<f32> = -10.0..=10.0;

    /// With the same strength in all modules.
    #[must_use]
    pub const fn new(path: PathBuf, strength: f32) -> Self {
        Self::with_strengths(path, LoraStrengths::same(strength))
    }

    /// With these strengths; `None`: the same in text encoders.
    #[must_use]
    pub const fn with_strengths(path: PathBuf, LoraStrengths { strength, encoder }: LoraStrengths) -> Self {
        Self { path, strength, encoder_strength: encoder, start: 0.0, end: ControlImage::USUAL_END }
    }

    /// With the same strengths in all steps.
    #[must_use]
    pub fn in_all_steps(&self) -> Self {
        Self::with_strengths(self.path.clone(), self.strengths())
    }

    /// True where there may be steps in which it does not act.
    #[must_use]
    pub fn has_range(&self) -> bool {
        self.start > 0.0 || self.end < ControlImage::USUAL_END
    }

    /// Steps of so many in which it acts: it begins after the first number of them, and ends after
    /// the second.
    #[must_use]
    pub fn steps(&self, all: u32) -> Range<u32> {
        steps_before(self.start, all)..steps_before(self.end, all)
    }

    /// Adds it to others; one of the same file in the same steps counts with both strengths.
    pub fn add_to(self, loras: &mut Vec<Self>) {
        match loras.iter_mut().find(|it| it.path == self.path && it.start == self.start && it.end == self.end) {
            Some(it) => it.set_strengths(it.strengths() + self.strengths()),
            None => loras.push(self),
        }
    }

    /// Its strengths.
    #[must_use]
    pub const fn strengths(&self) -> LoraStrengths {
        LoraStrengths { strength: self.strength, encoder: self.encoder_strength }
    }

    /// Sets its strengths.
    pub const fn set_strengths(&mut self, LoraStrengths { strength, encoder }: LoraStrengths) {
        (self.strength, self.encoder_strength) = (strength, encoder);
    }
}

/// Strengths of a low-rank adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoraStrengths {
    /// That of the diffusion module, and of all others where they have none of their own.
    pub strength: f32,
    /// That of text encoders, where it is another one.
    pub encoder: Option<f32>,
}

impl LoraStrengths {
    /// The same strength in all modules.
    #[must_use]
    pub const fn same(strength: f32) -> Self {
        Self { strength, encoder: None }
    }

    /// Of the diffusion module, and of text encoders.
    #[must_use]
    pub fn new(strength: f32, encoder: f32) -> Self {
        Self { strength, encoder: (encoder != strength).then_some(encoder) }
    }

    /// That of text encoders.
    #[must_use]
    pub fn in_encoders(self) -> f32 {
        self.encoder.unwrap_or(self.strength)
    }
}

impl std::ops::Add for LoraStrengths {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.strength + other.strength, self.in_encoders() + other.in_encoders())
    }
}

/// As a tag writes them: that of text encoders first, where there are two.
impl std::fmt::Display for LoraStrengths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.encoder {
            Some(encoder) => write!(f, "{encoder}:{}", self.strength),
            None => write!(f, "{}", self.strength),
        }
    }
}

/// The placement of modules and their weights in the text form of sd-cli (read by
/// [`crate::placement`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementText {
    /// `--backend`: `all=cuda0,te=cpu`. Empty: GPU, then integrated GPU, then CPU.
    pub backend: String,
    /// `--params-backend`: `diffusion=cpu,te=disk`. Empty: where the module runs.
    pub params_backend: String,
    /// `--max-vram`, GiB: `6`. Empty: no budget.
    pub max_vram: String,
    /// `--stream-layers`: modules of which what fits is kept on the device and the rest streamed;
    /// needs a budget and weights on the CPU. To sd-cli it is a switch for the diffusion module.
    pub stream_layers: ModuleSet,
    /// `--split-batch`: `cuda0,cuda1`. Devices that share the pictures of a batch; sd-cli has no
    /// such flag. Empty: one makes all.
    pub split_batch: String,
}
