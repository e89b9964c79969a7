//! What a person reads in the window stands in the files of `atelier-language`, and nowhere else:
//! held over the source text of `src/gui`. Errors and labels of the crates stand there too.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "support/fluent.rs"]
mod fluent;
#[path = "support/literals.rs"]
mod literals;
#[path = "support/rust_files.rs"]
mod rust_files;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use atelier_core::device::{Device, DeviceKind, SIMULATED_DESCRIPTION};
use atelier_core::format::{decimal, duration, file_size, file_size_rounded, memory_size};
use atelier_core::recipe::{FileRole, FineColours, ImageSource, Rgb8, Samples};
use atelier_core::sd_cli;
use atelier_gallery::queue::Owner;
use atelier_language::{Language, catalogue_text, choose_language, tr};
use atelier_library::{Builtin, CardVariant, Catalogue, Family, Manifest, Missing, identify, parts_job, read_header};
use atelier_media::{encode_jpeg, read_image, settings_of_texts};
use atelier_studio::opened_picture::{KnownModels, read_opened_picture};
use fluent::messages;
use literals::{Found, Use, is_fault, search, search_spoken};
use proc_macro2::TokenStream;
use rust_files::rust_files;

/// Words that are the same in every language, or that another program reads.
const NAMES: &[&str] = &[
    // Of things.
    "Atelier",
    "LoRA",
    "LoRA {}",
    "PhotoMaker",
    "WebP",
    " GB",
    " GiB",
    "^model\\.=q8_0, ^vae=f16",
    "threshold=0.25, start=0.1",
    "Hugging Face",
    "Inter",
    "Lucide",
    "NotoEmoji-Regular",
    "Lanczos",
    "OpenRaster",
    // Of a thread and of a plugin, which nobody reads.
    "engine job",
    "frame pace",
    // Of new files and folders.
    "Canvas.png",
    "Canvas.ora",
    "Canvas.atelier",
    "Pictures",
    // Keys, by their names in code.
    "Tab",
    "Escape",
    "Alt",
    "Space",
    "Delete",
    "Backspace",
    "Up",
    "Down",
    "Left",
    "Right",
    "Enter",
    "Ctrl+D",
    "Ctrl",
    "Shift",
    "Command",
    "Cmd",
    // Settings as the history of changes names them.
    "Prompt",
    "Negative prompt",
    "prompt",
    "negative prompt",
    // A control that draws nothing, in lists of what is slow.
    "input queue",
    // A prompt with which a model is tried.
    "a lake between mountains at dawn, mist over the water, pine trees, soft light",
];

/// Files of the crates whose texts are no words of ours for the window.
const OTHERS: &[&str] = &[
    // Names of families of models, and of programs.
    "crates/library/src/family.rs",
    "crates/media/src/inspect/settings.rs",
    // Questions to the database.
    "crates/gallery/src/groups.rs",
    // Told by `atelier serve-device` alone.
    "crates/engine/src/remote/confinement",
];

/// Texts of the crates that are names, or that no person reads in the window.
const OF_CRATES: &[&str] = &[
    "ControlNet",
    "ComfyUI",
    "{} MiB",
    "{} GiB",
    // Parts of what the engine and serde say, which are looked for.
    "At ",
    " at line ",
    // Beginnings of names, for English articles.
    "An",
    "Ov",
    "Id",
    // Of a flag of the command line.
    "\"{}\" is not a device; write a name and its GiB, for example GPU0:8,GPU1:6",
    // Of stored files and sockets, for the log.
    "a picture of {width}x{height} has another number of bytes",
    "another program answered",
    // In the place of a path, where memory is short.
    "the picture",
];

/// The source files of a folder, without tests.
fn sources(folder: &str) -> Vec<(PathBuf, TokenStream)> {
    let is_of_tests = |part: &std::ffi::OsStr| part == "tests" || part.to_string_lossy().ends_with("tests.rs");
    let is_test = |path: &Path| path.strip_prefix(root()).is_ok_and(|it| it.iter().any(is_of_tests));
    let found = rust_files([root().join(folder)]).into_iter().filter(|path| !is_test(path));
    found.map(|path| (path.clone(), fs::read_to_string(path).unwrap().parse().unwrap())).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The ids of English, with their variables.
fn english() -> BTreeMap<String, BTreeSet<String>> {
    let mut english = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates/language/texts/en")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let owned = |(id, variables): (&str, BTreeSet<&str>)| (id.to_owned(), variables.into_iter().map(str::to_owned).collect());
        english.extend(messages(&text).into_iter().map(owned));
    }
    english
}

#[test]
fn all_that_is_read_in_the_window_stands_in_the_languages() {
    let mut faults = Vec::new();
    for (path, stream) in sources("src/gui") {
        let mut found = Found::default();
        search(stream, "", &mut found);
        let read = found.literals.iter().filter(|it| is_fault(it));
        let unknown = read.filter(|it| !NAMES.contains(&it.text.as_str()));
        faults.extend(unknown.map(|it| format!("{}:{}: {:?} in {:?}", path.display(), it.line, it.text, it.call)));
    }
    assert!(faults.is_empty(), "{} texts are not in crates/language/texts:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn what_the_crates_below_say_to_a_person_stands_in_the_languages_too() {
    let mut faults = Vec::new();
    for (path, stream) in sources("crates") {
        let own = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if OTHERS.iter().any(|other| own.starts_with(other)) {
            continue;
        }
        let mut found = Vec::new();
        search_spoken(stream, false, &mut found);
        let unknown = found.iter().filter(|it| !NAMES.contains(&it.text.as_str()) && !OF_CRATES.contains(&it.text.as_str()));
        faults.extend(unknown.map(|it| format!("{own}:{}: {:?}", it.line, it.text)));
    }
    assert!(faults.is_empty(), "{} texts are not in crates/language/texts:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn words_for_a_person_are_found_in_what_speaks() {
    let spoken = |source: &str| {
        let mut found = Vec::new();
        search_spoken(source.parse().unwrap(), false, &mut found);
        found.len()
    };
    for bad in [
        "fn f() { Err(Advice { sentence: \"It is full.\".into() }) }",
        "fn f() { a.ok_or_else(|| format!(\"{n} are left\")) }",
        "#[error(\"{a} is no file\")] struct A;",
        "fn f() { lines.push(SettingLine { name: \"Setting\".to_owned(), value }) }",
        "impl fmt::Display for A { fn fmt(&self) { f.write_str(\"Two words\") } }",
        "const fn label(self) -> &'static str { match self { A => \"Some words\" } }",
        "#[cfg(test)] mod tests { fn g() { Err(\"Not this\") } } fn f() { Err(\"But this\") }",
    ] {
        assert_eq!(spoken(bad), 1, "{bad}");
    }
    for good in [
        "fn other() { let a = \"two words\"; }",
        "#[error(\"{}\", tr!(\"a-b\"))] struct A;",
        "fn f() { Err(CallError::new(\"two words\")) }",
        "/// Two words.\nfn label(); fn f() { \"two words\" }",
        "#[cfg(test)] mod tests { fn label() { \"Two words\" } }",
        "fn f() { Err(tr!(\"a-b\", name)) }",
    ] {
        assert_eq!(spoken(good), 0, "{good}");
    }
}

/// Checks something in each language. No other test of this process reads a text in the chosen one.
fn in_each_language(check: impl Fn(Language)) {
    static CHOSEN: Mutex<()> = Mutex::new(());
    let _chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    for language in Language::ALL {
        choose_language(language);
        check(language);
    }
    choose_language(Language::English);
}

#[test]
fn a_kind_of_file_is_kept_in_english_and_said_in_each_language() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sd15.safetensors");
    testkit::sd15(&path, 1, testkit::Contents::HeaderOnly).unwrap();
    in_each_language(|language| {
        let kind = identify(&read_header(&path).unwrap());
        assert_eq!(kind.name, "SD1.5 full model", "{language:?}: the cache of headers serves all languages");
        let said = match language {
            Language::English => "an SD1.5 full model",
            Language::German => "ganzes Modell (SD1.5)",
            Language::Japanese => "フルモデル（SD1.5）",
        };
        assert_eq!(kind.described(), said);
    });
}

#[test]
fn what_is_left_out_and_for_whom_a_picture_is_are_said_in_each_language() {
    let many = format!("{{\"a\":[{}0]}}", "0,".repeat(1 << 17));
    in_each_language(|language| {
        let settings = settings_of_texts(vec![("nobody".to_owned(), many.clone())]);
        let pasted = sd_cli::read("sd-cli -m m.gguf --fps 9").unwrap();
        let owner = Owner::this_computer();
        for (said, english) in [
            (settings.not_understood.last().unwrap().1.as_str(), "it has more than 131072 values, so it is skipped"),
            (pasted.left_out[0].reason.as_str(), "Atelier makes no videos"),
            (owner.label(), "Programs on this computer"),
        ] {
            assert_eq!(said == english, language == Language::English, "{language:?}: {said}");
        }
        assert_eq!(owner.name(), "Programs on this computer", "{language:?}: a key of what is stored");
    });
}

#[test]
fn what_the_crates_below_the_window_say_is_said_in_each_language() {
    let offer = Catalogue::shipped().offer(Family::ZImage, FileRole::Llm, "");
    let missing = [Missing { role: FileRole::Llm, what: String::new(), offer }];
    let colours =
        FineColours { samples: Samples::Sixteen(Vec::new()), has_alpha: true, profile: None, is_beyond_srgb: false, from_print: None };
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.jpg");
    let jpeg = encode_jpeg(&Rgb8::new(64, 64, (0..64 * 64 * 3).map(|n| (n * 31 % 251) as u8).collect()).unwrap(), 90).unwrap();
    fs::write(&cut, &jpeg[..jpeg.len() / 2]).unwrap();
    in_each_language(|language| {
        let refused = read_image(&ImageSource::File(cut.clone())).unwrap_err().to_string();
        assert_eq!(refused.contains("its data"), language == Language::English, "{language:?}: {refused}");
        let job = parts_job("mist", "Mist", &missing, Path::new("/models")).unwrap();
        let kept = Manifest::parse(job.manifest.as_deref().unwrap(), Path::new("m")).unwrap();
        assert_eq!((kept.name.as_str(), kept.shown_name()), ("Parts of Mist", job.name.clone()), "{language:?}");
        for (said, english) in [
            (job.name, "Parts of Mist"),
            (file_size(640), "640 bytes"),
            (kept.shown_description(), "The other files that Mist needs."),
            (colours.parts().join(", "), "transparency, 16 bits a channel"),
        ] {
            assert_eq!(said == english, language == Language::English, "{language:?}: {said}");
        }
    });
}

#[test]
fn a_simulated_device_keeps_its_name_and_is_described_in_each_language() {
    let device = |rest: &str| Device {
        name: "GPU0".into(),
        description: format!("{SIMULATED_DESCRIPTION}{rest}"),
        kind: DeviceKind::Gpu,
        gpu: None,
        memory_total_bytes: 1 << 30,
        memory_free_bytes: 1 << 30,
        memory_allocated_bytes: 0,
    };
    in_each_language(|language| {
        for rest in ["", " at 0.5 of its speed", " at 10.0.0.2:7"] {
            let device = device(rest);
            let said = device.described();
            assert_eq!(said == device.description, language == Language::English, "{language:?}: {said}");
            assert!(said.contains("10.0.0.2:7") || !rest.ends_with('7'), "{language:?}: {said}");
        }
        let of_its_maker = Device { description: "Radeon RX 7600 at 0.5 of its speed".into(), ..device("") };
        assert_eq!(of_its_maker.described(), of_its_maker.description);
        // Devices of servers, the second of one that has not answered.
        for description in ["Radeon RX 7600 at 10.0.0.2:7", "At 10.0.0.2:7"] {
            let lent = Device { description: description.into(), kind: DeviceKind::Remote, ..device("") };
            let said = lent.described();
            assert_eq!(said == description, language == Language::English, "{language:?}: {said}");
            assert!(said.contains("10.0.0.2:7") && said.contains("7600") == description.contains("7600"), "{language:?}: {said}");
        }
    });
}

#[test]
fn the_words_of_a_decoder_are_quoted_in_a_sentence_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (png, unknown) = (folder.path().join("a.png"), folder.path().join("b.png"));
    fs::write(&png, [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 90]].concat()).unwrap();
    fs::write(&unknown, [9; 90]).unwrap();
    in_each_language(|language| {
        let quote = match language {
            Language::English => "its decoder says \"",
            Language::German => "der Decoder meldet „",
            Language::Japanese => "デコーダーの報告：「",
        };
        for path in [&png, &unknown] {
            let said = read_image(&ImageSource::File(path.clone())).unwrap_err().to_string();
            assert!(said.contains(quote), "{language:?}: {said}");
        }
    });
}

#[test]
fn decimals_are_written_as_in_the_language() {
    in_each_language(|language| {
        for (shown, english) in [
            (file_size(9_240_000), "9.2 MB"),
            (file_size_rounded(3_400_000_000), "3.4 GB"),
            (memory_size(15 << 29), "7.5 GiB"),
            (duration(0.43), "0.4 s"),
            (decimal(-0.5, 2), "-0.50"),
        ] {
            assert_eq!(shown, english.replace('.', if language == Language::German { "," } else { "." }), "{language:?}");
        }
        // Also where a text gets the number as it is, and no other word with a dot.
        let said = tr!("create-denoise", strength = 0.25_f32);
        assert_eq!(said.contains("0,25"), language == Language::German, "{language:?}: {said}");
        for name in ["1.5.2", "v1.5", "mist.png", "1.", ".5", "1.5e3", "master-1.2", "1.5 GB"] {
            assert_eq!(atelier_language::decimal(name.to_owned()), name, "{language:?}");
        }
    });
}

/// A file, a model or a prompt may be two numbers with a dot between them.
#[test]
fn names_that_look_like_decimals_keep_their_point() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("2.0.png");
    fs::write(&picture, testkit::pictures::png(&[("parameters", "1.5\nSteps: 14, CFG scale: 4.5, Model: 2.1, Size: 64x64, Seed: 4")]))
        .unwrap();
    in_each_language(|language| {
        for said in [
            tr!("models-download-for", bytes = file_size(640), name = "1.5"),
            tr!("models-for", search = "1.5"),
            tr!("program-version", version = "1.5"),
            tr!("core-is-not-an-axis", text = "1.5"),
        ] {
            assert!(said.contains("1.5"), "{language:?}: {said}");
        }
        let opened = read_opened_picture(&picture, &KnownModels::default()).unwrap();
        assert_eq!(opened.settings.prompt.as_deref(), Some("1.5"));
        let has = |value: &str| opened.understood.iter().any(|line| line.value == value);
        let guidance = if language == Language::German { "4,5" } else { "4.5" };
        assert!(has("1.5") && has(guidance), "{language:?}: {:?}", opened.understood);
        assert!(opened.missing.iter().any(|model| model.name == "2.1"), "{language:?}: {:?}", opened.missing);
    });
}

#[test]
fn our_entries_speak_each_language_and_a_persons_keep_their_own_words() {
    let builtin = Builtin::open(&root().join("assets/builtin-model")).unwrap();
    in_each_language(|language| {
        let mut catalogue = Catalogue::shipped();
        let variants = catalogue.entries().iter().flat_map(|it| &it.variants).map(|it| &it.description);
        let ours = catalogue.entries().iter().map(|it| &it.description).chain(variants).chain([&builtin.manifest().description]);
        for english in ours {
            assert!(english.is_ascii() && !english.starts_with("catalogue-"), "{english}: files are given English");
            assert_eq!(catalogue_text(english) == english, language == Language::English, "{language:?}: {english}");
        }
        for name in catalogue.entries().iter().flat_map(|it| &it.variants).map(|it| it.name.as_str()) {
            let is_word = name.bytes().all(|letter| letter.is_ascii_lowercase());
            let variant = CardVariant { name: name.into(), id: String::new(), description: String::new(), bytes: None, on_disk: false };
            assert_eq!(variant.words() != name, is_word && language != Language::English, "{language:?}: {name}");
        }
        let own = r#"{"id":"umbra","name":"Umbra","description":"Portraits in low light.","files":[]}"#;
        assert!(catalogue.add(own, Path::new("own.json")).is_empty());
        let said = &catalogue.entry("umbra").unwrap().description;
        assert_eq!(catalogue_text(said), "Portraits in low light.", "{language:?}");
    });
}

#[test]
fn the_help_of_the_command_line_which_is_english_is_not_shown_in_the_window() {
    for path in rust_files([root().join("src/gui")]) {
        let source = fs::read_to_string(&path).unwrap();
        assert!(!source.contains(".help()"), "{}", path.display());
    }
}

#[test]
fn every_text_is_used_with_its_variables() {
    let english = english();
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for (path, stream) in sources("src").into_iter().chain(sources("crates")) {
        let mut found = Found::default();
        search(stream, "", &mut found);
        for it in &found.uses {
            used.insert(it.id.clone());
            match english.get(&it.id) {
                None => faults.push(format!("{}: there is no text {}", path.display(), it.id)),
                Some(variables) if !variables.is_subset(&it.variables) => {
                    faults.push(format!("{}: {} needs {variables:?}, and gets {:?}", path.display(), it.id, it.variables));
                }
                Some(_) => {}
            }
        }
        // Tables hold ids too, and say them by `text`.
        used.extend(found.literals.into_iter().map(|it| it.text));
    }
    // The names of settings are found by their fields.
    let rows = fs::read_to_string(root().join("crates/core/src/recipe/settings.rs")).unwrap();
    let is_of_row = |id: &str| id.strip_prefix("core-setting-").is_some_and(|field| rows.contains(&format!("\n    {field}: ")));
    // Our own catalogue names its texts by ids, and so does the manifest of the built-in model.
    let manifests = ["catalogue.json", "builtin-model/manifest.json"].map(|it| fs::read_to_string(root().join("assets").join(it)).unwrap());
    let is_of_catalogue = |id: &str| manifests.iter().any(|it| it.contains(&format!("\"{id}\"")));
    let unused = english.keys().filter(|id| !used.contains(*id) && !is_of_row(id) && !is_of_catalogue(id));
    faults.extend(unused.map(|id| format!("{id} is used nowhere")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn literals_are_found_wherever_they_stand() {
    let literals = |source: &str| {
        let mut found = Found::default();
        search(source.parse().unwrap(), "", &mut found);
        let read = found.literals.into_iter().filter(is_fault);
        read.map(|it| it.text).collect::<Vec<_>>()
    };
    for bad in [
        "fn f(ui: &mut Ui) { ui.label(\"Save\"); }",
        "const NAMES: [&str; 1] = [\"two words\"];",
        "fn f() -> String { format!(\"{n} more left\") }",
        "fn f() { small(if a { \"Of one\" } else { b }, c) }",
        "fn f() { match a { A => (\"Label\", \"x\") } }",
        "#[cfg(test)] mod tests { fn g() { \"Not this\" } } fn f() { \"But this\" }",
        "fn f() { field(ui, tr!(\"a-b\"), \"--flag\", \"auto\", hover) }",
        "fn f() { painter.text(place, \"auto\".to_owned(), font) }",
    ] {
        assert_eq!(literals(bad).len(), 1, "{bad}: {:?}", literals(bad));
    }
    for good in [
        "fn f() { Id::unique(\"two words\") }",
        "fn f() { Id::unique((\"two words\", 3)) }",
        "fn f() { tracing::warn!(\"The disk {x} is full\") }",
        "#[error(\"{a} is no file\")] struct A;",
        "fn f() { tr!(\"create-save-all\") }",
        "fn f() { a(\"png\", \"{name}.{ending}\", \"GPU\") }",
        "#[cfg(test)] mod tests { fn g() { \"Not this\" } }",
    ] {
        assert!(literals(good).is_empty(), "{good}: {:?}", literals(good));
    }
}

#[test]
fn the_values_of_a_text_are_read_with_its_id() {
    let mut found = Found::default();
    search("fn f() { tr!(\"a-b\", name, left = f(x, 3), right = tr!(\"c-d\")) }".parse().unwrap(), "", &mut found);
    let names = |it: &[&str]| it.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let uses = [Use { id: "a-b".into(), variables: names(&["name", "left", "right"]) }, Use { id: "c-d".into(), variables: names(&[]) }];
    assert_eq!(found.uses, uses);
}
