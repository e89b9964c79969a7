//! `atelier cutout` and `atelier detect`: the program, its process for strangers' models, and the
//! files that they write.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use image::{ImageBuffer, Rgba};
use support::folder;
use testkit::onnx;

fn run(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_atelier")).env(HOME_VARIABLE, home).stdin(Stdio::null()).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn written(path: &Path, bytes: &[u8]) -> String {
    std::fs::write(path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// 64 x 48 in 16 bits: red on the left, green on the right, and a quarter transparent at the bottom,
/// where the model sees it on a light ground.
fn start(home: &Path) -> String {
    let path = home.join("start.png");
    let pixel = |x: u32, y: u32| {
        Rgba([if x < 32 { 65_535 } else { 1 }, if x < 32 { 2 } else { 40_000 }, 3, if y < 40 { 65_535 } else { 50_000_u16 }])
    };
    ImageBuffer::from_fn(64, 48, pixel).save(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_cutout_keeps_every_sample_and_takes_the_background_away() {
    let home = folder("cutout");
    let model = written(&home.join("red.onnx"), &onnx::red_segmenter(64));
    let (input, output) = (start(&home), home.join("out.png"));
    let out = output.to_str().unwrap();
    let done = run(&home, &["cutout", "--model", &model, "--family", "isnet", "-i", &input, "-o", out, "-t", "1"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout).trim_end(), out);
    let (before, after) = (image::open(&input).unwrap().into_rgba16(), image::open(&output).unwrap().into_rgba16());
    for (x, y, pixel) in after.enumerate_pixels().filter(|(x, ..)| x.abs_diff(32) > 2) {
        let own = before.get_pixel(x, y);
        assert_eq!(pixel.0[..3], own.0[..3], "{x} {y}");
        assert_eq!(pixel[3], if x < 32 { own[3] } else { 0 }, "{x} {y}");
    }
    // What the family was taken for is told, and a mask is what `generate --mask` reads.
    let mask = home.join("mask.png");
    let done = run(&home, &["cutout", "--model", &model, "-i", &input, "-o", mask.to_str().unwrap(), "--mask", "-t", "1"]);
    assert!(text(&done.stderr).contains("family modnet; --family names another"), "{}", text(&done.stderr));
    let mask = image::open(mask).unwrap().into_luma8();
    assert_eq!((mask.get_pixel(5, 5)[0], mask.get_pixel(60, 5)[0]), (255, 0));
}

#[test]
fn detections_are_told_and_become_a_mask() {
    let home = folder("detect");
    let found = [vec![16.0, 16.0, 16.0, 16.0, 0.9, 0.0], vec![48.0, 16.0, 8.0, 8.0, 0.0, 0.7]];
    let model = written(&home.join("faces.onnx"), &onnx::detector(64, &["face", "left hand"], &found));
    let (input, mask) = (start(&home), home.join("mask.png"));
    let mask = mask.to_str().unwrap();
    let done = run(&home, &["detect", "--model", &model, "-i", &input, "--mask", mask, "--grow", "0", "--class", "face", "-t", "1"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "face 0.90 8 8 16 16\n");
    let mask = image::open(mask).unwrap().into_luma8();
    assert_eq!((mask.dimensions(), mask.get_pixel(16, 16)[0], mask.get_pixel(48, 16)[0]), ((64, 48), 255, 0));
    let done = run(&home, &["detect", "--model", &model, "-i", &input, "-t", "1"]);
    assert_eq!(text(&done.stdout), "face 0.90 8 8 16 16\nleft_hand 0.70 44 12 8 8\n");
}

#[test]
fn a_model_that_takes_all_memory_or_is_none_ends_nothing_but_itself() {
    let home = folder("vision-hostile");
    let (input, output) = (start(&home), home.join("out.png"));
    let files = [("bomb.onnx", onnx::memory_bomb()), ("text.onnx", b"not a model".to_vec()), ("empty.onnx", Vec::new())];
    for (name, bytes) in files {
        let model = written(&home.join(name), &bytes);
        let done = run(&home, &["cutout", "--model", &model, "-i", &input, "-o", output.to_str().unwrap(), "-t", "1"]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{name}: {said}");
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{name}: {said}");
        assert!(!output.exists(), "{name}");
    }
}
