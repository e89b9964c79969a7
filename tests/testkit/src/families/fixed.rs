//! Models whose sizes the engine fixes: what a setting changes on its way to the picture has weights,
//! the rest is zeros that take no room.

use super::{FLUX_WIDTH, Part, flux_blocks, t5};
use crate::draft::{Container, Draft};
use crate::real::Model;
use crate::tensor::Kind;
use crate::tiny::autoencoder_tensors;

/// The files of a small Chroma with a T5 that tells words apart: Flux's blocks, one of each kind,
/// modulated by what the engine calls an approximator.
#[must_use]
pub fn chroma() -> Vec<(&'static str, Part)> {
    /// Width and layers of the approximator.
    const INNER: usize = 5120;
    const LAYERS: usize = 5;
    const TEXT: usize = 128;
    /// What Flux computes its modulation with.
    const MODULATION: [&str; 4] = ["time_in.", "_mod.", ".modulation.", "adaLN_modulation."];
    let mut it = Model::default();
    flux_blocks(&mut it, TEXT, false);
    it.0.0.retain(|tensor| !MODULATION.iter().any(|part| tensor.name.contains(part)));
    let name = "distilled_guidance_layer";
    it.linear(&format!("{name}.in_proj"), INNER, 64, 1.0);
    for layer in 0..LAYERS {
        it.0.vector(format!("{name}.norms.{layer}.scale"), INNER, Kind::F32, 1.0);
        it.linear(&format!("{name}.layers.{layer}.in_layer"), INNER, INNER, 1.0);
        it.linear(&format!("{name}.layers.{layer}.out_layer"), INNER, INNER, 1.0);
    }
    it.linear(&format!("{name}.out_proj"), FLUX_WIDTH, INNER, 1.0);
    let diffusion = Draft::with_holes(Container::Safetensors, &it.0, &[], |name| name.contains("distilled_guidance_layer.layers."));
    let [t5, taesd] = [t5(TEXT, 256, 1), autoencoder_tensors(16)].map(|it| Part::Draft(Draft::new(Container::Safetensors, &it, &[])));
    vec![("diffusion", Part::Draft(diffusion)), ("t5xxl", t5), ("taesd", taesd)]
}
