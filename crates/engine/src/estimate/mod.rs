//! What recipes take, found out beside whatever runs.
//!
//! The engine itself goes the way of each picture on devices that hold nothing (`ffi::Estimator`), once with its graphs whole and its
//! weights where they run, which gives weights and compute buffers, and once cut as small as can be, which gives the least that a module
//! runs with. Invariants: nothing here holds weights, waits for a job or makes one wait; the same question has the same answer until a
//! file changes. Not here: whether it fits (`placement`).

mod alternatives;
mod asked;
mod queries;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cache::{Fingerprint, fingerprints};
use super::failure;
use super::ffi::{CallError, ContextParams, Estimator, JobCallbacks, Limits, ModuleEstimate};
use crate::history::History;
use crate::protocol::{Estimate, Failure, LogLevel, PhaseKind};
use asked::Asked;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Assignment, Module, ModuleNeeds, Needs, Phase, Placement, WeightLocation};
use atelier_core::recipe::{PlacementText, Recipe, Rgb8};
use atelier_core::sentences::sentence;
use atelier_library::HeaderCache;

pub(super) use queries::answer_queries;

/// Models that stay open: they hold headers and names only. One for each of the two ways, of the model asked about and of the last.
const OPEN_MODELS: usize = 6;
/// EstimateCache that are kept: sizes that a person tries, forwards and back.
const KNOWN_NEEDS: usize = 256;
/// A limit that cuts a graph as small as it can be.
const SMALLEST: Limits = Limits { diffusion: 1, te: 1, clip_vision: 1, vae: 1, stream_layers: false };

/// Everything that is kept between questions.
#[derive(Default)]
pub(super) struct Estimates {
    headers: HeaderCache,
    /// The newest last.
    open: Vec<Open>,
    answers: EstimateCache,
    measured: History,
}

/// What was answered, for whoever asks the same again; clones share it.
#[derive(Clone, Default)]
pub(super) struct EstimateCache {
    /// The newest last.
    known: Arc<Mutex<Vec<(Question, Needs)>>>,
}

struct Open {
    load: ContextParams,
    fingerprints: Vec<Fingerprint>,
    estimator: Estimator,
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq)]
struct Question {
    asked: Asked,
    load: ContextParams,
    fingerprints: Vec<Fingerprint>,
    cut_on: Option<PlacementText>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum EstimateError {
    /// It is not wanted any more.
    Outdated,
    /// It cannot be said.
    Failed(Box<Failure>),
}

impl From<Failure> for EstimateError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl Estimates {
    pub(super) fn new(answers: EstimateCache, measured: History) -> Self {
        Self { answers, measured, ..Self::default() }
    }

    /// Whether models are open, which takes memory.
    pub(super) const fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Closes them; what was answered is still known.
    pub(super) fn close(&mut self) {
        self.open.clear();
    }

    /// What a recipe takes, and what it could be instead. `outdated` is asked often.
    pub(super) fn estimate(&mut self, recipe: &Recipe, devices: &[Device], outdated: &dyn Outdated) -> Result<Estimate, EstimateError> {
        let asked = Asked::new(&mut self.headers, recipe)?;
        let needs = self.needs(&asked, devices, outdated)?;
        let alternatives = self.alternatives(&asked, &needs, devices, outdated)?;
        Ok(Estimate { needs, alternatives, slack_bytes: self.measured.slack(devices) })
    }

    /// What a picture takes.
    fn needs(&mut self, asked: &Asked, devices: &[Device], outdated: &dyn Outdated) -> Result<Needs, EstimateError> {
        let question = Question::new(asked, devices)?;
        if let Some(needs) = self.answers.find(&question) {
            return Ok(needs);
        }
        let whole = self.run(asked, &question.load, &Limits::default(), outdated)?;
        let cut = match &question.cut_on {
            Some(text) => self.run(asked, &asked.load(text), &SMALLEST, outdated)?,
            None => Vec::new(),
        };
        let needs = assembled(&whole, &cut);
        self.answers.keep(question, needs.clone());
        Ok(needs)
    }

    /// What a picture takes that takes no more than another, whose least is told for its own: to be exact there would cost more than it is
    /// worth for what is only offered.
    fn smaller_needs(&mut self, asked: &Asked, than: &Needs, devices: &[Device], outdated: &dyn Outdated) -> Result<Needs, EstimateError> {
        let question = Question { cut_on: None, ..Question::new(asked, devices)? };
        let mut needs = if let Some(needs) = self.answers.find(&question) {
            needs
        } else {
            let whole = assembled(&self.run(asked, &question.load, &Limits::default(), outdated)?, &[]);
            self.answers.keep(question, whole.clone());
            whole
        };
        for (module, its) in &mut needs.modules {
            its.least_bytes = than.modules.get(module).and_then(|than| than.least_bytes);
        }
        Ok(needs)
    }

    fn run(
        &mut self,
        asked: &Asked,
        load: &ContextParams,
        limits: &Limits,
        outdated: &dyn Outdated,
    ) -> Result<Vec<ModuleEstimate>, EstimateError> {
        let sink = Asking { outdated, log: Mutex::default() };
        let shot = asked.shot();
        let ran = self.estimator(load, &sink).and_then(|estimator| estimator.run(&shot.generate_params(asked), limits, &sink));
        ran.map_err(|error| {
            // What failed half-way is not asked again.
            self.open.retain(|open| open.load != *load);
            if outdated.is_outdated() { EstimateError::Outdated } else { failure::of_call(&error, sink.log_lines()).into() }
        })
    }

    fn estimator(&mut self, load: &ContextParams, sink: &dyn JobCallbacks) -> Result<&mut Estimator, CallError> {
        let fingerprints = fingerprints(&load.files, &[]);
        let open = self.open.iter().position(|open| open.load == *load && open.fingerprints == fingerprints);
        let open = match open {
            Some(index) => self.open.remove(index),
            None => Open { load: load.clone(), fingerprints, estimator: Estimator::new(load, sink)? },
        };
        if self.open.len() == OPEN_MODELS {
            self.open.remove(0);
        }
        self.open.push(open);
        self.open.last_mut().map(|open| &mut open.estimator).ok_or_else(|| unreachable!("one was pushed above"))
    }
}

impl Question {
    fn new(asked: &Asked, devices: &[Device]) -> Result<Self, EstimateError> {
        let placement = Placement::parse(&asked.recipe.placement, devices)
            .map_err(|error| Failure::new(sentence(&error.to_string()), "Change the placement, or leave it empty."))?;
        let load = asked.load(&resident(&placement));
        let cut_on = in_ram(&placement, devices).map(|placement| placement.text());
        let mut asked = asked.clone();
        // Where weights live and what may be used changes nothing about what is needed.
        asked.recipe.placement = PlacementText::default();
        Ok(Self { fingerprints: fingerprints(&load.files, &asked.recipe.loras), asked, load, cut_on })
    }
}

impl EstimateCache {
    /// What a recipe takes, where that was asked before.
    pub(super) fn of(&self, headers: &mut HeaderCache, recipe: &Recipe, devices: &[Device]) -> Option<Needs> {
        let asked = Asked::new(headers, recipe).ok()?;
        self.find(&Question::new(&asked, devices).ok()?)
    }

    fn find(&self, question: &Question) -> Option<Needs> {
        let mut known = self.lock();
        let index = known.iter().position(|(known, _)| known == question)?;
        let answer = known.remove(index);
        let needs = answer.1.clone();
        known.push(answer);
        Some(needs)
    }

    fn keep(&self, question: Question, needs: Needs) {
        let mut known = self.lock();
        if known.len() >= KNOWN_NEEDS {
            known.remove(0);
        }
        known.push((question, needs));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Question, Needs)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether somebody still wants the answer.
pub(super) trait Outdated: Sync {
    fn is_outdated(&self) -> bool;
}

/// The news of an estimate: only what the engine says is kept, to explain a failure.
struct Asking<'a> {
    outdated: &'a dyn Outdated,
    log: Mutex<Vec<String>>,
}

impl Asking<'_> {
    fn log_lines(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl JobCallbacks for Asking<'_> {
    fn log(&self, level: LogLevel, text: &str) {
        if level >= LogLevel::Warn {
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
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

/// Where each module runs, with its weights there.
fn resident(placement: &Placement) -> PlacementText {
    let mut all = placement.clone();
    for module in Module::ALL {
        all.set(module, Assignment::at(&placement.assignment(module).runs_on));
    }
    PlacementText { max_vram: String::new(), stream_layers: false, ..all.text() }
}

/// Every module on a device whose graphs can be cut, its own where that is one, with its weights in RAM. `None`: there is no such device.
fn in_ram(placement: &Placement, devices: &[Device]) -> Option<Placement> {
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

/// From what the modules took in the two runs.
fn assembled(whole: &[ModuleEstimate], cut: &[ModuleEstimate]) -> Needs {
    let mut needs = Needs::default();
    for need in whole.iter().filter(|need| counts(need)) {
        let module: &mut ModuleNeeds = needs.modules.entry(need.module).or_default();
        module.weight_bytes = module.weight_bytes.max(need.weight_bytes);
        module.lora_bytes = module.lora_bytes.max(need.lora_bytes);
        let compute = module.compute_bytes.entry(Phase::from(need.phase)).or_default();
        *compute = (*compute).max(need.compute_bytes);
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
