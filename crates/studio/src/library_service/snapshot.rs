//! Snapshot of the library: cards, folders, settings and problems, built from the scan, the
//! catalogue and the settings. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use atelier_core::paths::Paths;
use atelier_library::disk::{FileStatus, Layout, ScanResult};
use atelier_library::{LibraryConfig, Machine, Manifest, ModelCard, Models, Sha256, Usage, first_choices, model_cards};

/// Upper bound of the problems in a snapshot.
const MAX_PROBLEMS: usize = 50;

/// The library as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LibrarySnapshot {
    /// Cards: the built-in model, then what is on this machine, then what can be downloaded.
    pub cards: Vec<ModelCard>,
    /// Families of the cards, sorted.
    pub families: Vec<String>,
    /// Folders that are scanned, Atelier's own first.
    pub folders: Vec<FolderSummary>,
    /// Folders, files and settings that could not be read, in sentences.
    pub problems: Vec<String>,
    /// Every folder was listed.
    pub listed: bool,
    /// Every file was read, too.
    pub complete: bool,
    /// Ids of recommended first models for this machine, the best first.
    pub starter_ids: Vec<String>,
    /// About how many seconds this machine takes for a picture with each model of the catalogue,
    /// by its id, once its devices were measured.
    pub about_secs: BTreeMap<String, f64>,
    /// Bytes on disk of all model files, once counted.
    pub total_bytes: Option<u64>,
    /// Settings of the library.
    pub settings: LibrarySettings,
}

/// Settings of the library, which window and command line share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibrarySettings {
    /// Folder of downloaded models.
    pub models_root: PathBuf,
    /// The folder is the default one.
    pub is_default_root: bool,
    /// Number of files downloaded at the same time.
    pub parallel_files: usize,
    /// Origin of the Hugging Face token.
    pub token: TokenState,
    /// Ids of models whose licence the person accepted.
    pub accepted: BTreeSet<String>,
}

/// Origin of the Hugging Face token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenState {
    /// There is no token.
    #[default]
    None,
    /// It was pasted into Atelier and saved.
    Saved,
    /// Another program or the environment has one.
    External,
}

/// A folder with models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSummary {
    /// Absolute path.
    pub path: PathBuf,
    /// Label of its layout: ComfyUI, A1111...
    pub layout: &'static str,
    /// Number of model files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// It is Atelier's own.
    pub is_own: bool,
}

/// Inputs of a snapshot.
pub(super) struct SnapshotInputs<'a> {
    pub(super) builtin: Option<&'a ModelCard>,
    pub(super) paths: &'a Paths,
    pub(super) config: &'a LibraryConfig,
    pub(super) models: &'a Models,
    pub(super) scan: &'a ScanResult,
    pub(super) usage: Option<&'a Usage>,
    /// Files that Atelier downloaded.
    pub(super) downloaded: &'a BTreeMap<PathBuf, Option<Sha256>>,
    pub(super) token: TokenState,
    /// This machine, which good first models suit.
    pub(super) machine: Option<&'a Machine>,
    /// Faults of catalogues and of the settings file, in sentences.
    pub(super) problems: &'a [String],
}

impl LibrarySnapshot {
    pub(super) fn build(inputs: &SnapshotInputs<'_>) -> Self {
        let mut cards = model_cards(inputs.models, inputs.scan, inputs.usage, inputs.downloaded);
        cards.splice(0..0, inputs.builtin.cloned());
        let faulty = inputs.scan.files.iter().filter_map(|it| match &it.status {
            FileStatus::Faulty { advice, .. } => Some(advice.to_string()),
            FileStatus::Unread | FileStatus::Known(_) | FileStatus::Pickle => None,
        });
        let problems = inputs.problems.iter().chain(&inputs.models.problems).chain(&inputs.scan.problems).cloned();
        let catalogue = &inputs.models.catalogue;
        let starters = inputs.machine.map(|machine| first_choices(catalogue, machine)).unwrap_or_default();
        let secs = |machine: &Machine| {
            let of_entry = |it: &Manifest| Some((it.id.clone(), machine.picture_secs(it, catalogue)?));
            catalogue.entries().iter().filter_map(of_entry).collect()
        };
        Self {
            families: families(&cards),
            folders: folders(inputs.scan),
            problems: problems.chain(faulty).take(MAX_PROBLEMS).collect(),
            listed: inputs.scan.listed,
            complete: inputs.scan.complete,
            starter_ids: starters.into_iter().map(|it| it.id.clone()).collect(),
            about_secs: inputs.machine.map(secs).unwrap_or_default(),
            total_bytes: inputs.usage.map(|it| it.total),
            settings: LibrarySettings {
                models_root: inputs.config.models_root(inputs.paths),
                is_default_root: inputs.config.models_root.is_none(),
                parallel_files: inputs.config.at_once(),
                token: inputs.token,
                accepted: inputs.config.accepted.clone(),
            },
            cards,
        }
    }
}

fn families(cards: &[ModelCard]) -> Vec<String> {
    let families: BTreeSet<&String> = cards.iter().filter_map(|it| it.family.as_ref()).collect();
    families.into_iter().cloned().collect()
}

fn folders(scan: &ScanResult) -> Vec<FolderSummary> {
    let summaries = scan.folders.iter().map(|folder| {
        let is_inside = |path: &Path| folder.roots.iter().any(|(root, _)| path.starts_with(root));
        let bytes: Vec<u64> = scan.files.iter().filter(|it| is_inside(&it.path)).map(|it| it.bytes).collect();
        FolderSummary {
            path: folder.path.clone(),
            layout: folder.layout.label(),
            files: bytes.len(),
            bytes: bytes.iter().sum(),
            is_own: folder.layout == Layout::Own,
        }
    });
    summaries.collect()
}
