use super::*;
use atelier_core::recipe::FileRole;
use atelier_core::recipe::{Recipe, Sampler, Scheduler};

const FULL: &str = r#"{
  "id": "z-image-turbo",
  "name": "Z-Image Turbo",
  "family": "Z-Image",
  "description": "Fast and sharp.",
  "licence": { "name": "Its own", "url": "https://example.org/terms", "gated": true, "since": 2025 },
  "files": [
    {
      "role": "diffusion",
      "filename": "parts/z.gguf",
      "size": 3,
      "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "url": "https://example.org/z.gguf",
      "mirror": "b"
    },
    { "role": "llm", "filename": "q.gguf", "hf": { "repo": "a/b", "path": "q.gguf", "revision": "main", "lfs": true } },
    { "role": "tae", "filename": "t.safetensors" },
    { "role": "lora", "filename": "ink.safetensors" },
    { "role": "lora", "filename": "oil.safetensors" }
  ],
  "defaults": { "steps": 8, "cfg": 1.5, "width": 256, "height": 192, "sampler": "euler", "scheduler": "simple", "flow_shift": 3.0,
    "preview": "tae", "mood": "calm" },
  "variants": [ { "name": "Q4", "files": [ { "role": "diffusion", "filename": "z4.gguf", "size": 2 } ], "checked": true } ],
  "examples": [ { "prompt": "a lake", "width": 256, "height": 192 }, { "prompt": "a wood", "seed": 7, "picture": "wood.png" } ],
  "checked": false
}"#;

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(text, Path::new("folder/manifest.json"))
}

fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// A folder with the file that `FULL` describes by size and sum, and its other files empty.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("parts")).unwrap();
    fs::write(folder.path().join("parts/z.gguf"), "abc").unwrap();
    for name in ["q.gguf", "t.safetensors", "ink.safetensors", "oil.safetensors"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

#[test]
fn everything_survives_a_round_trip_also_what_is_not_known() {
    let manifest = parse(FULL).unwrap();
    let written = manifest.to_json().unwrap();
    assert_eq!(parse(&written).unwrap(), manifest);
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&written), value(FULL));
}

#[test]
fn roles_are_read_by_the_formats_words_and_by_the_recipes() {
    let files = parse(FULL).unwrap().files;
    let roles: Vec<Role> = files.iter().map(|it| it.role).collect();
    let part = Role::Part;
    assert_eq!(roles, [part(FileRole::Diffusion), part(FileRole::Llm), part(FileRole::Taesd), Role::Lora, Role::Lora]);
    for role in FileRole::ALL {
        assert_eq!(Role::from_key(role.key()), Some(Role::Part(role)));
        assert_eq!(Role::from_key(Role::Part(role).key()), Some(Role::Part(role)));
    }
    assert_eq!(Role::from_key("text_encoder"), Some(Role::Part(FileRole::Llm)));
}

#[test]
fn a_wrong_entry_is_refused_with_file_and_line() {
    let cases = [
        ("\"role\": \"llm\"", "\"role\": \"brain\"", 16, "there is no role \"brain\""),
        ("\"size\": 3", "\"size\": -3", 11, "-3"),
        ("ba7816", "xx7816", 12, "not a SHA-256"),
        ("\"z-image-turbo\"", "\"../turbo\"", 2, "not an id"),
        ("\"Z-Image Turbo\"", "\" \"", 3, "the name is empty"),
        ("\"steps\": 8", "\"steps\": 0", 21, "0 steps is out of range"),
        ("\"width\": 256", "\"width\": 99999", 21, "99999 pixels is out of range"),
        ("\"cfg\": 1.5", "\"cfg\": -1.5", 21, "-1.5 is out of range"),
        ("\"euler\"", "\"eular\"", 21, "\"eular\""),
        ("\"filename\": \"q.gguf\"", "\"filename\": \"../q.gguf\"", 16, "inside the model's folder"),
        ("\"role\": \"tae\"", "\"role\": \"llm\"", 17, "the same part"),
        ("\"oil.safetensors\"", "\"ink.safetensors\"", 19, "the same part"),
        ("\"https://example.org/z.gguf\"", "\"file:///etc/passwd\"", 13, "not a URL"),
        ("\"picture\": \"wood.png\"", "\"picture\": \"../wood.png\"", 24, "inside the model's folder"),
        ("\"prompt\": \"a lake\", \"width\": 256", "\"prompt\": \"a lake\", \"width\": 99999", 24, "99999 pixels is out of range"),
        ("\"a/b\"", "\"a/b/c\"", 16, "not a repository"),
        ("\"path\": \"q.gguf\"", "\"path\": \"../q.gguf\"", 16, "inside"),
    ];
    for (right, wrong, line, what) in cases {
        assert!(FULL.contains(right), "{right}");
        let sentence = refused(&FULL.replace(right, wrong));
        assert!(sentence.starts_with(&format!("folder/manifest.json, line {line}: ")), "{wrong}: {sentence}");
        assert!(sentence.contains(what) && sentence.ends_with('.'), "{sentence}");
    }
    assert!(refused("{").contains("line 1"));
    assert!(refused(r#"{"id": "x", "name": "x"}"#).contains("files"));
}

#[test]
fn a_filename_never_leads_out_of_the_folder() {
    let name = |text: &str| FileName::try_from(text.to_owned());
    for bad in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        ".",
        "./x",
        "a//b",
        "a/",
        "C:\\x",
        "C:x",
        "..\\x",
        "a\\b",
        ".. /x",
        "x.",
        "a\0b",
        "a\nb",
        "\\\\server\\x",
        "nul",
        "a/COM1.gguf",
    ] {
        assert!(name(bad).is_err(), "{bad:?}");
    }
    assert!(name(&"x".repeat(513)).is_err());
    for good in ["x.gguf", "a/b c/x-1.0.safetensors", ".hidden", "湖.gguf"] {
        let path = name(good).unwrap().in_folder(Path::new("/models/m"));
        assert!(path.starts_with("/models/m") && path.ends_with(good), "{good}");
    }
}

#[test]
fn files_are_found_by_role_and_one_of_another_size_or_sum_is_named() {
    let (folder, manifest) = (folder(), parse(FULL).unwrap());
    let files = manifest.locate(folder.path()).unwrap();
    assert_eq!(files.iter().count(), 3);
    assert_eq!(files.get(FileRole::Diffusion), Some(folder.path().join("parts/z.gguf").as_path()));
    manifest.verify(folder.path()).unwrap();

    let path = folder.path().join("parts/z.gguf");
    fs::write(&path, "abd").unwrap();
    assert!(manifest.locate(folder.path()).is_ok(), "the size is right");
    assert!(matches!(manifest.verify(folder.path()), Err(FaultyFile::Contents { path: it }) if it == path));
    fs::write(&path, "abcd").unwrap();
    let error = manifest.locate(folder.path()).unwrap_err().to_string();
    assert!(error.contains("has 4 bytes and should have 3"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Unreadable { .. })));
    fs::create_dir(&path).unwrap();
    assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Unreadable { .. })));
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused_and_one_inside_is_followed() {
    let (folder, elsewhere, manifest) = (folder(), tempfile::tempdir().unwrap(), parse(FULL).unwrap());
    let path = folder.path().join("parts/z.gguf");
    fs::rename(&path, folder.path().join("real.gguf")).unwrap();
    std::os::unix::fs::symlink("../real.gguf", &path).unwrap();
    assert!(manifest.locate(folder.path()).is_ok());
    fs::remove_file(&path).unwrap();
    fs::write(elsewhere.path().join("z.gguf"), "abc").unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("z.gguf"), &path).unwrap();
    assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Outside { .. })));
    assert!(matches!(manifest.verify(folder.path()), Err(FaultyFile::Outside { .. })));
    fs::remove_file(&path).unwrap();
    fs::remove_dir(folder.path().join("parts")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("parts")).unwrap();
    assert!(matches!(manifest.locate(folder.path()), Err(FaultyFile::Outside { .. })), "a folder may be a link too");
}

#[test]
fn a_model_is_called_by_the_manifest_that_names_its_file() {
    let folder = folder();
    let main = |name: &str| ModelFiles::from_iter([(FileRole::Model, folder.path().join(name))]);
    assert_eq!(model_name(&main("q.gguf")), None);
    fs::write(folder.path().join(MANIFEST), FULL).unwrap();
    assert_eq!(model_name(&main("q.gguf")).as_deref(), Some("Z-Image Turbo"));
    assert_eq!(model_name(&main("another.gguf")), None, "a file that happens to lie there");
    fs::write(folder.path().join(MANIFEST), "not JSON").unwrap();
    assert_eq!(model_name(&main("q.gguf")), None);
}

#[test]
fn defaults_leave_prompt_and_seed_alone() {
    let mut recipe = Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), eta: Some(1.0), steps: 99, ..Recipe::default() };
    parse(FULL).unwrap().defaults.apply(&mut recipe);
    assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.eta), ("a lake", Some(Seed(7)), None));
    assert_eq!((recipe.steps, recipe.guidance, recipe.width, recipe.height), (8, 1.5, 256, 192));
    assert_eq!((recipe.sampler, recipe.scheduler, recipe.flow_shift), (Some(Sampler::Euler), Some(Scheduler::Simple), Some(3.0)));
}

#[test]
fn a_variant_takes_the_place_of_the_files_of_its_roles() {
    let model = parse(FULL).unwrap();
    let variant = model.as_variant("q4").unwrap();
    let names: Vec<&str> = variant.files.iter().map(|it| it.filename.as_str()).collect();
    assert_eq!(names, ["z4.gguf", "q.gguf", "t.safetensors", "ink.safetensors", "oil.safetensors"]);
    assert_eq!((variant.id.as_str(), variant.name.as_str()), ("z-image-turbo-q4", "Z-Image Turbo (Q4)"));
    assert_eq!((variant.variant.as_deref(), variant.checked, variant.defaults.steps), (Some("Q4"), Some(true), Some(8)));
    assert_eq!(model.as_variant("Q5"), None);
    assert_eq!(parse(&variant.to_json().unwrap()).unwrap(), variant);
}

#[test]
fn sizes_are_added_up_where_all_are_said_and_same_files_are_told_by_sum_or_source() {
    let mut model = parse(FULL).unwrap();
    assert_eq!(model.bytes(), None);
    for file in &mut model.files {
        file.about = Some(10);
    }
    assert_eq!(model.bytes(), Some(43), "an exact size goes before one that is about right");
    let (one, two) = (&model.files[0], &model.files[1]);
    assert!(one.is_same(one) && two.is_same(two) && !one.is_same(two));
    assert!(!model.files[2].is_same(&model.files[2]), "nobody says where it comes from");
    assert_eq!(two.origin(), Some(Origin::HuggingFace { repo: "a/b", path: "q.gguf", revision: "main" }));
}

#[test]
fn terms_ask_to_be_seen_where_they_are_gated_or_forbid_trade() {
    let licence = |text: &str| serde_json::from_str::<Licence>(text).unwrap();
    assert!(!licence("\"MIT\"").asks() && !licence(r#"{"name":"Own"}"#).asks());
    assert!(licence(r#"{"name":"Own","gated":true}"#).is_gated());
    let mut terms = licence(r#"{"name":"Own","url":"https://example.org","non_commercial":true}"#);
    assert!(terms.asks() && !terms.is_gated());
    terms.accept();
    assert!(serde_json::to_string(&terms).unwrap().contains("\"accepted\":true"));
}

proptest::proptest! {
    #[test]
    fn whatever_a_filename_says_it_stays_inside(name in "\\PC{0,40}|[./\\\\a:]{0,12}") {
        if let Ok(name) = FileName::try_from(name) {
            let path = name.in_folder(Path::new("/m"));
            proptest::prop_assert!(path.starts_with("/m") && path != Path::new("/m"));
            let plain = path.components().skip(1).all(|it| matches!(it, std::path::Component::Normal(_)));
            proptest::prop_assert!(plain, "{}", path.display());
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*") {
        let _ = parse(&text);
    }
}
