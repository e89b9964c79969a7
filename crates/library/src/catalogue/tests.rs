use super::*;
use crate::Licence;
use atelier_language::catalogue_english;

const TWO: &str = r#"[
  {
    "id": "one",
    "name": "One",
    "files": [ { "role": "model", "filename": "one.safetensors", "size": 10 } ]
  },
  {
    "id": "two",
    "name": "Two",
    "files": [ { "role": "brain", "filename": "two.safetensors" } ]
  },
  {
    "id": "three",
    "name": "Three, with a ] and a \" in it",
    "files": [ { "role": "model", "filename": "three.safetensors" } ]
  }
]
"#;

fn add(text: &str) -> (Catalogue, Vec<String>) {
    let mut catalogue = Catalogue::default();
    let problems = catalogue.add(text, Path::new("mine.json"));
    (catalogue, problems.iter().map(ToString::to_string).collect())
}

fn ids(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.entries().iter().map(|it| it.id.as_str()).collect()
}

#[test]
fn one_wrong_entry_is_named_by_file_and_line_and_the_others_load() {
    let (catalogue, problems) = add(TWO);
    assert_eq!(ids(&catalogue), ["one", "three"]);
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.starts_with("mine.json, line 10: there is no role \"brain\"."), "{problem}");
}

#[test]
fn an_entry_that_is_no_json_costs_only_itself() {
    for (right, wrong, line) in [
        ("\"name\": \"Two\",", "\"name\": \"Two\"", 10),
        ("\"name\": \"Two\",", "\"name\": \"Two,", 9),
        ("\"id\": \"two\",", "id: two,", 8),
        ("\"role\": \"brain\"", "\"role\": \"model\", \"size\": 1e3x", 10),
    ] {
        let (catalogue, problems) = add(&TWO.replace(right, wrong));
        assert_eq!(ids(&catalogue), ["one", "three"], "{wrong}");
        assert!(problems.len() == 1 && problems[0].contains(&format!("line {line}: ")), "{problems:?}");
    }
}

#[test]
fn what_is_no_list_is_said_and_one_entry_may_stand_alone() {
    assert!(add("\n\"text\"").1[0].contains("line 2: a list of models is expected"));
    assert!(add("").1[0].contains("a list of models is expected"));
    assert_eq!(add("[]"), (Catalogue::default(), Vec::new()));
    assert_eq!(add(" [ \n ] \n").1, Vec::<String>::new());
    assert!(add("[] x").1[0].contains("something follows"));
    assert!(add("[\n,]").1[0].contains("an entry is missing"));
    let (catalogue, problems) = add(TWO.trim_end().trim_end_matches(']'));
    assert_eq!((ids(&catalogue), problems.len()), (vec!["one", "three"], 2));
    assert!(problems[1].contains("no end"), "{problems:?}");
    let (catalogue, problems) = add(r#"{"id":"x","name":"X","files":[]}"#);
    assert_eq!((ids(&catalogue), problems.len()), (vec!["x"], 0));
}

#[test]
fn a_later_file_replaces_an_entry_and_a_file_does_not_say_the_same_twice() {
    let (mut catalogue, _) = add(TWO);
    let own = r#"[{"id":"one","name":"Mine","files":[]},{"id":"one","name":"Again","files":[]}]"#;
    let problems = catalogue.add(own, Path::new("own.json"));
    assert_eq!(catalogue.entry("one").unwrap().name, "Mine");
    assert!(problems[0].to_string().contains("own.json, line 1: there is another entry \"one\""), "{problems:?}");
}

#[test]
fn the_shipped_catalogue_has_no_mistake_and_survives_a_round_trip() {
    let mut catalogue = Catalogue::default();
    let problems = catalogue.add(SHIPPED, Path::new(SHIPPED_NAME));
    assert!(problems.is_empty(), "{problems:?}");
    let written: Vec<serde_json::Value> =
        catalogue.entries().iter().map(|it| serde_json::from_str(&it.to_json().unwrap()).unwrap()).collect();
    assert_eq!(serde_json::Value::Array(written), serde_json::from_str::<serde_json::Value>(SHIPPED).unwrap());
}

#[test]
fn every_shipped_entry_can_be_fetched_and_says_what_it_is() {
    let catalogue = Catalogue::shipped();
    assert!(catalogue.entries().len() >= 26, "{}", catalogue.entries().len());
    let mut same = std::collections::HashMap::new();
    for entry in catalogue.entries() {
        let id = &entry.id;
        assert!(entry.licence.is_some() && !entry.description.is_empty() && entry.checked.is_some(), "{id}");
        assert!(entry.bytes().is_some(), "{id}: a file says no size");
        let has = |role| entry.files.iter().any(|it| it.role == Role::Part(role));
        if let Some(family) = entry.family.as_deref() {
            let family = Family::from_label(family).unwrap_or_else(|| panic!("{id}: no family {family}"));
            let main = has(FileRole::Model) || has(FileRole::Diffusion);
            let complete = family.needs().iter().all(|group| group.iter().any(|role| has(*role)));
            assert!(!main || has(FileRole::Model) || complete, "{id} lacks a part");
        }
        for file in entry.files.iter().chain(entry.variants.iter().flat_map(|it| &it.files)) {
            assert!(file.origin().is_some() && file.bytes().is_some(), "{id}: {}", file.filename.as_str());
            let key = file.origin().unwrap();
            let facts = (file.bytes(), file.sha256);
            assert_eq!(*same.entry(key).or_insert(facts), facts, "{id}: two entries disagree about {key:?}");
        }
        let exact = |file: &ModelFile| file.size.is_some() && file.sha256.is_some();
        assert_eq!(entry.checked, Some(entry.files.iter().all(exact)), "{id}: what is checked has every size and sum");
        for variant in &entry.variants {
            let files = entry.as_variant(&variant.name).unwrap().files;
            assert_eq!(variant.checked, Some(files.iter().all(exact)), "{id}:{}", variant.name);
            let whole = entry.as_variant(&variant.name).unwrap();
            assert_eq!(catalogue.find(&whole.id).as_ref(), Some(&whole));
            assert_eq!(catalogue.find(&format!("{id}:{}", variant.name.to_lowercase())), Some(whole));
        }
    }
    let gated = catalogue.entries().iter().filter(|it| it.licence.as_ref().is_some_and(Licence::is_gated)).count();
    assert!(gated >= 1);
}

#[test]
fn our_own_entries_name_their_texts_by_ids_and_a_persons_are_not_taken_for_them() {
    let mut as_written = Catalogue::default();
    let _ = as_written.add(SHIPPED, Path::new(SHIPPED_NAME));
    for (written, entry) in as_written.entries().iter().zip(Catalogue::shipped().entries()) {
        assert_eq!(catalogue_english(&written.description), Some(entry.description.as_str()), "{}", entry.id);
        for (written, variant) in written.variants.iter().zip(&entry.variants) {
            assert_eq!(catalogue_english(&written.description), Some(variant.description.as_str()), "{}:{}", entry.id, variant.name);
        }
        assert!(!entry.to_json().unwrap().contains("\"catalogue-"), "{} has an id that is no text's", entry.id);
    }
    let mut catalogue = Catalogue::shipped();
    let own = r#"{"id":"mine","name":"Mine","description":"catalogue-sdxl","licence":"My own terms","files":[]}"#;
    assert!(catalogue.add(own, Path::new("own.json")).is_empty());
    let mine = catalogue.entry("mine").unwrap();
    assert_eq!((mine.description.as_str(), mine.licence.as_ref().map(Licence::name)), ("catalogue-sdxl", Some("My own terms")));
}

#[test]
fn only_the_edition_that_learned_it_has_references_at_a_timestep_of_0() {
    let catalogue = Catalogue::shipped();
    assert!(catalogue.entry("qwen-image-edit-2511").unwrap().defaults.zero_cond_t);
    for (file, is_learned) in [
        ("qwen-image-edit-2511-Q3_K_S.gguf", true),
        ("Qwen-Image-Edit-2511-Lightning.safetensors", true),
        ("Qwen-Image-Edit-2509-Q4_K_M.gguf", false),
        ("qwen_image_edit_fp8_e4m3fn.safetensors", false),
        ("qwen-image-2512-Q4_K_M.gguf", false),
    ] {
        assert_eq!(catalogue.defaults_for(Family::QwenImage, file).zero_cond_t, is_learned, "{file}");
    }
}

#[test]
fn a_slip_of_the_pen_is_understood() {
    let catalogue = Catalogue::shipped();
    assert_eq!(catalogue.like("z-image-turob"), Some("z-image-turbo"));
    assert_eq!(catalogue.like("qqqqqqqqq"), None);
}

#[test]
fn a_missing_part_is_offered_from_the_entry_that_knows_the_file() {
    let catalogue = Catalogue::shipped();
    let offer = |family, role, near: &str| catalogue.offer(family, role, near).map(|it| (it.model, it.file.filename.as_str().to_owned()));
    let (model, file) = offer(Family::Flux2Klein, FileRole::Llm, "flux-2-klein-9b-Q4_0.gguf").unwrap();
    assert_eq!((model.as_str(), file.as_str()), ("flux.2-klein-9b", "Qwen3-8B-Q4_K_M.gguf"));
    assert_eq!(offer(Family::Flux2Klein, FileRole::Llm, "x").unwrap().0, "flux.2-klein-4b");
    assert_eq!(offer(Family::Wan, FileRole::Vae, "x"), None);
}

#[test]
fn a_persons_own_files_are_read_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("b.json", r#"[{"id":"x","name":"B","files":[]}]"#);
    write("a.json", r#"[{"id":"x","name":"A","files":[]}]"#);
    write("c.txt", "no catalogue");
    let (catalogue, problems) = Catalogue::open(folder.path(), &[folder.path().join("gone.json")]);
    assert_eq!(catalogue.entry("x").unwrap().name, "B");
    assert!(problems.len() == 1 && problems[0].to_string().contains("gone.json"), "{problems:?}");
    assert_eq!(Catalogue::open(Path::new("/no/such/folder"), &[]).0, Catalogue::shipped());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*|[\\[\\]{}\",\\\\\n:a1 ]{0,60}") {
        let _ = add(&text);
    }
}

/// Those that change a picture as they are told make none of words alone.
#[test]
fn every_model_that_makes_pictures_of_words_has_examples_in_shapes_that_suit_it() {
    let catalogue = Catalogue::shipped();
    let is_main = |it: &ModelFile| matches!(it.role, Role::Part(role) if role.is_main());
    let mut without = Vec::new();
    for entry in catalogue.entries().iter().filter(|it| it.files.iter().any(is_main)) {
        // Distilled models may have a size below their family's.
        let own = entry.defaults.width.unwrap_or(u32::MAX);
        let sizes = entry.family.as_deref().and_then(Family::from_label).unwrap().model_sizes();
        if entry.examples.is_empty() {
            without.push(entry.id.as_str());
        }
        for example in &entry.examples {
            assert!(example.seed.is_none() && example.picture.is_none(), "{}: a picture that nobody has", entry.id);
            let (width, height) = (example.width.unwrap(), example.height.unwrap());
            assert_eq!((width % sizes.multiple, height % sizes.multiple), (0, 0), "{}: {}", entry.id, example.prompt);
            assert!(
                width * height <= sizes.most * sizes.most && width.min(height) >= sizes.least.min(own),
                "{}: {}",
                entry.id,
                example.prompt
            );
        }
    }
    assert_eq!(without, ["flux.1-kontext-dev", "qwen-image-edit-2511"]);
}

#[test]
fn a_file_of_ones_own_has_the_examples_of_the_entry_that_is_called_most_like_it() {
    let catalogue = Catalogue::shipped();
    let first = |family, file: &str| Some(catalogue.examples_for(family, file).first()?.prompt.clone());
    let of = |id: &str| Some(catalogue.entry(id)?.examples.first()?.prompt.clone());
    assert_eq!(first(Family::ZImage, "z_image_turbo-Q4_0.gguf"), of("z-image-turbo"));
    assert_eq!(first(Family::Flux, "flux1-schnell-Q8_0.gguf"), of("flux.1-schnell"));
    assert_eq!(first(Family::Flux, "flux1-kontext-dev-Q8_0.gguf"), None, "it wants a picture");
    assert_eq!(first(Family::Wan, "wan2.1.gguf"), None);
}

#[test]
fn a_list_without_end_is_read_to_its_limit_and_the_rest_is_told() {
    let entry = |n: usize| format!("{{\"id\":\"m{n}\",\"name\":\"a\",\"files\":[]}}");
    let many: Vec<String> = (0..5000).map(entry).collect();
    let (catalogue, problems) = add(&format!("[{}]", many.join(",\n")));
    assert_eq!((catalogue.entries().len(), problems.len()), (MAX_PIECES, 1));
    assert!(problems[0].contains("line 4097") && problems[0].contains("too long"), "{problems:?}");
    let (catalogue, problems) = add(&format!("[{}0]", "0,".repeat(MAX_VALUES)));
    assert_eq!((catalogue.entries().len(), problems.len()), (0, 1));
    assert!(problems[0].contains("more than"), "{problems:?}");
}

#[test]
fn a_model_has_a_bounded_number_of_files_and_variants() {
    let file = |n: usize| format!("{{\"role\":\"lora\",\"filename\":\"{n}\"}}");
    let files: Vec<String> = (0..300).map(file).collect();
    let variants = vec!["{\"name\":\"a\",\"files\":[]}"; 300].join(",");
    for text in [
        format!("{{\"id\":\"a\",\"name\":\"a\",\"files\":[{}]}}", files.join(",")),
        format!("{{\"id\":\"a\",\"name\":\"a\",\"files\":[],\"variants\":[{variants}]}}"),
    ] {
        let (catalogue, problems) = add(&text);
        assert!(catalogue.entries().is_empty() && problems[0].contains("300"), "{problems:?}");
    }
}
