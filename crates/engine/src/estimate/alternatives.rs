//! Variants of a recipe that take less memory: decoded in tiles, smaller, of other files that lie
//! beside the chosen ones, converted as they are loaded.

use super::error::{EstimateError, Outdated};
use super::estimates::Estimates;
use super::request::EstimateRequest;
use crate::job::alternative_files::smaller_files;
use atelier_core::device::Device;
use atelier_core::placement::{Alternative, Change, Module, ModuleNeeds, Needs, Placement};
use atelier_core::recipe::{FileRole, TensorType};
use atelier_library::HeaderCache;

/// Sizes that are offered, as parts of each side.
const PARTS: [(u32, u32); 2] = [(3, 4), (1, 2)];
/// Pixels of a side below which no model makes a picture worth having.
const MIN_SIDE: u32 = 256;

/// Variants of a recipe, with their memory. One that cannot be estimated is left out.
pub(super) fn alternatives(
    estimates: &mut Estimates,
    request: &EstimateRequest,
    needs: &Needs,
    placement: &Placement,
    devices: &[Device],
    outdated: &dyn Outdated,
) -> Result<Vec<Alternative>, EstimateError> {
    let mut found = Vec::new();
    let mut variants = variants(&mut estimates.headers, request);
    if is_too_large(needs, placement, devices) {
        variants.extend(converted(request));
    }
    for (changes, variant) in variants {
        let is_same_model = variant.recipe.opens_like(&request.recipe);
        let its = if is_same_model {
            estimates.smaller_needs(&variant, needs, placement, devices, outdated)
        } else {
            estimates.needs(&variant, placement, devices, outdated)
        };
        match its {
            Ok(its) if its != *needs => found.extend(with_bytes(changes, &its, needs).map(|changes| Alternative { changes, needs: its })),
            Ok(_) | Err(EstimateError::Failed(_)) => {}
            Err(EstimateError::Outdated) => return Err(EstimateError::Outdated),
        }
    }
    Ok(found)
}

/// Decoded in tiles, smaller, of other files; with the changes that make it so.
fn variants(headers: &mut HeaderCache, request: &EstimateRequest) -> Vec<(Vec<Change>, EstimateRequest)> {
    let mut variants = Vec::new();
    variants.extend(request.with_tiling().map(|tiled| (vec![Change::VaeTiling], tiled)));
    for (part, of) in PARTS {
        let smaller = request.with_size(request.recipe.width / of * part, request.recipe.height / of * part);
        let (width, height) = (smaller.recipe.width, smaller.recipe.height);
        if width.min(height) >= MIN_SIDE.min(request.recipe.width.min(request.recipe.height) / 2) {
            let size = Change::Size { width, height };
            variants.extend(smaller.with_tiling().map(|tiled| (vec![Change::VaeTiling, size.clone()], tiled)));
            variants.push((vec![size], smaller));
        }
    }
    for (role, module) in [(FileRole::Diffusion, Module::Diffusion), (FileRole::Llm, Module::Llm), (FileRole::T5xxl, Module::T5)] {
        for path in smaller_files(headers, &request.recipe, role) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut variant = request.clone();
            variant.recipe.files.set(role, path);
            variants.push((vec![Change::Quantisation { module, name }], variant));
        }
    }
    variants
}

/// Types to which the weights of the diffusion module and the text encoders are converted.
const CONVERSIONS: [(Option<TensorType>, Option<TensorType>); 3] =
    [(Some(TensorType::Q8_0), None), (Some(TensorType::Q8_0), Some(TensorType::Q8_0)), (Some(TensorType::Q4_0), Some(TensorType::Q8_0))];
/// Part of its bytes that a module loses where a conversion is worth a word.
const WORTHWHILE: f64 = 0.05;

/// Converted as they are loaded. Their bytes are not known yet.
fn converted(request: &EstimateRequest) -> Vec<(Vec<Change>, EstimateRequest)> {
    let variant = |(diffusion, encoders)| {
        let types = [(Module::Diffusion, diffusion)].into_iter().chain(Module::ENCODERS.map(|module| (module, encoders)));
        let change =
            |(module, weight_type): (Module, Option<TensorType>)| Some(Change::WeightType { module, weight_type: weight_type?, bytes: 0 });
        let changes: Vec<Change> = types.filter_map(change).collect();
        let mut variant = request.clone();
        for change in &changes {
            change.apply(&mut variant.recipe);
        }
        (changes, variant)
    };
    CONVERSIONS.map(variant).into()
}

/// The changes with the bytes of converted weights; `None` where these are hardly fewer than before.
fn with_bytes(mut changes: Vec<Change>, its: &Needs, needs: &Needs) -> Option<Vec<Change>> {
    // Encoders that the model does not have.
    changes.retain(|change| !matches!(change, Change::WeightType { module, .. } if !needs.modules.contains_key(module)));
    for change in &mut changes {
        if let Change::WeightType { module, bytes, .. } = change {
            let of = |needs: &Needs| needs.modules.get(module).map_or(0, |needs| needs.weight_bytes);
            *bytes = of(its);
            if *bytes as f64 > of(needs) as f64 * (1.0 - WORTHWHILE) {
                return None;
            }
        }
    }
    Some(changes)
}

/// True where the modules that run on a device do not fit into its free memory together.
fn is_too_large(needs: &Needs, placement: &Placement, devices: &[Device]) -> bool {
    devices.iter().any(|device| {
        let here = needs.modules.iter().filter(|(module, _)| placement.assignment(**module).runs_on == device.name);
        let bytes = |(_, its): (_, &ModuleNeeds)| (its.weight_bytes, its.compute_bytes.values().copied().max().unwrap_or(0));
        let (weights, compute) = here.map(bytes).fold((0, 0), |(all, most), (weights, compute)| (all + weights, compute.max(most)));
        weights + compute > device.memory_free_bytes
    })
}
