//! Strangers' text in every command that prints some: nothing in it steers the terminal, and what
//! programs read is what was written.

use std::fs;

use atelier_core::plain_text::is_steering;
use atelier_gallery::queue::{JobState, Lane, NewJob};
use atelier_library::MANIFEST;
use atelier_media::{Metadata, write_picture};
use serde_json::{Value, json};

use super::*;

/// Titles, colours, clearing, the second half of escape sequences, direction, unseen characters,
/// and lines that pass for others.
const HOSTILE: [&str; 8] = [
    "a\u{1b}[31mred\u{1b}[2J",
    "\u{1b}]0;owned\u{7}x",
    "b\u{9b}31m\u{90}c\u{7f}",
    "over\rwritten\u{8}\u{8}",
    "x\u{202e}gnp.exe\u{2066}\u{200f}",
    "c\u{2028}d\u{feff}e\u{200b}",
    "tag\u{e0041}\u{e007f}s",
    "name\nerror: forged\n/tmp/forged.png",
];

/// Checks both outputs of a command.
fn check(what: &str, ran: &RunOutcome) {
    for (output, text) in [("out", &ran.out), ("err", &ran.err)] {
        if let Some(c) = text.chars().find(|c| is_steering(*c)) {
            panic!("{what}: {c:?} in {output}: {text:?}");
        }
        assert!(!text.lines().any(|line| line.starts_with("error: forged") || line == "/tmp/forged.png"), "{what}: {output}: {text}");
    }
    assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{what} says nothing");
}

/// Every hostile text in one, for fields.
fn all() -> String {
    HOSTILE.concat()
}

/// A hostile text as a file's name.
fn name(text: &str) -> String {
    text.replace('/', "_")
}

fn never(_: &EngineEnd) {
    panic!("the engine was started");
}

/// A folder of pictures with hostile names, whose settings are hostile too.
fn pictures(home: &Path) -> Vec<PathBuf> {
    let folder = home.join("art");
    fs::create_dir_all(&folder).unwrap();
    let picture = |(seed, text): (usize, &&str)| {
        let recipe = Recipe {
            prompt: format!("{text} {}", all()),
            negative_prompt: all(),
            seed: Some(Seed(seed as u64)),
            files: [(atelier_core::recipe::FileRole::Model, PathBuf::from(format!("/m/{}.gguf", name(&all()))))].into_iter().collect(),
            ..Recipe::default()
        };
        let image = Rgb8::new(8, 4, vec![seed as u8; 96]).unwrap();
        let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
        let path = folder.join(format!("{}.png", name(text)));
        write_picture(&path, &image, &Metadata::of(&recipe, Some(all()), info, &[], &image)).unwrap();
        path
    };
    HOSTILE.iter().enumerate().map(picture).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[cfg(unix)]
#[test]
fn pictures_of_strangers_steer_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    let files = pictures(home.path());
    let folder = home.path().join("art");
    let elsewhere = home.path().join(name(&all()));
    let missing = folder.join(format!("missing {}.png", name(&all())));
    let run = |args: &[&str]| {
        let ran = run_once_at(home.path(), args, never);
        check(&args.join(" "), &ran);
        ran
    };
    run(&["gallery", "scan", text(&folder)]);
    for file in &files {
        for json in [&[][..], &["--json"]] {
            for command in [&["inspect"][..], &["gallery", "info"], &["gallery", "rate", "3"], &["gallery", "tag", HOSTILE[4]]] {
                let ran = run(&[command, &[text(file)], json].concat());
                assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
            }
        }
        run(&["gallery", "export", text(file), "--output", text(&elsewhere)]);
        run(&["upscale", "-m", "/m.pth", "-i", text(file), "-o", text(&file.with_extension("webp"))]);
    }
    let listed = run(&["gallery", "search"]);
    assert_eq!(listed.out.lines().count(), HOSTILE.len(), "one path a line: {}", listed.out);
    let lines: Vec<Value> = run(&["gallery", "search", "--json"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert!(files.iter().all(|file| paths.contains(&text(file))), "JSON means what was written: {paths:?}");
    let info: Value = serde_json::from_str(run(&["gallery", "info", "--json", text(&files[0])]).out.trim()).unwrap();
    assert!(info["negative_prompt"].as_str().unwrap().contains('\u{202e}'), "{info}");

    for command in [&["inspect"][..], &["gallery", "info"], &["gallery", "scan"], &["gallery", "search", "nofield:x"]] {
        assert_ne!(run(&[command, &[text(&missing)]].concat()).exit, Exit::Done);
    }
    for args in [
        &["generate", "-m", text(&missing), "-p", &all(), "-o", text(&missing)][..],
        &["generate", "-m", &all(), "-p", "x"],
        &["generate", "-p", "x", "--like", text(&missing)],
        &["generate", "-p", "x", "-m", "m.gguf", "--lora", text(&missing), "--init", text(&missing), "-o", "x.jpg"],
        &["generate", "-p", "x", "-m", "m.gguf", "--backend", &all()],
        &["generate", "-p", &HOSTILE[..7].concat(), "-m", "m.gguf", "--as-command"],
        &["generate", "--from-command", &format!("sd -m m --{}", all()), "--as-command"],
        &["queue", "add", "-p", "x", "-m", &all()],
        &["models", "info", &all()],
        &["models", "add", text(&missing)],
        &["models", "rm", &all()],
        &["models", "pull", &format!("https://[{}", all())],
    ] {
        // Some get to the engine, which fails in their words.
        check(&args.join(" "), &run_once_at(home.path(), args, fails));
    }
}

/// An engine whose jobs fail, with hostile words at every moment.
fn fails(port: &EngineEnd) {
    while let Some(request) = port.next() {
        let Request::Job { job, .. } = request else { continue };
        if port.start(job).is_some() {
            port.send(Event::Begin { job, begin: Begin { notes: vec![all()], ..begin(1) } });
            port.send(Event::Log { job: Some(job), level: LogLevel::Warn, text: all() });
            port.send(Event::End { job, end: End::Failed(Failure { log: vec![all()], ..Failure::new(all(), all()) }) });
        }
    }
}

#[cfg(unix)]
#[test]
fn paths_for_programs_are_the_bytes_of_the_names() {
    let home = tempfile::tempdir().unwrap();
    let files = pictures(home.path());
    run_once_at(home.path(), &["gallery", "scan", text(&home.path().join("art"))], never);
    let listed = run_once_at(home.path(), &["gallery", "search", "-0"], never);
    let mut paths: Vec<&str> = listed.out.split_terminator('\0').collect();
    paths.sort_unstable();
    let mut expected: Vec<&str> = files.iter().map(|file| text(file)).collect();
    expected.sort_unstable();
    assert_eq!(paths, expected);
    // What a program got, it can give back.
    for file in &paths {
        let rated = run_once_at(home.path(), &["gallery", "rate", "5", "--null", file], never);
        assert_eq!((rated.exit, rated.out), (Exit::Done, format!("{file}\0")));
    }
    let out = home.path().join(format!("{}.png", name(HOSTILE[7])));
    let made = run_once_at(home.path(), &[GENERATE, &["-b", "2", "-0", "-o", text(&out)]].concat(), paints);
    let second = out.with_file_name(format!("{}_2.png", name(HOSTILE[7])));
    assert_eq!((made.exit, made.out), (Exit::Done, format!("{}\0{}\0", out.display(), second.display())), "{}", made.err);
    let shown = run_once_at(home.path(), &[GENERATE, &["-o", text(&out)]].concat(), paints);
    check("generate", &shown);
    assert_eq!(shown.out.lines().count(), 1, "{}", shown.out);
    // JSON and bytes are not mixed, and bytes are for lists of paths alone.
    for args in
        [&["generate", "-p", "x", "--json", "-0"][..], &["generate", "-p", "x", "--as-command", "-0"], &["gallery", "info", "-0", "x"]]
    {
        assert!(flags::Cli::try_parse_from([&["atelier"], args].concat()).is_err(), "{args:?}");
    }
}

#[test]
fn jobs_and_their_ends_steer_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::beneath(home.path());
    let (mut database, _) = atelier_gallery::Database::open(&paths.gallery_file()).unwrap();
    for text in HOSTILE {
        let recipe = Recipe { prompt: text.to_owned(), ..Recipe::default() };
        let new = NewJob { device: Some(all()), ..NewJob::of_person(recipe, Lane::Batch, paths.pictures.clone(), all()) };
        let id = database.add_job(&new).unwrap();
        assert!(database.start_job(id).unwrap());
        let outcome = atelier_gallery::queue::JobOutcome::Failed(all());
        assert_eq!(database.end_job(id, &outcome).unwrap(), Some(JobState::Failed));
        database.add_job(&new).unwrap();
    }
    drop(database);
    for json in [&[][..], &["--json"]] {
        let listed = run_once_at(home.path(), &[&["queue", "list"], json].concat(), never);
        check("queue list", &listed);
        assert!(listed.out.lines().count() > HOSTILE.len());
    }
    check("queue run", &run_once_at(home.path(), &["queue", "run"], fails));
    for more in [&["-v"][..], &["--json", "-v"]] {
        check("generate", &run_once_at(home.path(), &[GENERATE, more].concat(), fails));
    }
}

#[test]
fn models_and_devices_of_strangers_steer_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("models").join("theirs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("up.pth"), "abc").unwrap();
    let manifest = json!({
        "id": "theirs", "name": all(), "description": all(), "family": all(),
        "licence": {"name": all(), "url": format!("https://example.org/{}", all())},
        "files": [{"role": "upscaler", "filename": "up.pth"}],
    });
    fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    let bad = home.path().join("models").join("bad");
    fs::create_dir_all(&bad).unwrap();
    fs::write(bad.join(MANIFEST), json!({"id": all(), "name": all(), "files": all()}).to_string()).unwrap();
    // A LoRA that says of itself what it likes.
    let header = json!({
        "__metadata__": {"ss_tag_frequency": json!({"x": {all(): 3}}).to_string(), "modelspec.title": all(), "modelspec.author": all(),
            "modelspec.usage_hint": all(), "modelspec.trigger_phrase": all(), "ss_sd_model_name": all()},
        "lora_unet_x.lora_down.weight": {"dtype": "F16", "shape": [1, 1], "data_offsets": [0, 2]},
        "lora_unet_x.lora_up.weight": {"dtype": "F16", "shape": [1, 1], "data_offsets": [2, 4]},
    })
    .to_string();
    let lora = home.path().join("models").join("lora.safetensors");
    fs::write(&lora, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 4]].concat()).unwrap();
    let mut seen = String::new();
    for json in [&[][..], &["--json"]] {
        for args in [
            &["models", "list"][..],
            &["models", "search", "red"],
            &["models", "info", "theirs"],
            &["models", "info", text(&lora)],
            &["models", "verify"],
            &["models", "du"],
            &["models", "rm", "theirs", "--dry-run"],
        ] {
            let ran = run_once_at(home.path(), &[args, json].concat(), never);
            check(&args.join(" "), &ran);
            seen += &ran.out;
        }
    }
    assert!(seen.contains("\\u202egnp") && seen.contains("\\u001b[31mred"), "the names were read: {seen}");
    for args in [&["devices"][..], &["devices", "--json"], &["doctor"], &["doctor", "--json"]] {
        let (ran, _home) = run_once(args, |port| {
            assert!(port.queries().next().is_some());
            let device = Device {
                name: "RPC0".into(),
                description: all(),
                kind: DeviceKind::Gpu,
                gpu: Some(all()),
                memory_total_bytes: 8,
                memory_free_bytes: 4,
                memory_allocated_bytes: 0,
            };
            port.send(Event::Log { job: None, level: LogLevel::Warn, text: all() });
            port.send(Event::Devices(vec![device]));
        });
        check(&args.join(" "), &ran);
    }
}

#[test]
fn a_refused_command_line_steers_no_terminal() {
    for text in HOSTILE {
        // The last one may be a file for the window.
        for args in [&["gallery", "rate", "3", &format!("--{text}")][..], &["generate", "-W", text], &["queue", text], &[text, "--json"]] {
            let err = SharedBuffer::default();
            let words = ["atelier"].iter().chain(args).map(OsString::from);
            assert_eq!(parse_to(words, &mut PlainWriter::new(err.clone())).unwrap_err(), Exit::Usage);
            check(&args.join(" "), &RunOutcome { exit: Exit::Usage, out: String::new(), err: err.text() });
        }
    }
}
