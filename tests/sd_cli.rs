//! Pictures against those of sd-cli for the same command lines, byte for byte: `ATELIER_SD_CLI=PATH
//! cargo test --features inspection --test sd_cli -- --ignored`. PATH is an sd-cli of the engine's
//! version, built for the same instruction sets and with `GGML_LLAMAFILE=ON`, as vendor/ggml-sys/engine.cmake has it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{FileRole, LatentUpscaler, ModelFiles};
use support::{files, folder};
use testkit::families::{self, Part};
use testkit::tiny;

const SAMPLERS: [&str; 9] = ["euler", "euler_a", "heun", "dpm2", "dpm++2s_a", "dpm++2m", "dpm++2mv2", "lcm", "ddim_trailing"];
const SCHEDULERS: [&str; 6] = ["discrete", "karras", "exponential", "sgm_uniform", "simple", "smoothstep"];

fn pixels(file: &Path) -> Vec<u8> {
    image::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).to_rgb8().into_raw()
}

fn run(mut command: Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The flags that name the files of a model.
fn model_flags(files: &ModelFiles) -> Vec<String> {
    let flag = |role| match role {
        FileRole::Model => "--model",
        FileRole::Diffusion => "--diffusion-model",
        FileRole::Llm => "--llm",
        FileRole::Taesd => "--taesd",
        FileRole::Controlnet => "--control-net",
        _ => panic!("{role:?}"),
    };
    files.iter().flat_map(|(role, path)| [flag(role).to_owned(), path.to_str().unwrap().to_owned()]).collect()
}

/// A tiny model of another family.
fn model(name: &str, parts: Vec<(&'static str, Part)>) -> ModelFiles {
    let dir = folder(&format!("sd-cli-{name}"));
    parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(&dir, role).unwrap())).collect()
}

fn words(lines: &[&str]) -> Vec<Vec<String>> {
    lines.iter().map(|line| shell_words::split(line).unwrap()).collect()
}

/// What samples, loads and tiles, with a transformer that is a flow.
const OF_TRANSFORMERS: [&str; 26] = [
    "--eta 0.5 --sampling-method euler_a",
    "--flow-shift 2",
    "--sampler-rng cpu --sampling-method euler_a",
    "--sigmas 1,0.6,0.3,0",
    "--extra-sample-args apg_eta=0.2,apg_norm_threshold=0.5 --cfg-scale 3",
    "--extra-sample-args apg_eta=0.2,apg_momentum=-0.5 --cfg-scale 3",
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
const OF_UNETS: [&str; 14] = [
    "--clip-skip 2",
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

/// The cases of the tiny model that most tests have.
fn of_tiny(folder: &Path, init: &str, mask: &str) -> Vec<Vec<String>> {
    let lora = tiny::lora(folder, &tiny::Options::default()).unwrap();
    let mut cases: Vec<Vec<&str>> = SAMPLERS.iter().map(|sampler| vec!["--sampling-method", sampler]).collect();
    cases.extend(SCHEDULERS.iter().map(|scheduler| vec!["--scheduler", scheduler]));
    cases.extend(["cuda", "cpu", "std_default"].map(|rng| vec!["--rng", rng]));
    cases.push(vec!["--cfg-scale", "3", "-n", "fog"]);
    cases.push(vec!["-W", "128", "-H", "96"]);
    cases.push(vec!["-i", init, "--strength", "0.6"]);
    cases.push(vec!["-i", init, "--strength", "0.9", "--mask", mask]);
    cases.push(vec!["-W", "256", "--vae-tiling"]);
    cases.push(vec!["--diffusion-fa"]);
    let second_pass = ["--hires", "--hires-scale", "1.5", "--hires-denoising-strength", "0.6"];
    cases.push(second_pass.to_vec());
    cases.extend(LatentUpscaler::ALL.iter().map(|it| [&second_pass[..], &["--hires-upscaler", it.key()]].concat()));
    cases.push([&second_pass[..3], &["--hires-sigmas", "0.6,0.3,0"]].concat());
    cases.push(vec!["--hires", "--hires-width", "128", "--hires-height", "96", "--hires-steps", "3"]);
    let lora_folder = lora.parent().unwrap().to_str().unwrap();
    // Atelier takes the space before a tag with it, which is a token.
    for mode in ["at_runtime", "immediately"] {
        cases.push(vec!["--lora-apply-mode", mode, "--lora-model-dir", lora_folder, "-p", "<lora:tiny-lora:0.7>a lake"]);
    }
    let upscaler = tiny::upscaler(folder, 2, 1).unwrap();
    let upscaled = ["--upscale-model", upscaler.to_str().unwrap()];
    for further in [&[][..], &["--upscale-repeats", "2"], &["--upscale-repeats", "2", "--upscale-tile-size", "48"]] {
        cases.push([&upscaled[..], further].concat());
    }
    cases.push(vec!["-W", "256", "-H", "256", "--vae-tiling", "--vae-relative-tile-size", "0.5x0.5"]);
    cases.push(vec!["-W", "256", "-H", "256", "--vae-tiling", "--vae-tile-size", "8x8", "--vae-tile-overlap", "0.25"]);
    cases.into_iter().map(|case| case.into_iter().map(str::to_owned).collect::<Vec<_>>()).chain(words(&OF_TRANSFORMERS)).collect()
}

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI"]
fn its_help_has_the_options_of_our_list() {
    let sd_cli = PathBuf::from(std::env::var_os("ATELIER_SD_CLI").expect("ATELIER_SD_CLI names an sd-cli program"));
    let output = Command::new(&sd_cli).arg("--help").stdin(Stdio::null()).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    // An option's line is indented by two spaces, and its names end where its value or text begins.
    let lines = help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with('-'));
    let names = |line: &str| line.split_whitespace().take_while(|word| word.starts_with('-')).collect::<Vec<_>>().join(" ");
    let mut theirs: Vec<String> = lines.map(|line| names(line).replace(',', "")).collect();
    // It is understood as the first word alone, and not in the help.
    theirs.push("--version".to_owned());
    let list = include_str!("../crates/core/src/sd_cli/options.txt").lines().filter(|line| !line.starts_with('#'));
    let mut ours: Vec<String> = list.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs);
}

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI"]
fn the_same_command_line_makes_the_same_bytes() {
    let sd_cli = PathBuf::from(std::env::var_os("ATELIER_SD_CLI").expect("ATELIER_SD_CLI names an sd-cli program"));
    let folder = folder("sd-cli");
    let [init, wide, mask] = ["init.png", "wide.png", "mask.png"].map(|name| folder.join(name));
    image::RgbImage::from_fn(64, 64, |x, y| image::Rgb([x as u8 * 4, y as u8 * 4, 90])).save(&init).unwrap();
    image::RgbImage::from_fn(96, 64, |x, y| image::Rgb([y as u8 * 3, x as u8 * 2, 90])).save(&wide).unwrap();
    image::GrayImage::from_fn(64, 64, |x, _| image::Luma([if x < 32 { 0 } else { 255 }])).save(&mask).unwrap();
    let [init, wide, mask] = [&init, &wide, &mask].map(|path| path.to_str().unwrap());
    let ovis = model("ovis", families::family("ovis", &folder).unwrap());
    let of_ovis = OF_OVIS.map(|line| line.replace("INIT", &shell_words::quote(init)).replace("WIDE", &shell_words::quote(wide)));
    let controlled = families::controlled_sd15(&folder).unwrap();
    let controlled: ModelFiles =
        [(FileRole::Model, controlled.model), (FileRole::Taesd, controlled.taesd), (FileRole::Controlnet, controlled.controlnet)]
            .into_iter()
            .collect();
    let of_control =
        ["--control-strength 0.8", "--canny"].map(|flags| format!("--control-image {} --steps 1 {flags}", shell_words::quote(init)));
    let models = [
        (files(), of_tiny(&folder, init, mask)),
        (model("sd15", families::reading("sd15")), words(&OF_UNETS)),
        (ovis, words(&of_ovis.each_ref().map(String::as_str))),
        (controlled, words(&of_control.each_ref().map(String::as_str))),
    ];
    let mut different = Vec::new();
    for (files, cases) in &models {
        for case in cases {
            let mut arguments = model_flags(files);
            for (flag, value) in
                [("-p", "a lake"), ("-W", "64"), ("-H", "64"), ("--cfg-scale", "1"), ("--steps", "4"), ("-s", "42"), ("-t", "1")]
            {
                if !case.iter().any(|it| it == flag) {
                    arguments.extend([flag.to_owned(), value.to_owned()]);
                }
            }
            arguments.extend(case.iter().cloned());
            let (theirs, ours) = (folder.join("theirs.png"), folder.join("ours.png"));
            let mut command = Command::new(&sd_cli);
            command.args(&arguments).arg("-o").arg(&theirs);
            run(command);
            let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
            let line = shell_words::join(std::iter::once("sd-cli").chain(arguments.iter().map(String::as_str)));
            command.env(HOME_VARIABLE, &folder).args(["--cpu-math", "exact", "generate", "--from-command", &line, "-o"]).arg(&ours);
            run(command);
            // Atelier keeps the start picture's own pixels where the mask is black.
            let is_compared = |at: usize| !case.iter().any(|it| it == "--mask") || at / 3 % 64 >= 32;
            let compared = |file: &Path| pixels(file).into_iter().enumerate().filter(|(at, _)| is_compared(*at)).collect::<Vec<_>>();
            let same = compared(&theirs) == compared(&ours);
            println!("{} {}", if same { "same     " } else { "DIFFERENT" }, case.join(" "));
            if !same {
                different.push(case.join(" "));
            }
        }
    }
    assert!(different.is_empty(), "{different:?}");
}
