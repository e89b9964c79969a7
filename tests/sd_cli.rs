//! Pictures against those of sd-cli for the same command lines, byte for byte: `ATELIER_SD_CLI=PATH
//! cargo test --features inspection --test sd_cli -- --ignored`. PATH is an sd-cli of the engine's
//! version, built for the same instruction sets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{FileRole, LatentUpscaler};
use support::{files, folder};
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

#[test]
#[ignore = "needs an sd-cli program, named by ATELIER_SD_CLI"]
fn the_same_command_line_makes_the_same_bytes() {
    let sd_cli = PathBuf::from(std::env::var_os("ATELIER_SD_CLI").expect("ATELIER_SD_CLI names an sd-cli program"));
    let folder = folder("sd-cli");
    let lora = tiny::lora(&folder, &tiny::Options::default()).unwrap();
    let init = folder.join("init.png");
    image::RgbImage::from_fn(64, 64, |x, y| image::Rgb([x as u8 * 4, y as u8 * 4, 90])).save(&init).unwrap();
    let mask = folder.join("mask.png");
    image::GrayImage::from_fn(64, 64, |x, _| image::Luma([if x < 32 { 0 } else { 255 }])).save(&mask).unwrap();
    let (init, mask) = (init.to_str().unwrap(), mask.to_str().unwrap());
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
    let upscaler = tiny::upscaler(&folder, 2, 1).unwrap();
    let upscaled = ["--upscale-model", upscaler.to_str().unwrap()];
    for further in [&[][..], &["--upscale-repeats", "2"], &["--upscale-repeats", "2", "--upscale-tile-size", "48"]] {
        cases.push([&upscaled[..], further].concat());
    }
    cases.push(vec!["-W", "256", "-H", "256", "--vae-tiling", "--vae-relative-tile-size", "0.5x0.5"]);
    cases.push(vec!["-W", "256", "-H", "256", "--vae-tiling", "--vae-tile-size", "8x8", "--vae-tile-overlap", "0.25"]);
    let mut different = Vec::new();
    for case in &cases {
        let mut arguments: Vec<String> = Vec::new();
        let files = files();
        for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
            arguments.extend([flag.to_owned(), files.get(role).unwrap().to_str().unwrap().to_owned()]);
        }
        for (flag, value) in
            [("-p", "a lake"), ("-W", "64"), ("-H", "64"), ("--cfg-scale", "1"), ("--steps", "4"), ("-s", "42"), ("-t", "1")]
        {
            if !case.contains(&flag) {
                arguments.extend([flag.to_owned(), value.to_owned()]);
            }
        }
        arguments.extend(case.iter().map(|&it| it.to_owned()));
        let (theirs, ours) = (folder.join("theirs.png"), folder.join("ours.png"));
        let mut command = Command::new(&sd_cli);
        command.args(&arguments).arg("-o").arg(&theirs);
        run(command);
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        let line = shell_words::join(std::iter::once("sd-cli").chain(arguments.iter().map(String::as_str)));
        command.env(HOME_VARIABLE, &folder).args(["--cpu-math", "exact", "generate", "--from-command", &line, "-o"]).arg(&ours);
        run(command);
        // Atelier keeps the start picture's own pixels where the mask is black.
        let is_compared = |at: usize| !case.contains(&"--mask") || at / 3 % 64 >= 32;
        let compared = |file: &Path| pixels(file).into_iter().enumerate().filter(|(at, _)| is_compared(*at)).collect::<Vec<_>>();
        let same = compared(&theirs) == compared(&ours);
        println!("{} {}", if same { "same     " } else { "DIFFERENT" }, case.join(" "));
        if !same {
            different.push(case.join(" "));
        }
    }
    assert!(different.is_empty(), "{different:?} of {} cases", cases.len());
}
