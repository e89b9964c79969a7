use super::*;
use crate::placement::ModuleSet;
use crate::recipe::{FileRole, LatentUpscaler, LocalFile, Preprocessor, RedrawTiles, Rgb8, StoredFile};

fn restored<F: FileForm>(text: &str, find: &mut dyn FnMut(RequiredFile, F) -> Option<PathBuf>) -> (Recipe, Vec<String>) {
    serde_json::from_str::<Stored<F>>(text).unwrap().restore(find)
}

fn local(text: &str) -> (Recipe, Vec<String>) {
    restored::<LocalFile>(text, &mut |_, file| Some(file.into_path()))
}

fn stored(recipe: &Recipe) -> String {
    serde_json::to_string(&Stored::of(recipe, &LocalFile::of)).unwrap()
}

#[test]
fn every_setting_has_its_name_in_the_languages() {
    for (key, name) in SETTING_NAMES {
        assert_eq!(setting_name(key), *name, "{key}");
    }
    assert_eq!(setting_name("nothing"), "");
}

fn full() -> Recipe {
    let mut recipe =
        Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), steps: 9, batch_count: 3, threads: Some(3), ..Recipe::default() };
    recipe.files.set(FileRole::Model, "/models/a.safetensors");
    recipe.init = Some(InitImage { image: ImageSource::File("/pictures/b.png".into()), strength: 0.5 });
    recipe.further_starts.push(ImageSource::File("/pictures/b-2.png".into()));
    recipe.start_fit = StartFit::Stretch;
    let images = vec![ImageSource::File("/pictures/ann.png".into()), ImageSource::File("/pictures/ann-2.png".into())];
    recipe.person = Person { images, style_strength: 30.0, id_embedding: Some("/pictures/id_embeds.bin".into()) };
    recipe.area = Some(AreaSettings { feather: Some(3), ..AreaSettings::default() });
    recipe.outpaint = Some(Borders { left: 64, ..Borders::default() });
    let tiles = Some(RedrawTiles { side: Some(512), ..RedrawTiles::default() });
    recipe.hires = Some(Hires { upscaler: Some("/models/x4.safetensors".into()), tiles, allow_pickle: true, ..Hires::default() });
    let hires = recipe.hires.as_mut().unwrap();
    (hires.target, hires.sigmas, hires.latent) = (Some((640, 512)), vec![3.5, 0.0], Some(LatentUpscaler::Antialiased));
    hires.tile_size = Some(96);
    recipe.loras.push(Lora { encoder_strength: Some(0.5), ..Lora::new("/loras/ink.safetensors".into(), 0.8) });
    recipe.lora_mode = LoraMode::Immediately;
    recipe.upscale = Some(Upscale { repeats: 2, tile_size: Some(64), ..Upscale::by("/models/x2.gguf".into()) });
    recipe.earlier_steps = recipe.steps_until(3, Some("a.png".into()));
    recipe.seed_blend = Some(SeedBlend { seed: Seed(9), amount: 0.5 });
    recipe.last_step = Some(4);
    recipe.sampler = Some(Sampler::Dpmpp2sA);
    recipe.rng = Rng::Cpu;
    let control = ControlImage::new(ImageSource::File("/pictures/c.png".into()));
    recipe.control = Some(ControlImage { start: 0.25, end: 0.75, preprocessor: Some(Preprocessor::LineArt), ..control });
    recipe.embeddings.push("/embeddings/fog.safetensors".into());
    recipe.placement.backend = "all=cpu".into();
    recipe.disabled_loras.push(Lora::new("/loras/oil.safetensors".into(), 0.3));
    recipe
}

#[test]
fn a_change_is_named_and_equal_recipes_have_none() {
    let recipe = Recipe::default();
    assert_eq!(changed_settings(&recipe, &recipe), Vec::<&str>::new());
    let other = Recipe { height: 64, seed: Some(Seed(7)), prompt: "a fox".into(), ..Recipe::default() };
    assert_eq!(changed_settings(&recipe, &other), ["prompt", "size", "seed"]);
}

#[test]
fn what_is_beyond_the_limits_is_brought_to_the_nearest_value_with_a_sentence() {
    let mut recipe = Recipe {
        width: 32,
        steps: 0,
        guidance: 150.0,
        distilled_guidance: f32::INFINITY,
        eta: Some(f32::NAN),
        flow_shift: Some(-1.0),
        clip_skip: Some(20),
        batch_count: 5000,
        init: Some(InitImage { image: ImageSource::File("a".into()), strength: 77.0 }),
        loras: vec![Lora::new("ink.safetensors".into(), -11.0)],
        seed_blend: Some(SeedBlend { seed: Seed(4), amount: 3.0 }),
        hires: Some(Hires { scale: 99.0, strength: f32::NAN, ..Hires::default() }),
        ..Recipe::default()
    };
    let notes = recipe.clamp();
    assert_eq!(
        notes,
        [
            "Width: 64 instead of 32.",
            "Steps: 1 instead of 0.",
            "Guidance: 100 instead of 150.",
            "Distilled guidance: 3.5 instead of inf.",
            "Eta: the usual one instead of NaN.",
            "Flow shift: 0 instead of -1.",
            "CLIP skip: 12 instead of 20.",
            "Seed blend: 1 instead of 3.",
            "Number of pictures: 1000 instead of 5000.",
            "Denoising strength: 1 instead of 77.",
            "Upscale factor: 4 instead of 99.",
            "Denoising strength of the second pass: 0.4 instead of NaN.",
            "Strength of ink: -10 instead of -11.",
        ]
    );
    assert_eq!((recipe.guidance, recipe.clip_skip, recipe.seed_blend.unwrap().seed), (100.0, Some(12), Seed(4)));
    assert_eq!(recipe.clone().clamp(), Vec::<String>::new(), "what was changed once is within the limits");
}

#[test]
fn a_prompt_over_its_limit_is_cut_at_a_character_with_a_note() {
    let max = ROWS.prompt.limits;
    let mut recipe = Recipe { prompt: "é".repeat(max + 3), negative_prompt: "é".repeat(max), ..Recipe::default() };
    assert_eq!(recipe.clamp(), [format!("Prompt: the first {max} of {} characters are read.", max + 3)]);
    assert_eq!((recipe.prompt.chars().count(), recipe.negative_prompt.chars().count()), (max, max));
}

#[test]
fn a_preprocessor_that_is_not_here_leaves_the_control_picture_as_it_is() {
    let (recipe, notes) = local(r#"{"control":{"path":"/c.png","start":-1,"end":7,"preprocessor":"normals"}}"#);
    assert_eq!(recipe.control, Some(ControlImage::new(ImageSource::File("/c.png".into()))));
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].contains("\"normals\""), "{notes:?}");
}

#[test]
fn a_list_over_its_limit_is_cut_with_a_note() {
    let loras: Vec<String> = (0..70).map(|n| format!(r#"{{"path":"/{n}.safetensors","strength":1.0}}"#)).collect();
    let (recipe, notes) = local(&format!(r#"{{"loras":[{}]}}"#, loras.join(",")));
    assert_eq!((recipe.loras.len(), &notes[..]), (64, &["LoRAs: 64 instead of 70.".to_owned()][..]));
}

#[test]
fn a_seed_is_one_number_in_every_form_of_a_recipe() {
    for (seed, number) in [(None, "-1"), (Some(Seed(1 << 63)), "9223372036854775808"), (Some(Seed::MAX), "18446744073709551615")] {
        let mut recipe = Recipe { seed, ..Recipe::default() };
        recipe.earlier_steps = recipe.steps_until(3, None);
        recipe.seed_blend = seed.map(|seed| SeedBlend { seed, amount: 0.5 });
        let file = |path: &std::path::Path| StoredFile { name: path.to_string_lossy().into_owned(), bytes: 7 };
        let part = PartialRecipe::of(&recipe);
        let texts = [
            stored(&recipe),
            serde_json::to_string(&Stored::of(&recipe, &file)).unwrap(),
            serde_json::to_string(&recipe).unwrap(),
            serde_json::to_string(&part).unwrap(),
        ];
        for text in &texts {
            assert!(text.contains(&format!("\"seed\":{number},")), "{text}");
        }
        assert_eq!(local(&texts[0]), (recipe.clone(), Vec::new()));
        assert_eq!(restored::<StoredFile>(&texts[1], &mut |_, _| None), (recipe.clone(), Vec::new()));
        assert_eq!(serde_json::from_str::<Recipe>(&texts[2]).unwrap(), recipe);
        assert_eq!(serde_json::from_str::<PartialRecipe>(&texts[3]).unwrap(), part);
        assert_eq!(recipe.setting_value("seed").map(|value| value.to_string()).as_deref(), Some(number));
    }
}

#[test]
fn every_negative_seed_of_a_file_is_drawn_and_a_larger_one_costs_itself_alone() {
    for text in [r#"{"seed":-1}"#, r#"{"seed":-9223372036854775808}"#, r#"{"seed":null}"#] {
        assert_eq!(local(text), (Recipe::default(), Vec::new()), "{text}");
        assert_eq!(serde_json::from_str::<Recipe>(text).unwrap(), Recipe::default(), "{text}");
        assert_eq!(serde_json::from_str::<PartialRecipe>(text).unwrap().seed, Some(None), "{text}");
    }
    let (recipe, notes) = local(r#"{"seed":18446744073709551616,"steps":9}"#);
    assert_eq!((recipe.seed, recipe.steps, notes.len()), (None, 9, 1), "{notes:?}");
    let (recipe, notes) = local(r#"{"seed_blend":{"seed":-4,"amount":0.5},"earlier_steps":[{"until_step":3,"seed":-1,"guidance":2.0}]}"#);
    assert_eq!((recipe.seed_blend, notes.len()), (Some(SeedBlend { seed: Seed(0), amount: 0.5 }), 0), "{notes:?}");
    assert_eq!(recipe.earlier_steps[0].seed, None);
}

#[test]
fn usual_settings_are_within_their_limits_and_rows_have_help() {
    assert_eq!(Recipe::default().clamp(), Vec::<String>::new());
    assert_eq!(ROWS.steps.help(), "Denoising steps");
    assert!(!ROWS.person.help().contains('\n'));
}

#[test]
fn only_what_affects_the_same_is_compared() {
    let recipe = full();
    let same = Recipe { prompt: "a fox".into(), seed: Some(Seed(1)), vae_tiling: true, ..recipe.clone() };
    assert!(recipe.opens_like(&same));
    assert!(!recipe.opens_like(&Recipe { flash_attention: false, ..recipe.clone() }));
    assert!(!recipe.opens_like(&Recipe { threads: None, ..recipe.clone() }));
    assert_eq!(recipe.only(Affects::Memory), Recipe { seed: Some(Seed(9)), steps: 4, ..recipe.clone() }.only(Affects::Memory));
    assert_eq!(recipe.only(Affects::Steps), Recipe { batch_count: 9, vae_tiling: true, ..recipe.clone() }.only(Affects::Steps));
    assert_ne!(recipe.only(Affects::Steps), Recipe { seed: Some(Seed(9)), ..recipe.clone() }.only(Affects::Steps));
}

#[test]
fn only_what_is_there_is_set_and_a_machine_is_left_alone() {
    let mut recipe = Recipe { sampler: Some(Sampler::Euler), steps: 9, ..Recipe::default() };
    let before = recipe.clone();
    let part = PartialRecipe { prompt: Some("a lake".into()), sampler: Some(None), threads: Some(Some(9)), ..PartialRecipe::default() };
    part.apply(&mut recipe);
    assert_eq!(changed_settings(&before, &recipe), ["prompt", "sampler"]);
    assert!(PartialRecipe::default().is_empty() && !part.is_empty());
    let mut to = Recipe { threads: Some(8), ..Recipe::default() };
    PartialRecipe::of(&full()).apply(&mut to);
    let machine = Recipe::default();
    let (disabled_loras, further_starts) = (machine.disabled_loras, machine.further_starts);
    assert_eq!(to, Recipe { threads: Some(8), placement: machine.placement, disabled_loras, further_starts, ..full() });
}

#[test]
fn a_part_survives_json_and_an_empty_setting_is_told_from_none() {
    let part = PartialRecipe { sampler: Some(None), scheduler: Some(Some(Scheduler::Karras)), ..PartialRecipe::default() };
    let text = serde_json::to_string(&part).unwrap();
    assert_eq!(text, r#"{"sampler":null,"scheduler":"karras"}"#);
    assert_eq!(serde_json::from_str::<PartialRecipe>(&text).unwrap(), part);
    let all = PartialRecipe::of(&Recipe { seed: Some(Seed(7)), ..Recipe::default() });
    assert_eq!(serde_json::from_str::<PartialRecipe>(&serde_json::to_string(&all).unwrap()).unwrap(), all);
}

#[test]
fn a_lora_keeps_the_part_of_the_steps_in_which_it_acts() {
    let mut recipe = full();
    (recipe.loras[0].start, recipe.loras[0].end) = (0.25, 0.75);
    assert_eq!(local(&stored(&recipe)), (recipe.clone(), Vec::new()));
    (recipe.loras[0].start, recipe.loras[0].end) = (-1.0, f32::NAN);
    assert_eq!(recipe.clamp().iter().filter(|note| note.contains("of ink")).count(), 2);
    assert!(!recipe.loras[0].has_range());
}

#[test]
fn a_recipe_comes_back_with_its_paths() {
    assert_eq!(local(&stored(&full())), (full(), Vec::new()));
    let pixels = Recipe { mask: Rgb8::new(1, 1, vec![1, 2, 3]).map(ImageSource::Pixels), ..Recipe::default() };
    assert_eq!(local(&stored(&pixels)), (Recipe::default(), Vec::new()), "pixels that are in no file are left out");
}

#[test]
fn files_of_earlier_versions_are_read() {
    let old = r#"{"files":{"model":"/models/a.safetensors"},"prompt":"a lake","steps":9,"sampler":"dpm++2s_a","scheduler":null,"rng":"cpu",
        "start_picture":"/pictures/b.png","start_strength":0.5,"mask":"/pictures/m.png","start_fit":"stretch","reference_pictures":["/r.png"],
        "control_picture":"/c.png","control_strength":0.4,"person_pictures":["/pictures/ann.png"],"person_style_strength":30.0,
        "person_id_embedding":"/id.bin","loras":[{"path":"/loras/ink.safetensors","strength":0.8}],"embeddings":["/fog.safetensors"],
        "hires":{"scale":2.0,"strength":0.4,"upscaler":"/x4.safetensors","allow_pickle":true,"tiles":null},"threads":3,
        "area":{"context":2.0,"fill":"dream","soft_mask":true,"seam_correction":true},
        "earlier_steps":[{"until_step":3,"picture":"a.png","seed":7,"seed_blend":null,"prompt":"day","negative_prompt":"","guidance":2.0,
            "distilled_guidance":3.5,"control_strength":1.0,"loras":[{"path":"/loras/ink.safetensors","strength":0.8}]}],
        "backend":"all=cpu","params_backend":"disk","max_vram":"6","stream_layers":true,"split_batch":"","of a newer version":1}"#;
    let (recipe, notes) = local(old);
    assert_eq!(notes, Vec::<String>::new());
    let file = |path: &str| ImageSource::File(path.into());
    assert_eq!(recipe.init, Some(InitImage { image: file("/pictures/b.png"), strength: 0.5 }));
    assert_eq!((recipe.mask, recipe.reference_images), (Some(file("/pictures/m.png")), vec![file("/r.png")]));
    assert_eq!(recipe.control, Some(ControlImage::with_strength(file("/c.png"), 0.4)));
    assert_eq!(
        recipe.person,
        Person { images: vec![file("/pictures/ann.png")], style_strength: 30.0, id_embedding: Some("/id.bin".into()) }
    );
    let hires = recipe.hires.unwrap();
    assert_eq!((hires.upscaler, hires.allow_pickle), (Some("/x4.safetensors".into()), true));
    assert_eq!(recipe.area, Some(AreaSettings { context: 2.0, ..AreaSettings::default() }));
    assert_eq!((recipe.earlier_steps[0].prompt.as_str(), recipe.earlier_steps[0].loras.len()), ("day", 1));
    let placement = PlacementText {
        backend: "all=cpu".into(),
        params_backend: "disk".into(),
        max_vram: "6".into(),
        stream_layers: ModuleSet::DIFFUSION,
        split_batch: String::new(),
    };
    assert_eq!((recipe.placement, recipe.threads), (placement, Some(3)));
    assert_eq!((recipe.sampler, recipe.scheduler, recipe.rng), (Some(Sampler::Dpmpp2sA), None, Rng::Cpu));
    assert_eq!(recipe.files.get(FileRole::Model), Some(std::path::Path::new("/models/a.safetensors")));
}

/// As a window of an earlier version left it that nothing was chosen in.
#[test]
fn a_file_of_an_earlier_version_without_pictures_is_the_usual_recipe() {
    let old = r#"{"files":{},"prompt":"","negative_prompt":"","negative_in_prompt":false,"width":512,"height":512,"steps":20,"guidance":7.0,
        "distilled_guidance":3.5,"sampler":null,"scheduler":null,"eta":null,"flow_shift":null,"clip_skip":null,"seed":-1,"seed_blend":null,
        "rng":"cuda","batch_count":1,"vae_tiling":false,"flash_attention":true,"vae_conv_scale":false,"start_picture":null,
        "start_strength":0.75,"mask":null,"start_fit":"crop","area":null,"outpaint":null,"hires":null,"earlier_steps":[],"last_step":null,
        "reference_pictures":[],"control_picture":null,"control_strength":0.9,"person_pictures":[],"person_style_strength":20.0,
        "person_id_embedding":null,"loras":[],"disabled_loras":[],"embeddings":[],"threads":null,"backend":"","params_backend":"",
        "max_vram":"","stream_layers":false,"split_batch":""}"#;
    assert_eq!(local(old), (Recipe::default(), Vec::new()));
}

#[test]
fn a_faulty_field_costs_itself_alone_and_is_named() {
    let (recipe, notes) = local(r#"{"prompt":"a lake","steps":-3,"width":"wide","sampler":"quantum","seed":7,"loras":9,"guidance":150}"#);
    assert_eq!(recipe, Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), guidance: 100.0, ..Recipe::default() });
    assert_eq!(notes.len(), 5, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("the sampler \"quantum\"")) && notes.iter().any(|note| note.contains("the LoRAs")));
}

/// The type says that no path is stored; here is a second look.
#[test]
fn a_picture_holds_names_and_sizes_alone() {
    let file = |path: &std::path::Path| StoredFile { name: path.file_name().unwrap().to_string_lossy().into_owned(), bytes: 7 };
    let text = serde_json::to_string(&Stored::of(&full(), &file)).unwrap();
    for secret in ["/", "all=cpu", "threads", "batch_count", "disabled", "further", "allow_pickle"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let (recipe, _) = restored::<StoredFile>(&text, &mut |kind, file| {
        let folder = match kind {
            RequiredFile::File(_) => "/models",
            RequiredFile::Lora => "/loras",
            RequiredFile::Embedding => "/embeddings",
            RequiredFile::Image | RequiredFile::IdEmbedding => "/pictures",
        };
        Some(PathBuf::from(folder).join(file.name))
    });
    let usual = Recipe::default();
    let (disabled_loras, further_starts) = (usual.disabled_loras, usual.further_starts);
    let mut expected = Recipe { batch_count: 1, threads: None, placement: usual.placement, disabled_loras, further_starts, ..full() };
    expected.hires.as_mut().unwrap().allow_pickle = false;
    assert_eq!(recipe, expected);
}
