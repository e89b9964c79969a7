//! Estimates of single recipes, with the models that are open for them.

use parking_lot::Mutex;

use super::cache::{AnswerKey, EstimateCache, ImageNeeds, UpscalerNeeds, UpscalerPassKey, upscaler_bytes};
use super::error::{EstimateError, Outdated};
use super::passes::{PicturePasses, UpscalerPass};
use super::request::EstimateRequest;
use crate::failure;
use crate::ffi::{CallError, ContextParams, Estimator, ImageEstimate, JobCallbacks, Limits, ModuleEstimate, upscaler_estimate};
use crate::fingerprint::{Fingerprint, fingerprints};
use crate::protocol::{Cause, LogLevel, PhaseKind};
use atelier_core::device::Device;
use atelier_core::placement::{Module, ModuleNeeds, ModuleSet, Needs, Phase, Placement};
use atelier_core::recipe::{FileRole, Rgb8};
use atelier_core::time::{ModuleWork, PictureWork};
use atelier_library::HeaderCache;

/// Models that stay open: they hold headers and names only. One for each of the two ways, of the
/// last three recipes.
const MAX_OPEN: usize = 6;
/// Limits that cut a graph as small as it can be. A VAE's is cut only where it is streamed.
const SMALLEST: Limits = Limits { bytes: [1; Module::ALL.len()], streamed: ModuleSet::VAE, prefetch: false, packed_bytes: 0 };

/// Models that are open for estimates, and the answers of earlier ones.
#[derive(Default)]
pub(super) struct Estimates {
    pub(super) headers: HeaderCache,
    /// The newest last.
    open: Vec<OpenModel>,
    cache: EstimateCache,
}

struct OpenModel {
    params: ContextParams,
    fingerprints: Vec<Fingerprint>,
    estimator: Estimator,
}

impl Estimates {
    pub(super) fn new(cache: EstimateCache) -> Self {
        Self { cache, ..Self::default() }
    }

    /// Models are open, which takes memory.
    pub(super) const fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Closes the models; the answers stay.
    pub(super) fn close(&mut self) {
        self.open.clear();
    }

    /// Memory of a picture's images.
    pub(super) fn needs(
        &mut self,
        request: &EstimateRequest,
        placement: &Placement,
        devices: &[Device],
        outdated: &dyn Outdated,
    ) -> Result<Needs, EstimateError> {
        let key = AnswerKey::new(request, placement, devices);
        if let Some(needs) = self.cache.find(&key) {
            return Ok(needs.memory);
        }
        let whole = self.run(request, &key.params, &Limits::default(), outdated)?;
        let cut = key.cut.as_ref().map(|placement| self.run(request, &request.context_params(placement), &SMALLEST, outdated));
        let cut = match cut {
            Some(Ok(cut)) => cut.memory,
            Some(Err(EstimateError::Outdated)) => return Err(EstimateError::Outdated),
            // A device that it was not asked for cannot take it; no less than the whole is known.
            Some(Err(EstimateError::Failed(_))) | None => Vec::new(),
        };
        let needs = assembled(&whole.memory, &cut);
        self.cache.insert(key, ImageNeeds { memory: needs.clone(), work: whole.work });
        Ok(needs)
    }

    /// Work of a picture, from the passes in which it is made.
    pub(super) fn work(
        &mut self,
        passes: &PicturePasses,
        placement: &Placement,
        devices: &[Device],
        outdated: &dyn Outdated,
    ) -> Result<PictureWork, EstimateError> {
        let mut modules = Vec::new();
        for (pass, number) in passes.images.iter().zip(0..) {
            modules.extend(pass.works(number, |request| self.image_work(request, placement, devices, outdated))?);
        }
        for pass in &passes.upscalers {
            modules.extend(self.upscaler(pass, placement, outdated)?.map(|upscaler| upscaler.work));
        }
        Ok(PictureWork { modules })
    }

    /// Memory of the upscaler of a picture, of two the larger one's; `None` where there is none.
    pub(super) fn upscaler_needs(
        &mut self,
        passes: &PicturePasses,
        placement: &Placement,
        outdated: &dyn Outdated,
    ) -> Result<Option<ModuleNeeds>, EstimateError> {
        let mut largest: Option<ModuleNeeds> = None;
        for pass in &passes.upscalers {
            let needs = self.upscaler(pass, placement, outdated)?.map(|upscaler| upscaler.memory);
            largest = largest.into_iter().chain(needs).max_by_key(upscaler_bytes);
        }
        Ok(largest)
    }

    /// An upscaler of a picture; `None` where the file is none, which the job will say.
    fn upscaler(
        &mut self,
        pass: &UpscalerPass,
        placement: &Placement,
        outdated: &dyn Outdated,
    ) -> Result<Option<UpscalerNeeds>, EstimateError> {
        let key = UpscalerPassKey::new(pass, placement);
        if let Some(known) = self.cache.find_upscaler(&key) {
            return Ok(Some(known));
        }
        if !self.headers.get(&pass.model).is_ok_and(|header| header.kind.role == Some(FileRole::Upscaler)) {
            return Ok(None);
        }
        let callbacks = EstimateCallbacks { outdated, log: Mutex::default() };
        match upscaler_estimate(&pass.model, &key.runs_on, pass.size, pass.tile_size, &callbacks) {
            Ok((memory, work)) => {
                let memory = ModuleNeeds {
                    weight_bytes: memory.weight_bytes,
                    compute_bytes: [(Phase::from(memory.phase), memory.compute_bytes)].into(),
                    ..ModuleNeeds::default()
                };
                let needs = UpscalerNeeds { memory, work: ModuleWork { pass: pass.number, ..work } };
                self.cache.insert_upscaler(key, needs.clone());
                Ok(Some(needs))
            }
            Err(_) if outdated.is_outdated() => Err(EstimateError::Outdated),
            Err(error) => Err(failure::of_call(&error, callbacks.log.into_inner()).into()),
        }
    }

    /// Work of one image of one step.
    fn image_work(
        &mut self,
        request: &EstimateRequest,
        placement: &Placement,
        devices: &[Device],
        outdated: &dyn Outdated,
    ) -> Result<Vec<ModuleWork>, EstimateError> {
        let key = AnswerKey::new(request, placement, devices);
        let known = self.cache.find(&key);
        let key = key.without_cut();
        if let Some(needs) = known.or_else(|| self.cache.find(&key)) {
            return Ok(needs.work);
        }
        Ok(self.run_whole(request, key, outdated)?.work)
    }

    /// Memory, without the least that a module runs with, and work.
    fn run_whole(&mut self, request: &EstimateRequest, key: AnswerKey, outdated: &dyn Outdated) -> Result<ImageNeeds, EstimateError> {
        let whole = self.run(request, &key.params, &Limits::default(), outdated)?;
        let needs = ImageNeeds { memory: assembled(&whole.memory, &[]), work: whole.work };
        self.cache.insert(key, needs.clone());
        Ok(needs)
    }

    /// Memory of a picture that takes no more than another, whose least is returned for its own: to
    /// be exact there would cost more than it is worth for what is only offered.
    pub(super) fn smaller_needs(
        &mut self,
        request: &EstimateRequest,
        than: &Needs,
        placement: &Placement,
        devices: &[Device],
        outdated: &dyn Outdated,
    ) -> Result<Needs, EstimateError> {
        let key = AnswerKey::new(request, placement, devices).without_cut();
        let mut needs = match self.cache.find(&key) {
            Some(needs) => needs.memory,
            None => self.run_whole(request, key, outdated)?.memory,
        };
        for (module, its) in &mut needs.modules {
            its.least_bytes = than.modules.get(module).and_then(|than| than.least_bytes);
        }
        Ok(needs)
    }

    /// An image as a job makes it: in tiles where decoding it whole takes a tensor that is larger
    /// than any buffer of the device.
    fn run(
        &mut self,
        request: &EstimateRequest,
        params: &ContextParams,
        limits: &Limits,
        outdated: &dyn Outdated,
    ) -> Result<ImageEstimate, EstimateError> {
        let whole = self.dry_run(request, params, limits, outdated);
        let Err(EstimateError::Failed(failure)) = &whole else { return whole };
        let is_too_large =
            matches!(&failure.cause, Some(Cause::OutOfMemory(it)) if it.phase == PhaseKind::Decoding && it.is_allocation_limit());
        match request.with_tiling().filter(|_| is_too_large) {
            Some(in_tiles) => self.dry_run(&in_tiles, params, limits, outdated),
            None => whole,
        }
    }

    fn dry_run(
        &mut self,
        request: &EstimateRequest,
        params: &ContextParams,
        limits: &Limits,
        outdated: &dyn Outdated,
    ) -> Result<ImageEstimate, EstimateError> {
        let callbacks = EstimateCallbacks { outdated, log: Mutex::default() };
        let placeholders = request.placeholders();
        let result = self
            .estimator(params, &callbacks)
            .and_then(|estimator| estimator.run(&placeholders.generate_params(request), limits, &callbacks));
        result.map_err(|error| {
            // A model that failed half-way is not used again.
            self.open.retain(|open| open.params != *params);
            if outdated.is_outdated() { EstimateError::Outdated } else { failure::of_call(&error, callbacks.log.into_inner()).into() }
        })
    }

    fn estimator(&mut self, params: &ContextParams, callbacks: &dyn JobCallbacks) -> Result<&mut Estimator, CallError> {
        let fingerprints = fingerprints(&params.files, &[]);
        let open = self.open.iter().position(|open| open.params == *params && open.fingerprints == fingerprints);
        let open = match open {
            Some(index) => self.open.remove(index),
            None => OpenModel { params: params.clone(), fingerprints, estimator: Estimator::new(params, callbacks)? },
        };
        if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(open);
        self.open.last_mut().map(|open| &mut open.estimator).ok_or_else(|| unreachable!("one was pushed above"))
    }
}

/// Callbacks of an estimate: warnings are kept, to explain a failure.
struct EstimateCallbacks<'a> {
    outdated: &'a dyn Outdated,
    log: Mutex<Vec<String>>,
}

impl JobCallbacks for EstimateCallbacks<'_> {
    fn log(&self, level: LogLevel, text: &str) {
        if level >= LogLevel::Warn {
            self.log.lock().push(text.to_owned());
        }
    }
    fn phase(&self, _: PhaseKind) {}
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        self.outdated.is_outdated()
    }
}

/// Memory of the modules, from the two runs.
fn assembled(whole: &[ModuleEstimate], cut: &[ModuleEstimate]) -> Needs {
    let mut needs = Needs::default();
    for need in whole.iter().filter(|need| counts(need)) {
        let module: &mut ModuleNeeds = needs.modules.entry(need.module).or_default();
        module.weight_bytes = module.weight_bytes.max(need.weight_bytes);
        module.lora_bytes = module.lora_bytes.max(need.lora_bytes);
        let compute = module.compute_bytes.entry(Phase::from(need.phase)).or_default();
        *compute = (*compute).max(need.compute_bytes);
        module.packed_bytes = module.packed_bytes.max(need.packed_bytes);
    }
    for (module, needs) in &mut needs.modules {
        let of = |needs: &[ModuleEstimate]| {
            let own = needs.iter().filter(|need| need.module == *module && counts(need));
            own.fold((0, 0), |(graphs, peak), need| (need.graphs.max(graphs), need.peak_bytes.max(peak)))
        };
        let (pieces, least) = of(cut);
        needs.least_bytes = (pieces > of(whole).0).then_some(least);
    }
    needs
}

/// A preview, which another job may have switched on, is no part of the picture.
fn counts(need: &ModuleEstimate) -> bool {
    !(need.module == Module::Vae && need.phase == PhaseKind::Denoising)
}
