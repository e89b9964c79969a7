//! Identity of models, and of the modules that two of them can share.

use std::path::Path;

use super::policy::Bytes;
use crate::ffi::ContextParams;
use crate::fingerprint::Fingerprint;
use atelier_core::placement::{Assignment, Module, Placement, WeightLocation};
use atelier_core::recipe::{FileRole, ModelFiles, Recipe};
use atelier_language::tr;

/// Files with the settings with which they were opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    params: ContextParams,
    fingerprints: Vec<(FileRole, Fingerprint)>,
}

/// Everything on which the weights of a module depend; models with equal values can share them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shareable {
    fingerprints: Vec<(FileRole, Fingerprint)>,
    threads: u32,
    /// The settings with which the model was opened.
    settings: Recipe,
    assignments: Vec<Assignment>,
}

const TEXT_ENCODERS: [FileRole; 5] = [FileRole::Llm, FileRole::LlmVision, FileRole::ClipL, FileRole::ClipG, FileRole::T5xxl];
const AUTOENCODERS: [FileRole; 2] = [FileRole::Vae, FileRole::Taesd];

impl Key {
    pub(super) fn new(params: &ContextParams) -> Self {
        Self { params: params.clone(), fingerprints: params.files.iter().map(|(role, path)| (role, Fingerprint::of(path))).collect() }
    }

    pub(super) const fn files(&self) -> &ModelFiles {
        &self.params.files
    }

    /// The devices of its modules, without budgets.
    pub(super) const fn placement(&self) -> &Placement {
        &self.params.placement
    }

    /// The name of its main file, for a person.
    pub(super) fn name(&self) -> String {
        let main = self.params.files.main();
        main.and_then(Path::file_stem).map_or_else(|| tr!("engine-another-model").to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The part of the key on which the weights of one module depend. `None`: the module has no
    /// files of its own.
    pub(super) fn shareable(&self, module: Module) -> Option<Shareable> {
        let roles: &[FileRole] = match module {
            // The encodings of a prompt with a person belong to the PhotoMaker's file too.
            encoder if encoder.is_encoder() && self.params.files.get(FileRole::Photomaker).is_none() => &TEXT_ENCODERS,
            Module::Vae => &AUTOENCODERS,
            _ => return None,
        };
        // Weights that such files lack come from the whole model's file.
        if module.is_encoder() && self.params.files.get(FileRole::Model).is_some() {
            return None;
        }
        let fingerprints: Vec<(FileRole, Fingerprint)> =
            self.fingerprints.iter().filter(|(role, _)| roles.contains(role)).cloned().collect();
        if fingerprints.is_empty() {
            return None;
        }
        // Text encoders are shared together.
        let together: &[Module] = if module.is_encoder() { &Module::ENCODERS } else { &[module] };
        let assignments = together.iter().map(|module| self.params.placement.assignment(*module).clone()).collect();
        let ContextParams { threads, settings, .. } = self.params.clone();
        Some(Shareable { fingerprints, threads, settings, assignments })
    }
}

impl Key {
    /// Everything but the text and the model's family on which a text's encoding depends.
    pub(super) fn encoders(&self) -> String {
        let reads = |role: FileRole| matches!(role, FileRole::Model | FileRole::Photomaker) || TEXT_ENCODERS.contains(&role);
        let fingerprints: Vec<&(FileRole, Fingerprint)> = self.fingerprints.iter().filter(|(role, _)| reads(*role)).collect();
        let runs_on = Module::ENCODERS.map(|module| &self.params.placement.assignment(module).runs_on);
        let ContextParams { threads, settings, .. } = &self.params;
        let (flash_attention, mask, padding) = (settings.flash_attention, settings.chroma_t5_mask, settings.chroma_t5_padding);
        let photomaker = self.files().get(FileRole::Photomaker).map(|_| &self.params.placement.assignment(Module::Photomaker).runs_on);
        let (weight_type, rules) = (settings.weight_type, &settings.tensor_type_rules);
        format!("{fingerprints:?} {runs_on:?} {photomaker:?} {threads} {flash_attention} {mask} {padding} {weight_type:?} {rules}")
    }
}

/// Bytes of a model on each device, estimated from the sizes of its files alone.
pub(super) fn guessed_bytes(params: &ContextParams, placement: &Placement) -> Bytes {
    let mut bytes = Bytes::new();
    for (role, path) in params.files.iter() {
        let seat = placement.assignment(role.module());
        let device = match &seat.weights {
            WeightLocation::Device(device) => device,
            WeightLocation::Disk => &seat.runs_on,
        };
        *bytes.entry(device.clone()).or_default() += path.metadata().map_or(0, |metadata| metadata.len());
    }
    bytes
}
