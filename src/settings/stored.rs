//! The settings file's own types and their conversion, field by field. A name here is part of the format: it never changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{NamedPlacement, PreviewChoice, Settings, ThemeChoice, WindowPlace, Zoom};
use crate::studio::updates::{UpdateChoice, UpdateSettings};
use atelier_core::placement::{Module, Reserve, module_named};
use atelier_core::recipe::{ControlImage, FileRole, ImageSource, InitImage, Lora, PlacementText, Recipe};

/// Version of the format that this program writes.
pub(super) const VERSION: u32 = 1;
/// Reference pictures beyond these are no recipe.
const MOST_PICTURES: usize = 64;
/// No processor has more threads.
const MOST_THREADS: u32 = 4096;
/// Stored word for the built-in model, whose folder may be another one in the next version.
const BUILTIN: &str = "built-in";

#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredSettings {
    #[serde(default)]
    pub(super) version: u32,
    #[serde(default)]
    theme: String,
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
    recipe: StoredRecipe,
    #[serde(default)]
    pins: Option<Vec<String>>,
    #[serde(default)]
    placements: Vec<StoredPlacement>,
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
    prompts: Vec<String>,
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
    stream_layers: bool,
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

fn keys(modules: &BTreeSet<Module>) -> Vec<String> {
    modules.iter().map(|module| module.key().to_owned()).collect()
}

fn modules(keys: &[String]) -> BTreeSet<Module> {
    keys.iter().filter_map(|key| module_named(key)).collect()
}

#[derive(Serialize, Deserialize)]
#[serde(default)]
struct StoredRecipe {
    files: BTreeMap<String, PathBuf>,
    prompt: String,
    negative_prompt: String,
    width: u32,
    height: u32,
    steps: u32,
    guidance: f32,
    distilled_guidance: f32,
    sampler: Option<String>,
    scheduler: Option<String>,
    eta: Option<f32>,
    flow_shift: Option<f32>,
    clip_skip: Option<u32>,
    seed: i64,
    rng: String,
    batch_count: u32,
    vae_tiling: bool,
    flash_attention: bool,
    vae_conv_scale: bool,
    start_picture: Option<PathBuf>,
    start_strength: f32,
    mask: Option<PathBuf>,
    reference_pictures: Vec<PathBuf>,
    control_picture: Option<PathBuf>,
    control_strength: f32,
    loras: Vec<StoredLora>,
    threads: Option<u32>,
    backend: String,
    params_backend: String,
    max_vram: String,
    stream_layers: bool,
    split_batch: String,
}

#[derive(Serialize, Deserialize)]
struct StoredLora {
    path: PathBuf,
    strength: f32,
}

impl Default for StoredRecipe {
    fn default() -> Self {
        Self::from(&Recipe::default())
    }
}

impl From<&Recipe> for StoredRecipe {
    fn from(recipe: &Recipe) -> Self {
        let file = |source: &ImageSource| match source {
            ImageSource::File(path) => Some(path.clone()),
            ImageSource::Pixels(_) => None,
        };
        Self {
            files: recipe.files.iter().map(|(role, path)| (role.key().to_owned(), path.to_owned())).collect(),
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            width: recipe.width,
            height: recipe.height,
            steps: recipe.steps,
            guidance: recipe.guidance,
            distilled_guidance: recipe.distilled_guidance,
            sampler: recipe.sampler.map(|it| it.key().to_owned()),
            scheduler: recipe.scheduler.map(|it| it.key().to_owned()),
            eta: recipe.eta,
            flow_shift: recipe.flow_shift,
            clip_skip: recipe.clip_skip,
            seed: recipe.seed,
            rng: recipe.rng.key().to_owned(),
            batch_count: recipe.batch_count,
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            vae_conv_scale: recipe.vae_conv_scale,
            start_picture: recipe.init.as_ref().and_then(|init| file(&init.image)),
            start_strength: recipe.init.as_ref().map_or(0.75, |init| init.strength),
            mask: recipe.mask.as_ref().and_then(file),
            reference_pictures: recipe.reference_images.iter().filter_map(file).collect(),
            control_picture: recipe.control.as_ref().and_then(|control| file(&control.image)),
            control_strength: recipe.control.as_ref().map_or(0.9, |control| control.strength),
            threads: recipe.threads,
            loras: recipe.loras.iter().map(|it| StoredLora { path: it.path.clone(), strength: it.strength }).collect(),
            backend: recipe.placement.backend.clone(),
            params_backend: recipe.placement.params_backend.clone(),
            max_vram: recipe.placement.max_vram.clone(),
            stream_layers: recipe.placement.stream_layers,
            split_batch: recipe.placement.split_batch.clone(),
        }
    }
}

impl From<StoredRecipe> for Recipe {
    fn from(stored: StoredRecipe) -> Self {
        let usual = Self::default();
        let within = |value: f32, low: f32, high: f32, usual: f32| if (low..=high).contains(&value) { value } else { usual };
        Self {
            files: stored.files.into_iter().filter_map(|(key, path)| Some((FileRole::from_key(&key)?, path))).collect(),
            prompt: stored.prompt,
            negative_prompt: stored.negative_prompt,
            width: stored.width.clamp(64, 8192),
            height: stored.height.clamp(64, 8192),
            steps: stored.steps.clamp(1, 1000),
            guidance: within(stored.guidance, 0.0, 100.0, usual.guidance),
            distilled_guidance: within(stored.distilled_guidance, 0.0, 100.0, usual.distilled_guidance),
            sampler: stored.sampler.and_then(|name| name.parse().ok()),
            scheduler: stored.scheduler.and_then(|name| name.parse().ok()),
            eta: stored.eta.filter(|it| (0.0..=10.0).contains(it)),
            flow_shift: stored.flow_shift.filter(|it| (0.0..=100.0).contains(it)),
            clip_skip: stored.clip_skip.filter(|it| (1..=12).contains(it)),
            seed: stored.seed.max(-1),
            rng: stored.rng.parse().unwrap_or_default(),
            batch_count: stored.batch_count.clamp(1, 1000),
            vae_tiling: stored.vae_tiling,
            flash_attention: stored.flash_attention,
            vae_conv_scale: stored.vae_conv_scale,
            init: stored
                .start_picture
                .map(|path| InitImage { image: ImageSource::File(path), strength: within(stored.start_strength, 0.0, 1.0, 0.75) }),
            mask: stored.mask.map(ImageSource::File),
            reference_images: stored.reference_pictures.into_iter().take(MOST_PICTURES).map(ImageSource::File).collect(),
            control: stored
                .control_picture
                .map(|path| ControlImage { image: ImageSource::File(path), strength: within(stored.control_strength, 0.0, 1.0, 0.9) }),
            threads: stored.threads.filter(|it| (1..=MOST_THREADS).contains(it)),
            loras: stored.loras.into_iter().map(|it| Lora { path: it.path, strength: within(it.strength, -10.0, 10.0, 1.0) }).collect(),
            placement: PlacementText {
                backend: stored.backend,
                params_backend: stored.params_backend,
                max_vram: stored.max_vram,
                stream_layers: stored.stream_layers,
                split_batch: stored.split_batch,
            },
        }
    }
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
            preview: preview.into(),
            pictures_folder: settings.pictures_folder.clone(),
            renderer: if settings.wgpu { "wgpu" } else { "glow" }.into(),
            window: settings.window,
            zoom: Some(settings.zoom.factor()),
            model: if settings.builtin { BUILTIN } else { "files" }.into(),
            recipe: StoredRecipe::from(&settings.recipe),
            pins: settings.pins.as_ref().map(keys),
            placements: settings.placements.iter().map(StoredPlacement::from).collect(),
            servers: settings.servers.clone(),
            load_ahead: Some(settings.preload),
            reserve: Some(StoredReserve { percent: settings.reserve.percent, most_bytes: settings.reserve.most_bytes }),
            cpu_math: settings.cpu_math.map(|math| math.name().into()),
            updates: StoredUpdates::from(&settings.updates),
            prompts: settings.prompts.clone(),
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            theme: match stored.theme.as_str() {
                "light" => ThemeChoice::Light,
                "dark" => ThemeChoice::Dark,
                _ => ThemeChoice::System,
            },
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
            recipe: stored.recipe.into(),
            pins: stored.pins.as_deref().map(modules),
            placements: stored.placements.into_iter().map(NamedPlacement::from).collect(),
            servers: stored.servers,
            preload: stored.load_ahead.unwrap_or(true),
            reserve: stored
                .reserve
                .filter(|it| it.percent <= 100)
                .map_or_else(Reserve::default, |it| Reserve { percent: it.percent, most_bytes: it.most_bytes }),
            cpu_math: stored.cpu_math.and_then(|name| name.parse().ok()),
            updates: stored.updates.into(),
            prompts: stored.prompts,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        StoredSettings::default().into()
    }
}
