//! Reads and writes the settings file. It is written whole or not at all; where it is read, a field
//! that makes no sense costs itself alone.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Settings;
use super::stored::StoredSettings;
use atelier_core::advice::Advice;
use atelier_core::paths;
use atelier_core::stored_file::put_aside;
use atelier_studio::settings_file::{SettingsProblem, read_settings_file};

/// Most parts of a damaged file that are tried, and values that are gone through for all of them.
const MAX_TRIALS: u32 = 2000;
const MAX_TRIED_VALUES: usize = 20_000_000;

/// Settings could not be written.
#[derive(Debug, thiserror::Error)]
#[error("Your settings could not be written to {path}: {source}. Check that the folder exists and may be written to.", path = path.display())]
pub struct SettingsError {
    path: PathBuf,
    source: io::Error,
}

/// Settings that were read, and what is to be known of their file.
#[derive(Debug, Default)]
pub struct LoadedSettings {
    /// The settings; the usual ones where the file has none for this program.
    pub settings: Settings,
    /// What was wrong with the file; `None` where nothing was.
    pub problem: Option<Advice>,
    /// The file is somebody's and is not written to.
    pub is_left_alone: bool,
}

/// Reads the settings. The usual ones where there is no file yet, or none that this program can
/// use. A damaged file is kept as `.bad`; one of a newer program, and one that cannot be read now,
/// are left alone.
#[must_use]
pub fn load(path: &Path) -> LoadedSettings {
    let problem = match look(path) {
        Ok((settings, notes)) => {
            let problem = (!notes.is_empty()).then(|| Advice::new("Some settings were not as this version needs them.", notes.join(" ")));
            return LoadedSettings { settings, problem, is_left_alone: false };
        }
        Err(problem) => problem,
    };
    tracing::warn!("{problem}");
    let advice = problem.advice();
    let SettingsProblem::Damaged { .. } = problem else {
        return LoadedSettings { problem: Some(advice), is_left_alone: true, ..LoadedSettings::default() };
    };
    let (hint, is_left_alone) = match put_aside(path) {
        Ok(backup) => (format!("Atelier begins with the usual settings. The old file is kept as {}.", backup.display()), false),
        Err(error) => (format!("It could not be put aside ({error}), so Atelier keeps no settings. Remove or repair it."), true),
    };
    LoadedSettings { problem: Some(Advice::new(advice.sentence, hint)), is_left_alone, ..LoadedSettings::default() }
}

/// The settings in a file, which stays as it is, and a sentence on each that was changed; the usual
/// ones where there is no file.
///
/// # Errors
/// Where this program cannot use them.
pub fn look(path: &Path) -> Result<(Settings, Vec<String>), SettingsProblem> {
    let Some(value) = read_settings_file(path)? else {
        return Ok((Settings { counts_automatically: true, open_folds: BTreeSet::new(), ..Settings::default() }, Vec::new()));
    };
    parse(value).map_err(|error| SettingsProblem::Damaged { path: path.to_owned(), reason: error.to_string() })
}

/// The settings in this value, without the fields that make no sense.
fn parse(value: Value) -> Result<(Settings, Vec<String>), serde_json::Error> {
    let stored: StoredSettings = match StoredSettings::deserialize(&value) {
        Ok(stored) => stored,
        Err(error) => repaired(value).ok_or(error)?,
    };
    Ok(stored.restore())
}

/// What can be read of settings that cannot be read as a whole; `None` where that is nothing.
fn repaired(value: Value) -> Option<StoredSettings> {
    let mut trials = MAX_TRIALS.min((MAX_TRIED_VALUES / values_in(&value)) as u32);
    let kept = readable_part(value, &mut trials, &|value| serde_json::from_value::<StoredSettings>(value.clone()).is_ok())?;
    tracing::warn!("some fields of the settings make no sense and are left out");
    serde_json::from_value(kept).ok()
}

/// The part of `value` that is `accepted`: of objects and lists the entries that are, one by one.
/// `None` where that is nothing, or once as many parts were tried as there are `trials`.
fn readable_part(value: Value, trials: &mut u32, accepted: &dyn Fn(&Value) -> bool) -> Option<Value> {
    *trials = trials.checked_sub(1)?;
    if accepted(&value) {
        return Some(value);
    }
    let kept = match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            // The small ones first, so that a long list does not take the trials of all others.
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by_key(|(_, field)| values_in(field));
            for (key, field) in fields {
                let with = |field: &Value| {
                    let mut whole = kept.clone();
                    whole.insert(key.clone(), field.clone());
                    Value::Object(whole)
                };
                if let Some(part) = readable_part(field, trials, &|field| accepted(&with(field))) {
                    kept.insert(key, part);
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let is_item_accepted = |item: &Value| accepted(&Value::Array(vec![item.clone()]));
            Value::Array(items.into_iter().filter_map(|item| readable_part(item, trials, &is_item_accepted)).collect())
        }
        _ => return None,
    };
    accepted(&kept).then_some(kept)
}

/// Number of values in a value, itself included.
fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(values_in).sum(),
        Value::Array(items) => items.iter().map(values_in).sum(),
        _ => 0,
    }
}

/// Writes the settings whole or not at all.
///
/// # Errors
/// If the folder cannot be written to.
pub fn save(path: &Path, settings: &Settings) -> Result<(), SettingsError> {
    write(path, settings).map_err(|source| SettingsError { path: path.to_owned(), source })
}

fn write(path: &Path, settings: &Settings) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(&StoredSettings::from(settings))?;
    // They hold prompts.
    paths::write_private(path, &text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::http::{DiskQuota, Retention};
    use crate::settings::{ChosenStudio, NamedPlacement, PreviewChoice, SharingSettings, ThemeChoice, WindowPlace, Zoom};
    use atelier_core::cpu_math::CpuMath;
    use atelier_core::placement::{Module, Reserve};
    use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, PlacementText, Recipe, Sampler, Scheduler, Seed};
    use atelier_language::Language;
    use atelier_studio::studio_model::StudioModel;
    use atelier_studio::updates::{UpdateChoice, UpdateSettings};

    fn full() -> Settings {
        let mut recipe = Recipe {
            prompt: "ein Haus am See, 湖, \"quoted\"\nand a second line".into(),
            negative_prompt: "fog".into(),
            negative_in_prompt: true,
            template: "a {lake|sea}".into(),
            words_seed: Some(Seed::MAX),
            width: 768,
            height: 1024,
            steps: 9,
            guidance: 1.0,
            sampler: Some(Sampler::Dpmpp2sA),
            scheduler: Some(Scheduler::SgmUniform),
            eta: Some(0.5),
            flow_shift: Some(3.0),
            clip_skip: Some(2),
            seed: Some(Seed::MAX),
            batch_count: 4,
            vae_tiling: true,
            flash_attention: false,
            init: Some(InitImage { image: ImageSource::File("/tmp/start.png".into()), strength: 0.5 }),
            mask: Some(ImageSource::File("/tmp/mask.png".into())),
            further_starts: vec![ImageSource::File("/tmp/start-2.png".into())],
            loras: vec![Lora::new("/tmp/lora.safetensors".into(), -0.5)],
            disabled_loras: vec![Lora::new("/tmp/oil.safetensors".into(), 0.5)],
            embeddings: vec!["/tmp/fog.safetensors".into()],
            placement: PlacementText { backend: "all=cpu".into(), max_vram: "6".into(), ..PlacementText::default() },
            ..Recipe::default()
        };
        for role in FileRole::ALL {
            recipe.files.set(role, format!("/models/{}.gguf", role.key()));
        }
        Settings {
            theme: ThemeChoice::Dark,
            language: Some(Language::Japanese),
            preview: PreviewChoice::Fine,
            pictures_folder: Some("/tmp/pictures".into()),
            wgpu: true,
            window: Some(WindowPlace { x: Some(-5.0), y: None, width: 1440.0, height: 900.0, maximized: false, scale: Some(1.5) }),
            zoom: Zoom::from_factor(1.3),
            builtin: true,
            recipe,
            pins: Some([Module::T5, Module::Vae].into()),
            placements: vec![NamedPlacement {
                model: "z.gguf".into(),
                name: "two cards".into(),
                text: PlacementText {
                    backend: "all=cuda0,te=cuda1".into(),
                    stream_layers: "diffusion,te.t5".parse().unwrap(),
                    ..PlacementText::default()
                },
                pins: Module::ENCODERS.into(),
            }],
            places_automatically: false,
            servers: vec!["studio.local:50052".into()],
            preload: false,
            counts_automatically: true,
            open_folds: [crate::settings::Fold::More].into(),
            hides_side_panel: true,
            reserve: Reserve { percent: 20, most_bytes: 3 << 30 },
            cpu_math: Some(CpuMath::F32),
            updates: UpdateSettings { choice: UpdateChoice::Weekly, checked_secs: 1_790_000_000, seen: "1.2.3".parse().ok() },
            auto_advance: true,
            shows_phrases: false,
            sharing: SharingSettings {
                at_start: true,
                network: true,
                require_token: true,
                quota: DiskQuota::of_gigabytes(3),
                retention: Retention::of_days(30),
                announce: true,
                studio_name: "Studio of Anna".into(),
            },
            studio: Some(ChosenStudio {
                model: StudioModel { studio: "Studio of Ben".into(), model: "Dream".into() },
                own_recipe: Recipe { steps: 30, loras: vec![Lora::new("/tmp/ink.safetensors".into(), 0.5)], ..Recipe::default() },
            }),
            prompts: vec!["a lake".into(), "ein See,\ngrößer".into()],
            recent_commands: vec!["create-setting-steps".into()],
            recent_settings: vec!["create-setting-eta".into()],
            recent_models: vec![Recipe { steps: 9, ..Recipe::default() }, Recipe { guidance: 2.0, ..Recipe::default() }],
        }
    }

    #[test]
    fn everything_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new folder/settings.json");
        save(&path, &full()).unwrap();
        assert_eq!(load(&path).settings, full());
        let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(files.len(), 1, "nothing temporary is left");
    }

    #[test]
    fn a_file_of_a_version_before_zoom_and_scale_keeps_its_window() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, r#"{"version":1,"window":{"x":40,"y":null,"width":1200,"height":800,"maximized":true}}"#).unwrap();
        let settings = load(&path).settings;
        let window = WindowPlace { x: Some(40.0), y: None, width: 1200.0, height: 800.0, maximized: true, scale: None };
        assert_eq!((settings.window, settings.zoom), (Some(window), Zoom::default()));
    }

    #[test]
    fn a_missing_file_means_the_defaults_of_a_first_start() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = load(&folder.path().join("settings.json"));
        let first = Settings { counts_automatically: true, open_folds: BTreeSet::new(), ..Settings::default() };
        assert!(loaded.settings == first && loaded.problem.is_none() && !loaded.is_left_alone);
    }

    #[test]
    fn a_damaged_file_is_kept_beside_and_said_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (round, text) in ["{ not json", "[]", r#"{"theme": "dark"}"#].into_iter().enumerate() {
            fs::write(&path, text).unwrap();
            let loaded = load(&path);
            assert_eq!(loaded.settings, Settings::default());
            let problem = loaded.problem.unwrap();
            assert!(problem.sentence.contains("damaged") && problem.hint.contains(".bad") && !loaded.is_left_alone, "{problem:?}");
            assert!(!path.exists());
            let kept = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(kept, round + 1, "each old file is kept");
        }
        assert_eq!(fs::read_to_string(folder.path().join("settings.json.bad")).unwrap(), "{ not json");
    }

    #[test]
    fn a_file_of_a_newer_program_and_one_that_cannot_be_read_now_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let newer = r#"{"version": 2, "recipe": ["of another form"]}"#;
        fs::write(&path, newer).unwrap();
        let loaded = load(&path);
        assert!(loaded.is_left_alone && loaded.settings == Settings::default());
        let problem = loaded.problem.unwrap();
        assert!(problem.sentence.contains("newer Atelier") && !problem.sentence.contains("damaged"), "{problem:?}");
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), fs::read_dir(folder.path()).unwrap().count()), (newer, 1));

        // Also root cannot read a folder as a file.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let loaded = load(&path);
        assert!(loaded.is_left_alone && loaded.problem.unwrap().sentence.contains("cannot be read now"));
        assert!(path.is_dir() && fs::read_dir(folder.path()).unwrap().count() == 1);
    }

    #[cfg(unix)]
    #[test]
    fn settings_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        save(&path, &full()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_unknown_word_loses_one_setting_and_not_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let text = r#"{"version":1,"theme":"sepia","future":[1],"window":{"x":1e30,"y":0,"width":1,"height":1,"maximized":false},
            "recipe":{"prompt":"kept","sampler":"of the future","files":{"vae":"/v","novel":"/n"},"steps":0,"guidance":-3,"seed":-9}}"#;
        fs::write(&path, text).unwrap();
        let LoadedSettings { settings, problem, .. } = load(&path);
        assert_eq!((settings.theme, settings.window), (ThemeChoice::System, None));
        assert_eq!(settings.recipe.prompt, "kept");
        assert_eq!((settings.recipe.sampler, settings.recipe.steps, settings.recipe.seed), (None, 1, None));
        assert_eq!(settings.recipe.guidance, 0.0);
        assert!(problem.unwrap().hint.contains("Steps: 1 instead of 0."));
        assert_eq!(settings.recipe.files.iter().count(), 1);
    }

    #[test]
    fn a_field_that_makes_no_sense_costs_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        save(&path, &full()).unwrap();
        let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let with = |pointer: &str, value: Value| {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            parse(changed).unwrap().0
        };
        let usual = Recipe::default();
        // The window lacks its height, which is not made up.
        let window = serde_json::json!({"x": 40, "y": null, "width": 1200, "maximized": true});
        assert_eq!(with("/window", window), Settings { window: None, ..full() });
        let window = serde_json::json!({"x": 40, "width": 1200, "height": 800});
        let kept = WindowPlace { x: Some(40.0), y: None, width: 1200.0, height: 800.0, maximized: false, scale: None };
        assert_eq!(with("/window", window), Settings { window: Some(kept), ..full() });
        assert_eq!(with("/zoom", "large".into()), Settings { zoom: Zoom::default(), ..full() });
        assert_eq!(with("/reserve/percent", 1000.into()), Settings { reserve: Reserve::default(), ..full() });
        assert_eq!(with("/recipe/width", (-1).into()), Settings { recipe: Recipe { width: usual.width, ..full().recipe }, ..full() });
        assert_eq!(with("/recipe/loras/0/strength", Value::Null), Settings { recipe: Recipe { loras: vec![], ..full().recipe }, ..full() });
        assert_eq!(
            with("/servers", serde_json::json!(["a:1", 2, "b:3"])),
            Settings { servers: vec!["a:1".into(), "b:3".into()], ..full() }
        );
        assert_eq!(with("/placements", 7.into()), Settings { placements: vec![], ..full() });
    }

    #[test]
    fn a_damaged_file_of_many_fields_is_given_up_at_once() {
        let many = serde_json::json!({"version": 1, "theme": "dark", "zoom": "x", "servers": vec![0; 100_000]});
        assert_eq!(parse(many).unwrap().0.theme, ThemeChoice::Dark);
    }

    #[test]
    fn a_folder_that_cannot_be_written_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = save(&folder.path().join("file/settings.json"), &Settings::default()).unwrap_err().to_string();
        assert!(error.contains("Check that the folder"), "{error}");
    }
}
