//! Variants of a recipe that take less memory: decoded in tiles, smaller, of other files that lie
//! beside the chosen ones.

use super::error::{EstimateError, Outdated};
use super::estimates::Estimates;
use super::request::EstimateRequest;
use crate::job::alternative_files::smaller_files;
use atelier_core::device::Device;
use atelier_core::placement::{Alternative, Change, Module, Needs, Placement};
use atelier_core::recipe::FileRole;
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
    for (changes, variant) in variants(&mut estimates.headers, request) {
        let is_same_model = variant.recipe.files == request.recipe.files;
        let its = if is_same_model {
            estimates.smaller_needs(&variant, needs, placement, devices, outdated)
        } else {
            estimates.needs(&variant, placement, devices, outdated)
        };
        match its {
            Ok(its) if its != *needs => found.push(Alternative { changes, needs: its }),
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
