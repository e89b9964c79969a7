//! Meaning of the flags, by examples.

use clap::Parser;

use super::super::flags::{Cli, Command};
use super::*;
use atelier_core::canvas::StartFit;
use atelier_core::placement::{Module, ModuleSet, parse_backend, parse_params_backend};
use atelier_core::recipe::{
    CacheMode, Hires, LatentUpscaler, LoraMode, Person, PredictionType, Preprocessor, RedrawTiles, Rng, Sampler, Scheduler, SeedBlend,
    SkipLayers, StepCache, TensorType, TileSize, Upscale, VaeFormat,
};
use atelier_library::{Builtin, BuiltinError, LibraryConfig, Runnable};

fn job(args: &[&str]) -> Result<ResolvedJob, UsageError> {
    job_beside(args, || Err(BuiltinError::Missing { looked: Vec::new() }))
}

/// A library with one model.
fn find(name: &str) -> Result<Runnable, UsageError> {
    if name != "mine" {
        return Err(Problem::new(format!("There is no {name}."), "Look.").into());
    }
    let files = ModelFiles::from_iter([(FileRole::Diffusion, "/m/d.gguf".into()), (FileRole::Vae, "/m/v.gguf".into())]);
    let defaults = atelier_library::Defaults { steps: Some(6), ..atelier_library::Defaults::default() };
    let loras = vec![Lora::new("/m/l.gguf".into(), 1.0)];
    Ok(Runnable { id: "mine".into(), name: "Mine".into(), files, loras, defaults })
}

#[test]
fn a_model_of_the_library_brings_its_settings_and_flags_go_before_them() {
    let it = job(&["generate", "-p", "x", "-m", "mine", "--vae", "other.gguf", "--lora", "b.gguf"]).unwrap();
    assert_eq!(it.model.as_deref(), Some("Mine"));
    let Task::Generate { recipe, .. } = it.task else { panic!("no recipe") };
    assert_eq!((recipe.steps, recipe.loras.len()), (6, 2));
    assert_eq!(recipe.files.get(FileRole::Vae), Some(Path::new("other.gguf")));
    assert_eq!(recipe.files.get(FileRole::Diffusion), Some(Path::new("/m/d.gguf")));
    assert_eq!(recipe_of(&["-m", "mine", "--steps", "3"]).steps, 3);
    let missing = job(&["generate", "-p", "x", "-m", "yours"]).unwrap_err();
    assert!(missing.is_missing_resource() && missing.to_string() == "There is no yours. Look.");
    let hires = recipe_of(&["--hires", "1.5", "--upscaler", "realesrgan", "--allow-pickle", "-m", "mine"]).hires.unwrap();
    let expected = Hires { scale: 1.5, upscaler: Some("/models/realesrgan/up.pth".into()), allow_pickle: true, ..Hires::default() };
    assert_eq!(hires, expected);
    let own = ["--hires", "--hires-width", "640", "--hires-sigmas", "3.5,0", "--hires-upscaler", "latent (bicubic)", "-m", "mine"];
    let (sigmas, latent) = (vec![3.5, 0.0], Some(LatentUpscaler::Bicubic));
    assert_eq!(recipe_of(&own).hires, Some(Hires { target: Some((640, 640)), sigmas, latent, ..Hires::default() }));
    let it = job(&["upscale", "-m", "realesrgan", "-i", "a.jpg", "-o", "b.png"]).unwrap();
    assert!(matches!(&it.task, Task::Upscale { model, .. } if model.ends_with("realesrgan/up.pth")));
}

#[test]
fn flags_have_sd_clis_names_too() {
    let hires = ["-m", "m.gguf", "--hires", "--hires-scale", "1.5", "--hires-denoising-strength", "0.7"];
    assert_eq!(recipe_of(&hires).hires, Some(Hires { scale: 1.5, strength: 0.7, ..Hires::default() }));
    let control = recipe_of(&["-m", "m.gguf", "--control-net", "c", "--control-image", "c.png", "--canny"]).control.unwrap();
    assert_eq!(control.preprocessor, Some(Preprocessor::Canny));
    let encoders = recipe_of(&["--diffusion-model", "d", "--qwen2vl", "q", "--qwen2vl_vision", "v"]).files;
    assert_eq!((encoders.get(FileRole::Llm), encoders.get(FileRole::LlmVision)), (Some(Path::new("q")), Some(Path::new("v"))));
    assert!(recipe_of(&["-m", "m.gguf", "--fa"]).flash_attention);
    let upscaled = |more: &[&str]| recipe_of(&[&["-m", "m.gguf", "--hires", "--hires-upscaler"], more].concat()).hires.unwrap();
    assert_eq!(upscaled(&["lanczos"]), Hires::default());
    let named = upscaled(&["x2.gguf", "--hires-upscalers-dir", "up", "--hires-upscale-tile-size", "64"]);
    assert_eq!(named, Hires { upscaler: Some(Path::new("up").join("x2.gguf")), tile_size: Some(64), ..Hires::default() });
    let tile = |more: &[&str]| recipe_of(&[&["-m", "m.gguf", "-W", "1024", "-H", "768"], more].concat()).vae_tile_size;
    let oblong = |width, height| Some(TileSize { width, height });
    assert_eq!((tile(&["--vae-tile-size", "32x32"]), tile(&["--vae-tile-size", "48x16"])), (Some(TileSize::square(32)), oblong(48, 16)));
    assert_eq!(tile(&["--vae-relative-tile-size", "0.5"]), oblong(64, 48));
    assert_eq!(tile(&["--vae-relative-tile-size", "0.5x0.25"]), oblong(64, 24));
    for alone in [&["--hires-scale", "2"][..], &["--canny"], &["--control-image", "c", "--canny", "--control-prepare", "tile"]] {
        refused(&[&["-m", "m.gguf", "-p", "x"], alone].concat());
    }
}

#[test]
fn relative_vae_tiles_count_the_latents_of_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("klein.safetensors");
    let mut model = testkit::families::clip_vision();
    model.add("double_stream_modulation_img.lin.weight", &[8, 8]);
    model.write(&path).unwrap();
    let words = ["-m", path.to_str().unwrap(), "-W", "1024", "-H", "768", "--vae-relative-tile-size", "0.5"];
    assert_eq!(recipe_of(&words).vae_tile_size, Some(TileSize { width: 32, height: 24 }), "16 pixels each");
    let pasted = |model: &str| {
        let command = format!("sd-cli -p x -m '{model}' -W 1024 -H 768 --vae-relative-tile-size 0.25");
        match job(&["generate", "-o", "a.png", "--from-command", &command]).unwrap().task {
            Task::Generate { recipe, .. } => recipe.vae_tile_size,
            Task::Upscale { .. } => panic!("no recipe"),
        }
    };
    assert_eq!(pasted(path.to_str().unwrap()), Some(TileSize { width: 16, height: 12 }));
    assert_eq!(pasted("unknown.gguf"), Some(TileSize { width: 32, height: 24 }));
}

/// All jobs of a command.
fn jobs(args: &[&str]) -> Result<Vec<ResolvedJob>, UsageError> {
    jobs_of(args, Path::new("/home/x"))
}

/// The same, of a person with this home.
fn jobs_of(args: &[&str], home: &Path) -> Result<Vec<ResolvedJob>, UsageError> {
    let Command::Generate(flags) = Cli::try_parse_from([&["atelier", "generate", "-m", "m.gguf"], args].concat()).unwrap().command.unwrap()
    else {
        panic!("generates nothing");
    };
    let upscaler = |name: &str| Ok(Path::new("/models").join(name).join("up.pth"));
    let builtin = || Err(BuiltinError::Missing { looked: Vec::new() });
    let lookup = Lookup { model: &find, loras: &loras, like: &like, upscaler: &upscaler, builtin: &builtin };
    generate(&flags, || Ok(Paths::beneath(home)), &lookup)
}

/// Prompts and seeds of the jobs of a command, with the templates.
fn words(args: &[&str]) -> Vec<(String, u64, String)> {
    let recipe = |job: ResolvedJob| match job.task {
        Task::Generate { recipe, .. } => (recipe.prompt, recipe.seed.unwrap().0, recipe.template),
        other @ Task::Upscale { .. } => panic!("{other:?}"),
    };
    jobs(args).unwrap().into_iter().map(recipe).collect()
}

#[test]
fn each_picture_of_a_template_is_a_job_that_says_what_was_chosen() {
    let template = "{red|blue} lake";
    let made = words(&["-p", template, "--seed", "3", "-b", "8"]);
    assert_eq!(made.iter().map(|it| it.1).collect::<Vec<_>>(), (3..11).collect::<Vec<_>>());
    assert!(made.iter().all(|it| ["red lake", "blue lake"].contains(&it.0.as_str()) && it.2 == template));
    assert!(made.iter().any(|it| it.0 != made[0].0), "{made:?}");
    assert_eq!(words(&["-p", template, "--seed", "5"]), made[2..3], "the same seed chooses the same");
    let first = jobs(&["-p", template, "--seed", "3", "-o", "a.png", "-b", "2"]).unwrap();
    assert!(first[0].notes.iter().any(|note| note.ends_with(&format!("Prompt of seed 3: {}", made[0].0))), "{:?}", first[0].notes);
    let earlier = |job: &ResolvedJob| matches!(&job.destination, Destination::Named { earlier, .. } if *earlier == 1);
    assert!(!earlier(&first[0]) && earlier(&first[1]), "each has a file of its own");
    assert_eq!(words(&["-p", "a {lake}", "--seed", "3", "-b", "8"]), [("a {lake}".to_owned(), 3, String::new())], "nothing is chosen");
}

/// Prompts, seeds and seeds of choices of the jobs of a command.
fn chosen(args: &[&str]) -> Vec<(String, Option<Seed>, Option<Seed>)> {
    let told = |job: ResolvedJob| match job.task {
        Task::Generate { recipe, .. } => (recipe.prompt, recipe.seed, recipe.words_seed),
        other @ Task::Upscale { .. } => panic!("{other:?}"),
    };
    jobs(args).unwrap().into_iter().map(told).collect()
}

#[test]
fn with_a_seed_of_choices_other_seeds_have_the_same_words() {
    let template = "{2$$red|blue|green|grey} {lake|sea}";
    let own = |seed: &str| chosen(&["-p", template, "--words-seed", "3", "--seed", seed, "-b", "6"]);
    let follows = chosen(&["-p", template, "--seed", "3", "-b", "6"]);
    for first in [3_u64, 900] {
        for (by, (made, expected)) in (0..).zip(own(&first.to_string()).into_iter().zip(&follows)) {
            let seeds = (Some(Seed(first).after(by)), Some(Seed(3).after(by)));
            assert_eq!(made, (expected.0.clone(), seeds.0, seeds.1));
            assert_eq!(expected.2, None);
        }
    }
    assert_eq!(chosen(&["-p", template, "--words-seed", "-1", "--seed", "3", "-b", "6"]), follows);
    let plain = chosen(&["-p", "a {lake}", "--words-seed", "3", "--seed", "5"]);
    assert_eq!(plain, [("a {lake}".to_owned(), Some(Seed(5)), None)], "nothing was chosen");
}

#[test]
fn prompts_of_a_file_are_a_picture_each_and_lists_are_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    file("colour.txt", "red\n");
    let prompts = file("prompts.list", "a lake\r\n\n  a __colour__ sea\n");
    let lists = folder.path().to_str().unwrap();
    let made = words(&["--prompts", &prompts, "--wildcards", lists, "--seed", "3"]);
    assert_eq!(made, [("a lake".to_owned(), 3, String::new()), ("a red sea".to_owned(), 4, "a __colour__ sea".to_owned())]);
    let own = chosen(&["--prompts", &prompts, "--wildcards", lists, "--seed", "3", "--words-seed", "20"]);
    let seeds: Vec<_> = own.into_iter().map(|it| (it.1, it.2)).collect();
    assert_eq!(seeds, [(Some(Seed(3)), None), (Some(Seed(4)), Some(Seed(21)))], "a line has the next seed of both kinds");
    let missing = jobs(&["--prompts", &prompts]).unwrap_err().to_string();
    assert!(missing.contains("There is no list of words named colour."), "{missing}");
    let empty = file("empty.list", "\n\n");
    assert!(jobs(&["--prompts", &empty]).unwrap_err().to_string().contains("has no prompts"));
}

#[test]
fn lists_of_another_program_are_read_beside_its_models() {
    let (home, program) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let lists = program.path().join("custom_nodes/ComfyUI-Impact-Pack/wildcards");
    std::fs::create_dir_all(&lists).unwrap();
    std::fs::write(lists.join("hour.txt"), "dusk\n").unwrap();
    let asked = ["-p", "a lake at __hour__", "--seed", "3"];
    assert!(jobs_of(&asked, home.path()).is_err(), "nobody has such a list");
    let places = Paths::beneath(home.path()).library_file();
    LibraryConfig::change(&places, |places| places.add_folder(program.path())).unwrap();
    let made = jobs_of(&asked, home.path()).unwrap();
    assert!(matches!(&made[0].task, Task::Generate { recipe, .. } if recipe.prompt == "a lake at dusk"));
    std::fs::write(&places, "{").unwrap();
    let failed = jobs_of(&asked, home.path()).unwrap_err().to_string();
    assert!(failed.contains("There is no list of words named hour."), "{failed}");
}

#[test]
fn a_prompt_in_a_file_is_all_of_its_text_but_one_line_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let of = |text: &str| words(&["--prompt-file", &file("prompt.txt", text.as_bytes()), "--seed", "3"]).remove(0).0;
    let texts =
        [("\u{feff} a lake,\na hut \r\n", " a lake,\na hut "), ("a\n\n", "a\n"), ("a", "a"), ("", ""), ("{a|a} <lora:ink:1>\n", "a")];
    assert_eq!(texts.map(|(text, _)| of(text)), texts.map(|(_, prompt)| prompt.to_owned()), "as --prompt reads it");
    let fog = file("negative.txt", b"fog\n");
    let Task::Generate { recipe, .. } = jobs(&["-p", "x", "--negative-prompt-file", &fog]).unwrap().remove(0).task else { panic!() };
    assert_eq!((recipe.prompt.as_str(), recipe.negative_prompt.as_str()), ("x", "fog"));
    // UTF-16, with and without a mark.
    for bytes in [&b"\xff\xfea\0"[..], b"a\0", b"\xfc"] {
        let wrong = file("wrong.txt", bytes);
        let error = jobs(&["--prompt-file", &wrong]).unwrap_err().to_string();
        assert_eq!(error, format!("{wrong}: is not text in UTF-8; save it as UTF-8"));
    }
    let large = file("large.txt", &vec![b'a'; (16 << 20) + 1]);
    assert!(jobs(&["--prompt-file", &large]).unwrap_err().to_string().contains("is larger than 16 MiB"));
    let both = jobs(&["--prompt-file", "-", "--negative-prompt-file", "-"]).unwrap_err().to_string();
    assert!(both.starts_with("standard input holds one text"), "{both}");
    for other in ["--prompt", "--prompts", "--from-command"] {
        assert_eq!(refused(&["--prompt-file", &fog, other, "x"]), clap::error::ErrorKind::ArgumentConflict, "{other}");
    }
}

/// Writes a picture of this size and returns its path.
fn picture_file(folder: &Path, name: &str, (width, height): (u32, u32)) -> String {
    let path = folder.join(name);
    let image = atelier_core::recipe::Rgb8::new(width, height, vec![9; (width * height * 3) as usize]).unwrap();
    atelier_media::write_picture(&path, &image, &atelier_media::Metadata::default()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn each_start_picture_is_a_job_with_the_same_settings_and_its_own_shape() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, size| picture_file(folder.path(), name, size);
    let (wide, high, alike) = (file("wide.png", (150, 90)), file("high.png", (90, 150)), file("alike.png", (150, 90)));
    let of = |args: &[&str]| {
        let all = jobs(&[&["-i", &wide, "-i", &high, "--strength", "0.4"], args].concat()).unwrap();
        let told = |job: ResolvedJob| {
            let Task::Generate { recipe, .. } = job.task else { panic!("no recipe") };
            let earlier = if let Destination::Named { earlier, .. } = job.destination { earlier } else { 0 };
            let init = recipe.init.unwrap();
            assert_eq!((init.strength, recipe.further_starts), (0.4, Vec::new()));
            (init.image, (recipe.width, recipe.height), recipe.seed, earlier)
        };
        all.into_iter().map(told).collect::<Vec<_>>()
    };
    let [from_wide, from_high] = [&wide, &high].map(|path| ImageSource::File(path.into()));
    let own = [(from_wide.clone(), (150, 90), Some(Seed(3)), 0), (from_high.clone(), (90, 150), Some(Seed(3)), 2)];
    assert_eq!(of(&["-p", "x", "--seed", "3", "-b", "2", "-o", "a.png"]), own, "names go on after the batch of the first");
    let sized = of(&["-p", "x", "-W", "320", "-H", "256"]);
    assert!(sized.iter().all(|it| it.1 == (320, 256)), "{sized:?}");

    let prompts = folder.path().join("prompts.txt");
    std::fs::write(&prompts, "a lake\na hill\n").unwrap();
    let listed = of(&["--prompts", prompts.to_str().unwrap(), "--seed", "3"]);
    assert_eq!(
        listed.iter().map(|it| (&it.0, it.2)).collect::<Vec<_>>(),
        [(&from_wide, 3), (&from_wide, 4), (&from_high, 3), (&from_high, 4)].map(|(start, seed)| (start, Some(Seed(seed))))
    );

    let masked = |start: &str| jobs(&["-p", "x", "-i", &wide, "-i", start, "--mask", &alike]);
    assert_eq!(masked(&alike).unwrap().len(), 2);
    let refused = masked(&high).unwrap_err();
    let expected = format!("{wide} has 150 x 90 pixels, {high} has 90 x 150 pixels; run the command once for each");
    assert!(refused.to_string().contains(&expected) && !refused.is_missing_resource(), "{refused}");
    assert!(masked("gone.png").unwrap_err().to_string().contains("gone.png"), "nothing is begun");
}

#[test]
fn plans_and_sheets_are_about_one_start_picture() {
    let builtin = || Err(BuiltinError::Missing { looked: Vec::new() });
    let upscaler = |name: &str| Ok(PathBuf::from(name));
    let lookup = Lookup { model: &find, loras: &loras, like: &like, upscaler: &upscaler, builtin: &builtin };
    let read = |args: &[&str]| Cli::try_parse_from([&["atelier"], args].concat()).unwrap().command.unwrap();
    let Command::Plan(flags) = read(&["plan", "-m", "m.gguf", "-i", "a.png", "-i", "b.png"]) else { panic!("no plan") };
    let refused = plan(&flags, &lookup).unwrap_err().to_string();
    assert!(refused.starts_with("atelier plan is about one picture, and --init-img is given 2 times"), "{refused}");
    let Command::Plan(flags) = read(&["plan", "-m", "m.gguf", "-i", "a.png"]) else { panic!("no plan") };
    assert!(plan(&flags, &lookup).unwrap().0.init.is_some());
    let sheet = ["grid", "-m", "m.gguf", "-p", "x", "-x", "steps=1,2", "-i", "a.png", "-i", "b.png"];
    let Command::Grid(flags) = read(&sheet) else { panic!("no sheet") };
    let refused = of_sheet(&flags, &lookup).unwrap_err().to_string();
    assert!(refused.starts_with("all pictures of a sheet begin with one start picture"), "{refused}");
}

#[test]
fn another_studio_is_asked_once_for_each_start_picture() {
    let builtin = || Err(BuiltinError::Missing { looked: Vec::new() });
    let upscaler = |name: &str| Ok(PathBuf::from(name));
    let lookup = Lookup { model: &find, loras: &loras, like: &like, upscaler: &upscaler, builtin: &builtin };
    let args = ["atelier", "generate", "--studio", "Anna", "-p", "x", "-b", "2", "-o", "c.png", "-i", "a.png", "-i", "b.png"];
    let Some(Command::Generate(flags)) = Cli::try_parse_from(args).unwrap().command else { panic!("generates nothing") };
    let asked = for_studio(&flags, || Ok(Paths::beneath(Path::new("/home/x"))), &lookup).unwrap();
    let told = |(recipe, _, destination): &RemoteJobFlags| {
        let earlier = if let Destination::Named { earlier, .. } = destination { *earlier } else { panic!("no name") };
        (recipe.init.as_ref().map(|init| init.image.clone()), destination.parent(), earlier)
    };
    let of = |name: &str, earlier| (Some(ImageSource::File(name.into())), Some(PathBuf::from(name)), earlier);
    assert_eq!(asked.iter().map(told).collect::<Vec<_>>(), [of("a.png", 0), of("b.png", 2)]);
}

fn job_beside(args: &[&str], builtin: impl Fn() -> Result<Builtin, BuiltinError>) -> Result<ResolvedJob, UsageError> {
    match Cli::try_parse_from([&["atelier"], args].concat()).unwrap().command.unwrap() {
        Command::Generate(flags) => {
            let upscaler = |name: &str| Ok(Path::new("/models").join(name).join("up.pth"));
            let lookup = Lookup { model: &find, loras: &loras, like: &like, upscaler: &upscaler, builtin: &builtin };
            generate(&flags, || Ok(Paths::beneath(Path::new("/home/x"))), &lookup).map(|jobs| jobs.into_iter().next().unwrap())
        }
        Command::Upscale(flags) => upscale(&flags, |name| Ok(Path::new("/models").join(name).join("up.pth")), || Ok(false)),
        Command::Plan(_)
        | Command::Inspect(_)
        | Command::Queue(_)
        | Command::Grid(_)
        | Command::Models(_)
        | Command::Gallery(_)
        | Command::Devices(_)
        | Command::Doctor(_)
        | Command::Cutout(_)
        | Command::Detect(_)
        | Command::Serve(_)
        | Command::Studios(_)
        | Command::Mcp(_)
        | Command::ServeDevice(_) => panic!("no job"),
    }
}

/// A picture with some settings; `gone.png` names a model that is not here.
#[expect(clippy::unnecessary_wraps, reason = "as the flags' own reader of pictures")]
fn like(path: &Path) -> Result<OpenedPicture, UsageError> {
    let folder = tempfile::tempdir().unwrap();
    let words = if path == Path::new("braces.png") { "a {red|blue} lake, __colour__" } else { "a lake" };
    let text = format!("{words}\nNegative prompt: fog\nSteps: 9, Seed: 7, Sampler: Euler a, Size: 64x96, RNG: CPU");
    let model = if path == Path::new("gone.png") { ", Model: gone" } else { "" };
    let file = folder.path().join("a.png");
    // A graph whose words come from a node that nobody knows.
    let graph = r#"{"1": {"class_type": "Poet", "inputs": {"text": "a hut"}}, "2": {"class_type": "KSampler", "inputs": {"seed": 7, "steps": 9,
        "positive": ["1", 0], "latent_image": ["3", 0]}}, "3": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 96}},
        "4": {"class_type": "SaveImage", "inputs": {"images": ["2", 0]}}}"#;
    let texts = if path == Path::new("wordless.png") { ("prompt", graph.to_owned()) } else { ("parameters", format!("{text}{model}")) };
    std::fs::write(&file, testkit::pictures::png(&[(texts.0, &texts.1)])).unwrap();
    let picture = atelier_studio::opened_picture::read_opened_picture(&file, &atelier_studio::opened_picture::KnownModels::default());
    Ok(picture.unwrap())
}

#[test]
fn a_picture_gives_its_settings_and_flags_change_them() {
    let recipe = |args: &[&str]| match job(&[&["generate", "--like", "a.png", "-m", "mine"], args].concat()).unwrap().task {
        Task::Generate { recipe, .. } => recipe,
        other @ Task::Upscale { .. } => panic!("{other:?}"),
    };
    let same = recipe(&[]);
    assert_eq!((same.prompt.as_str(), same.negative_prompt.as_str(), same.seed, same.steps), ("a lake", "fog", Some(Seed(7)), 9));
    assert_eq!((same.width, same.height, same.sampler, same.rng), (64, 96, Some(Sampler::EulerA), Rng::Cpu));
    assert_eq!((same.files.main(), same.loras.len()), (Some(Path::new("/m/d.gguf")), 1));
    let changed = recipe(&["-p", "a hut", "-n", "", "-s", "8", "--steps", "3", "--rng", "cuda"]);
    assert_eq!((changed.prompt.as_str(), changed.negative_prompt.as_str(), changed.seed, changed.steps), ("a hut", "", Some(Seed(8)), 3));
    assert_eq!((changed.width, changed.rng), (64, Rng::Cuda));
    let branch = recipe(&["-p", "a hut", "--steps", "8", "--from-step", "3"]);
    assert_eq!((branch.prompt.as_str(), branch.steps, branch.seed), ("a hut", 8, Some(Seed(7))));
    let earlier: Vec<_> = branch.earlier_steps.iter().map(|it| (it.until_step, it.prompt.as_str(), it.picture.as_deref())).collect();
    assert_eq!(earlier, [(3, "a lake", Some("a.png"))]);
    let rerolled = recipe(&["--from-step", "3", "--seed", "8"]);
    assert!(!branch.has_new_noise() && rerolled.has_new_noise() && rerolled.parent().and_then(|it| it.seed) == Some(Seed(7)));
    let notes = job(&["generate", "--like", "gone.png", "-m", "mine"]).unwrap().notes;
    assert_eq!(notes, ["Model gone is not on this machine."]);
    let refused = job(&["generate", "--like", "gone.png"]).unwrap_err();
    assert!(refused.is_missing_resource() && refused.to_string() == "Model gone is not on this machine. Choose another one with --model");
}

#[test]
fn words_of_a_picture_are_no_template_beside_words_that_are_typed() {
    let nothing: &[&str] = &[];
    for typed in [nothing, &["-n", "haze"], &["-n", "{haze|haze}"]] {
        let Task::Generate { recipe, .. } = jobs(&[&["--like", "braces.png"], typed].concat()).unwrap().remove(0).task else { panic!() };
        let negative = if typed.is_empty() { "fog" } else { "haze" };
        assert_eq!((recipe.prompt.as_str(), recipe.negative_prompt.as_str()), ("a {red|blue} lake, __colour__", negative));
    }
}

#[test]
fn a_picture_whose_words_could_not_be_read_makes_none_without_a_prompt() {
    let wordless = |words: &[&str]| job(&[&["generate", "--like", "wordless.png", "-m", "mine"], words].concat());
    let refused = wordless(&[]).unwrap_err();
    assert!(refused.is_missing_resource() && refused.to_string().starts_with("the prompt of wordless.png could not be read"), "{refused}");
    let Task::Generate { recipe, .. } = wordless(&["-p", "a hut"]).unwrap().task else { panic!("no recipe") };
    assert_eq!((recipe.prompt.as_str(), recipe.steps, recipe.height), ("a hut", 9, 96));
}

#[test]
fn a_picture_that_is_made_from_another_has_its_shape() {
    let usual = (1024, 1024);
    for (own, asked, expected) in [
        ((101, 67), (None, None), (101, 67)),
        ((4000, 3000), (None, None), (1152, 896)),
        ((3000, 4000), (None, None), (896, 1152)),
        ((100, 10_000), (None, None), (100, 10_000)),
        ((300, 16_000), (None, None), (128, 7488)),
        ((4000, 3000), (Some(512), None), (512, 384)),
        ((4000, 3000), (None, Some(384)), (512, 384)),
    ] {
        assert_eq!(shaped_as(own, usual, asked), expected, "{own:?} {asked:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let start = picture_file(folder.path(), "a.png", (150, 90));
    let size = |args: &[&str]| {
        let it = recipe_of(&[&["-m", "mine", "-i", &start], args].concat());
        (it.width, it.height)
    };
    assert_eq!(size(&[]), (150, 90));
    assert_eq!(size(&["-W", "320", "-H", "320"]), (320, 320));
}

#[test]
fn drafts_and_second_seeds_are_flags() {
    let it = recipe_of(&["-m", "m.gguf", "--steps", "9", "--last-step", "3", "--blend-seed", "4", "--blend", "0.5"]);
    assert_eq!((it.draft_step(), it.seed_blend), (Some(3), Some(SeedBlend { seed: Seed(4), amount: 0.5 })));
    let usual = recipe_of(&["-m", "m.gguf", "--blend-seed", "4"]);
    assert_eq!((usual.draft_step(), usual.seed_blend), (None, Some(SeedBlend { seed: Seed(4), ..SeedBlend::default() })));
    let finished = job(&["generate", "--like", "a.png", "-m", "mine", "--finish"]).unwrap_err();
    assert!(finished.to_string().contains("a.png is already finished"), "{finished}");
}

#[test]
fn tiles_have_the_models_side_unless_one_is_given() {
    let tiles = |args: &[&str]| recipe_of(&[&["-m", "m.gguf", "--hires", "2"], args].concat()).hires.unwrap().tiles;
    assert_eq!(tiles(&[]), None);
    assert_eq!(tiles(&["--redraw-tiles"]), Some(RedrawTiles::default()));
    assert_eq!(tiles(&["--redraw-tiles", "512", "--tile-words", "oil"]), Some(RedrawTiles { side: Some(512), words: "oil".into() }));
}

/// A library with two LoRAs.
fn loras(names: &[String]) -> Result<Vec<PathBuf>, UsageError> {
    let find = |name: &String| match name.as_str() {
        "ink" | "oil" => Ok(Path::new("/l").join(format!("{name}.safetensors"))),
        _ => Err(Problem::new(format!("There is no LoRA named {name}."), "Look.").into()),
    };
    names.iter().map(find).collect()
}

#[test]
fn loras_that_the_prompt_names_are_found_in_the_library_and_leave_the_prompt() {
    let of = |prompt: &str| job(&["generate", "-m", "m.gguf", "-p", prompt, "--lora", "b.gguf"]);
    let Task::Generate { recipe, .. } = of("a lake <lora:ink:0.8>, still<lora:oil>").unwrap().task else { panic!() };
    let expected = [("b.gguf", 1.0), ("/l/ink.safetensors", 0.8), ("/l/oil.safetensors", 1.0)];
    assert_eq!(recipe.prompt, "a lake, still");
    assert_eq!(recipe.loras, expected.map(|(path, strength)| Lora::new(path.into(), strength)));
    let ranged = ["generate", "-m", "m.gguf", "--steps", "10", "--lora", "b.gguf:0.5@0.2-0.8", "-p"];
    let of_steps = |prompt: &str| {
        let Task::Generate { recipe, .. } = job(&[&ranged[..], &[prompt]].concat()).unwrap().task else { panic!("{prompt}") };
        (recipe.prompt.clone(), recipe.loras.clone())
    };
    let part = |path: &str, strength, start, end| Lora { start, end, ..Lora::new(path.into(), strength) };
    let (prompt, loras) = of_steps("a lake [<lora:ink:1>:<lora:oil:0.5>:4], still");
    let (ink, oil) = (part("/l/ink.safetensors", 1.0, 0.0, 0.4), part("/l/oil.safetensors", 0.5, 0.4, 1.0));
    assert_eq!((prompt.as_str(), loras), ("a lake, still", vec![part("b.gguf", 0.5, 0.2, 0.8), ink, oil]));
    assert_eq!(of_steps("{a [<lora:ink:1>::4]|a [<lora:ink:1>::0.4]}").1[1], part("/l/ink.safetensors", 1.0, 0.0, 0.4));
    let missing = of("a lake <lora:pen:1>").unwrap_err();
    assert!(missing.is_missing_resource() && missing.to_string() == "There is no LoRA named pen. Look.");
}

#[test]
fn flags_without_effect_are_refused_with_a_sentence() {
    let error = |args: &[&str]| job(args).unwrap_err().to_string();
    assert!(error(&["generate", "-m", "m.gguf", "-p", "x", "--clip_vision", "cv"]).contains("video models"));
    let upscale = ["upscale", "-m", "a.safetensors", "-i", "a.png", "-o", "b.png"];
    assert!(error(&[&upscale[..], &["--split-batch", "CUDA0,CUDA1"]].concat()).contains("no effect on an upscaler"));
    let budget = ["--max-vram", "-1", "--stream-layers", "--offload-to-cpu"];
    let Task::Upscale { placement, .. } = job(&[&upscale[..], &budget].concat()).unwrap().task else { panic!() };
    assert_eq!(
        (placement.max_vram.as_str(), placement.stream_layers, placement.params_backend.as_str()),
        ("-1", [Module::Upscaler].into_iter().collect(), "*=cpu")
    );
}

/// A folder with two pictures, by their names alone.
fn person_folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.jpg", "a.png", "id_embeds.bin"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn a_photomaker_takes_the_pictures_of_a_folder() {
    let (folder, path) = person_folder();
    let ids = folder.path().join("id_embeds.bin");
    let model = ["generate", "-m", "xl.safetensors", "--photo-maker", "pm.safetensors", "-p", "a woman img"];
    let person = ["--pm-id-images-dir", &path, "--pm-id-embed-path", ids.to_str().unwrap(), "--pm-style-strength", "30"];
    let of = |args: &[&str]| match job(args).unwrap().task {
        Task::Generate { recipe, .. } => *recipe,
        Task::Upscale { .. } => panic!("no recipe"),
    };
    let it = of(&[&model[..], &person].concat());
    let images = ["a.png", "b.jpg"].map(|name| ImageSource::File(folder.path().join(name))).to_vec();
    assert_eq!(it.person, Person { images, style_strength: 30.0, id_embedding: Some(ids.clone()) });
    assert_eq!(it.files.get(FileRole::Photomaker), Some(Path::new("pm.safetensors")));
    let pasted = format!("sd-cli -m xl --photo-maker pm -p 'a woman img' --pm-id-images-dir '{path}'");
    assert_eq!(of(&["generate", "--from-command", &pasted]).person, Person { images: it.person.images, ..Person::default() });
}

#[test]
fn a_photomaker_without_a_person_and_a_person_without_words_are_refused() {
    let (folder, path) = person_folder();
    let error = |args: &[&str]| {
        let error = job(&[&["generate", "-m", "xl.safetensors"], args].concat()).unwrap_err();
        assert!(!error.is_missing_resource());
        error.to_string()
    };
    let words = ["-p", "a woman img", "--photo-maker", "pm"];
    assert!(error(&words).starts_with("PhotoMaker needs pictures of a person."));
    let person = ["--pm-id-images-dir", path.as_str()];
    assert!(error(&[&["-p", "a woman img"], &person[..]].concat()).starts_with("Pictures of a person need a PhotoMaker."));
    let without_word = error(&[&["-p", "a woman", "--photo-maker", "pm"], &person[..]].concat());
    assert_eq!(
        without_word,
        "PhotoMaker finds no word img in the prompt. Write it once, after the word for the person: a woman img by a lake."
    );
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (folder, says) in [(empty.as_path(), "contains no pictures"), (Path::new("/nowhere at all"), "--pm-id-images-dir")] {
        let said = error(&[&words[..], &["--pm-id-images-dir", folder.to_str().unwrap()]].concat());
        assert!(said.contains(says), "{said}");
    }
    for number in 0..=Person::MAX_IMAGES {
        std::fs::write(empty.join(format!("{number}.png")), "").unwrap();
    }
    assert!(error(&[&words[..], &["--pm-id-images-dir", empty.to_str().unwrap()]].concat()).contains("17 pictures"));
    assert_eq!(refused(&["-p", "x", "--pm-style-strength", "101"]), clap::error::ErrorKind::ValueValidation);
}

fn recipe_of(args: &[&str]) -> Recipe {
    match job(&[&["generate", "-p", "x"], args].concat()).unwrap().task {
        Task::Generate { recipe, .. } => *recipe,
        Task::Upscale { .. } => panic!("no recipe"),
    }
}

fn refused(args: &[&str]) -> clap::error::ErrorKind {
    Cli::try_parse_from([&["atelier", "generate"], args].concat()).unwrap_err().kind()
}

#[test]
fn the_least_that_can_be_said_is_the_default_recipe() {
    let mut expected = Recipe { prompt: "x".into(), ..Recipe::default() };
    expected.files.set(FileRole::Model, "m.gguf");
    assert_eq!(recipe_of(&["-m", "m.gguf"]), expected);
}

#[test]
fn every_flag_reaches_the_recipe() {
    let it = recipe_of(&[
        "--diffusion",
        "d",
        "--uncond-diffusion-model",
        "ud",
        "--llm",
        "l",
        "--llm_vision",
        "lv",
        "--vae",
        "v",
        "--tae",
        "t",
        "--clip_l",
        "cl",
        "--clip-g",
        "cg",
        "--t5xxl",
        "t5",
        "--control-net",
        "cn",
        "--embedding",
        "fog.safetensors",
        "--lora",
        "a:0.25:0.5",
        "--lora",
        "b",
        "-n",
        "--no fog",
        "-W",
        "640",
        "-H",
        "480",
        "--steps",
        "8",
        "--cfg",
        "1.5",
        "--guidance",
        "4",
        "--sampler",
        "euler_a",
        "--scheduler",
        "Karras",
        "-s",
        "-3",
        "--prediction",
        "v",
        "--rng",
        "cpu",
        "--sampler-rng",
        "cuda",
        "--batch",
        "2",
        "--clip-skip",
        "2",
        "--flow-shift",
        "3",
        "--eta",
        "0.5",
        "--vae-tiling",
        "--vae-tile-size",
        "16",
        "--vae-tile-overlap",
        "0.25",
        "--no-diffusion-fa",
        "--force-sdxl-vae-conv-scale",
        "--init",
        "i.png",
        "--strength",
        "0.4",
        "--mask",
        "m.png",
        "-r",
        "r1",
        "-r",
        "r2",
        "--control-image",
        "c.png",
        "--control-strength",
        "0.8",
        "--control-start",
        "0.1",
        "--control-end",
        "0.7",
        "--control-prepare",
        "scribble",
        "-t",
        "3",
        "--backend",
        "cpu",
        "--params-backend",
        "te=disk",
        "--max-vram",
        "-1",
        "--stream-layers",
        "--img-cfg-scale",
        "1.5",
        "--slg-scale",
        "2",
        "--skip-layers",
        "[7,9]",
        "--sigmas",
        "14.6,3,0",
        "--timestep-shift",
        "250",
        "--extra-sample-args",
        "apg_eta=1",
        "--circularx",
        "--cache-mode",
        "cache-dit",
        "--cache-option",
        "Fn=4",
        "--scm-mask",
        "1,0",
        "--scm-policy",
        "static",
        "--qwen-image-zero-cond-t",
        "--chroma-disable-dit-mask",
        "--chroma-enable-t5-mask",
        "--chroma-t5-mask-pad",
        "3",
        "--vae-format",
        "sd3",
        "--type",
        "Q8_0",
        "--tensor-type-rules",
        "^vae=f16",
        "--mmap",
        "--lora-apply-mode",
        "at_runtime",
        "--upscale-model",
        "/up/x4.gguf",
        "--upscale-repeats",
        "2",
        "--upscale-tile-size",
        "64",
        "--increase-ref-index",
        "--disable-auto-resize-ref-image",
    ]);
    let roles: Vec<(FileRole, &str)> = it.files.iter().map(|(role, path)| (role, path.to_str().unwrap())).collect();
    let expected = [
        (FileRole::Diffusion, "d"),
        (FileRole::UncondDiffusion, "ud"),
        (FileRole::Llm, "l"),
        (FileRole::LlmVision, "lv"),
        (FileRole::ClipL, "cl"),
        (FileRole::ClipG, "cg"),
        (FileRole::T5xxl, "t5"),
        (FileRole::Vae, "v"),
        (FileRole::Taesd, "t"),
        (FileRole::Controlnet, "cn"),
    ];
    assert_eq!(roles, expected);
    let image = |name: &str| ImageSource::File(name.into());
    let placement = PlacementText {
        backend: "cpu".into(),
        params_backend: "te=disk".into(),
        max_vram: "-1".into(),
        stream_layers: ModuleSet::DIFFUSION,
        ..PlacementText::default()
    };
    let expected = Recipe {
        files: it.files.clone(),
        prompt: "x".into(),
        negative_prompt: "--no fog".into(),
        negative_in_prompt: false,
        template: String::new(),
        words_seed: None,
        width: 640,
        height: 480,
        // As many as the sigmas have.
        steps: 2,
        guidance: 1.5,
        guidance_ranges: Vec::new(),
        distilled_guidance: 4.0,
        sampler: Some(Sampler::EulerA),
        scheduler: Some(Scheduler::Karras),
        eta: Some(0.5),
        flow_shift: Some(3.0),
        prediction: Some(PredictionType::V),
        image_guidance: Some(1.5),
        skip_layers: Some(SkipLayers { scale: 2.0, layers: vec![7, 9], ..SkipLayers::default() }),
        sigmas: vec![14.6, 3.0, 0.0],
        timestep_shift: Some(250),
        sampler_arguments: "apg_eta=1".into(),
        seamless_x: true,
        seamless_y: false,
        step_cache: Some(StepCache {
            options: [("Fn".to_owned(), 4.0)].into(),
            mask: vec![true, false],
            is_mask_static: true,
            ..StepCache::of(CacheMode::CacheDit)
        }),
        clip_skip: Some(2),
        seed: None,
        seed_blend: None,
        rng: Rng::Cpu,
        sampler_rng: Some(Rng::Cuda),
        batch_count: 2,
        vae_tiling: true,
        vae_tile_size: Some(TileSize::square(16)),
        vae_tile_overlap: Some(0.25),
        flash_attention: false,
        insists_on_flash_attention: false,
        vae_conv_scale: true,
        zero_cond_t: true,
        chroma_dit_mask: false,
        chroma_t5_mask: true,
        chroma_t5_padding: 3,
        vae_format: Some(VaeFormat::Sd3),
        weight_type: Some(TensorType::Q8_0),
        tensor_type_rules: "^vae=f16".parse().unwrap(),
        init: Some(InitImage { image: image("i.png"), strength: 0.4 }),
        mask: Some(image("m.png")),
        further_starts: Vec::new(),
        start_fit: StartFit::default(),
        area: None,
        outpaint: None,
        hires: None,
        earlier_steps: Vec::new(),
        last_step: None,
        reference_images: vec![image("r1"), image("r2")],
        resize_references: false,
        number_references: true,
        control: Some(ControlImage {
            image: image("c.png"),
            strength: 0.8,
            start: 0.1,
            end: 0.7,
            preprocessor: Some(Preprocessor::Scribble),
        }),
        person: Person::default(),
        loras: vec![Lora { encoder_strength: Some(0.25), ..Lora::new("a".into(), 0.5) }, Lora::new("b".into(), 1.0)],
        lora_mode: LoraMode::AtRuntime,
        upscale: Some(Upscale { repeats: 2, tile_size: Some(64), ..Upscale::by("/up/x4.gguf".into()) }),
        disabled_loras: Vec::new(),
        embeddings: vec!["fog.safetensors".into()],
        placement,
        memory_map: true,
        threads: Some(3),
    };
    assert_eq!(it, expected);
}

#[test]
fn old_flags_are_translated_and_explicit_entries_win() {
    let it = recipe_of(&[
        "-m",
        "m.gguf",
        "--clip-on-cpu",
        "--vae-on-cpu",
        "--control-net-cpu",
        "--offload-to-cpu",
        "--backend",
        "cuda0,vae=cuda1",
        "--params-backend",
        "te=disk",
    ]);
    let (runs, lives) = (parse_backend(&it.placement.backend).unwrap(), parse_params_backend(&it.placement.params_backend).unwrap());
    let places = [Module::Diffusion, Module::Llm, Module::Vae, Module::Controlnet].map(|module| runs.place_of(module).to_owned());
    assert_eq!(places, ["cuda0", "cpu", "cuda1", "cpu"]);
    assert_eq!((lives.place_of(Module::Llm), lives.place_of(Module::Vae)), ("disk", "cpu"));
}

#[test]
fn the_later_of_two_opposite_flags_wins() {
    assert!(recipe_of(&["-m", "m.gguf", "--no-diffusion-fa", "--diffusion-fa"]).flash_attention);
    assert!(!recipe_of(&["-m", "m.gguf", "--diffusion-fa", "--no-diffusion-fa"]).flash_attention);
}

#[test]
fn upstreams_numbers_for_automatic_are_understood() {
    let it = recipe_of(&["-m", "m.gguf", "--clip-skip", "-1", "-t", "-1"]);
    assert_eq!((it.clip_skip, it.threads), (None, None));
}

#[test]
fn pictures_go_where_they_were_asked_to_go() {
    let folder = tempfile::tempdir().unwrap();
    let output = |args: &[&str]| job(&[&["generate", "-p", "x", "-m", "m.gguf"], args].concat()).map(|job| job.destination);
    assert!(matches!(output(&[]), Ok(Destination::Folder { folder, .. }) if folder.ends_with("Pictures/Atelier")));
    assert!(matches!(output(&["-o", "a.PNG"]), Ok(Destination::Named { path, .. }) if path == Path::new("a.PNG")));
    assert!(matches!(output(&["-o", folder.path().to_str().unwrap()]), Ok(Destination::Folder { folder: it, .. }) if it == folder.path()));
    assert!(matches!(output(&["-o", "a.jpg"]), Err(UsageError::NotPng)));
    assert!(matches!(output(&["--disable-image-metadata"]), Ok(Destination::Folder { has_metadata: false, .. })));
    let pasted = job(&["generate", "-o", "a.png", "--from-command", "sd-cli -m m -p x --disable-image-metadata"]).unwrap();
    assert!(pasted.notes.is_empty() && matches!(pasted.destination, Destination::Named { has_metadata: false, .. }));
}

#[test]
fn previews_are_made_as_asked() {
    let preview = |args: &[&str]| match job(&[&["generate", "-p", "x", "-m", "m.gguf"], args].concat()).unwrap() {
        ResolvedJob { task: Task::Generate { preview, .. }, previews, .. } => (preview, previews.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(preview(&[]), (PreviewOptions::Off, false));
    assert_eq!(preview(&["--preview", "p"]), (PreviewOptions::TinyAutoencoder { every: 1 }, true));
    let projection = preview(&["--preview", "p", "--preview-method", "proj", "--preview-interval", "4"]);
    assert_eq!(projection, (PreviewOptions::Projection { every: 4 }, true));
}

#[test]
fn numbers_beyond_their_limits_are_brought_into_them_and_told() {
    let job = job(&["generate", "-p", "x", "-m", "m.gguf", "-W", "20000", "-H", "0", "--steps", "0", "--cfg", "150", "-b", "0"]).unwrap();
    let Task::Generate { recipe, .. } = &job.task else { panic!("no recipe") };
    assert_eq!((recipe.width, recipe.height, recipe.steps, recipe.guidance, recipe.batch_count), (16_384, 64, 1, 100.0, 1));
    let told = ["Width: 16384 instead of 20000.", "Height: 64 instead of 0.", "Steps: 1 instead of 0.", "Guidance: 100 instead of 150."];
    assert_eq!(job.notes[..4], told);
    assert_eq!(job.notes[4..], ["Number of pictures: 1 instead of 0."]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    use clap::error::ErrorKind;
    assert!(matches!(job(&["generate", "-p", "x", "--vae", "v"]), Err(UsageError::NoModel)));
    assert!(matches!(job(&["generate", "-p", "x", "-m", "m.gguf", "--control-image", "c"]), Err(UsageError::NoControlNet)));
    for placement in [
        ["--backend", "disk"],
        ["--backend", "head=cpu"],
        ["--max-vram", "cuda0="],
        ["--max-vram", "cuda0=six"],
        ["--params-backend", "te="],
    ] {
        let refused = job(&[&["generate", "-p", "x", "-m", "m.gguf"], &placement[..]].concat());
        assert!(matches!(refused, Err(UsageError::Placement(_))), "{placement:?}");
    }
    assert_eq!(refused(&["-m", "m.gguf"]), ErrorKind::MissingRequiredArgument);
    for bad in [["--sampler", "eular"], ["-W", "wide"], ["--steps", "1.5"], ["--cfg", "nan"], ["-b", "some"]] {
        assert_eq!(refused(&[&["-p", "x", "-m", "m.gguf"], &bad[..]].concat()), ErrorKind::ValueValidation, "{bad:?}");
    }
    assert_eq!(refused(&["-p", "x", "-m", "m.gguf", "--mask", "m.png"]), ErrorKind::MissingRequiredArgument);
}

/// A built-in model that wants 6 steps of Euler at 128x96.
fn builtin(folder: &Path) -> Result<Builtin, BuiltinError> {
    let text = r#"{"id":"small","name":"Small","files":[{"role":"diffusion","filename":"d"},{"role":"llm","filename":"l"}],
        "defaults":{"steps":6,"cfg":1.0,"width":128,"height":96,"sampler":"euler","flow_shift":3.0,"clip_skip":2}}"#;
    for (name, text) in [("d", ""), ("l", ""), (atelier_library::MANIFEST, text)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    Builtin::open(folder)
}

#[test]
fn without_a_file_of_a_model_the_built_in_one_is_used_with_its_settings_and_flags_go_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let job = job_beside(&[&["generate", "-p", "x"], args].concat(), || builtin(folder.path())).unwrap();
        let Task::Generate { recipe, .. } = job.task else { panic!("no recipe") };
        (*recipe, job.model)
    };
    let (recipe, model) = run(&[]);
    let mut expected = Recipe { prompt: "x".into(), ..Recipe::default() };
    builtin(folder.path()).unwrap().apply(&mut expected);
    assert_eq!((recipe, model.as_deref()), (expected.clone(), Some("Small")));
    assert_eq!((expected.steps, expected.width, expected.sampler, expected.files.iter().count()), (6, 128, Some(Sampler::Euler), 2));

    let (recipe, _) = run(&["--steps", "3", "-W", "64", "--cfg", "2", "--sampler", "heun", "--flow-shift", "1", "--clip-skip", "0"]);
    let flags =
        Recipe { steps: 3, width: 64, guidance: 2.0, sampler: Some(Sampler::Heun), flow_shift: Some(1.0), clip_skip: None, ..expected };
    assert_eq!(recipe, flags);
}

#[test]
fn with_a_file_of_a_model_the_built_in_one_is_not_even_looked_for() {
    let named = job_beside(&["generate", "-p", "x", "-m", "m.gguf"], || panic!("nobody asked for it")).unwrap();
    assert_eq!(named.model, None);
    assert!(matches!(job_beside(&["generate", "-p", "x", "--vae", "v"], || panic!("nor here")), Err(UsageError::NoModel)));
    let missing = job(&["generate", "-p", "x"]).unwrap_err();
    assert!(missing.is_missing_resource() && missing.to_string().contains("Reinstall Atelier"), "{missing}");
}

#[test]
fn the_device_flags_of_an_early_sd_cli_are_a_placement() {
    let flags = ["-m", "m.gguf", "--main-backend-device", "cuda0", "--clip_backend_device", "CPU"];
    let more = ["--vae-backend-device", "rpc0", "--backend", "te=cuda1", "--rpc", "127.0.0.1:50052"];
    let recipe = recipe_of(&[&flags[..], &more].concat());
    assert_eq!(recipe.placement.backend, "all=cuda0,te=CPU,vae=rpc0,te=cuda1");
    for list in ["cuda0,te=cpu", "te=cpu"] {
        assert_eq!(refused(&["-p", "x", "-m", "m.gguf", "--main-backend-device", list]), clap::error::ErrorKind::ValueValidation);
    }
}

#[test]
fn a_pasted_command_stands_for_all_settings_and_keeps_what_it_lacks_in_sight() {
    let it = job(&["generate", "--from-command", "sd-cli -m m.gguf -p 'a cat' --steps 4 --fps 9", "-o", "x.png"]).unwrap();
    assert_eq!(it.notes, ["left out: --fps 9: Atelier makes no videos"]);
    let Task::Generate { recipe, .. } = it.task else { panic!("no recipe") };
    assert_eq!((recipe.prompt.as_str(), recipe.steps, recipe.seed), ("a cat", 4, Some(Seed(42))));
    assert!(matches!(job(&["generate", "--from-command", "sd-cli -p 'a cat'"]), Err(UsageError::NoModel)));
    assert!(job(&["generate", "--from-command", "sd -m m --backend rpc0", "--rpc-servers", "127.0.0.1:50052"]).is_ok());
    assert!(matches!(job(&["generate", "--from-command", "a cat"]), Err(UsageError::Command(_))));
    for flag in [
        ["-p", "x"],
        ["-m", "m.gguf"],
        ["--steps", "4"],
        ["--backend", "cpu"],
        ["--vae-backend-device", "cpu"],
        ["--init", "i.png"],
        ["--pm-style-strength", "9"],
    ] {
        assert_eq!(refused(&[&["--from-command", "sd -m m"], &flag[..]].concat()), clap::error::ErrorKind::ArgumentConflict);
    }
}

#[test]
fn an_upscale_names_its_files() {
    let it = job(&["upscale", "-m", "4x.pth", "-i", "a.jpg", "-o", "b.png", "--backend", "cpu"]).unwrap();
    assert!(matches!(&it.task, Task::Upscale { model, placement, .. } if model.ends_with("4x.pth") && placement.backend == "cpu"));
    assert!(matches!(it.destination, Destination::Upscaled { .. }));
}

#[test]
fn a_pickle_is_opened_only_where_the_person_agreed() {
    let folder = tempfile::tempdir().unwrap();
    let model = testkit::tiny::upscaler_pth(folder.path(), 1, 1).unwrap();
    let args = ["upscale", "-m", model.to_str().unwrap(), "-i", "a.jpg", "-o", "b.png"];
    let refused = job(&args).unwrap_err();
    assert!(refused.is_missing_resource() && refused.to_string().contains("--allow-pickle"), "{refused}");
    let agreed = job(&[&args[..], &["--allow-pickle"]].concat()).unwrap();
    assert!(matches!(agreed.task, Task::Upscale { allow_pickle: true, .. }));
}

#[test]
fn of_a_folder_of_embeddings_those_that_a_prompt_names_are_used() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Fog.safetensors", "ink.safetensors", "rain.gguf", "fog.txt", "fog.pt", "snow.pt"] {
        std::fs::write(folder.path().join(name), "x").unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let it = job(&["generate", "-m", "m.gguf", "-p", "a lake, fog", "-n", "(rain:1.2)", "--embd-dir", path]).unwrap();
    let Task::Generate { recipe, .. } = it.task else { panic!("no recipe") };
    let names: Vec<_> = recipe.embeddings.iter().map(|it| it.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["Fog.safetensors", "rain.gguf"]);
    let refused = job(&["generate", "-m", "m.gguf", "-p", "snow", "--embd-dir", path]).unwrap_err().to_string();
    assert!(refused.starts_with("The prompt names the embedding snow.pt, a pickle"), "{refused}");
    let pasted = format!("sd-cli -m m.gguf -p 'a lake' -n snow --embd-dir '{path}'");
    assert_eq!(job(&["generate", "--from-command", &pasted]).unwrap_err().to_string(), refused);
    let nowhere = folder.path().join("none");
    assert!(job(&["generate", "-m", "m.gguf", "-p", "fog", "--embd-dir", nowhere.to_str().unwrap()]).is_err());
}
