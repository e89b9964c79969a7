//! Skip-layer guidance.

use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

/// Guidance away from what the model makes without some of its layers (SLG): better hands and
/// bodies with SD3.5. Each step of its part denoises once more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkipLayers {
    /// Strength; 2.5 suits SD3.5 Medium.
    pub scale: f32,
    /// Numbers of the layers, from 0.
    pub layers: Vec<u32>,
    /// Part of the steps after which it begins, 0 to 1.
    pub start: f32,
    /// Part of the steps after which it ends, 0 to 1.
    pub end: f32,
}

impl SkipLayers {
    /// Strengths with which a picture is made.
    pub const SCALES: RangeInclusive<f32> = 0.0..=100.0;
    /// Most layers; no model has more.
    pub const MAX_LAYERS: usize = 200;
    /// The highest number of a layer.
    pub const MAX_LAYER: u32 = 1000;

    /// Steps of so many in which it acts: those after the first number of them, up to the second. As
    /// stable-diffusion.cpp counts them: of the noise levels, one more than steps.
    #[must_use]
    pub fn steps(&self, all: u32) -> Range<u32> {
        let level = |part: f32| (part * (all as f32 + 1.0)) as u32;
        level(self.start)..level(self.end).saturating_sub(1)
    }

    /// Has it begin after so many of all steps.
    pub fn start_after(&mut self, steps: u32, all: u32) {
        self.start = if steps == 0 { 0.0 } else { part_at(steps, all) };
    }

    /// Has it end after so many of all steps.
    pub fn end_after(&mut self, steps: u32, all: u32) {
        self.end = part_at(steps + 1, all);
    }
}

/// The part of the steps at a noise level: half of one above it, so that no rounding leads below.
fn part_at(level: u32, all: u32) -> f32 {
    ((level as f32 + 0.5) / (all as f32 + 1.0)).min(1.0)
}

impl Default for SkipLayers {
    fn default() -> Self {
        Self { scale: 2.5, layers: vec![7, 8, 9], start: 0.01, end: 0.2 }
    }
}
