//! What makes two models the same, and two modules of theirs.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::policy::Bytes;
use crate::ffi::ContextParams;
use atelier_core::placement::{Module, Placement, WeightLocation, parse_backend, parse_params_backend};
use atelier_core::recipe::{FileRole, Lora, ModelFiles};

/// Files with the settings with which they were opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    load: ContextParams,
    fingerprints: Vec<(FileRole, Fingerprint)>,
}

/// A file as it was when its header was read: one that was replaced since is another model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Fingerprint {
    fn of(path: &Path) -> Self {
        let metadata = path.metadata().ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        Self { path: path.to_owned(), bytes: metadata.as_ref().map_or(0, Metadata::len), modified }
    }
}

/// The files as they are now.
pub(crate) fn fingerprints(files: &ModelFiles, loras: &[Lora]) -> Vec<Fingerprint> {
    let paths = files.iter().map(|(_, path)| path).chain(loras.iter().map(|lora| lora.path.as_path()));
    paths.map(Fingerprint::of).collect()
}

/// Everything on which a module's weights depend that another model could have too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shareable {
    fingerprints: Vec<(FileRole, Fingerprint)>,
    threads: u32,
    flash_attention: bool,
    runs_on: String,
    weights: String,
}

const TEXT_ENCODERS: [FileRole; 5] = [FileRole::Llm, FileRole::LlmVision, FileRole::ClipL, FileRole::ClipG, FileRole::T5xxl];
const AUTOENCODERS: [FileRole; 2] = [FileRole::Vae, FileRole::Taesd];

impl Key {
    pub(super) fn new(load: &ContextParams) -> Self {
        Self { load: load.clone(), fingerprints: load.files.iter().map(|(role, path)| (role, Fingerprint::of(path))).collect() }
    }

    pub(super) const fn files(&self) -> &ModelFiles {
        &self.load.files
    }

    /// What a person calls it, for want of better: the name of its largest part's file.
    pub(super) fn name(&self) -> String {
        let main = self.load.files.main();
        main.and_then(Path::file_stem).map_or_else(|| "another model".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// What another model must agree in so that both can use one module. `None`: the module is not of files of its own.
    pub(super) fn shareable(&self, module: Module) -> Option<Shareable> {
        let roles: &[FileRole] = match module {
            // PhotoMaker reaches into the text encoder.
            Module::Te if self.load.files.get(FileRole::Photomaker).is_none() => &TEXT_ENCODERS,
            Module::Vae => &AUTOENCODERS,
            _ => return None,
        };
        // What such files leave out comes from the whole model's file.
        if module == Module::Te && self.load.files.get(FileRole::Model).is_some() {
            return None;
        }
        let fingerprints: Vec<(FileRole, Fingerprint)> =
            self.fingerprints.iter().filter(|(role, _)| roles.contains(role)).cloned().collect();
        if fingerprints.is_empty() {
            return None;
        }
        let runs_on = parse_backend(&self.load.backend).ok()?.place_of(module).to_owned();
        let weights = parse_params_backend(&self.load.params_backend).ok()?.place_of(module).to_owned();
        let ContextParams { threads, flash_attention, .. } = self.load;
        Some(Shareable { fingerprints, threads, flash_attention, runs_on, weights })
    }
}

impl Key {
    /// Everything but the text and the model's family on which a text's encoding depends.
    pub(super) fn encoders(&self) -> String {
        let reads = |role: FileRole| role == FileRole::Model || TEXT_ENCODERS.contains(&role);
        let fingerprints: Vec<&(FileRole, Fingerprint)> = self.fingerprints.iter().filter(|(role, _)| reads(*role)).collect();
        let runs_on = parse_backend(&self.load.backend).map(|backend| backend.place_of(Module::Te).to_owned()).unwrap_or_default();
        let ContextParams { threads, flash_attention, .. } = self.load;
        format!("{fingerprints:?} {runs_on} {threads} {flash_attention}")
    }
}

/// What a model may take of each device, by the sizes of its files alone.
pub(super) fn guessed_bytes(load: &ContextParams, placement: &Placement) -> Bytes {
    let mut bytes = Bytes::new();
    for (role, path) in load.files.iter() {
        let seat = placement.assignment(role.module());
        let device = match &seat.weights {
            WeightLocation::Device(device) => device,
            WeightLocation::Disk => &seat.runs_on,
        };
        *bytes.entry(device.clone()).or_default() += path.metadata().map_or(0, |metadata| metadata.len());
    }
    bytes
}
