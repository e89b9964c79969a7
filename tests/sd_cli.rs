//! Pictures against those of sd-cli for the same command lines, byte for byte: `ATELIER_SD_CLI=PATH
//! cargo test --features inspection --test sd_cli -- --ignored`. PATH is an sd-cli of the engine's
//! version, built for the same instruction sets and with `GGML_LLAMAFILE=ON`, as vendor/ggml-sys/engine.cmake has it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{FileRole, LatentUpscaler, ModelFiles, Rng, Sampler, Scheduler};
use atelier_core::sd_cli::NoSetting;
use support::{files, folder, written};
use testkit::families::{self, Part};
use testkit::tiny;

/// The engine's own list of options.
const OPTIONS: &str = include_str!("../crates/core/src/sd_cli/options.txt");

/// What every command line has that does not say otherwise.
const USUAL: [(&str, &str); 7] =
    [("-p", "a lake"), ("-W", "64"), ("-H", "64"), ("--cfg-scale", "1"), ("--steps", "4"), ("-s", "42"), ("-t", "1")];

/// Settings that no command line has, each with the reason.
const NOT_COMPARED: [(&str, &str); 5] = [
    ("--hires-upscalers-dir", "sd-cli's second pass begins with the upscaler's own numbers, Atelier's with a picture of eight bits"),
    ("--hires-upscale-tile-size", "it is about such upscalers"),
    ("--pm-id-embed-path", "the second version of PhotoMaker alone reads it, and no tests have one that works"),
    ("--llm_vision", "no tests have a text encoder that sees"),
    ("--qwen2vl_vision", "it is another name of --llm_vision"),
];

// Lines of the models in `groups`; words of capital letters stand for paths (`Paths`).

/// What samples, loads and tiles, with a transformer that is a flow.
const OF_TRANSFORMERS: [&str; 34] = [
    "--eta 0.5 --sampling-method euler_a",
    "--flow-shift 2",
    "--sampler-rng cpu --sampling-method euler_a",
    "--sigmas 1,0.6,0.3,0",
    "--extra-sample-args apg_eta=0.2,apg_norm_threshold=0.5 --cfg-scale 3",
    "--extra-sample-args apg_eta=0.2,apg_momentum=-0.5 --cfg-scale 3",
    "--extra-sample-args apg_eta=0.2,apg_norm_threshold=0.5,apg_norm_threshold_smoothing=0.5 --cfg-scale 3",
    "--extra-sample-args noise_clip_std=1.5 --sampling-method lcm",
    "--extra-sample-args noise_scale_start=1,noise_scale_end=0.2 --sampling-method lcm",
    "--extra-sample-args gamma=1.5 --sampling-method euler_ge",
    "--extra-sample-args max_shift=3,base_shift=0.5,terminal=0.2,stretch=1 --scheduler ltx2",
    "--circular",
    "--circularx",
    "--circulary",
    "--type q8_0",
    "--type q4_0",
    "--tensor-type-rules ^model=q8_0",
    "--mmap",
    "--fa",
    "--diffusion-conv-direct --vae-conv-direct",
    "--clip-on-cpu --vae-on-cpu",
    "--offload-to-cpu",
    "-b 2",
    "--disable-image-metadata",
    "--backend cpu --params-backend cpu --max-vram 1 --stream-layers",
    "--cache-mode easycache --steps 14",
    "--cache-mode easycache --cache-option threshold=5,start=0.05 --steps 14",
    "--cache-mode dbcache --steps 14",
    "--cache-mode taylorseer --steps 14",
    "--cache-mode cache-dit --cache-option Fn=1,warmup=2,threshold=5 --steps 14",
    "--cache-mode cache-dit --scm-mask 1,1,1,0,0,1,0,0,1,0,0,0,1,1 --steps 14",
    "--cache-mode cache-dit --scm-mask 1,1,1,0,0,1,0,0,1,0,0,0,1,1 --scm-policy static --steps 14",
    "--cache-mode spectrum --steps 14",
    "--cache-mode spectrum --cache-option w=0.3,m=3,warmup=3 --steps 14",
];
/// With a UNet whose text encoder tells words apart.
const OF_UNETS: [&str; 17] = [
    "--clip-skip 2",
    "--scheduler ays",
    "--prediction v",
    "--prediction edm_v",
    "--cache-mode ucache --steps 14",
    "--cache-mode ucache --cache-option threshold=5,start=0.05 --steps 14",
    "--cache-mode spectrum --steps 14",
    "--circular",
    "--type q8_0",
    "--tensor-type-rules attn=q8_0,^first_stage_model=f16",
    "--rng std_default --sampler-rng cuda --sampling-method euler_a",
    "--cfg-scale 5 -n fog",
    "-p '(a lake:1.3), fog' --cfg-scale 3",
    "--sigmas 14.6,3.5,0.5,0",
    "--timestep-shift 250 --steps 3",
    "--embd-dir EMBEDDINGS -p 'a lake, misty'",
    "--embd-dir EMBEDDINGS -p 'a lake, (misty:1.3)' -n misty --cfg-scale 3",
];
/// With a model whose layers can be left out, and which looks at reference pictures.
const OF_OVIS: [&str; 8] = [
    "--slg-scale 2.5 --skip-layers [0] --skip-layer-start 0 --skip-layer-end 1 --cfg-scale 3",
    "--slg-scale 2.5 --skip-layers [0] --skip-layer-start 0.1 --skip-layer-end 0.7 --cfg-scale 3 --steps 6",
    "--extra-sample-args slg_uncond=1 --skip-layers [0] --skip-layer-start 0 --skip-layer-end 1 --cfg-scale 3",
    "--guidance 1.5",
    "-r INIT",
    "-r INIT -r WIDE --increase-ref-index",
    "-r WIDE --disable-auto-resize-ref-image",
    "-r INIT --cfg-scale 3 --img-cfg-scale 1.5",
];
/// With a ControlNet.
const OF_CONTROL: [&str; 3] = [
    "--control-image INIT --steps 1 --control-strength 0.8",
    "--control-image INIT --steps 1 --canny",
    "--control-image INIT --steps 1 --control-net-cpu",
];
/// With the pictures of a person. sd-cli merges the PhotoMaker's LoRA by itself, Atelier where that
/// is asked for.
const OF_PERSON: [&str; 3] = [
    "-p 'a woman img by a lake' --pm-id-images-dir FACES --steps 2 --lora-apply-mode at_runtime",
    "-p 'a woman img by a lake' --pm-id-images-dir FACES --steps 2 --lora-apply-mode immediately",
    "-p 'a woman img by a lake' --pm-id-images-dir FACES --steps 4 --pm-style-strength 50 --lora-apply-mode at_runtime",
];
/// T5 reads 512 tokens, which takes minutes: each setting alone changes the picture
/// (`tests/family_settings.rs`).
const OF_CHROMA: [&str; 2] = ["--chroma-disable-dit-mask --chroma-enable-t5-mask", "--chroma-t5-mask-pad 64"];
const OF_QWEN_IMAGE: [&str; 2] = ["-r INIT", "-r INIT --qwen-image-zero-cond-t"];
const OF_PID: [&str; 3] = ["-r INIT", "-r INIT --vae-format flux", "-r INIT --vae-format sd3"];

/// A model, and command lines with it.
struct Group {
    model: &'static str,
    /// The flags that name its files.
    flags: &'static str,
    /// Options of all its lines.
    always: &'static str,
    lines: Vec<String>,
}

/// Models with which a line takes seconds.
fn groups() -> Vec<Group> {
    let group =
        |model, flags, lines: &[&str]| Group { model, flags, always: "", lines: lines.iter().map(|line| (*line).to_owned()).collect() };
    vec![
        Group { lines: of_tiny(), ..group("zimage", "--diffusion-model --llm --taesd", &[]) },
        group("zimage", "--diffusion-model --qwen2vl --tae", &[""]),
        group("zimage-vae", "--diffusion-model --llm --vae", &["", "-W 256 --vae-tiling"]),
        group("sd15", "--model --taesd", &OF_UNETS),
        group("sdxl-vae", "--model --vae", &["", "--force-sdxl-vae-conv-scale"]),
        group("sd3", "--diffusion-model --clip_l --clip_g --taesd", &["", "--clip-skip 1 -p '(a lake:1.3), fog'"]),
        group("ovis", "--diffusion-model --llm --taesd", &OF_OVIS),
        group("controlled", "--model --taesd --control-net", &OF_CONTROL),
        group("person", "--model --taesd --photo-maker", &OF_PERSON),
    ]
}

/// Models whose sizes the engine fixes: gigabytes, most of them zeros that nobody wrote.
fn large_groups() -> Vec<Group> {
    let group = |model, flags, lines: &[&str]| Group {
        model,
        flags,
        always: "--mmap --steps 1 -t 2",
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    vec![
        group("sd3-t5", "--diffusion-model --clip_l --clip_g --t5xxl --taesd", &["-p '(a lake:1.3), fog'"]),
        group("chroma", "--diffusion-model --t5xxl --taesd", &OF_CHROMA),
        group("qwen-image", "--diffusion-model --llm --vae", &OF_QWEN_IMAGE),
        group("pid", "--diffusion-model --llm --vae", &OF_PID),
        group("ideogram", "--diffusion-model --uncond-diffusion-model --llm --taesd", &["--cfg-scale 3", ""]),
    ]
}

/// Lines with the tiny model that most tests have.
fn of_tiny() -> Vec<String> {
    let second_pass = "--hires --hires-scale 1.5";
    let mut lines: Vec<String> = Sampler::ALL.iter().map(|sampler| format!("--sampling-method {sampler}")).collect();
    // Align Your Steps has no noise levels for this family: sd-cli makes the picture all the same.
    let schedulers = Scheduler::ALL.iter().filter(|scheduler| **scheduler != Scheduler::Ays);
    lines.extend(schedulers.map(|scheduler| format!("--scheduler {scheduler}")));
    lines.extend(Rng::ALL.iter().map(|rng| format!("--rng {rng}")));
    lines.extend(
        LatentUpscaler::ALL
            .iter()
            .map(|it| format!("{second_pass} --hires-denoising-strength 0.6 --hires-upscaler {}", shell_words::quote(it.key()))),
    );
    lines.push(format!("{second_pass} --hires-denoising-strength 0.6"));
    lines.push(format!("{second_pass} --hires-sigmas 0.6,0.3,0"));
    // Atelier takes the space before a tag with it, which is a token.
    lines.extend(
        ["at_runtime", "immediately"]
            .map(|mode| format!("--lora-apply-mode {mode} --lora-model-dir LORAS -p '<lora:tiny-lora:0.7>a lake'")),
    );
    lines.extend(
        ["", "--upscale-repeats 2", "--upscale-repeats 2 --upscale-tile-size 48"].map(|it| format!("--upscale-model UPSCALER {it}")),
    );
    let further = [
        "--cfg-scale 3 -n fog",
        "-W 128 -H 96",
        "-i INIT --strength 0.6",
        "-i INIT --strength 0.9 --mask MASK",
        "-W 256 --vae-tiling",
        "--diffusion-fa",
        "--hires --hires-width 128 --hires-height 96 --hires-steps 3",
        "-W 256 -H 256 --vae-tiling --vae-relative-tile-size 0.5x0.5",
        "-W 256 -H 256 --vae-tiling --vae-tile-size 8x8 --vae-tile-overlap 0.25",
        "-W 256 --vae-tiling --vae-tile-size 16x16",
        "-W 256 -H 256 --vae-tiling --vae-tile-size 32x16",
        "-W 256 -H 192 --vae-tiling --vae-relative-tile-size 0.5x0.25",
    ];
    lines.extend(further.iter().chain(&OF_TRANSFORMERS).map(|line| (*line).to_owned()));
    lines
}

/// The files of a group's model, in a folder of its own.
fn model(name: &str) -> ModelFiles {
    let dir = folder(&format!("sd-cli-{name}"));
    let mut parts = match name {
        "zimage" => return files(),
        "controlled" => {
            return support::controlled(families::controlled_sd15(&dir).unwrap());
        }
        "sdxl-vae" => families::sdxl_with_vae(),
        "sd15" => families::reading("sd15"),
        "sd3" | "sd3-t5" => families::reading("sd3"),
        "person" => families::family("sdxl", &dir).unwrap(),
        "chroma" => families::chroma_of_t5_xxl(),
        "qwen-image" => families::qwen_image(),
        "pid" => families::pid(false),
        "ideogram" => families::ideogram4(),
        family => families::family(family, &dir).unwrap(),
    };
    match name {
        // sd-cli reads no T5 but the largest.
        "sd3" => parts.retain(|(role, _)| *role != "t5xxl"),
        "sd3-t5" => parts.iter_mut().filter(|(role, _)| *role == "t5xxl").for_each(|(_, part)| *part = families::t5_xxl()),
        "person" => parts.push(("photomaker", Part::Draft(families::photomaker()))),
        "ideogram" => parts.push(("uncond_diffusion", Part::Draft(families::ideogram4_module(0.25)))),
        _ => {}
    }
    written(parts, &dir)
}

/// The role of the file that a flag names.
fn role_of(flag: &str) -> FileRole {
    match flag {
        "--model" => FileRole::Model,
        "--diffusion-model" => FileRole::Diffusion,
        "--uncond-diffusion-model" => FileRole::UncondDiffusion,
        "--llm" | "--qwen2vl" => FileRole::Llm,
        "--clip_l" => FileRole::ClipL,
        "--clip_g" => FileRole::ClipG,
        "--t5xxl" => FileRole::T5xxl,
        "--vae" => FileRole::Vae,
        "--taesd" | "--tae" => FileRole::Taesd,
        "--control-net" => FileRole::Controlnet,
        "--photo-maker" => FileRole::Photomaker,
        _ => panic!("{flag}"),
    }
}

/// What the words of capital letters in command lines stand for.
struct Paths(Vec<(&'static str, PathBuf)>);

impl Paths {
    fn write(folder: &Path) -> Self {
        let [init, wide, mask] = ["init.png", "wide.png", "mask.png"].map(|name| folder.join(name));
        image::RgbImage::from_fn(64, 64, |x, y| image::Rgb([x as u8 * 4, y as u8 * 4, 90])).save(&init).unwrap();
        image::RgbImage::from_fn(96, 64, |x, y| image::Rgb([y as u8 * 3, x as u8 * 2, 90])).save(&wide).unwrap();
        image::GrayImage::from_fn(64, 64, |x, _| image::Luma([if x < 32 { 0 } else { 255 }])).save(&mask).unwrap();
        let [faces, embeddings] = ["faces", "embeddings"].map(|name| folder.join(name));
        fs::create_dir_all(&faces).unwrap();
        fs::create_dir_all(&embeddings).unwrap();
        // Of the size that the engine makes of them, so that no other resizing tells.
        for (name, blue) in [("a.png", 20), ("b.png", 200)] {
            image::RgbImage::from_fn(224, 224, |x, y| image::Rgb([x as u8, y as u8, blue])).save(faces.join(name)).unwrap();
        }
        // In numbers of 32 bits: sd-cli reads those of 16 as if they had 32, two in one, and on behind
        // their end. Atelier widens them (`tests/features.rs`).
        families::embedding().write(&embeddings.join("misty.safetensors")).unwrap();
        let loras = tiny::lora(folder, &tiny::Options::default()).unwrap().parent().unwrap().to_owned();
        let upscaler = tiny::upscaler(folder, 2, 1).unwrap();
        Self(vec![
            ("INIT", init),
            ("WIDE", wide),
            ("MASK", mask),
            ("FACES", faces),
            ("EMBEDDINGS", embeddings),
            ("LORAS", loras),
            ("UPSCALER", upscaler),
        ])
    }

    /// The words of a line.
    fn words(&self, line: &str) -> Vec<String> {
        let path = |word: &str| self.0.iter().find(|(name, _)| *name == word).map(|(_, path)| path.to_str().unwrap().to_owned());
        shell_words::split(line).unwrap().into_iter().map(|word| path(&word).unwrap_or(word)).collect()
    }
}

/// The names of each option of the engine's list.
fn listed() -> impl Iterator<Item = Vec<&'static str>> {
    OPTIONS.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0.split(' ').collect())
}

#[test]
fn each_setting_of_the_engine_is_in_a_command_line_or_has_a_reason() {
    let mut compared: HashSet<String> = USUAL.iter().map(|(flag, _)| (*flag).to_owned()).collect();
    for group in groups().into_iter().chain(large_groups()) {
        for line in group.lines.iter().map(String::as_str).chain([group.flags, group.always]) {
            compared.extend(shell_words::split(line).unwrap());
        }
    }
    for names in listed() {
        let long = *names.last().unwrap();
        let is_compared = names.iter().any(|name| compared.contains(*name));
        let has_reason = NOT_COMPARED.iter().any(|(name, _)| *name == long);
        assert!(!(is_compared && has_reason), "{long} is in a command line, and has a reason to be in none");
        // What is no setting may stand in a line all the same.
        let is_known = is_compared || has_reason || NoSetting::named(long).is_some();
        assert!(is_known, "{long} is in no command line, and has no reason in NOT_COMPARED");
    }
    let is_listed = |name: &str| listed().any(|names| names.contains(&name));
    assert!(NOT_COMPARED.iter().all(|(name, _)| is_listed(name)), "no options of the engine");
}

fn sd_cli() -> PathBuf {
    PathBuf::from(std::env::var_os("ATELIER_SD_CLI").expect("ATELIER_SD_CLI names an sd-cli program"))
}

fn pixels(file: &Path) -> Vec<u8> {
    image::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).to_rgb8().into_raw()
}

fn run(mut command: Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI"]
fn its_help_has_the_options_of_our_list() {
    let output = Command::new(sd_cli()).arg("--help").stdin(Stdio::null()).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    // An option's line is indented by two spaces, and its names end where its value or text begins.
    let lines = help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with('-'));
    let names = |line: &str| line.split_whitespace().take_while(|word| word.starts_with('-')).collect::<Vec<_>>().join(" ");
    let mut theirs: Vec<String> = lines.map(|line| names(line).replace(',', "")).collect();
    // It is understood as the first word alone, and not in the help.
    theirs.push("--version".to_owned());
    let mut ours: Vec<String> = listed().map(|names| names.join(" ")).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs);
}

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI"]
fn the_same_command_line_makes_the_same_bytes() {
    assert_same(&folder("sd-cli"), &groups());
}

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI, gigabytes of disk and half an hour"]
fn the_same_command_line_with_a_large_model_makes_the_same_bytes() {
    let groups = large_groups();
    assert_same(&folder("sd-cli-large"), &groups);
    for group in &groups {
        fs::remove_dir_all(folder(&format!("sd-cli-{}", group.model))).unwrap();
    }
}

/// `folder`: of this test alone.
fn assert_same(folder: &Path, groups: &[Group]) {
    let paths = Paths::write(folder);
    let mut different = Vec::new();
    for Group { model: name, flags, always, lines } in groups {
        let files = model(name);
        let flags: Vec<&str> = flags.split(' ').collect();
        assert_eq!(files.iter().count(), flags.len(), "{name}");
        for line in lines {
            let words = paths.words(&format!("{always} {line}"));
            let named = flags.iter().flat_map(|flag| [(*flag).to_owned(), files.get(role_of(flag)).unwrap().to_str().unwrap().to_owned()]);
            let usual = USUAL.iter().filter(|(flag, _)| !words.iter().any(|word| word == flag));
            let usual = usual.flat_map(|(flag, value)| [(*flag).to_owned(), (*value).to_owned()]);
            let arguments: Vec<String> = named.chain(usual).chain(words.iter().cloned()).collect();
            let (theirs, ours) = (pictures_of_sd_cli(folder, &arguments), pictures_of_atelier(folder, &arguments));
            // Atelier keeps the start picture's own pixels where the mask is black.
            let has_mask = words.iter().any(|word| word == "--mask");
            let is_compared = |at: usize| !has_mask || at / 3 % 64 >= 32;
            let compared = |file: &PathBuf| pixels(file).into_iter().enumerate().filter(|(at, _)| is_compared(*at)).collect::<Vec<_>>();
            let same = !theirs.is_empty()
                && theirs.len() == ours.len()
                && theirs.iter().zip(&ours).all(|(theirs, ours)| compared(theirs) == compared(ours));
            println!("{} {name} {line}", if same { "same     " } else { "DIFFERENT" });
            if !same {
                different.push(format!("{name} {line}"));
            }
        }
    }
    assert!(different.is_empty(), "{different:?}");
}

/// An empty folder.
fn emptied(folder: &Path, name: &str) -> PathBuf {
    let folder = folder.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The files of a folder in the order of their numbers, as both programs give them.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn pictures_of_sd_cli(folder: &Path, arguments: &[String]) -> Vec<PathBuf> {
    let made = emptied(folder, "theirs");
    let mut command = Command::new(sd_cli());
    command.args(arguments).arg("-o").arg(made.join("%d.png"));
    run(command);
    files_of(&made)
}

fn pictures_of_atelier(folder: &Path, arguments: &[String]) -> Vec<PathBuf> {
    let made = emptied(folder, "ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    let line = shell_words::join(std::iter::once("sd-cli").chain(arguments.iter().map(String::as_str)));
    command.env(HOME_VARIABLE, folder).args(["--cpu-math", "exact", "generate", "--from-command", &line, "-o"]).arg(made.join("1.png"));
    run(command);
    files_of(&made)
}
