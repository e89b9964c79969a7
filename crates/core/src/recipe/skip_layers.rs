//! Skip-layer guidance.

use std::ops::RangeInclusive;

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
}

impl Default for SkipLayers {
    fn default() -> Self {
        Self { scale: 2.5, layers: vec![7, 8, 9], start: 0.01, end: 0.2 }
    }
}
