//! The prompt's own keys and what its field says.

use crate::gui::create::tokens::PromptField;
use crate::gui::tests::*;
use crate::gui::theme;
use atelier_library::{CardFile, ModelCard, ModelKind};
use atelier_studio::library_service::{FolderSummary, LibrarySnapshot};

/// A window whose prompt has the keyboard, with the caret behind its last word.
fn writing(prompt: &str) -> Studio {
    let mut studio = Studio::open(Recipe { prompt: String::new(), ..ready() });
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(prompt);
    studio.harness.run_ok();
    studio
}

fn prompt(studio: &Studio) -> &str {
    &studio.app().state.shared.next.recipe.prompt
}

#[test]
fn keys_change_the_weight_of_the_word_at_the_caret() {
    let mut studio = writing("mist, a red lake");
    for (key, expected) in [
        (Key::ArrowUp, "mist, a red (lake:1.1)"),
        (Key::ArrowUp, "mist, a red (lake:1.2)"),
        (Key::ArrowDown, "mist, a red (lake:1.1)"),
        (Key::ArrowDown, "mist, a red lake"),
        (Key::ArrowDown, "mist, a red (lake:0.9)"),
    ] {
        studio.press(Modifiers::COMMAND, key);
        assert_eq!(prompt(&studio), expected);
    }
    // What is selected is what is typed over.
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("sea");
    studio.harness.run_ok();
    assert_eq!(prompt(&studio), "mist, a red (sea:0.9)");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(prompt(&studio), "mist, a red (lake:0.9)");
}

#[test]
fn the_negative_prompt_has_the_same_keys_and_a_number_has_none() {
    let mut studio = writing("a lake");
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Negative prompt").focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Negative prompt").type_text("fog");
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    let negative = |studio: &Studio| studio.app().state.shared.next.recipe.negative_prompt.clone();
    assert_eq!((prompt(&studio), negative(&studio).as_str()), ("a lake", "(fog:1.1)"));
    studio.harness.get_by_role_and_label(Role::TextInput, "Seed").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    assert!(studio.sees("Put the caret on a word of the prompt"));
    assert_eq!((prompt(&studio), negative(&studio).as_str()), ("a lake", "(fog:1.1)"));
}

#[test]
fn a_part_is_switched_off_and_no_model_reads_it() {
    let mut studio = writing("a lake, fog");
    studio.press(Modifiers::COMMAND, Key::Slash);
    assert_eq!(prompt(&studio), "a lake/* , fog */");
    let (_, recipe, _) = studio.generate();
    assert_eq!(recipe.prompt, "a lake");
    assert_eq!(prompt(&studio), "a lake/* , fog */", "the field keeps it");
    studio.press(Modifiers::COMMAND, Key::Slash);
    assert_eq!(prompt(&studio), "a lake, fog");
}

#[test]
fn a_bracket_that_is_never_closed_is_told_below_the_field() {
    let mut studio = writing("a (red lake");
    assert!(studio.sees("This bracket is never closed"));
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(")");
    studio.harness.run_ok();
    assert!(!studio.sees("This bracket is never closed"));
}

/// A window in which lists of words and tags complete the prompt.
fn completing(prompt: &str) -> Studio {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("tags/tags.csv", "red fox,0,12000,\nred (colour),0,900,\nred sea,0,2000000,\"salt_water\"\n"),
        ("wildcards/colour.txt", "red\n"),
        ("wildcards/land/tree.txt", "oak\n"),
    ] {
        write_list(folder.path(), name, text);
    }
    let settings = Settings { recipe: Recipe { prompt: String::new(), ..ready() }, ..Settings::default() };
    let mut studio = Studio::at(folder, settings, Err("The built-in model is not there.".into()), [1440.0, 900.0]);
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("");
    studio.harness.run_ok();
    type_on(&mut studio, prompt);
    studio
}

/// Writes a list of words or tags into the folder of a person, in the middle of what a window does.
fn write_list(home: &Path, name: &str, text: &str) {
    let path = Paths::beneath(home).data.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn type_on(studio: &mut Studio, text: &str) {
    studio.harness.event(egui::Event::Text(text.to_owned()));
    studio.harness.run_ok();
}

fn offers(studio: &Studio) -> Vec<String> {
    let names = ["colour", "land/tree", "red sea", "red fox", "red (colour)"];
    names.into_iter().filter(|name| studio.harness.query_by_role_and_label(Role::Button, name).is_some()).map(str::to_owned).collect()
}

#[test]
fn a_name_is_completed_by_keys() {
    let mut studio = completing("a __");
    assert_eq!(offers(&studio), ["colour", "land/tree"]);
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.press(Modifiers::NONE, Key::Tab);
    assert_eq!((prompt(&studio), offers(&studio)), ("a __land/tree__", vec![]));
    // The field keeps the keyboard, and Enter is a line again.
    type_on(&mut studio, ", re");
    assert_eq!(offers(&studio), ["red sea", "red fox", "red (colour)"]);
    studio.press(Modifiers::NONE, Key::ArrowUp);
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(prompt(&studio), r"a __land/tree__, red \(colour\)", "brackets of a name are letters");
    studio.press(Modifiers::NONE, Key::Enter);
    type_on(&mut studio, "salt");
    assert_eq!(offers(&studio), ["red sea"], "by another name of it");
}

#[test]
fn a_list_that_nobody_has_is_told_while_it_is_typed() {
    let mut studio = completing("a __colour__, __land/*__");
    assert!(!studio.sees("No list has this name"));
    type_on(&mut studio, ", {__hue__|red}");
    assert!(studio.sees("__hue__  No list has this name."));
    write_list(studio.folder.path(), "wildcards/hue.yaml", "hue:\n  - red\n");
    studio.until("the new list", |app| app.state.create.word_lists.wildcards.as_ref().is_some_and(|names| names.len() == 3));
    assert!(!studio.sees("No list has this name"), "it is there now");
}

#[test]
fn lists_and_tags_that_come_later_complete_the_prompt_at_once() {
    let mut studio = writing("");
    type_on(&mut studio, "red s");
    assert_eq!(offers(&studio), [] as [&str; 0]);
    // Neither folder is there yet.
    write_list(studio.folder.path(), "tags/sea.csv", "red sea,0,9,\n");
    studio.until("the tags", |app| app.state.create.word_lists.tags.len() == 1);
    type_on(&mut studio, "e");
    assert_eq!(offers(&studio), ["red sea"]);
    write_list(studio.folder.path(), "tags/fox.csv", "red fox,0,9,\n");
    studio.until("more tags", |app| app.state.create.word_lists.tags.len() == 2);
    write_list(studio.folder.path(), "wildcards/land/tree.txt", "oak\n");
    studio.until("the list", |app| app.state.create.word_lists.wildcards == Some(vec!["land/tree".to_owned()]));
    std::fs::remove_dir_all(Paths::beneath(studio.folder.path()).data.join("tags")).unwrap();
    studio.until("no tags", |app| app.state.create.word_lists.tags.is_empty());
}

#[test]
fn a_seed_of_choices_is_offered_where_there_are_some_and_keeps_their_words() {
    let (template, seed) = ("{red|blue|green|grey} {lake|sea|river|fen}, {fog|rain|snow|sun}", Seed(41));
    let expected = Recipe { prompt: template.into(), seed: Some(seed), ..Recipe::default() };
    let expected = expected.choose_pictures(Seed(0), &atelier_core::words::NoWildcards).recipes.remove(0).prompt;
    let mut studio = Studio::sized(ready(), [1440.0, 1800.0]);
    assert!(studio.harness.query_by_role_and_label(Role::TextInput, "Seed of choices").is_none());
    let recipe = &mut studio.app_mut().state.shared.next.recipe;
    (recipe.prompt, recipe.seed) = (template.to_owned(), Some(Seed(7)));
    studio.harness.run_ok();
    studio.fill("Seed of choices", "41");
    let (_, recipe, _) = studio.generate();
    assert_eq!((recipe.prompt, recipe.seed, recipe.words_seed), (expected, Some(Seed(7)), Some(seed)));
    studio.harness.get_by_role_and_label(Role::Button, "Roll other choices").click_accesskit();
    studio.harness.run_ok();
    let rolled = studio.app().state.shared.next.recipe.words_seed;
    assert!(rolled.is_some_and(|rolled| rolled != seed), "{rolled:?}");
    let mut plain = Studio::open(Recipe { words_seed: Some(seed), ..ready() });
    let (_, recipe, _) = plain.generate();
    assert_eq!(recipe.words_seed, None, "nothing was chosen");
}

#[test]
fn files_are_completed_by_the_names_of_their_cards_and_of_their_own() {
    let mut studio = writing("");
    let file = |role, path: &str| CardFile { role, name: path.into(), path: Some(path.into()), bytes: None, facts: None, sha256: None };
    let card = |name: &str, kind, file| ModelCard { id: name.into(), name: name.into(), kind, files: vec![file], ..ModelCard::default() };
    let cards = vec![
        card("Watercolour", ModelKind::Lora, file(atelier_library::Role::Lora, "/l/ink-wash.safetensors")),
        card("Oil", ModelKind::Lora, file(atelier_library::Role::Lora, "/l/oil.safetensors")),
        card("Weather", ModelKind::Part, file(atelier_library::Role::Embedding, "/e/fog.safetensors")),
    ];
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards, ..LibrarySnapshot::default() });
    for (typed, expected) in [
        ("a lake <lora:water", "a lake <lora:ink-wash:1>"),
        (", <lora:oi", "a lake <lora:ink-wash:1>, <lora:oil:1>"),
        (", embedding:fo", "a lake <lora:ink-wash:1>, <lora:oil:1>, fog"),
    ] {
        type_on(&mut studio, typed);
        studio.press(Modifiers::NONE, Key::Tab);
        assert_eq!(prompt(&studio), expected);
    }
    assert_eq!(studio.app().state.shared.next.recipe.embeddings, [PathBuf::from("/e/fog.safetensors")], "it is at hand");
}

#[test]
fn lists_of_another_program_are_read_beside_its_models() {
    let program = tempfile::tempdir().unwrap();
    let [models, lists] = ["models", "extensions/sd-dynamic-prompts/wildcards"].map(|name| program.path().join(name));
    for folder in [&models, &lists] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(lists.join("colour.txt"), "red\n").unwrap();
    let mut studio = writing("a __colour__ lake");
    let folder = FolderSummary { path: models, layout: "A1111", files: 0, bytes: 0, is_own: false };
    let library = LibrarySnapshot { folders: vec![folder], ..LibrarySnapshot::default() };
    studio.app_mut().state.shared.library = Arc::new(library);
    studio.until("the names of lists", |app| app.state.create.word_lists.wildcards == Some(vec!["colour".to_owned()]));
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("the chosen words", |app| app.state.shared.queue.rows.iter().any(|row| row.job.recipe.prompt == "a red lake"));
}

#[test]
fn escape_closes_the_list_and_nothing_else() {
    let mut studio = completing("re");
    studio.press(Modifiers::NONE, Key::Escape);
    assert_eq!(offers(&studio), Vec::<String>::new());
    assert!(studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
    type_on(&mut studio, "d");
    assert_eq!(offers(&studio).len(), 3, "what is typed next opens it again");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(offers(&studio), Vec::<String>::new(), "the caret is within a word");
}

#[test]
fn a_name_is_completed_by_a_click() {
    let mut studio = completing("lake, re");
    studio.click("red fox");
    assert_eq!((prompt(&studio), offers(&studio)), ("lake, red fox", vec![]));
    assert!(studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").is_focused());
}

/// What an input method has composed so far.
fn compose(studio: &mut Studio, text: &str) {
    let preedit = egui::ImeEvent::Preedit { text: text.to_owned(), active_range_chars: None };
    studio.harness.event(egui::Event::Ime(preedit));
    studio.harness.run_ok();
}

fn commit(studio: &mut Studio, text: &str) {
    studio.harness.event(egui::Event::Ime(egui::ImeEvent::Commit(text.to_owned())));
    studio.harness.run_ok();
}

#[test]
fn what_an_input_method_composes_is_committed_while_names_are_completed() {
    let mut studio = completing("hồ, re");
    assert_eq!(offers(&studio).len(), 3);
    // The list closes while something is composed.
    compose(&mut studio, "ж");
    assert_eq!((prompt(&studio), offers(&studio)), ("hồ, reж", vec![]));
    compose(&mut studio, "красн");
    assert_eq!(prompt(&studio), "hồ, reкрасн", "what was composed before is replaced");
    commit(&mut studio, "красная");
    assert_eq!((prompt(&studio), offers(&studio)), ("hồ, reкрасная", vec![]));
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(prompt(&studio), "hồ, reкрасная\n", "Enter is a line again");
    // What is committed can be completed in its turn.
    compose(&mut studio, "red s");
    assert_eq!(offers(&studio), Vec::<String>::new());
    commit(&mut studio, "red s");
    assert_eq!(offers(&studio), ["red sea"]);
    studio.press(Modifiers::NONE, Key::Tab);
    assert_eq!(prompt(&studio), "hồ, reкрасная\nred sea");
}

#[test]
fn what_is_composed_is_not_told_to_be_wrong_before_it_is_written() {
    let mut studio = completing("a lake, ");
    let field = studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").rect();
    for (composed, sentence) in [("(мо", "This bracket is never closed"), ("__hue__", "No list has this name")] {
        compose(&mut studio, "x");
        compose(&mut studio, composed);
        assert!(!studio.sees(sentence), "{composed}");
        // A frame without a word of the input method changes nothing.
        studio.harness.hover_at(field.center());
        studio.harness.run_ok();
        assert!(!studio.sees(sentence) && offers(&studio).is_empty(), "{composed}");
        commit(&mut studio, composed);
        assert!(studio.sees(sentence), "{composed}");
        studio.press(Modifiers::COMMAND, Key::A);
        type_on(&mut studio, "a lake, ");
        assert!(!studio.sees(sentence), "{composed}");
    }
    // What was wrong before is wrong all the same.
    type_on(&mut studio, "(far ");
    compose(&mut studio, "__hue__");
    assert!(studio.sees("This bracket is never closed"));
    compose(&mut studio, "");
    assert_eq!(prompt(&studio), "a lake, (far ");
}

#[test]
fn keys_that_come_with_a_composition_complete_no_name() {
    for key in [Key::Enter, Key::Tab] {
        let mut studio = completing("re");
        assert_eq!(offers(&studio).len(), 3);
        // Both in one frame, as slow frames bring them.
        let pressed = egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
        studio.harness.input_mut().events.extend([egui::Event::Ime(egui::ImeEvent::Commit("d".to_owned())), pressed]);
        studio.harness.run_ok();
        assert!(prompt(&studio).starts_with("red") && !prompt(&studio).contains("sea"), "{key:?}: {}", prompt(&studio));
    }
}

#[test]
fn a_composition_that_is_given_up_leaves_the_prompt_as_it_was() {
    let mut studio = completing("a lake");
    compose(&mut studio, "ж");
    compose(&mut studio, "");
    assert_eq!(prompt(&studio), "a lake");
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    assert_eq!(prompt(&studio), "a (lake:1.1)", "keys mean the words again");
}

/// The chips that the last frame has drawn, with their colours.
fn chip_rects(studio: &Studio) -> Vec<(egui::Rect, egui::Color32)> {
    let quiet = theme::quiet(egui::Color32::WHITE).a();
    let chip = |shape: &egui::Shape| match shape {
        egui::Shape::Rect(it) => (it.fill.a() == quiet).then_some((it.rect, it.fill)),
        _ => None,
    };
    let chips = |shape: &egui::Shape| match shape {
        egui::Shape::Vec(shapes) => shapes.iter().filter_map(chip).collect(),
        _ => Vec::new(),
    };
    studio.harness.output().shapes.iter().flat_map(|it| chips(&it.shape)).collect()
}

#[test]
fn names_of_files_stand_as_chips_in_the_text_and_a_click_selects_one() {
    let mut studio = Studio::sized(Recipe { prompt: String::new(), ..ready() }, [1440.0, 1600.0]);
    studio.app_mut().state.shared.next.lora_files = Arc::from([PathBuf::from("/l/ink.safetensors")]);
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("{<lora:ink:0.8>|mist}, <lora:pen:1>");
    studio.harness.run_ok();
    let chips = chip_rects(&studio);
    assert_eq!(chips.len(), 2);
    assert_ne!(chips[0].1, chips[1].1, "one is found, the other is not");
    let field = studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").rect();
    assert!(chips.iter().all(|(rect, _)| field.contains_rect(*rect)));
    let click = |studio: &mut Studio, at: egui::Pos2| {
        studio.harness.hover_at(at);
        studio.harness.step();
        studio.harness.drag_at(at);
        studio.harness.drop_at(at);
        studio.harness.run_ok();
    };
    click(&mut studio, chips[0].0.center());
    studio.press(Modifiers::COMMAND, Key::ArrowUp);
    assert_eq!(prompt(&studio), "{<lora:ink:0.85>|mist}, <lora:pen:1>");
    // What is selected is typed over.
    let second = chip_rects(&studio)[1].0.center();
    click(&mut studio, second);
    type_on(&mut studio, "fog");
    assert_eq!(prompt(&studio), "{<lora:ink:0.85>|mist}, fog");
    assert_eq!(chip_rects(&studio).len(), 1);
}

#[test]
fn a_chip_over_the_end_of_a_line_has_a_shape_in_each() {
    let mut studio = Studio::sized(Recipe { prompt: String::new(), ..ready() }, [1440.0, 1600.0]);
    let name = "a-long-name-of-a-lora-".repeat(6);
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(&format!("mist <lora:{name}:1>"));
    studio.harness.run_ok();
    let chips = chip_rects(&studio);
    assert!(chips.len() > 1, "{chips:?}");
    assert!(chips.windows(2).all(|it| it[0].0.bottom() <= it[1].0.top() + 1.0), "{chips:?}");
}

#[test]
fn a_lora_in_the_negative_prompt_is_told_to_have_no_effect() {
    let mut studio = Studio::sized(Recipe { guidance: 5.0, ..ready() }, [1440.0, 1600.0]);
    studio.app_mut().state.shared.next.lora_files = Arc::from([PathBuf::from("/l/ink.safetensors")]);
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Negative prompt").focus();
    studio.harness.run_ok();
    type_on(&mut studio, "<lora:ink:0.8>, fog");
    studio.harness.run_ok();
    let chips = chip_rects(&studio);
    assert_eq!(chips.len(), 1);
    studio.harness.hover_at(chips[0].0.center());
    studio.until("the tooltip", |_| true);
    studio.harness.run_steps(8);
    assert!(studio.sees("LoRAs have no effect in the negative prompt"));
}

/// Has the chosen model be of a family, as the library would say.
fn choose_family(studio: &mut Studio, family: &str) {
    let main_file = ready().files.main().map(Path::to_owned);
    let card = ModelCard { id: "m".into(), kind: ModelKind::Model, family: Some(family.into()), main_file, ..ModelCard::default() };
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards: vec![card], ..LibrarySnapshot::default() });
}

#[test]
fn the_negative_prompt_counts_without_guidance_where_prompts_are_joined() {
    let mut studio = Studio::open(Recipe { guidance: 1.0, negative_prompt: "fog".into(), ..ready() });
    let mut says_so = |family: &str, prompt: &str| {
        choose_family(&mut studio, family);
        studio.app_mut().state.shared.next.recipe.prompt = prompt.into();
        studio.harness.run_ok();
        studio.sees("No effect while guidance is 1.")
    };
    assert!(says_so("SDXL", "a lake, SAND"));
    assert!(!says_so("SDXL", "a lake AND a boat :0.5"));
    assert!(says_so("Z-Image", "a lake AND a boat :0.5"), "AND is a word to a language model");
}

fn until_counted(studio: &mut Studio) {
    studio.until("the tokens", |app| {
        let counted = app.state.create.tokens.last(PromptField::Prompt);
        counted.is_some_and(|it| it.text == app.state.shared.next.recipe.prompt)
    });
}

#[test]
fn tokens_are_counted_once_nothing_is_typed_as_the_chosen_model_counts_them() {
    let mut studio = writing("a photo of a cat");
    assert!(!studio.sees("tokens"), "of an unknown model nothing is said");
    choose_family(&mut studio, "SD1.5");
    until_counted(&mut studio);
    assert!(studio.sees("5 of 75 tokens"));
    type_on(&mut studio, &" cat".repeat(75));
    until_counted(&mut studio);
    assert!(studio.sees("80 of 150 tokens"));
    let prompt = prompt(&studio).to_owned();
    let marks = studio.app().state.create.tokens.marks(PromptField::Prompt, &prompt);
    let border = "a photo of a cat".len() + 70 * " cat".len() + 1;
    assert_eq!((marks.chunks.len(), marks.chunks.first(), marks.unread), (1, Some(&(border..border + 3)), None));
    choose_family(&mut studio, "Z-Image");
    studio.until("the tokens of the other model", |app| app.state.create.tokens.last(PromptField::Prompt).is_some());
    studio.until("no chunks", |app| app.state.create.tokens.marks(PromptField::Prompt, &prompt).chunks.is_empty());
    assert!(studio.sees("80 tokens"));
}

#[test]
fn the_place_where_a_model_stops_reading_is_marked_and_told() {
    let mut studio = writing("");
    choose_family(&mut studio, "Lens");
    type_on(&mut studio, "cat ".repeat(420).trim_end());
    until_counted(&mut studio);
    assert!(studio.sees("420 of 408 tokens") && studio.sees("The model stops reading before “cat cat cat cat”"));
    let marks = studio.app().state.create.tokens.marks(PromptField::Prompt, prompt(&studio));
    assert_eq!(marks.unread, Some(408 * 4..prompt(&studio).len()));
}

#[test]
fn a_style_is_completed_by_its_name_and_applied() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("styles")).unwrap();
    let style = r#"{"name":"Ink","settings":{"prompt":"ink drawing of {prompt}","steps":9}}"#;
    std::fs::write(folder.path().join("styles/ink.json"), style).unwrap();
    let recipe = Recipe { prompt: String::new(), ..ready() };
    let mut studio = Studio::at(folder, Settings { recipe, ..Settings::default() }, Err("It is not there.".into()), [1440.0, 900.0]);
    studio.until("the style", |app| app.state.styles.get("Ink").is_some());
    studio.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text("a lake, in");
    studio.harness.run_ok();
    studio.click("Ink");
    let recipe = &studio.app().state.shared.next.recipe;
    assert_eq!((recipe.prompt.as_str(), recipe.steps), ("ink drawing of a lake", 9));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_ne!(studio.app().state.shared.next.recipe.steps, 9);
}

#[test]
fn scripts_for_which_no_font_is_there_are_named_once_below_the_prompt() {
    let mut studio = Studio::open(ready());
    studio.harness.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    studio.harness.step();
    let mut write = |prompt: &str, negative: &str| {
        let recipe = &mut studio.app_mut().state.shared.next.recipe;
        (recipe.prompt, recipe.negative_prompt) = (prompt.into(), negative.into());
        studio.harness.run_ok();
        let lines = studio.harness.query_all_by_label_contains("No font for");
        lines.filter_map(|it| it.accesskit_node().value().or_else(|| it.accesskit_node().label())).collect::<Vec<_>>()
    };
    let line = "No font for Devanagari, Egyptian Hieroglyphs on this computer: boxes stand for these letters.";
    assert_eq!(write("झील, a lake, झील", "𓀀"), [line]);
    assert_eq!(write("озеро, λίμνη", ""), Vec::<String>::new(), "our fonts have these");
    assert_eq!(write("a lake", ""), Vec::<String>::new());
}
