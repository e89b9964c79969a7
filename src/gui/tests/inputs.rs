//! What steers a picture beside its prompt: reference and control pictures, threads, LoRAs, dropped
//! files.

use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::tests::*;
use atelier_core::recipe::{ControlImage, PartialRecipe, Person, Preprocessor, Rng};
use atelier_library::{CardFile, FileFacts, ModelCard, ModelKind};
use atelier_studio::library_service::LibrarySnapshot;

fn set(studio: &mut Studio, recipe: Recipe) {
    studio.app_mut().state.shared.next.recipe = recipe;
    studio.harness.run_ok();
}

fn recipe_of(studio: &Studio) -> &Recipe {
    &studio.app().state.shared.next.recipe
}

/// Drops files with these names and no contents that anybody knows.
fn drop_files(studio: &mut Studio, names: &[&str]) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = names.iter().map(|name| studio.folder.path().join(name)).collect();
    for path in &paths {
        std::fs::write(path, "x").unwrap();
        studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(path.clone())));
    }
    studio.harness.step();
    paths
}

#[test]
fn reference_and_control_pictures_are_seen_removed_and_kept_for_the_next_start() {
    let picture = |name: &str| ImageSource::File(format!("/p/{name}.png").into());
    let mut recipe = Recipe {
        reference_images: vec![picture("one"), picture("two")],
        control: Some(ControlImage::with_strength(picture("pose"), 0.6)),
        threads: Some(3),
        rng: Rng::Cpu,
        ..ready()
    };
    recipe.files.set(FileRole::Controlnet, "/models/canny.gguf");
    let mut studio = Studio::sized(recipe.clone(), [1440.0, 1600.0]);
    for words in ["Reference picture 1", "Reference picture 2", "two.png", "Control picture", "pose.png", "More settings: 2 changed"] {
        assert!(studio.sees(words), "{words}");
    }
    studio.harness.check_accessibility();
    // Not at a place: a line on files that are not there may move the button meanwhile.
    studio.harness.get_all_by_role_and_label(Role::Button, "Remove reference picture").next().unwrap().click_accesskit();
    studio.harness.run_ok();
    assert_eq!(recipe_of(&studio).reference_images, [picture("two")]);
    let path = studio.folder.path().join("settings.json");
    studio.harness.state_mut().take().unwrap().finish();
    assert_eq!(settings::load(&path).settings.recipe, Recipe { reference_images: vec![picture("two")], ..recipe });
}

#[test]
fn a_control_picture_needs_a_controlnet_and_does_not_follow_to_a_model_without_one() {
    let control = Some(ControlImage::with_strength(ImageSource::File("/p/pose.png".into()), 0.6));
    let mut studio = Studio::sized(Recipe { control, ..ready() }, [1440.0, 1600.0]);
    assert!(studio.sees("The control picture needs a ControlNet"));
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Generate").accesskit_node().is_disabled());
    studio.click("Remove control picture");
    assert!(!studio.sees("The control picture needs a ControlNet") && recipe_of(&studio).control.is_none());
    studio.press(Modifiers::COMMAND, Key::Z);
    assert!(recipe_of(&studio).control.is_some());
    drop_files(&mut studio, &["sd_xl_base.safetensors"]);
    studio.until("the model", |app| app.state.shared.next.recipe.control.is_none());
}

#[test]
fn a_model_that_reads_a_control_picture_itself_needs_no_controlnet() {
    let mut studio = Studio::sized(ready(), [1440.0, 1600.0]);
    let offers = |studio: &mut Studio| {
        studio.click("Add a guide");
        let is_offered = studio.harness.query_by_role_and_label(Role::Button, "Choose a control picture").is_some();
        studio.press(Modifiers::NONE, Key::Escape);
        is_offered
    };
    assert!(!offers(&mut studio));
    let files = recipe_of(&studio).files.clone();
    studio.app_mut().state.shared.next.with_control = Some(files);
    studio.harness.run_ok();
    assert!(offers(&mut studio));
    let control = ControlImage::new(ImageSource::File("/p/depth.png".into()));
    let made = Recipe { control: Some(control.clone()), ..recipe_of(&studio).clone() };
    set(&mut studio, Recipe { control: None, ..made.clone() });
    // Of a picture that was made so, the control picture comes back.
    studio.app_mut().state.shared.next.apply_settings(&PartialRecipe::of(&made));
    studio.harness.run_ok();
    assert_eq!(recipe_of(&studio).control, Some(control));
    assert!(!studio.sees("The control picture needs a ControlNet"));
    assert!(studio.harness.query_by_role_and_label(Role::Slider, "Control").is_none(), "it has no strength");
    assert_eq!(studio.app().state.shared.next.ready(), Ok(()));
}

#[test]
fn what_a_preprocessor_makes_of_the_control_picture_is_seen_before_it_is_used() {
    let pixels = (0..64 * 48).flat_map(|n| if n % 64 < 20 { [250, 240, 10] } else { [10, 20, 90] }).collect();
    let control = Some(ControlImage::new(ImageSource::Pixels(Rgb8::new(64, 48, pixels).unwrap())));
    let mut recipe = Recipe { control, width: 64, height: 64, ..ready() };
    recipe.files.set(FileRole::Controlnet, "/models/canny.gguf");
    let mut studio = Studio::sized(recipe, [1440.0, 1600.0]);
    let look = |studio: &Studio| studio.harness.query_by_role_and_label(Role::Image, "Preprocessed control picture").is_some();
    assert!(!look(&studio));
    studio.harness.get_by_role_and_label(Role::ComboBox, "Preprocessor").click();
    studio.harness.run_ok();
    studio.click("Soft edge");
    assert_eq!(recipe_of(&studio).control.as_ref().unwrap().preprocessor, Some(Preprocessor::SoftEdge));
    studio.until("the outlines", |app| app.state.guides.look_of(&app.state.shared.next.recipe).is_some());
    studio.harness.run_ok();
    assert!(look(&studio));
    studio.harness.check_accessibility();
    let missing = ControlImage { preprocessor: Some(Preprocessor::Canny), ..ControlImage::new(ImageSource::File("/no/such.png".into())) };
    let recipe = Recipe { control: Some(missing), ..recipe_of(&studio).clone() };
    set(&mut studio, recipe);
    studio.until("the reason", |app| app.state.guides.look_of(&app.state.shared.next.recipe).is_some_and(Result::is_err));
    studio.harness.run_ok();
    assert!(studio.sees("such.png") && !look(&studio));
}

#[test]
fn a_dropped_checkpoint_becomes_the_model_with_the_parts_that_were_dropped_with_it() {
    let mut split = Recipe { loras: vec![Lora::new("/l/ink.safetensors".into(), 1.0)], ..ready() };
    split.files = [(FileRole::Diffusion, "/m/z.gguf"), (FileRole::Llm, "/m/q.gguf"), (FileRole::Vae, "/m/ae.gguf")]
        .into_iter()
        .map(|(role, path)| (role, path.into()))
        .collect();
    let mut studio = Studio::open(split.clone());
    let paths = drop_files(&mut studio, &["sd_xl_base.safetensors", "my-lora.safetensors"]);
    studio.until("the model", |app| app.state.shared.next.recipe.files.get(FileRole::Model).is_some());
    assert_eq!(recipe_of(&studio).files.iter().collect::<Vec<_>>(), [(FileRole::Model, paths[0].as_path())]);
    assert_eq!(recipe_of(&studio).loras.iter().map(|it| &it.path).collect::<Vec<_>>(), [&paths[1]], "those of the other model are gone");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(*recipe_of(&studio), split);

    let paths = drop_files(&mut studio, &["flux1-dev.gguf", "t5xxl.gguf", "clip_l.safetensors"]);
    studio.until("the model", |app| app.state.shared.next.recipe.files.get(FileRole::T5xxl).is_some());
    let files: Vec<_> = recipe_of(&studio).files.iter().map(|(role, path)| (role, path.to_owned())).collect();
    let expected = [(FileRole::Diffusion, &paths[0]), (FileRole::ClipL, &paths[2]), (FileRole::T5xxl, &paths[1])];
    assert_eq!(files, expected.map(|(role, path)| (role, path.clone())));
}

#[test]
fn a_dropped_upscaler_says_what_it_is_for_and_leaves_the_model_alone() {
    let folder = tempfile::tempdir().unwrap();
    let builtin = small_builtin(folder.path());
    let mut studio = Studio::with(Settings::default(), Ok(Arc::clone(&builtin)), [1440.0, 900.0]);
    drop_files(&mut studio, &["RealESRGAN_x4plus.pth"]);
    studio.until("the words", |app| app.state.notices.shown().is_some());
    assert!(studio.sees("RealESRGAN_x4plus.pth: An upscaler works on finished pictures"));
    assert!(builtin.is_in(recipe_of(&studio)));
    assert!(!studio.harness.get_by_role_and_label(Role::Button, "Generate").accesskit_node().is_disabled());
}

#[test]
fn a_lora_that_is_named_in_the_prompt_becomes_a_chip_with_its_strength() {
    let mut studio = Studio::sized(Recipe { prompt: String::new(), ..ready() }, [1440.0, 1600.0]);
    studio.app_mut().state.shared.next.lora_files = Arc::from(["/l/Ink.safetensors", "/l/oil.gguf"].map(PathBuf::from));
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("a lake <lora:ink:0.8>, still");
    studio.harness.run_ok();
    assert_eq!(recipe_of(&studio).prompt, "a lake <lora:ink:0.8>, still", "what a person wrote stays");
    let of_pictures = |studio: &Studio| {
        let resolved = studio.app().state.shared.next.resolved_recipe().into_owned();
        (resolved.prompt, resolved.loras)
    };
    assert_eq!(of_pictures(&studio), ("a lake, still".to_owned(), vec![Lora::new("/l/Ink.safetensors".into(), 0.8)]));
    assert!(studio.sees("Ink · 0.80") && studio.sees("in the prompt, 0.8"));
    studio.harness.check_accessibility();
    studio.click("Remove LoRA Ink");
    assert_eq!((recipe_of(&studio).prompt.as_str(), studio.sees("Ink · 0.80")), ("a lake, still", false));

    set(&mut studio, Recipe { prompt: String::new(), steps: 20, ..ready() });
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("a [<lora:ink:0.8>");
    studio.harness.run_ok();
    assert!(!studio.sees("ink · not found"));
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("::5]");
    studio.harness.run_ok();
    let ranged = Lora { end: 0.25, ..Lora::new("/l/Ink.safetensors".into(), 0.8) };
    assert_eq!(recipe_of(&studio).prompt, "a [<lora:ink:0.8>::5]");
    assert_eq!(of_pictures(&studio), ("a".to_owned(), vec![ranged]));

    set(&mut studio, Recipe { prompt: "a <lora:pen:1> lake".into(), ..ready() });
    assert!(studio.sees("pen · not found") && studio.sees("The prompt uses an unknown LoRA"));
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Generate").accesskit_node().is_disabled());
    studio.harness.check_accessibility();
    let paths = drop_files(&mut studio, &["pen.safetensors", "pen-lora.safetensors"]);
    studio.until("the files", |app| !app.state.shared.next.recipe.loras.is_empty());
    assert!(studio.sees("pen · not found"), "it has another name");
    assert_eq!(recipe_of(&studio).loras[0].path, paths[1]);
    studio.app_mut().state.shared.next.recipe.prompt = "a <lora:pen-lora:0.3> lake".into();
    drop_files(&mut studio, &["ae.sft"]);
    studio.until("the file", |app| app.state.shared.next.recipe.files.get(FileRole::Vae).is_some());
    let (words, loras) = of_pictures(&studio);
    assert_eq!((words.as_str(), loras.len(), loras[0].strength), ("a lake", 1, 0.3), "once, as the prompt has it");
}

#[test]
fn an_embedding_is_chosen_named_in_a_prompt_and_taken_out_again() {
    let recipe = Recipe { prompt: "a lake".into(), ..ready() };
    let mut studio = Studio::sized(recipe, [1440.0, 1600.0]);
    let file = CardFile {
        role: atelier_library::Role::Embedding,
        name: "fog.safetensors".into(),
        path: Some("/e/fog.safetensors".into()),
        bytes: None,
        facts: None,
        sha256: None,
    };
    let card = ModelCard { id: "fog".into(), name: "Fog".into(), kind: ModelKind::Part, files: vec![file], ..ModelCard::default() };
    let card = ModelCard { family: Some("SD1.5".into()), ..card };
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards: vec![card], ..LibrarySnapshot::default() });
    studio.harness.run_ok();
    studio.click("Add an embedding");
    studio.click("Embedding fog");
    assert_eq!(recipe_of(&studio).embeddings, [PathBuf::from("/e/fog.safetensors")]);
    assert!(recipe_of(&studio).used_embeddings().next().is_none(), "no prompt names it");
    studio.click("fog in the negative prompt");
    assert_eq!((recipe_of(&studio).prompt.as_str(), recipe_of(&studio).negative_prompt.as_str()), ("a lake", "fog"));
    studio.click("fog in the prompt");
    assert_eq!(recipe_of(&studio).prompt, "a lake, fog");
    studio.harness.check_accessibility();
    studio.click("fog in the prompt");
    assert_eq!(recipe_of(&studio).prompt, "a lake");
    studio.click("Remove embedding fog");
    assert!(recipe_of(&studio).embeddings.is_empty() && recipe_of(&studio).negative_prompt.is_empty());
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!((recipe_of(&studio).embeddings.len(), recipe_of(&studio).negative_prompt.as_str()), (1, "fog"));
}

#[test]
fn embeddings_are_not_offered_for_a_model_that_takes_none() {
    let folder = tempfile::tempdir().unwrap();
    let builtin = small_builtin(folder.path());
    let studio = Studio::with(Settings::default(), Ok(builtin), [1440.0, 1600.0]);
    assert!(studio.sees("LoRAs") && !studio.sees("Embeddings"));
}

/// Puts a LoRA of this file and family into the library, with trigger words, beside a model of the
/// recipe's main file.
fn know_lora(studio: &mut Studio, path: &str, family: &str) {
    let shared = &mut studio.app_mut().state.shared;
    let file = CardFile {
        role: atelier_library::Role::Lora,
        name: "ink.safetensors".into(),
        path: Some(path.into()),
        bytes: None,
        facts: None,
        sha256: None,
    };
    let lora = ModelCard {
        id: path.into(),
        name: "Ink wash".into(),
        kind: ModelKind::Lora,
        family: Some(family.into()),
        files: vec![file],
        trigger_words: vec!["inkw".into()],
        ..ModelCard::default()
    };
    let main_file = shared.next.recipe.files.main().map(Path::to_owned);
    let model = ModelCard { id: "z".into(), kind: ModelKind::Model, family: Some("Z-Image".into()), main_file, ..ModelCard::default() };
    let library = LibrarySnapshot { cards: vec![model, lora.with_search_text()], ..LibrarySnapshot::default() };
    shared.library = Arc::new(library);
}

#[test]
fn a_lora_is_picked_weighed_switched_off_and_on_and_its_words_are_added() {
    let mut studio = Studio::sized(Recipe { prompt: "a lake".into(), ..ready() }, [1440.0, 1600.0]);
    know_lora(&mut studio, "/l/ink.safetensors", "SDXL");
    studio.click("Add a LoRA");
    studio.harness.check_accessibility();
    studio.click("LoRA Ink wash");
    assert_eq!(recipe_of(&studio).loras, [Lora::new("/l/ink.safetensors".into(), 1.0)]);
    assert!(studio.sees("Made for SDXL; this model is Z-Image."));
    studio.click("Add “inkw” to the prompt");
    assert_eq!(recipe_of(&studio).prompt, "a lake, inkw");

    set(&mut studio, Recipe { loras: vec![Lora::new("/l/ink.safetensors".into(), 0.4)], ..ready() });
    let switch = |studio: &mut Studio| {
        studio.harness.get_by_role_and_label(Role::CheckBox, "Use LoRA ink").click();
        studio.harness.run_ok();
    };
    switch(&mut studio);
    let Recipe { loras, disabled_loras, .. } = recipe_of(&studio);
    assert_eq!((loras.len(), disabled_loras[0].strength), (0, 0.4));
    assert!(!studio.sees("ink · 0.40"), "no chip");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(recipe_of(&studio).loras.len(), 1);
    studio.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
    switch(&mut studio);
    assert_eq!(recipe_of(&studio).loras[0].strength, 0.4);
    studio.click("Remove LoRA ink");
    assert!(recipe_of(&studio).loras.is_empty());
}

#[test]
fn reference_pictures_are_offered_only_where_the_model_looks_at_them() {
    let reference = |name: &str| vec![ImageSource::File(name.into())];
    let mut studio = Studio::sized(Recipe { reference_images: reference("/p/one.png"), ..ready() }, [1440.0, 1600.0]);
    studio.make(1);
    let offers = |studio: &mut Studio| {
        studio.click("Add a guide");
        let is_offered = studio.harness.query_by_role_and_label(Role::Button, "Add a reference picture").is_some();
        studio.press(Modifiers::NONE, Key::Escape);
        is_offered
    };
    assert!(offers(&mut studio), "nothing is known of the model yet");
    assert!(!studio.sees("does not use reference pictures"));
    let files = studio.app().state.shared.next.recipe.files.clone();
    studio.app_mut().state.shared.without_references = Some(files);
    studio.harness.run_ok();
    assert!(!offers(&mut studio) && studio.sees("does not use reference pictures"), "those that are there say so");
    let shown = crate::gui::create::Command::ReferenceShown.enabled(&studio.app().state.create, &studio.app().state.shared);
    assert!(shown.unwrap_err().contains("Kontext"));
    studio.app_mut().state.shared.next.use_file(FileRole::Model, "/models/kontext.safetensors".into());
    studio.harness.run_ok();
    assert!(offers(&mut studio), "another model");
}

/// A library with the chosen model, of this family, and a `PhotoMaker`.
fn know_photomaker(studio: &mut Studio, family: &str) {
    let shared = &mut studio.app_mut().state.shared;
    let file = CardFile {
        role: atelier_library::Role::Part(FileRole::Photomaker),
        name: "photomaker-v1.safetensors".into(),
        path: Some("/m/photomaker-v1.safetensors".into()),
        bytes: None,
        facts: None,
        sha256: None,
    };
    let part = ModelCard { id: "pm".into(), kind: ModelKind::Part, files: vec![file], ..ModelCard::default() };
    let main_file = shared.next.recipe.files.main().map(Path::to_owned);
    let model = ModelCard { id: "xl".into(), kind: ModelKind::Model, family: Some(family.into()), main_file, ..ModelCard::default() };
    shared.library = Arc::new(LibrarySnapshot { cards: vec![model, part], ..LibrarySnapshot::default() });
    studio.harness.run_ok();
}

#[test]
fn a_person_is_a_guide_of_sdxl_with_a_photomaker_of_the_library() {
    let mut studio = Studio::sized(Recipe { prompt: "a woman by a lake".into(), ..ready() }, [1440.0, 1600.0]);
    let offers = |studio: &mut Studio| {
        studio.click("Add a guide");
        let is_offered = studio.harness.query_by_role_and_label(Role::Button, "Add a picture of a person").is_some();
        studio.press(Modifiers::NONE, Key::Escape);
        is_offered
    };
    assert!(!offers(&mut studio));
    know_photomaker(&mut studio, "SD1.5");
    assert!(!offers(&mut studio) && !studio.sees("Style strength"));
    know_photomaker(&mut studio, "SDXL");
    assert!(offers(&mut studio));

    let paths: Vec<PathBuf> = ["ann.png", "ann-2.png"].iter().map(|name| studio.folder.path().join(name)).collect();
    for path in &paths {
        std::fs::write(path, testkit::pictures::png(&[])).unwrap();
        studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(path.clone())));
    }
    studio.harness.step();
    studio.until("the card", |app| app.state.create.dropped.is_some());
    studio.click("Show a person");
    let images: Vec<ImageSource> = paths.iter().map(|path| ImageSource::File(path.clone())).collect();
    assert_eq!(recipe_of(&studio).person.images, images);
    let photomaker = |studio: &Studio| recipe_of(studio).files.get(FileRole::Photomaker).map(Path::to_owned);
    assert_eq!(photomaker(&studio), Some("/m/photomaker-v1.safetensors".into()), "the library's");
    for words in ["Picture of the person 1", "ann-2.png", "Style strength", "PhotoMaker finds no word img in the prompt."] {
        assert!(studio.sees(words), "{words}");
    }
    studio.harness.check_accessibility();
    let generate = |studio: &Studio| !studio.harness.get_by_role_and_label(Role::Button, "Generate").accesskit_node().is_disabled();
    assert!(!generate(&studio));
    studio.app_mut().state.shared.next.recipe.prompt = "a woman img by a lake".into();
    studio.harness.run_ok();
    assert!(generate(&studio) && !studio.sees("PhotoMaker finds no word img in the prompt."));

    let remove = |studio: &mut Studio| {
        studio.harness.get_all_by_role_and_label(Role::Button, "Remove picture of the person").next().unwrap().click();
        studio.harness.run_ok();
    };
    remove(&mut studio);
    assert_eq!(recipe_of(&studio).person.images, images[1..]);
    remove(&mut studio);
    assert!(recipe_of(&studio).person.is_empty() && photomaker(&studio).is_none() && !studio.sees("Style strength"));
    assert!(generate(&studio));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(recipe_of(&studio).person.images, images[1..]);
    // Another model has no person.
    studio.app_mut().state.shared.next.replace_model([(FileRole::Model, "/m/flux.gguf".into())].into_iter().collect());
    studio.harness.run_ok();
    assert!(recipe_of(&studio).person.is_empty() && !studio.sees("Style strength"));
}

#[test]
fn a_person_has_a_face_embedding_where_the_photomaker_may_read_one() {
    let person = Person { images: vec![ImageSource::File("/p/ann.png".into())], ..Person::default() };
    let mut recipe = Recipe { prompt: "a woman img".into(), person, ..ready() };
    recipe.files.set(FileRole::Photomaker, "/m/photomaker-v1.safetensors");
    let mut studio = Studio::sized(recipe, [1440.0, 1600.0]);
    // The words are not searched: another language could have any.
    let set_facts = |studio: &mut Studio, words: &str, reads_faces| {
        know_photomaker(studio, "SDXL");
        let mut snapshot = (*studio.app().state.shared.library).clone();
        snapshot.cards[1].files[0].facts = Some(FileFacts { words: words.into(), reads_faces });
        studio.app_mut().state.shared.library = Arc::new(snapshot);
        studio.harness.run_ok();
    };
    set_facts(&mut studio, "not a PhotoMaker v2, 400 M parameters, F16", false);
    assert!(studio.sees("Style strength") && !studio.sees("Face embedding"), "the first version reads none");
    set_facts(&mut studio, "第2版、9億パラメーター", true);
    assert!(studio.sees("Choose a face embedding"));
    studio.harness.check_accessibility();
    studio.fill("Face embedding", "/p/id_embeds.bin");
    studio.press(Modifiers::NONE, Key::Enter);
    studio.harness.run_ok();
    let chosen = |studio: &Studio| recipe_of(studio).person.id_embedding.clone();
    assert_eq!(chosen(&studio), Some("/p/id_embeds.bin".into()));
    assert!(!studio.sees("Choose a face embedding"));
    // What is set stays in sight, and can be taken away.
    set_facts(&mut studio, "not a PhotoMaker v2, 400 M parameters, F16", false);
    studio.fill("Face embedding", " ");
    studio.press(Modifiers::NONE, Key::Enter);
    studio.harness.run_ok();
    assert!(chosen(&studio).is_none() && !studio.sees("Face embedding"));
}
