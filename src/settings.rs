//! Settings: what the window remembers from one start to the next.
//!
//! The file has its own types, converted by hand, so that the rest of the program can change without losing anybody's prompt.
//! Invariants: a file that cannot be read is kept beside as `.bad` and never overwritten; one unknown word loses one setting, not all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use atelier_core::paths;
use atelier_core::placement::{Module, Reserve, module_named};
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, PlacementText, Recipe};

/// The version that this program writes.
const VERSION: u32 = 1;
/// How the built-in model is stored: its folder may be another one in the next version.
const BUILTIN: &str = "built-in";
/// A file larger than this is not ours.
const MOST_BYTES: u64 = 4 << 20;

/// What the window remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `light`, `dark`; `None` is as the system has it.
    pub dark: Option<bool>,
    /// How forming pictures are shown.
    pub preview: StoredPreview,
    /// Where finished pictures are kept; `None` is the usual folder.
    pub pictures_folder: Option<PathBuf>,
    /// Draw with wgpu instead of OpenGL.
    pub wgpu: bool,
    /// Where the window was.
    pub window: Option<WindowPlace>,
    /// Whether the model is the built-in one, wherever that is. The recipe's files are then the person's own, to go back to.
    pub builtin: bool,
    /// The settings of the next picture.
    pub recipe: Recipe,
    /// The modules that the planner leaves where they are; `None`: those that the placement's text names.
    pub pins: Option<BTreeSet<Module>>,
    /// Placements with names.
    pub placements: Vec<NamedPlacement>,
    /// Other machines whose devices are borrowed, `host:port`.
    pub servers: Vec<String>,
    /// Whether the chosen model is loaded before a picture is asked for.
    pub warm: bool,
    /// What is left of each device to other programs.
    pub reserve: Reserve,
}

impl Default for Settings {
    fn default() -> Self {
        StoredSettings::default().into()
    }
}

/// A placement with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlacement {
    /// The names of the model's files.
    pub model: String,
    /// Its name.
    pub name: String,
    /// Where everything runs and lives.
    pub text: PlacementText,
    /// The modules that the planner leaves where they are.
    pub pins: BTreeSet<Module>,
}

/// Where the window was, in points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPlace {
    /// Left edge; `None` where the system does not tell.
    pub x: Option<f32>,
    /// Top edge; `None` where the system does not tell.
    pub y: Option<f32>,
    /// Width of its inside.
    pub width: f32,
    /// Height of its inside.
    pub height: f32,
    /// Whether it filled the screen.
    pub maximized: bool,
}

impl WindowPlace {
    /// The place, where it can be one: numbers that a screen can have.
    #[must_use]
    pub fn sane(self) -> Option<Self> {
        let numbers = [self.x.unwrap_or(0.0), self.y.unwrap_or(0.0)];
        let near = numbers.iter().all(|it| (-20_000.0..20_000.0).contains(it));
        let size = (200.0..20_000.0).contains(&self.width) && (200.0..20_000.0).contains(&self.height);
        (near && size).then_some(self)
    }
}

/// How forming pictures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredPreview {
    /// Not at all.
    Off,
    /// Rough and free.
    #[default]
    Quick,
    /// Through the tiny autoencoder.
    Fine,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredSettings {
    version: u32,
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
    batch_count: u32,
    vae_tiling: bool,
    flash_attention: bool,
    start_picture: Option<PathBuf>,
    start_strength: f32,
    mask: Option<PathBuf>,
    loras: Vec<StoredLora>,
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
            batch_count: recipe.batch_count,
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            start_picture: recipe.init.as_ref().and_then(|init| file(&init.image)),
            start_strength: recipe.init.as_ref().map_or(0.75, |init| init.strength),
            mask: recipe.mask.as_ref().and_then(file),
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
            batch_count: stored.batch_count.clamp(1, 1000),
            vae_tiling: stored.vae_tiling,
            flash_attention: stored.flash_attention,
            init: stored
                .start_picture
                .map(|path| InitImage { image: ImageSource::File(path), strength: within(stored.start_strength, 0.0, 1.0, 0.75) }),
            mask: stored.mask.map(ImageSource::File),
            loras: stored.loras.into_iter().map(|it| Lora { path: it.path, strength: within(it.strength, -10.0, 10.0, 1.0) }).collect(),
            placement: PlacementText {
                backend: stored.backend,
                params_backend: stored.params_backend,
                max_vram: stored.max_vram,
                stream_layers: stored.stream_layers,
                split_batch: stored.split_batch,
            },
            ..usual
        }
    }
}

impl From<&Settings> for StoredSettings {
    fn from(settings: &Settings) -> Self {
        let theme = match settings.dark {
            None => "system",
            Some(true) => "dark",
            Some(false) => "light",
        };
        let preview = match settings.preview {
            StoredPreview::Off => "off",
            StoredPreview::Quick => "quick",
            StoredPreview::Fine => "fine",
        };
        Self {
            version: VERSION,
            theme: theme.into(),
            preview: preview.into(),
            pictures_folder: settings.pictures_folder.clone(),
            renderer: if settings.wgpu { "wgpu" } else { "glow" }.into(),
            window: settings.window,
            model: if settings.builtin { BUILTIN } else { "files" }.into(),
            recipe: StoredRecipe::from(&settings.recipe),
            pins: settings.pins.as_ref().map(keys),
            placements: settings.placements.iter().map(StoredPlacement::from).collect(),
            servers: settings.servers.clone(),
            load_ahead: Some(settings.warm),
            reserve: Some(StoredReserve { percent: settings.reserve.percent, most_bytes: settings.reserve.most_bytes }),
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            dark: match stored.theme.as_str() {
                "dark" => Some(true),
                "light" => Some(false),
                _ => None,
            },
            preview: match stored.preview.as_str() {
                "off" => StoredPreview::Off,
                "fine" => StoredPreview::Fine,
                _ => StoredPreview::Quick,
            },
            pictures_folder: stored.pictures_folder,
            wgpu: stored.renderer == "wgpu",
            window: stored.window.and_then(WindowPlace::sane),
            builtin: stored.model == BUILTIN,
            recipe: stored.recipe.into(),
            pins: stored.pins.as_deref().map(modules),
            placements: stored.placements.into_iter().map(NamedPlacement::from).collect(),
            servers: stored.servers,
            warm: stored.load_ahead.unwrap_or(true),
            reserve: stored
                .reserve
                .filter(|it| it.percent <= 100)
                .map_or_else(Reserve::default, |it| Reserve { percent: it.percent, most_bytes: it.most_bytes }),
        }
    }
}

/// Settings could not be written.
#[derive(Debug, thiserror::Error)]
#[error("Your settings could not be written to {path}: {source}. Check that the folder exists and may be written to.", path = path.display())]
pub struct SettingsError {
    path: PathBuf,
    source: io::Error,
}

/// Reads the settings. The defaults where there is no file yet, or none that can be read; then the old one is kept as `.bad`.
#[must_use]
pub fn load(path: &Path) -> Settings {
    match read(path) {
        Ok(settings) => settings,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Settings::default(),
        Err(error) => {
            let kept = bad_path(path);
            match fs::rename(path, &kept) {
                Ok(()) => tracing::warn!("settings start afresh; the old file is kept at {}: {error}", kept.display()),
                Err(moved) => tracing::warn!("settings start afresh: {error}; the old file could not be kept: {moved}"),
            }
            Settings::default()
        }
    }
}

fn read(path: &Path) -> io::Result<Settings> {
    if fs::metadata(path)?.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
    }
    let stored: StoredSettings = serde_json::from_slice(&fs::read(path)?)?;
    if stored.version != VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("version {} is not known", stored.version)));
    }
    Ok(stored.into())
}

/// `settings.json.bad`, or `.bad2` and so on where that is taken: nothing that was kept is overwritten.
fn bad_path(path: &Path) -> PathBuf {
    let name = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let first = name(".bad");
    if !first.exists() {
        return first;
    }
    (2..100).map(|n| name(&format!(".bad{n}"))).find(|it| !it.exists()).unwrap_or(first)
}

/// Writes the settings whole or not at all.
///
/// # Errors
/// Where the folder cannot be written to.
pub fn save(path: &Path, settings: &Settings) -> Result<(), SettingsError> {
    write(path, settings).map_err(|source| SettingsError { path: path.to_owned(), source })
}

fn write(path: &Path, settings: &Settings) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(&StoredSettings::from(settings))?;
    paths::write_atomic_bytes(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{Sampler, Scheduler};

    fn full() -> Settings {
        let mut recipe = Recipe {
            prompt: "ein Haus am See, 湖, \"quoted\"\nand a second line".into(),
            negative_prompt: "fog".into(),
            width: 768,
            height: 1024,
            steps: 9,
            guidance: 1.0,
            sampler: Some(Sampler::Dpmpp2sA),
            scheduler: Some(Scheduler::SgmUniform),
            eta: Some(0.5),
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            seed: i64::MAX,
            batch_count: 4,
            vae_tiling: true,
            flash_attention: false,
            init: Some(InitImage { image: ImageSource::File("/tmp/start.png".into()), strength: 0.5 }),
            mask: Some(ImageSource::File("/tmp/mask.png".into())),
            loras: vec![Lora { path: "/tmp/lora.safetensors".into(), strength: -0.5 }],
            placement: PlacementText { backend: "all=cpu".into(), max_vram: "6".into(), ..PlacementText::default() },
            ..Recipe::default()
        };
        for role in FileRole::ALL {
            recipe.files.set(role, format!("/models/{}.gguf", role.key()));
        }
        Settings {
            dark: Some(true),
            preview: StoredPreview::Fine,
            pictures_folder: Some("/tmp/pictures".into()),
            wgpu: true,
            window: Some(WindowPlace { x: Some(-5.0), y: None, width: 1440.0, height: 900.0, maximized: false }),
            builtin: true,
            recipe,
            pins: Some([Module::Te, Module::Vae].into()),
            placements: vec![NamedPlacement {
                model: "z.gguf".into(),
                name: "two cards".into(),
                text: PlacementText { backend: "all=cuda0,te=cuda1".into(), stream_layers: true, ..PlacementText::default() },
                pins: [Module::Te].into(),
            }],
            servers: vec!["studio.local:50052".into()],
            warm: false,
            reserve: Reserve { percent: 20, most_bytes: 3 << 30 },
        }
    }

    #[test]
    fn everything_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new folder/settings.json");
        save(&path, &full()).unwrap();
        assert_eq!(load(&path), full());
        let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(files.len(), 1, "nothing temporary is left");
    }

    #[test]
    fn a_missing_file_means_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(load(&folder.path().join("settings.json")), Settings::default());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_kept_beside_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (round, text) in ["{ not json", r#"{"version": 99}"#, "[]"].into_iter().enumerate() {
            fs::write(&path, text).unwrap();
            assert_eq!(load(&path), Settings::default());
            assert!(!path.exists());
            let kept = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(kept, round + 1, "each old file is kept");
        }
        assert_eq!(fs::read_to_string(folder.path().join("settings.json.bad")).unwrap(), "{ not json");
    }

    #[test]
    fn an_unknown_word_loses_one_setting_and_not_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let text = r#"{"version":1,"theme":"sepia","future":[1],"window":{"x":1e30,"y":0,"width":1,"height":1,"maximized":false},
            "recipe":{"prompt":"kept","sampler":"of the future","files":{"vae":"/v","novel":"/n"},"steps":0,"guidance":-3,"seed":-9}}"#;
        fs::write(&path, text).unwrap();
        let settings = load(&path);
        assert_eq!((settings.dark, settings.window), (None, None));
        assert_eq!(settings.recipe.prompt, "kept");
        assert_eq!((settings.recipe.sampler, settings.recipe.steps, settings.recipe.seed), (None, 1, -1));
        assert_eq!(settings.recipe.guidance, Recipe::default().guidance);
        assert_eq!(settings.recipe.files.iter().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_written_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = save(&folder.path().join("file/settings.json"), &Settings::default()).unwrap_err().to_string();
        assert!(error.contains("Check that the folder"), "{error}");
    }
}
