//! The settings file's own types and their conversion, field by field. A name here is part of the
//! format: it never changes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ChosenStudio, Fold, NamedPlacement, PreviewChoice, Settings, SharingSettings, ThemeChoice, WindowPlace, Zoom};
use crate::http::{DiskQuota, Retention};
use atelier_core::placement::{Module, ModuleSet, Reserve, modules_named};
use atelier_core::recipe::{LocalFile, PlacementText, Recipe, Stored};
use atelier_language::Language;
use atelier_studio::settings_file::VERSION;
use atelier_studio::studio_model::StudioModel;
use atelier_studio::updates::{UpdateChoice, UpdateSettings};

/// Stored word for the built-in model, whose folder may be another one in the next version.
const BUILTIN: &str = "built-in";

#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredSettings {
    #[serde(default)]
    pub(super) version: u32,
    #[serde(default)]
    theme: String,
    /// Tag of the language; empty where the system decides.
    #[serde(default)]
    language: String,
    #[serde(default)]
    preview: String,
    #[serde(default)]
    pictures_folder: Option<PathBuf>,
    #[serde(default)]
    renderer: String,
    #[serde(default)]
    window: Option<WindowPlace>,
    #[serde(default)]
    zoom: Option<f32>,
    #[serde(default)]
    model: String,
    #[serde(default)]
    recipe: Option<Stored<LocalFile>>,
    #[serde(default)]
    counts_automatically: bool,
    /// Absent where nothing was said.
    #[serde(default)]
    open_folds: Option<Vec<String>>,
    #[serde(default)]
    hides_side_panel: bool,
    #[serde(default)]
    pins: Option<Vec<String>>,
    #[serde(default)]
    placements: Vec<StoredPlacement>,
    /// Absent where nothing was said.
    #[serde(default)]
    place_automatically: Option<bool>,
    #[serde(default)]
    servers: Vec<String>,
    /// Absent where nothing was said.
    #[serde(default)]
    load_ahead: Option<bool>,
    #[serde(default)]
    reserve: Option<StoredReserve>,
    #[serde(default)]
    cpu_math: Option<String>,
    #[serde(default)]
    updates: StoredUpdates,
    #[serde(default)]
    auto_advance: bool,
    /// Absent where nothing was said.
    #[serde(default)]
    shows_phrases: Option<bool>,
    #[serde(default)]
    sharing: StoredSharing,
    /// Absent where pictures are generated on this computer.
    #[serde(default)]
    studio: Option<StoredStudio>,
    #[serde(default)]
    prompts: Vec<String>,
    #[serde(default)]
    recent_models: Vec<Stored<LocalFile>>,
    #[serde(default)]
    recent_commands: Vec<String>,
    #[serde(default)]
    recent_settings: Vec<String>,
}

/// A model of another studio. One of a studio without a name is none.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredStudio {
    studio: String,
    model: String,
    own_recipe: Option<Stored<LocalFile>>,
}

impl From<&ChosenStudio> for StoredStudio {
    fn from(chosen: &ChosenStudio) -> Self {
        let ChosenStudio { model: StudioModel { studio, model }, own_recipe } = chosen;
        Self { studio: studio.clone(), model: model.clone(), own_recipe: Some(Stored::of(own_recipe, &LocalFile::of)) }
    }
}

impl StoredStudio {
    /// The model, and a sentence on each setting that could not be read or was changed.
    fn restore(self) -> Option<(ChosenStudio, Vec<String>)> {
        let Self { studio, model, own_recipe } = self;
        if studio.is_empty() || model.is_empty() {
            return None;
        }
        let (own_recipe, notes) = own_recipe.map_or_else(Default::default, restored);
        Some((ChosenStudio { model: StudioModel { studio, model }, own_recipe }, notes))
    }
}

/// A recipe, and a sentence on each setting that could not be read or was changed.
fn restored(recipe: Stored<LocalFile>) -> (Recipe, Vec<String>) {
    recipe.restore(&mut |_, file| Some(file.into_path()))
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredSharing {
    at_start: bool,
    network: bool,
    require_token: bool,
    /// Absent where nothing was said.
    disk_quota_gb: Option<u32>,
    /// Absent where nothing was said.
    keep_days: Option<u32>,
    announce: bool,
    studio_name: String,
}

impl From<&SharingSettings> for StoredSharing {
    fn from(settings: &SharingSettings) -> Self {
        let SharingSettings { at_start, network, require_token, quota, retention, announce, studio_name } = settings.clone();
        let (disk_quota_gb, keep_days) = (Some(quota.gigabytes()), Some(retention.days()));
        Self { at_start, network, require_token, disk_quota_gb, keep_days, announce, studio_name }
    }
}

impl From<StoredSharing> for SharingSettings {
    fn from(stored: StoredSharing) -> Self {
        let StoredSharing { at_start, network, require_token, disk_quota_gb, keep_days, announce, studio_name } = stored;
        let quota = disk_quota_gb.map_or_else(DiskQuota::default, DiskQuota::of_gigabytes);
        let retention = keep_days.map_or_else(Retention::default, Retention::of_days);
        Self { at_start, network, require_token, quota, retention, announce, studio_name }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredUpdates {
    /// `weekly`, `off`, or empty where nothing was said.
    choice: String,
    checked_secs: u64,
    seen: String,
}

impl From<&UpdateSettings> for StoredUpdates {
    fn from(updates: &UpdateSettings) -> Self {
        let choice = match updates.choice {
            UpdateChoice::Unasked => "",
            UpdateChoice::Off => "off",
            UpdateChoice::Weekly => "weekly",
        };
        let seen = updates.seen.map_or_else(String::new, |version| version.to_string());
        Self { choice: choice.into(), checked_secs: updates.checked_secs, seen }
    }
}

impl From<StoredUpdates> for UpdateSettings {
    fn from(stored: StoredUpdates) -> Self {
        let choice = match stored.choice.as_str() {
            "weekly" => UpdateChoice::Weekly,
            "off" => UpdateChoice::Off,
            _ => UpdateChoice::Unasked,
        };
        Self { choice, checked_secs: stored.checked_secs, seen: stored.seen.parse().ok() }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct StoredReserve {
    percent: u8,
    most_bytes: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredPlacement {
    model: String,
    name: String,
    backend: String,
    params_backend: String,
    max_vram: String,
    stream_layers: ModuleSet,
    split_batch: String,
    pins: Vec<String>,
}

impl From<&NamedPlacement> for StoredPlacement {
    fn from(named: &NamedPlacement) -> Self {
        let PlacementText { backend, params_backend, max_vram, stream_layers, split_batch } = named.text.clone();
        Self {
            model: named.model.clone(),
            name: named.name.clone(),
            backend,
            params_backend,
            max_vram,
            stream_layers,
            split_batch,
            pins: keys(&named.pins),
        }
    }
}

impl From<StoredPlacement> for NamedPlacement {
    fn from(stored: StoredPlacement) -> Self {
        let StoredPlacement { model, name, backend, params_backend, max_vram, stream_layers, split_batch, pins } = stored;
        let text = PlacementText { backend, params_backend, max_vram, stream_layers, split_batch };
        Self { model, name, text, pins: modules(&pins) }
    }
}

const FOLDS: [Fold; 6] = [Fold::Sampling, Fold::Upscale, Fold::Guides, Fold::Loras, Fold::More, Fold::Steps];

const fn fold_key(fold: Fold) -> &'static str {
    match fold {
        Fold::Sampling => "sampling",
        Fold::Upscale => "upscale",
        Fold::Guides => "guides",
        Fold::Loras => "loras",
        Fold::More => "more",
        Fold::Steps => "steps",
    }
}

/// What was always in sight before it could be folded.
pub(super) fn usual_folds() -> BTreeSet<Fold> {
    BTreeSet::from([Fold::Sampling, Fold::Upscale, Fold::Guides, Fold::Loras])
}

fn keys(modules: &BTreeSet<Module>) -> Vec<String> {
    modules.iter().map(|module| module.key().to_owned()).collect()
}

fn modules(keys: &[String]) -> BTreeSet<Module> {
    keys.iter().filter_map(|key| modules_named(key)).flatten().copied().collect()
}

impl From<&Settings> for StoredSettings {
    fn from(settings: &Settings) -> Self {
        let theme = match settings.theme {
            ThemeChoice::System => "system",
            ThemeChoice::Light => "light",
            ThemeChoice::Dark => "dark",
        };
        let preview = match settings.preview {
            PreviewChoice::Off => "off",
            PreviewChoice::Quick => "quick",
            PreviewChoice::Fine => "fine",
        };
        Self {
            version: VERSION,
            theme: theme.into(),
            language: settings.language.map_or("", Language::tag).into(),
            preview: preview.into(),
            pictures_folder: settings.pictures_folder.clone(),
            renderer: if settings.wgpu { "wgpu" } else { "glow" }.into(),
            window: settings.window,
            zoom: Some(settings.zoom.factor()),
            model: if settings.builtin { BUILTIN } else { "files" }.into(),
            recipe: Some(Stored::of(&settings.recipe, &LocalFile::of)),
            pins: settings.pins.as_ref().map(keys),
            placements: settings.placements.iter().map(StoredPlacement::from).collect(),
            place_automatically: Some(settings.places_automatically),
            servers: settings.servers.clone(),
            load_ahead: Some(settings.preload),
            counts_automatically: settings.counts_automatically,
            open_folds: Some(settings.open_folds.iter().map(|fold| fold_key(*fold).to_owned()).collect()),
            hides_side_panel: settings.hides_side_panel,
            reserve: Some(StoredReserve { percent: settings.reserve.percent, most_bytes: settings.reserve.most_bytes }),
            cpu_math: settings.cpu_math.map(|math| math.name().into()),
            updates: StoredUpdates::from(&settings.updates),
            auto_advance: settings.auto_advance,
            shows_phrases: Some(settings.shows_phrases),
            sharing: StoredSharing::from(&settings.sharing),
            studio: settings.studio.as_ref().map(StoredStudio::from),
            prompts: settings.prompts.clone(),
            recent_models: settings.recent_models.iter().map(|recipe| Stored::of(recipe, &LocalFile::of)).collect(),
            recent_commands: settings.recent_commands.clone(),
            recent_settings: settings.recent_settings.clone(),
        }
    }
}

impl StoredSettings {
    /// The settings, and a sentence on each of the recipe that could not be read or was changed.
    pub(super) fn restore(self) -> (Settings, Vec<String>) {
        let stored = self;
        let (recipe, mut notes) = stored.recipe.map_or_else(Default::default, restored);
        let studio = stored.studio.and_then(StoredStudio::restore).map(|(studio, of_studio)| {
            notes.extend(of_studio);
            studio
        });
        let settings = Settings {
            theme: match stored.theme.as_str() {
                "light" => ThemeChoice::Light,
                "dark" => ThemeChoice::Dark,
                _ => ThemeChoice::System,
            },
            language: Language::from_locale(&stored.language),
            preview: match stored.preview.as_str() {
                "off" => PreviewChoice::Off,
                "fine" => PreviewChoice::Fine,
                _ => PreviewChoice::Quick,
            },
            pictures_folder: stored.pictures_folder,
            wgpu: stored.renderer == "wgpu",
            window: stored.window.and_then(WindowPlace::sane),
            zoom: stored.zoom.map_or_else(Zoom::default, Zoom::from_factor),
            builtin: stored.model == BUILTIN,
            recipe,
            pins: stored.pins.as_deref().map(modules),
            placements: stored.placements.into_iter().map(NamedPlacement::from).collect(),
            places_automatically: stored.place_automatically.unwrap_or(true),
            servers: stored.servers,
            preload: stored.load_ahead.unwrap_or(true),
            counts_automatically: stored.counts_automatically,
            open_folds: stored
                .open_folds
                .map_or_else(usual_folds, |keys| FOLDS.into_iter().filter(|fold| keys.iter().any(|it| it == fold_key(*fold))).collect()),
            hides_side_panel: stored.hides_side_panel,
            reserve: stored
                .reserve
                .filter(|it| it.percent <= 100)
                .map_or_else(Reserve::default, |it| Reserve { percent: it.percent, most_bytes: it.most_bytes }),
            cpu_math: stored.cpu_math.and_then(|name| name.parse().ok()),
            updates: stored.updates.into(),
            auto_advance: stored.auto_advance,
            shows_phrases: stored.shows_phrases.unwrap_or(true),
            sharing: stored.sharing.into(),
            studio,
            prompts: stored.prompts,
            recent_commands: stored.recent_commands,
            recent_settings: stored.recent_settings,
            // What is not read of one has its usual value; it is seen before anything is made with it.
            recent_models: stored.recent_models.into_iter().map(|it| it.restore(&mut |_, file| Some(file.into_path())).0).collect(),
        };
        (settings, notes)
    }
}

impl Default for Settings {
    fn default() -> Self {
        StoredSettings::default().restore().0
    }
}
