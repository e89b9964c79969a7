//! A picture file that is opened or dropped, whichever program made it: its settings as settings of
//! a recipe, with models found on this machine, and what of them is not understood, not here, or
//! will be different.

mod foreign;
mod models;
mod sampling;
#[cfg(test)]
mod written_tests;

use std::fs;
use std::path::Path;

use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PartialRecipe, PictureInfo, Recipe, RequiredFile};
use atelier_language::tr;
use atelier_library::ModelKind;
use atelier_media::{MissingFile, PictureSettings, StoredRecipe, Tool, read_settings};

pub use foreign::SettingLine;
pub use models::{KnownModels, MissingModel, ModelRemedy};

use crate::made_from;
use foreign::Translation;

/// A picture file with settings.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedPicture {
    /// The program that made it.
    pub tool: Tool,
    /// Its settings, as far as they are understood; what is not on this machine is left out.
    pub settings: PartialRecipe,
    pub understood: Vec<SettingLine>,
    pub not_understood: Vec<SettingLine>,
    /// What will be different here, in sentences.
    pub differences: Vec<String>,
    /// Models and LoRAs that are not on this machine.
    pub missing: Vec<MissingModel>,
    /// Its seed, where it tells one; the index in its batch is not known.
    pub info: PictureInfo,
    /// What a person should know of it.
    pub notes: Vec<PictureNote>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl OpenedPicture {
    /// Its settings, with the usual ones where it tells none.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        let mut recipe = Recipe::default();
        self.settings.apply(&mut recipe);
        recipe
    }

    /// Sentences about what is not here and what will be different.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(MissingModel::sentence).chain(self.differences.iter().cloned())
    }
}

/// Reads a picture file with settings; `None` where it has none, or cannot be read. Pictures that
/// the recipe starts from are looked for beside the file, and where they are kept for it. Blocks.
#[must_use]
pub fn read_opened_picture(path: &Path, known: &KnownModels<'_>) -> Option<OpenedPicture> {
    let mut settings = read_settings(path).ok()?;
    let tool = settings.tool?;
    let (width, height) = (settings.width, settings.height);
    let mut info = PictureInfo { index: 0, seed: None, cpu_math: None, merged_loras: false };
    let mut notes = Vec::new();
    let translation = if let Some(stored) = settings.recipe.take() {
        info.cpu_math = stored.cpu_math();
        notes = stored.notes();
        own(stored, &settings, path, known)
    } else {
        info.cpu_math = settings.cpu_math;
        foreign::translate(&settings, tool, known)
    };
    let Translation { settings, understood, not_understood, differences, missing } = translation;
    info.seed = settings.seed.flatten();
    Some(OpenedPicture { tool, settings, understood, not_understood, differences, missing, info, notes, width, height })
}

/// The settings of a picture of Atelier, which tell everything.
fn own(stored: StoredRecipe, from: &PictureSettings, path: &Path, known: &KnownModels<'_>) -> Translation {
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_it = |path: &Path, bytes: u64| fs::metadata(path).is_ok_and(|file| file.is_file() && (bytes == 0 || file.len() == bytes));
    let name = stored.model().map(str::to_owned);
    let restored = stored.into_recipe(|need, name, bytes| match need {
        RequiredFile::Image | RequiredFile::IdEmbedding => made_from::find(folder, name, |path| is_it(path, bytes)),
        RequiredFile::File(_) | RequiredFile::Lora | RequiredFile::Embedding => {
            known.files.iter().find(|path| path.file_name().is_some_and(|it| it == name) && is_it(path, bytes)).cloned()
        }
    });
    let mut it = foreign::translate(from, Tool::Atelier, &KnownModels::default());
    let notes = restored.notes.into_iter().map(|value| SettingLine { name: tr!("gallery-setting").to_owned(), value });
    it.settings = PartialRecipe::of(&restored.recipe);
    (it.not_understood, it.differences, it.missing) = (notes.collect(), Vec::new(), Vec::new());
    let remedy = |kind, name: &str| models::find(known.cards, kind, Some(name), None).err().flatten();
    let (files, extras): (Vec<MissingFile>, Vec<_>) = restored.missing.into_iter().partition(|it| matches!(it.need, RequiredFile::File(_)));
    if !files.is_empty() {
        let names: Vec<&str> = files.iter().map(|it| it.name.as_str()).collect();
        let by_file = || names.iter().find_map(|name| remedy(ModelKind::Model, name));
        let remedy = name.as_deref().and_then(|name| remedy(ModelKind::Model, name)).or_else(by_file);
        it.missing.push(MissingModel { kind: ModelKind::Model, name: names.join(", "), remedy });
    }
    if !files.is_empty() || restored.recipe.files.is_empty() {
        (it.settings.files, it.settings.negative_in_prompt) = (None, None);
    }
    for MissingFile { need, name, .. } in extras.into_iter().filter(|it| !it.name.is_empty()) {
        if need == RequiredFile::Lora {
            it.missing.push(MissingModel { kind: ModelKind::Lora, remedy: remedy(ModelKind::Lora, &name), name });
        } else if need == RequiredFile::Embedding {
            it.missing.push(MissingModel { kind: ModelKind::Part, remedy: remedy(ModelKind::Part, &name), name });
        } else {
            let kind = if need == RequiredFile::IdEmbedding { "file" } else { "picture" };
            it.differences.push(tr!("studio-the-is-not-in", kind, name));
        }
    }
    it
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use atelier_library::ModelCard;

    use super::*;
    use atelier_core::recipe::{FileRole, Lora, ModelFiles, Rgb8, Rng, Sampler, Scheduler, Seed};

    fn picture(folder: &Path, recipe: &Recipe) -> PathBuf {
        let pixels = Rgb8::new(8, 4, vec![9; 96]).unwrap();
        let info =
            PictureInfo { index: 2, seed: Some(Seed(77)), cpu_math: Some(atelier_core::cpu_math::CpuMath::F32), merged_loras: false };
        crate::results::store_picture(folder, recipe, info, &[], &pixels).unwrap()
    }

    #[test]
    fn the_recipe_comes_back_with_the_files_of_this_machine_by_name_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let (model, other) = (folder.path().join("m.gguf"), folder.path().join("elsewhere/m.gguf"));
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        fs::write(&model, "four").unwrap();
        fs::write(&other, "another size").unwrap();
        let mut recipe = Recipe { prompt: "a lake".into(), width: 8, height: 4, ..Recipe::default() };
        recipe.files.set(FileRole::Diffusion, &model);
        recipe.loras = vec![Lora::new("/nowhere/ink.safetensors".into(), 0.5)];
        let path = picture(folder.path(), &recipe);

        let known = |files: &[PathBuf]| read_opened_picture(&path, &KnownModels { files, cards: &[] }).unwrap();
        let opened = known(&[other.clone(), model.clone()]);
        assert_eq!(opened.recipe().files.get(FileRole::Diffusion), Some(model.as_path()));
        assert_eq!((opened.recipe().prompt.as_str(), opened.recipe().seed, opened.info.seed), ("a lake", Some(Seed(77)), Some(Seed(77))));
        assert_eq!((opened.width, opened.height), (8, 4));
        assert_eq!(opened.info.cpu_math, Some(atelier_core::cpu_math::CpuMath::F32));
        let names = |picture: &OpenedPicture| picture.missing.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&opened), ["ink.safetensors"]);
        let without = known(&[other]);
        assert_eq!(names(&without), ["m.gguf", "ink.safetensors"]);
        assert_eq!(without.settings.files, None, "the model in use stays");
    }

    #[test]
    fn what_has_no_settings_is_no_such_picture() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("a.png");
        fs::write(&text, "no picture").unwrap();
        let known = KnownModels::default();
        assert!(read_opened_picture(&text, &known).is_none() && read_opened_picture(folder.path(), &known).is_none());
    }

    fn opened(name: &str, cards: &[ModelCard]) -> OpenedPicture {
        let folder = tempfile::tempdir().unwrap();
        let picture = testkit::pictures::tool_pictures().into_iter().find(|picture| picture.name == name).unwrap();
        read_opened_picture(&picture.write(folder.path()).unwrap(), &KnownModels { files: &[], cards }).unwrap()
    }

    #[test]
    fn a_picture_of_another_program_changes_what_it_tells_and_nothing_else() {
        let opened = opened("a1111.png", &[]);
        let mut recipe = Recipe { eta: Some(0.5), batch_count: 3, ..Recipe::default() };
        recipe.files.set(FileRole::Model, "/models/mine.safetensors");
        let before = recipe.clone();
        opened.settings.apply(&mut recipe);
        let changed = atelier_core::recipe::changed_settings(&before, &recipe);
        let expected = ["prompt", "negative prompt", "size", "steps", "guidance", "sampler", "scheduler", "CLIP skip", "seed", "upscaling"];
        assert_eq!(changed, expected);
        assert_eq!((recipe.sampler, recipe.scheduler), (Some(Sampler::Dpmpp2m), Some(Scheduler::Karras)));
        assert_eq!(opened.differences, ["The picture was upscaled by 4x-UltraSharp: Atelier upscales with Lanczos."], "its noise is ours");
        let missing: Vec<String> = opened.missing.iter().map(MissingModel::sentence).collect();
        assert_eq!(missing, ["Model sd_xl_base_1.0 is not on this machine.", "LoRA ink is not on this machine."]);
        let left: Vec<&str> = opened.not_understood.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(left, ["VAE"]);
        assert_eq!(recipe.hires.and_then(|hires| hires.steps), Some(12));
    }

    #[test]
    fn a_picture_of_sd_cli_has_the_settings_of_its_json_and_the_file_of_its_diffusion_module() {
        use atelier_core::recipe::{CacheMode, StepCache, TileSize};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let json = serde_json::json!({
            "auto_resize_ref_image": true, "models": {"diffusion_model": "sea.gguf"}, "seed": 42, "schema": "sdcpp.image.params/v1",
            "cache": {"requested_mode": "spectrum", "requested_option": "w=0.25", "scm_mask": "", "scm_policy_dynamic": true},
            "sampling": {"flow_shift": 2.0, "shifted_timestep": 250, "guidance": {"img_cfg": 1.5, "txt_cfg": 3.0}, "steps": 14},
            "vae_tiling": {"enabled": true, "target_overlap": 0.5, "tile_size_x": 16, "tile_size_y": 16}
        });
        let text = format!(
            "a lake\nSteps: 14, CFG scale: 3.000000, Guidance: 3.500000, Eta: inf, Seed: 42, Size: 64x64, Model: , RNG: cuda, \
             Sampler: euler discrete, TE: q.gguf, Unet: sea.gguf, Version: stable-diffusion.cpp, SDCPP: {json}"
        );
        fs::write(&path, testkit::pictures::png(&[("parameters", &text)])).unwrap();
        let opened = read_opened_picture(&path, &KnownModels::default()).unwrap();
        let it = &opened.settings;
        let cache = StepCache { options: StepCache::read_options("w=0.25").unwrap(), ..StepCache::of(CacheMode::Spectrum) };
        assert_eq!((&it.step_cache, it.timestep_shift), (&Some(Some(cache)), Some(Some(250))));
        assert_eq!((it.flow_shift, it.image_guidance), (Some(Some(2.0)), Some(Some(1.5))));
        assert_eq!((it.vae_tiling, it.vae_tile_size, it.vae_tile_overlap), (Some(true), Some(Some(TileSize::square(16))), Some(None)));
        let missing: Vec<String> = opened.missing.iter().map(MissingModel::sentence).collect();
        assert_eq!(missing, ["Model sea.gguf is not on this machine."]);
        let left: Vec<&str> = opened.not_understood.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(left, ["TE"]);
        let lines: Vec<&str> = opened.understood.iter().map(|line| line.name.as_str()).collect();
        assert!(["Step cache", "Timestep shift", "VAE tiling"].iter().all(|name| lines.contains(name)), "{lines:?}");
    }

    #[test]
    fn what_could_not_be_read_is_said_and_never_becomes_an_empty_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let graph = r#"{"1": {"class_type": "Wildcards", "inputs": {"text": "a hut"}}, "2": {"class_type": "CLIPTextEncode", "inputs": {"text": ["1", 0]}},
            "3": {"class_type": "KSampler", "inputs": {"seed": 18446744073709551615, "steps": 4, "positive": ["2", 0], "latent_image": ["4", 0]}},
            "4": {"class_type": "EmptyLatentImage", "inputs": {"width": ["1", 0], "height": 64}},
            "5": {"class_type": "SaveImage", "inputs": {"images": ["3", 0]}}}"#;
        fs::write(&path, testkit::pictures::png(&[("prompt", graph)])).unwrap();
        let opened = read_opened_picture(&path, &KnownModels::default()).unwrap();
        assert_eq!((&opened.settings.prompt, opened.settings.width, opened.settings.seed), (&None, None, Some(Some(Seed::MAX))));
        let said: Vec<String> = opened.sentences().collect();
        assert_eq!(said, ["Not readable in the picture: prompt and size. Set them yourself."]);
        let mut recipe = Recipe { prompt: "mine".into(), ..Recipe::default() };
        opened.settings.apply(&mut recipe);
        assert_eq!(recipe.prompt, "mine");
    }

    #[test]
    fn and_stays_a_word_where_the_program_of_the_picture_reads_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let opened = |key: &str, text: &str, cards: &[ModelCard]| {
            fs::write(&path, testkit::pictures::png(&[(key, text)])).unwrap();
            let opened = read_opened_picture(&path, &KnownModels { files: &[], cards }).unwrap();
            (opened.settings.prompt.unwrap(), opened.differences.iter().any(|it| it.contains("AND is a word")))
        };
        let graph = r#"{"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "sea.safetensors"}},
            "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "salt AND (pepper:1.2)", "clip": ["1", 1]}},
            "3": {"class_type": "KSampler", "inputs": {"seed": 4, "steps": 4, "positive": ["2", 0], "latent_image": ["4", 0], "model": ["1", 0]}},
            "4": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64}},
            "5": {"class_type": "SaveImage", "inputs": {"images": ["3", 0]}}}"#;
        let card = |family: &str| ModelCard {
            name: "Sea".into(),
            kind: ModelKind::Model,
            availability: atelier_library::Availability::InPlace,
            family: Some(family.into()),
            ..ModelCard::default()
        };
        let (as_word, as_it_was) = ("salt and (pepper:1.2)".to_owned(), "salt AND (pepper:1.2)".to_owned());
        assert_eq!(opened("prompt", graph, &[]), (as_word.clone(), true));
        assert_eq!(opened("prompt", graph, &[card("SDXL")]), (as_word, true));
        assert_eq!(opened("prompt", graph, &[card("Z-Image")]), (as_it_was.clone(), false), "nothing is joined there");
        let joined = "salt AND (pepper:1.2)\nSteps: 4, Sampler: Euler, CFG scale: 7, Seed: 4, Size: 64x64, Version: v1.10.1";
        assert_eq!(opened("parameters", joined, &[]), (as_it_was, false), "A1111 joins them");
    }

    #[test]
    fn brackets_and_tags_that_are_letters_to_the_program_stay_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let opened = |key: &str, text: &str| {
            fs::write(&path, testkit::pictures::png(&[(key, text)])).unwrap();
            let opened = read_opened_picture(&path, &KnownModels::default()).unwrap();
            let said = |words: &str| opened.differences.iter().any(|it| it.contains(words));
            let told = (said("brackets are escaped"), said("oil is left out"));
            (opened.settings.prompt.unwrap(), opened.settings.negative_prompt.unwrap_or_default(), told)
        };
        let graph = |class: &str, input: &str, words: &str| {
            serde_json::json!({
                "2": { "class_type": class, "inputs": { input: words } },
                "6": { "class_type": "CLIPTextEncode", "inputs": { "text": "[fog]" } },
                "3": { "class_type": "KSampler", "inputs": { "seed": 4, "steps": 4, "positive": ["2", 0], "negative": ["6", 0], "latent_image": ["4", 0] } },
                "4": { "class_type": "EmptyLatentImage", "inputs": { "width": 64, "height": 64 } },
                "5": { "class_type": "SaveImage", "inputs": { "images": ["3", 0] } },
            })
            .to_string()
        };
        let words = "(pier:1.2) [dawn:dusk:0.4] BREAK <lora:oil:0.7>(reeds";
        let (as_letters, negative) = (r"(pier:1.2) \[dawn:dusk:0.4\] break \(reeds", r"\[fog\]");
        let read = opened("prompt", &graph("CLIPTextEncode", "text", words));
        assert_eq!(read, (as_letters.to_owned(), negative.to_owned(), (true, true)));
        let marked = opened("prompt", &graph("CLIPTextEncode", "text", "a pier // [dawn] /* [dusk */"));
        assert_eq!(marked.0, r"a pier // \[dawn\] /* \[dusk */", "marks of comments are words there");
        let impact = opened("prompt", &graph("ImpactWildcardEncode", "populated_text", words));
        assert_eq!(impact, (words.to_owned(), "[fog]".to_owned(), (false, false)), "it reads LoRAs and BREAK as A1111 does");
        // Its choices are of what a weight does; it reads as `ComfyUI` does.
        let of_weights = opened("prompt", &graph("BNK_CLIPTextEncodeAdvanced", "text", words));
        assert_eq!(of_weights, read);

        let fooocus = serde_json::json!({ "prompt": "a [pier|quay]", "negative_prompt": "fog", "seed": "4", "steps": 4, "resolution": "(64, 64)",
            "performance": "Speed", "base_model": "sea" });
        assert_eq!(opened("parameters", &fooocus.to_string()).0, r"a \[pier|quay\]");
        let invoke = serde_json::json!({ "app_version": "5.4.0", "positive_prompt": "a pier <lora:oil:1>, reeds", "seed": 4, "steps": 4 });
        assert_eq!(opened("invokeai_metadata", &invoke.to_string()), ("a pier, reeds".into(), String::new(), (false, true)));
        let a1111 = "a [pier] BREAK (reeds\nSteps: 4, Sampler: Euler, CFG scale: 7, Seed: 4, Size: 64x64, Version: v1.10.1";
        assert_eq!(opened("parameters", a1111), ("a [pier] BREAK (reeds".into(), String::new(), (false, false)));
    }

    #[test]
    fn what_will_be_different_is_said() {
        let differences = |name: &str| opened(name, &[]).differences.join(" ");
        assert_eq!(differences("comfyui both graphs.png"), "");
        assert!(differences("fooocus.png").contains("no sampler named dpmpp_2m_sde_gpu"));
        assert!(differences("novelai.png").contains("the same seed gives another picture"));
        assert!(differences("invokeai 2.png").contains("no sampler named k_lms"));
        assert_eq!(opened("invokeai 5.png", &[]).settings.rng, Some(Rng::Cpu));
    }

    #[test]
    fn a_model_that_is_known_by_its_hash_brings_the_settings_that_suit_it() {
        let files: ModelFiles = [(FileRole::Model, PathBuf::from("/models/renamed.safetensors"))].into_iter().collect();
        let hash = format!("31e35c80fc{}", "0".repeat(54));
        let file = atelier_library::CardFile {
            role: atelier_library::Role::Part(FileRole::Model),
            name: "renamed.safetensors".into(),
            path: Some("/models/renamed.safetensors".into()),
            bytes: None,
            facts: None,
            sha256: hash.try_into().ok(),
        };
        let defaults = atelier_library::Defaults { flow_shift: Some(3.0), steps: Some(4), ..atelier_library::Defaults::default() };
        let runnable =
            atelier_library::Runnable { id: "renamed".into(), name: "Renamed".into(), files: files.clone(), loras: Vec::new(), defaults };
        let card = ModelCard {
            name: "Renamed".into(),
            kind: ModelKind::Model,
            availability: atelier_library::Availability::InPlace,
            files: vec![file],
            runnable: Some(runnable),
            ..ModelCard::default()
        };
        let settings = opened("a1111.png", &[card]).settings;
        assert_eq!((settings.files, settings.steps, settings.flow_shift), (Some(files), Some(28), Some(Some(3.0))));
    }
}
