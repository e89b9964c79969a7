//! The program itself, on the tiny model: what it prints, what it writes, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use atelier::cli::json::{Line, Outcome, Phase, Plan};
use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{FileRole, ImageSource, Seed, SeedNumber};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::read_metadata;
use support::{files, folder, tiny};
use testkit::broken;

/// A home of this test's own.
fn home(test: &str) -> PathBuf {
    folder(&format!("cli-{test}"))
}

fn atelier(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).args(args).stdin(Stdio::null());
    command
}

fn generate(home: &Path, args: &[&str]) -> Command {
    steps_of(home, "3", args)
}

fn steps_of(home: &Path, steps: &str, args: &[&str]) -> Command {
    let files = files();
    let mut command = atelier(home, &["generate", "-W", "64", "-H", "64", "--cfg", "1", "--steps", steps, "--seed", "42", "-t", "1"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    command.args(["-p", "a lake, 湖"]).args(args);
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn lines(output: &Output) -> Vec<Line> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn a_prompt_becomes_a_picture_file_that_tells_how_it_was_made() {
    let home = home("picture");
    let output = generate(&home, &[]).output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let path = PathBuf::from(text(&output.stdout).trim_end());
    assert!(path.starts_with(home.join("Pictures/Atelier")), "{}", path.display());
    let picture = image::open(&path).unwrap();
    assert_eq!((picture.width(), picture.height()), (64, 64));
    let metadata = read_metadata(&path).unwrap();
    let parameters = metadata.parameters.unwrap();
    assert!(parameters.starts_with("a lake, 湖\nSteps: 3, CFG scale: 1, Seed: 42, Size: 64x64, Model: tiny-zimage"), "{parameters}");
    let restored = metadata.recipe.unwrap().into_recipe(|_, name, bytes| {
        let all = files();
        let (_, path) = all.iter().find(|(_, path)| path.file_name().unwrap() == name && path.metadata().unwrap().len() == bytes)?;
        Some(path.to_path_buf())
    });
    assert_eq!((restored.recipe.files, restored.recipe.seed, restored.missing.len()), (files(), Some(Seed(42)), 0));
    for said in ["Loading diffusion (", "Encoding the prompt\n", "Sampling picture (3 steps)\n", "Decoding picture\n", "Done in "] {
        assert!(err.contains(said), "{said}: {err}");
    }
}

#[test]
fn the_same_seed_gives_the_same_file_and_a_batch_is_numbered() {
    let home = home("batch");
    let (alone, batch) = (home.join("alone.png"), home.join("batch.png"));
    for (path, count) in [(&alone, "1"), (&batch, "2")] {
        let output = generate(&home, &["-b", count, "-o", path.to_str().unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(&alone).unwrap(), fs::read(&batch).unwrap());
    assert!(read_metadata(&home.join("batch_2.png")).unwrap().parameters.unwrap().contains("Seed: 43"));
}

#[test]
fn each_of_several_start_pictures_becomes_a_picture_in_their_order() {
    let home = home("starts");
    fs::create_dir_all(&home).unwrap();
    let starts = [("dark.png", 20), ("light.png", 230)].map(|(name, shade)| {
        let path = home.join(name);
        image::RgbImage::from_pixel(96, 64, image::Rgb([shade, 90, 90])).save(&path).unwrap();
        path
    });
    let [dark, light] = starts.each_ref().map(|path| path.to_str().unwrap());
    let out = home.join("out.png");
    let both = ["--json", "-i", dark, "-i", light, "--strength", "0.5", "-o", out.to_str().unwrap()];
    let output = generate(&home, &both).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: Vec<(PathBuf, Option<PathBuf>)> = lines(&output)
        .into_iter()
        .filter_map(
            |line| if let Line::Picture { path, made_from, .. } = line { Some((path.into(), made_from.map(PathBuf::from))) } else { None },
        )
        .collect();
    let second = home.join("out_2.png");
    assert_eq!(told, [(out.clone(), Some(starts[0].clone())), (second.clone(), Some(starts[1].clone()))]);
    for (path, start) in [(&out, dark), (&second, light)] {
        let recipe = read_metadata(path).unwrap().recipe.unwrap().into_recipe(|_, name, _| Some(home.join(name))).recipe;
        assert_eq!(recipe.init.unwrap().image, ImageSource::File(start.into()), "each says its own start picture");
        let alone = home.join("alone.png");
        let args = ["-i", start, "--strength", "0.5", "-o", alone.to_str().unwrap()];
        assert_eq!(generate(&home, &args).output().unwrap().status.code(), Some(0));
        assert_eq!(image::open(&alone).unwrap(), image::open(path).unwrap(), "the same picture as with one start picture");
    }

    let small = home.join("small.png");
    image::RgbImage::new(64, 64).save(&small).unwrap();
    fs::remove_file(&out).unwrap();
    let refused =
        generate(&home, &["-i", dark, "-i", small.to_str().unwrap(), "--mask", dark, "-o", out.to_str().unwrap()]).output().unwrap();
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("has 64 x 64 pixels") && !out.exists(), "{told}");
    let command = format!("sd-cli -m m.gguf -p x -i '{dark}' -i '{light}'");
    let pasted = atelier(&home, &["generate", "--as-command", "--from-command", &command]).output().unwrap();
    assert!(text(&pasted.stderr).contains(&format!("--init-img {dark}: a later start picture replaces it")), "{}", text(&pasted.stderr));
    assert!(text(&pasted.stdout).contains("light.png") && !text(&pasted.stdout).contains("dark.png"), "{}", text(&pasted.stdout));
}

#[test]
fn json_tells_every_event_and_where_previews_and_pictures_are() {
    let home = home("json");
    let previews = home.join("previews");
    let output = generate(&home, &["--json", "--preview", previews.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = lines(&output);
    assert!(lines.iter().any(|line| matches!(line, Line::Begin { seeds, width: 64, steps: 3, .. } if *seeds == [Seed(42)])), "{lines:?}");
    assert!(lines.iter().any(|line| matches!(line, Line::Phase { phase: Phase::Loading { bytes_total: 1.., .. }, .. })));
    assert!(lines.iter().any(|line| matches!(line, Line::Step { total: 3, .. })));
    for line in &lines {
        if let Line::Preview { path, .. } | Line::Picture { path, .. } = line {
            assert!(image::open(path).is_ok(), "{path}");
        }
    }
    assert!(lines.iter().any(|line| matches!(line, Line::Picture { seed: SeedNumber(Some(Seed(42))), .. })));
    let [.., Line::End { outcome: Outcome::Done { pictures, timings, .. }, .. }] = &lines[..] else { panic!("{lines:?}") };
    assert!(pictures.len() == 1 && timings.total_secs > 0.0);
}

#[test]
fn half_a_lora_is_exit_code_3_with_a_note_also_in_the_queue() {
    let home = home("half-lora");
    let base = files().get(FileRole::Diffusion).unwrap().to_owned();
    let name = |layer: &str| format!("diffusion_model.{layer}");
    let written = testkit::adapters::zimage(&folder("cli-half-lora-file"), &base, testkit::adapters::AdapterKind::Lora, name).unwrap();
    // A layer that this model does not have.
    let elsewhere = |name: &str| Some(name.replace("diffusion_model.layers.0.feed_forward", "diffusion_model.layers.99.feed_forward"));
    let lora = testkit::layouts::renamed(&written.adapter, &home.join("half.safetensors"), elsewhere).unwrap();
    let says = |output: &Output| {
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{err}");
        assert!(err.contains("parts of the LoRA half.safetensors fit this model"), "{err}");
    };
    let arguments = ["--lora", lora.to_str().unwrap()];
    says(&generate(&home, &arguments).output().unwrap());
    let files = files();
    let mut add = atelier(&home, &["queue", "add", "-p", "a lake", "-W", "64", "-H", "64", "--cfg", "1", "--steps", "1", "-t", "1"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        add.arg(flag).arg(files.get(role).unwrap());
    }
    assert!(add.args(arguments).output().unwrap().status.success());
    says(&atelier(&home, &["queue", "run"]).output().unwrap());
}

#[test]
fn a_model_may_be_a_folder_of_diffusers() {
    let home = home("diffusers");
    let files = files();
    let part = |role| files.get(role).unwrap();
    let folder = home.join("a model");
    let parts = [("transformer", part(FileRole::Diffusion)), ("text_encoder", part(FileRole::Llm)), ("vae", part(FileRole::Taesd))];
    testkit::layouts::diffusers_folder(&parts, &folder).unwrap();
    let path = home.join("a.png");
    let arguments = ["generate", "-W", "64", "-H", "64", "--cfg", "1", "--steps", "3", "--seed", "42", "-t", "1", "-p", "a lake, 湖"];
    let mut command = atelier(&home, &arguments);
    let output = command.arg("--model").arg(&folder).arg("-o").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let apart = home.join("apart.png");
    assert!(generate(&home, &["-o", apart.to_str().unwrap()]).status().unwrap().success());
    assert_eq!(image::open(&path).unwrap(), image::open(&apart).unwrap());
    let parameters = read_metadata(&path).unwrap().parameters.unwrap();
    assert!(parameters.contains("Model: a model"), "{parameters}");
}

#[test]
fn a_bad_model_is_a_sentence_and_exit_code_1() {
    let home = home("bad");
    let bad = broken::truncated_in_data(&home).unwrap();
    let tiny = tiny();
    let args = ["generate", "-p", "x", "--diffusion", bad.to_str().unwrap(), "--llm", tiny.llm.to_str().unwrap(), "--taesd"];
    let output = atelier(&home, &args).arg(&tiny.taesd).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    let err = text(&output.stderr);
    assert!(err.lines().any(|line| line.starts_with("error: ") && line.ends_with('.')), "{err}");
    assert!(!home.join("Pictures").exists(), "nothing was made");
}

/// Memory that no device counts: what the engine writes its graphs into, and what the system gives
/// the processor.
#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_to_is_told_before_the_work() {
    let home = home("no-place");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("file"), b"").unwrap();
    for place in ["file/picture.png", "file/new/picture.png"] {
        let output = generate(&home, &["-o", home.join(place).to_str().unwrap()]).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("could not be written to") && !told.contains("Sampling") && !told.contains("Loading"), "{told}");
    }
}

#[test]
fn too_little_ram_is_told_as_that() {
    let home = home("little-ram");
    let mut failed = 0;
    for kibibytes in ["600000", "800000", "1000000"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"")]);
        let wanted = generate(&home, &["-W", "512", "-H", "512", "--steps", "1"]);
        shell.arg(wanted.get_program()).args(wanted.get_args());
        for (name, value) in wanted.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let err = text(&output.stderr);
        if output.status.success() {
            // Decoded in tiles, for which there was enough.
            continue;
        }
        failed += 1;
        assert_eq!(output.status.code(), Some(1), "{kibibytes}: {err}");
        let told = &err[err.find("error: ").unwrap_or_default()..];
        assert!(told.contains("memory") && !told.contains("belong together"), "{kibibytes}: {err}");
    }
    assert!(failed > 0, "there was enough");
}

#[test]
fn a_photomaker_beside_a_model_of_another_family_is_a_sentence_and_exit_code_1() {
    let home = home("photomaker");
    let (photomaker, person) = (home.join("pm.safetensors"), home.join("ann"));
    testkit::families::photomaker_of_zeros(false).write(&photomaker).unwrap();
    fs::create_dir_all(&person).unwrap();
    image::RgbImage::new(8, 8).save(person.join("ann.png")).unwrap();
    let person = ["-p", "a woman img", "--pm-id-images-dir", person.to_str().unwrap()];
    let output = generate(&home, &person).arg("--photo-maker").arg(&photomaker).output().unwrap();
    let err = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{err}");
    assert!(err.contains("pm.safetensors is a PhotoMaker, which works with SDXL alone, and the model is Z-Image."), "{err}");
    let output = generate(&home, &["-p", "a woman img", "--photo-maker", photomaker.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("PhotoMaker needs pictures of a person."), "{}", text(&output.stderr));
}

#[test]
fn without_a_file_of_a_model_the_built_in_one_paints_and_is_called_by_its_name() {
    let home = home("builtin");
    let folder = folder("builtin-model");
    testkit::tiny::builtin(&folder, &testkit::tiny::Options::default()).unwrap();
    let run = |args: &[&str]| {
        let args = [&["generate", "-p", "a lake", "--seed", "42", "-t", "1", "--json"], args].concat();
        let output = atelier(&home, &args).env(BUILTIN_VARIABLE, &folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        lines(&output)
    };
    let named = |line: &Line| matches!(line, Line::Begin { model: Some(name), .. } if name == testkit::tiny::BUILTIN_NAME);
    let output = run(&[]);
    assert!(output.iter().any(named), "{output:?}");
    assert!(output.iter().any(|line| matches!(line, Line::Begin { width: 64, height: 64, steps: 3, .. })), "{output:?}");
    let path = output.iter().find_map(|line| if let Line::Picture { path, .. } = line { Some(path) } else { None }).unwrap();
    let metadata = read_metadata(Path::new(path)).unwrap();
    let parameters = metadata.parameters.unwrap();
    assert!(parameters.contains("Model: Tiny test model") && parameters.contains("Sampler: Euler,"), "{parameters}");
    assert_eq!(metadata.recipe.unwrap().model(), Some(testkit::tiny::BUILTIN_NAME));

    let output = run(&["--steps", "2", "-W", "80"]);
    assert!(output.iter().any(|line| matches!(line, Line::Begin { width: 80, height: 64, steps: 2, .. })), "flags go first: {output:?}");
}

#[test]
fn a_missing_built_in_model_is_a_sentence_that_says_what_to_do() {
    let home = home("no-builtin");
    let output = atelier(&home, &["generate", "-p", "a lake"]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    let err = text(&output.stderr);
    assert!(err.starts_with("error: The built-in model is missing:") && err.contains("Reinstall Atelier"), "{err}");
}

#[test]
fn help_says_what_happens_without_a_model() {
    let output = atelier(&home("help"), &["generate", "--help"]).output().unwrap();
    let help = text(&output.stdout);
    for flag in ["--photo-maker <FILE>", "--pm-id-images-dir <DIR>", "--pm-id-embed-path <FILE>", "--pm-style-strength <PERCENT>"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
    assert!(help.contains("the built-in model is used") && help.contains("[default: 20, or what suits the built-in model]"), "{help}");
}

#[test]
fn wrong_flags_are_exit_code_2_and_help_is_none() {
    let home = home("flags");
    for args in [
        &["generate", "-p", "x", "--vae", "v"][..],
        &["generate", "-p", "x", "-m", "./m.safetensors", "--backend", "disk"],
        &["paint"],
        &["devices", "--color"],
    ] {
        let output = atelier(&home, args).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{args:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
    }
    for args in [&["--help"][..], &["generate", "-h"], &["--version"]] {
        let output = atelier(&home, args).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn the_version_names_number_and_commit() {
    let output = atelier(&home("version"), &["--version"]).output().unwrap();
    let number = concat!("atelier ", env!("CARGO_PKG_VERSION"), " (");
    let version = text(&output.stdout).trim_end();
    assert!(version.strip_prefix(number).and_then(|it| it.strip_suffix(')')).is_some_and(|commit| !commit.is_empty()), "{version}");
}

#[test]
fn the_processor_is_among_the_devices() {
    let home = home("devices");
    let output = atelier(&home, &["devices"]).output().unwrap();
    assert!(output.status.success() && text(&output.stdout).starts_with("NAME"), "{}", text(&output.stderr));
    let output = atelier(&home, &["devices", "--json"]).output().unwrap();
    let [Line::Devices { devices, .. }] = &lines(&output)[..] else { panic!("{}", text(&output.stdout)) };
    assert!(devices.iter().any(|device| device.kind == "cpu" && device.memory_total_bytes > 0), "{devices:?}");
}

#[test]
fn the_level_of_instructions_is_set_by_a_variable_and_nothing_below_what_is_built_in() {
    use atelier_core::processor::{CPU_LEVEL_VARIABLE, CpuLevel};

    let home = home("levels");
    let run = |level: &str| atelier(&home, &["devices"]).env(CPU_LEVEL_VARIABLE, level).output().unwrap();
    let compiled = atelier_engine::processor().compiled;
    let output = run(compiled.name());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!("CPU instructions: the engine uses {compiled}, ")), "{}", text(&output.stdout));
    if compiled > CpuLevel::Baseline {
        let output = run(CpuLevel::Baseline.name());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
        assert!(text(&output.stderr).starts_with("error: This build of Atelier needs "), "{}", text(&output.stderr));
    }
    let output = run("pentium");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    assert!(text(&output.stderr).contains("is not an instruction level"), "{}", text(&output.stderr));
}

#[test]
fn a_picture_is_upscaled_and_keeps_what_it_said() {
    let home = home("upscale");
    let (small, big) = (home.join("small.png"), home.join("big.png"));
    let output = generate(&home, &["-o", small.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let model = testkit::tiny::upscaler(&home, 2, 1).unwrap();
    let args = ["upscale", "-m", model.to_str().unwrap(), "-i", small.to_str().unwrap(), "-o", big.to_str().unwrap(), "-t", "1"];
    let output = atelier(&home, &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(image::open(&big).unwrap().width(), 128);
    assert!(read_metadata(&big).unwrap().parameters.unwrap().starts_with("a lake, 湖\n"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_denoising_ends_with_130_and_a_last_line() {
    let home = home("interrupt");
    let mut command = steps_of(&home, "10000", &["--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| serde_json::from_str::<Line>(&line.unwrap()).unwrap());
    assert!(lines.any(|line| matches!(line, Line::Step { .. })), "it never began");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let last = lines.last();
    assert!(matches!(last, Some(Line::End { outcome: Outcome::Cancelled, .. })), "{last:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!home.join("Pictures").exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_twice_ends_at_once_also_while_a_picture_is_written_to_what_does_not_take_it() {
    let home = home("interrupt-writing");
    let pipe = home.join("pipe.png");
    // Of an earlier run.
    drop(fs::remove_file(&pipe));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // More bytes than a pipe holds.
    let mut command = generate(&home, &["-W", "384", "-H", "384", "--steps", "1", "-o", pipe.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Both ends wait here for each other: then the picture is being written.
    let unread = fs::File::open(&pipe).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "it waits for somebody who reads");
    // Two that come at once may be seen as one.
    let id = child.id().to_string();
    let press = || Command::new("kill").args(["-INT", &id]).status().unwrap();
    let pressed = (0..1000).take_while(|_| press().success() && child.try_wait().unwrap().is_none()).count();
    assert!(pressed < 1000, "it did not end");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(unread);
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_costs_no_picture() {
    let home = home("pipe");
    let out = home.join("a.png");
    let mut child = generate(&home, &["--json", "-o", out.to_str().unwrap()]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(out.is_file());
}

/// `atelier plan` for the tiny model.
fn plan(home: &Path, args: &[&str]) -> Output {
    let files = files();
    let mut command = atelier(home, &["--simulate-devices", "GPU0:1,GPU1:0.016", "plan", "-W", "64", "-H", "64", "--cfg", "1"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    command.args(args).output().unwrap()
}

fn planned(output: &Output) -> Plan {
    match <[Line; 1]>::try_from(lines(output)).unwrap_or_else(|lines| panic!("{lines:?}: {}", text(&output.stderr))) {
        [Line::Plan(plan)] => *plan,
        [line] => panic!("{line:?}"),
    }
}

#[test]
fn a_plan_tells_what_each_device_would_hold_and_what_fits_best() {
    let home = home("plan");
    let output = plan(&home, &["--backend", "GPU0", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let it = planned(&output);
    assert_eq!((it.width, it.height, it.requested.backend.as_str(), it.requested.fits), (64, 64, "all=GPU0", true));
    let device = it.requested.devices.iter().find(|device| device.name == "GPU0").unwrap();
    let weights: u64 = it.requested.modules.iter().map(|module| module.weight_bytes).sum();
    let decode = device.phases.iter().find(|phase| phase.phase == atelier_core::placement::Phase::Decode).unwrap();
    assert_eq!((decode.resident_bytes, decode.total_bytes), (weights, weights + decode.compute_bytes));
    assert!(decode.compute_bytes > 0 && it.suggested.message.is_none() && it.suggested.reasons.len() == 3, "{it:?}");

    let output = plan(&home, &["--backend", "GPU0"]);
    let said = text(&output.stdout);
    assert!(said.contains("DEVICE") && said.contains("decode") && said.contains("all=GPU0") && said.contains("- The "), "{said}");
}

#[test]
fn a_plan_without_rates_says_how_to_get_them() {
    let home = home("plan-times");
    let it = planned(&plan(&home, &["--backend", "te=cpu,diffusion=GPU0,vae=GPU0", "--json"]));
    assert_eq!((it.requested.time, it.requested.unmeasured_devices), (None, vec!["CPU".to_owned(), "GPU0".to_owned()]));
    let output = plan(&home, &["--backend", "cpu"]);
    let said = text(&output.stdout);
    assert!(said.contains("Time per picture is unknown: run `atelier devices --measure` once, for CPU."), "{said}");
}

#[test]
fn a_plan_that_does_not_fit_says_what_is_missing_and_what_would_help() {
    let home = home("plan-short");
    let output = plan(&home, &["--backend", "GPU1", "--params-backend", "GPU1", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let it = planned(&output);
    assert!(!it.requested.fits && it.requested.missing_bytes > 0 && !it.suggested.fixes.is_empty(), "{it:?}");
    assert!(it.suggested.message.as_deref().is_some_and(|sentence| sentence.contains("GPU1")), "{it:?}");
    let output = plan(&home, &["--backend", "GPU1", "--params-backend", "GPU1"]);
    assert!(text(&output.stdout).contains("over by") && text(&output.stdout).contains("Ways to make it fit"), "{}", text(&output.stdout));
}

#[test]
fn a_plan_says_what_would_be_ignored_and_what_is_no_device() {
    let home = home("plan-notes");
    let it = planned(&plan(&home, &["--backend", "cpu", "--stream-layers", "--json"]));
    assert!(it.notes.iter().any(|note| note.starts_with("Streaming layers has no effect")), "{:?}", it.notes);
    let output = plan(&home, &["--backend", "GPU7"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).contains("GPU7"), "{}", text(&output.stderr));
}

#[test]
fn only_what_is_masked_changes_and_a_picture_is_extended() {
    let home = home("parts");
    let (start, mask, out) = (home.join("start.png"), home.join("mask.png"), home.join("out.png"));
    fs::create_dir_all(&home).unwrap();
    image::RgbImage::from_fn(96, 72, |x, y| image::Rgb([x as u8 * 2, y as u8 * 3, 90])).save(&start).unwrap();
    let white = |x: u32, y: u32| (30..50).contains(&x) && (24..40).contains(&y);
    image::GrayImage::from_fn(96, 72, |x, y| image::Luma([if white(x, y) { 255 } else { 0 }])).save(&mask).unwrap();
    let run = |args: &[&str]| {
        let mut command = generate(&home, args);
        let output = command.arg("-i").arg(&start).arg("-o").arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        image::open(&out).unwrap().into_rgb8()
    };
    let old = image::open(&start).unwrap().into_rgb8();
    let new = run(&["--mask", mask.to_str().unwrap(), "--only-masked", "--feather", "6"]);
    assert_eq!(new.dimensions(), (96, 72));
    assert_eq!((new.get_pixel(2, 2), new.get_pixel(90, 70)), (old.get_pixel(2, 2), old.get_pixel(90, 70)));
    assert_ne!(new.get_pixel(40, 32), old.get_pixel(40, 32));
    let recipe = read_metadata(&out).unwrap().recipe.unwrap().into_recipe(|_, name, _| Some(home.join(name))).recipe;
    assert_eq!((recipe.area.unwrap().feather, recipe.width), (Some(6), 64));
    let wide = run(&["--outpaint", "left=16,bottom=8"]);
    assert_eq!(wide.dimensions(), (112, 80));
    assert_eq!(wide.get_pixel(16 + 90, 2), old.get_pixel(90, 2));
}
