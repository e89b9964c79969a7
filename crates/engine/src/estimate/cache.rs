//! Answers of earlier estimates.

use std::sync::Arc;

use parking_lot::Mutex;

use super::passes::{UpscalerPass, picture_passes};
use super::request::EstimateRequest;
use crate::ffi::ContextParams;
use crate::fingerprint::{Fingerprint, fingerprints};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Assignment, Module, ModuleNeeds, Needs, Placement, WeightLocation};
use atelier_core::recipe::Recipe;
use atelier_core::time::{ModuleWork, PictureWork};
use atelier_library::HeaderCache;

/// Answers that are kept: sizes that a person tries, forwards and back.
const MAX_ANSWERS: usize = 256;

/// Answers of earlier estimates, the newest last; clones share them.
#[derive(Clone, Default)]
pub(crate) struct EstimateCache {
    answers: Arc<Mutex<Vec<(AnswerKey, ImageNeeds)>>>,
    /// Upscalers, the newest last.
    upscalers: Arc<Mutex<Vec<(UpscalerPassKey, UpscalerNeeds)>>>,
}

/// Memory and work of an upscaler in a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UpscalerNeeds {
    pub(super) memory: ModuleNeeds,
    pub(super) work: ModuleWork,
}

/// Everything that the memory and work of an upscaler depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpscalerPassKey {
    pass: UpscalerPass,
    fingerprint: Fingerprint,
    /// Whole name of the device.
    pub(super) runs_on: String,
}

impl UpscalerPassKey {
    pub(super) fn new(pass: &UpscalerPass, placement: &Placement) -> Self {
        let runs_on = placement.assignment(Module::Upscaler).runs_on.clone();
        Self { pass: pass.clone(), fingerprint: Fingerprint::of(&pass.model), runs_on }
    }
}

/// Memory and work of one image of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ImageNeeds {
    pub(super) memory: Needs,
    pub(super) work: Vec<ModuleWork>,
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerKey {
    pub(super) request: EstimateRequest,
    /// Weights where each module runs.
    pub(super) params: ContextParams,
    fingerprints: Vec<Fingerprint>,
    /// Weights in RAM, on devices whose graphs can be cut; `None` where there is no such device.
    pub(super) cut: Option<Placement>,
}

impl AnswerKey {
    pub(super) fn new(request: &EstimateRequest, placement: &Placement, devices: &[Device]) -> Self {
        let params = request.context_params(&weights_where_they_run(placement));
        Self {
            fingerprints: fingerprints(&params.files, &request.recipe.loras),
            cut: weights_in_ram(placement, devices),
            request: request.clone(),
            params,
        }
    }

    /// The key of an answer without the least that a module runs with.
    pub(super) fn without_cut(self) -> Self {
        Self { cut: None, ..self }
    }
}

impl EstimateCache {
    /// Memory of a recipe, where it was estimated before.
    pub(crate) fn get(&self, headers: &mut HeaderCache, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> Option<Needs> {
        let request = EstimateRequest::new(headers, recipe).ok()?;
        let mut needs = self.find(&AnswerKey::new(&request, placement, devices))?.memory;
        if recipe.upscale.is_some() || recipe.hires.as_ref().is_some_and(|hires| hires.upscaler.is_some()) {
            let passes = picture_passes(headers, recipe).ok()?.upscalers;
            let known = passes.iter().filter_map(|pass| self.find_upscaler(&UpscalerPassKey::new(pass, placement)));
            let largest = known.map(|known| known.memory).max_by_key(upscaler_bytes);
            needs.modules.extend(largest.map(|memory| (Module::Upscaler, memory)));
        }
        Some(needs)
    }

    /// Work of a recipe's picture, where it was estimated before.
    pub(crate) fn work(
        &self,
        headers: &mut HeaderCache,
        recipe: &Recipe,
        placement: &Placement,
        devices: &[Device],
    ) -> Option<PictureWork> {
        let mut modules = Vec::new();
        let passes = picture_passes(headers, recipe).ok()?;
        for (pass, number) in passes.images.iter().zip(0..) {
            let find = |request: &EstimateRequest| {
                let key = AnswerKey::new(request, placement, devices);
                let known = self.find(&key).or_else(|| self.find(&key.without_cut()));
                known.map(|known| known.work).ok_or(())
            };
            modules.extend(pass.works(number, find).ok()?);
        }
        for pass in &passes.upscalers {
            modules.push(self.find_upscaler(&UpscalerPassKey::new(pass, placement))?.work);
        }
        Some(PictureWork { modules })
    }

    pub(super) fn find_upscaler(&self, key: &UpscalerPassKey) -> Option<UpscalerNeeds> {
        self.upscalers.lock().iter().find(|(known, _)| known == key).map(|(_, needs)| needs.clone())
    }

    pub(super) fn insert_upscaler(&self, key: UpscalerPassKey, needs: UpscalerNeeds) {
        let mut upscalers = self.upscalers.lock();
        if upscalers.len() >= MAX_ANSWERS {
            upscalers.remove(0);
        }
        upscalers.push((key, needs));
    }

    pub(super) fn find(&self, key: &AnswerKey) -> Option<ImageNeeds> {
        let mut answers = self.answers.lock();
        let index = answers.iter().position(|(known, _)| known == key)?;
        let answer = answers.remove(index);
        let needs = answer.1.clone();
        answers.push(answer);
        Some(needs)
    }

    pub(super) fn insert(&self, key: AnswerKey, needs: ImageNeeds) {
        let mut answers = self.answers.lock();
        if answers.len() >= MAX_ANSWERS {
            answers.remove(0);
        }
        answers.push((key, needs));
    }
}

/// Each module where it runs, with its weights there.
fn weights_where_they_run(placement: &Placement) -> Placement {
    let mut all = Placement::all_on("");
    for module in Module::ALL {
        all.set(module, Assignment::at(&placement.assignment(module).runs_on));
    }
    all
}

/// Each module on a device whose graphs can be cut, its own where that is one, with its weights in
/// RAM. `None`: there is no such device.
fn weights_in_ram(placement: &Placement, devices: &[Device]) -> Option<Placement> {
    let is_cpu = |name: &str| devices.iter().any(|device| device.name == name && device.kind == DeviceKind::Cpu);
    let ram = devices.iter().find(|device| device.kind == DeviceKind::Cpu)?;
    let graphics = devices.iter().find(|device| device.kind.is_graphics());
    let other = graphics.or_else(|| devices.iter().find(|device| device.kind == DeviceKind::Remote))?;
    let mut all = Placement::all_on(&ram.name);
    for module in Module::ALL {
        let own = &placement.assignment(module).runs_on;
        let runs_on = if is_cpu(own) { other.name.clone() } else { own.clone() };
        all.set(module, Assignment { runs_on, weights: WeightLocation::Device(ram.name.clone()) });
    }
    Some(all)
}

/// Bytes of an upscaler on its device.
pub(super) fn upscaler_bytes(needs: &ModuleNeeds) -> u64 {
    needs.compute_bytes.values().copied().max().unwrap_or(0).saturating_add(needs.weight_bytes)
}
