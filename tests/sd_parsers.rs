//! The pictures with which another reader of metadata is tested, read here:
//! `ATELIER_SD_PARSERS=PATH cargo test --test sd_parsers -- --ignored`. PATH is a clone of
//! github.com/d3x-at/sd-parsers; its pictures are not ours to keep, so they are not in this
//! repository. What is expected stands in its tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use atelier_core::recipe::Seed;
use atelier_media::{Tool, read_stealth_settings};

/// What a picture tells. Words by their beginning; empty where several share a picture, or there
/// are none.
struct Row {
    file: &'static str,
    tool: Tool,
    prompt: &'static str,
    negative_prompt: &'static str,
    seed: Option<u64>,
    steps: u32,
    guidance: f32,
    sampler: &'static str,
    size: Option<(u32, u32)>,
    model: Option<&'static str>,
    hash: Option<&'static str>,
}

const DUCK: Row = Row {
    file: "bad_images/text_after_idat.png",
    tool: Tool::A1111,
    prompt: "photo of a duck",
    negative_prompt: "monochrome",
    seed: Some(235_284_042),
    steps: 15,
    guidance: 5.0,
    sampler: "UniPC",
    size: Some((512, 400)),
    model: Some("realistic_realisticVisionV20_v20"),
    hash: Some("c0d1994c73"),
};

const INVOKEAI: Row = Row {
    file: "parsers/InvokeAI/invokeai_dream1.png",
    tool: Tool::InvokeAi,
    prompt: "professional full body photo",
    negative_prompt: "rendering, glowing eyes",
    seed: Some(2_980_747_362),
    steps: 50,
    guidance: 5.0,
    sampler: "k_lms",
    size: Some((512, 768)),
    model: None,
    hash: None,
};

const COMFYUI: Row = Row {
    file: "parsers/ComfyUI/img2img_cropped.png",
    tool: Tool::ComfyUi,
    prompt: "photograph of victorian woman",
    negative_prompt: "watermark, text",
    seed: Some(280_823_642_470_253),
    steps: 20,
    guidance: 8.0,
    sampler: "sample_dpmpp_2m",
    size: None,
    model: Some("v1-5-pruned-emaonly.ckpt"),
    hash: None,
};

const ROWS: [Row; 13] = [
    DUCK,
    Row { file: "parsers/AUTOMATIC1111/automatic1111_cropped.png", ..DUCK },
    Row { file: "parsers/AUTOMATIC1111/automatic1111_cropped.jpg", ..DUCK },
    Row {
        file: "parsers/AUTOMATIC1111/automatic1111_stealth.png",
        prompt: "a circle",
        negative_prompt: "a square",
        seed: Some(2_015_833_630),
        steps: 20,
        guidance: 7.0,
        sampler: "Euler",
        size: Some((64, 64)),
        model: Some("realisticVisionV51_v51VAE"),
        hash: Some("15012c538f"),
        ..DUCK
    },
    COMFYUI,
    // Five texts with areas, of which none is chosen.
    Row {
        file: "parsers/ComfyUI/night_evening_day_morning_cropped.png",
        prompt: "",
        negative_prompt: "(hands), text, error",
        seed: Some(335_608_130_539_327),
        steps: 13,
        guidance: 8.5,
        sampler: "dpmpp_sde",
        size: Some((704, 1280)),
        model: Some("Anything-V3.0.ckpt"),
        ..COMFYUI
    },
    // Three first passes with seeds and sizes of their own.
    Row {
        file: "parsers/ComfyUI/noisy_latents_3_subjects_cropped.png",
        prompt: "",
        negative_prompt: "(hands), text, error",
        seed: None,
        steps: 16,
        guidance: 7.0,
        sampler: "sample_dpmpp_sde",
        model: Some("Anything-V3.0.ckpt"),
        ..COMFYUI
    },
    Row {
        file: "parsers/ComfyUI/unclip_2pass_cropped.png",
        prompt: "\n(waifu, anime, exceptional",
        negative_prompt: "lowres, (bad anatomy)",
        seed: Some(1_106_257_833_005_336),
        steps: 26,
        sampler: "uni_pc_bh2",
        size: Some((1280, 704)),
        model: Some("wd-1-5-beta2-aesthetic-unclip-h-fp32.safetensors"),
        ..COMFYUI
    },
    Row {
        file: "parsers/Fooocus/fooocus1_cropped.png",
        tool: Tool::Fooocus,
        prompt: "a smiling goldfish",
        negative_prompt: "",
        seed: Some(6_952_411_511_246_973_023),
        steps: 30,
        guidance: 4.0,
        sampler: "dpmpp_2m_sde_gpu",
        size: Some((768, 1280)),
        model: Some("juggernautXL_v8Rundiffusion"),
        hash: Some("aeb7e9e689"),
    },
    INVOKEAI,
    Row {
        file: "parsers/InvokeAI/invokeai_sdmeta1.png",
        model: Some("deliberateForInvoke_v08"),
        hash: Some("56d1442a0feefd64836a19ac8e3527ec71c884fc962e246ddf67b03e42921272"),
        ..INVOKEAI
    },
    Row {
        file: "parsers/InvokeAI/invokeai_imeta1.png",
        prompt: "digital artwork, oil painting.",
        negative_prompt: "grainy+, photo, oversaturated",
        seed: Some(3_293_022_630),
        steps: 35,
        guidance: 8.0,
        sampler: "euler",
        size: Some((1024, 1024)),
        model: Some("juggernautXL"),
        ..INVOKEAI
    },
    Row {
        file: "parsers/NovelAI/novelai1_cropped.png",
        tool: Tool::NovelAi,
        prompt: "masterpiece, best quality,  cat, space, icon",
        negative_prompt: "lowres, bad anatomy",
        seed: Some(2_253_955_223),
        steps: 50,
        guidance: 10.0,
        sampler: "k_euler_ancestral",
        size: None,
        model: Some("Stable Diffusion"),
        hash: Some("1D44365E"),
    },
];

#[test]
#[ignore = "needs a clone of d3x-at/sd-parsers, named by ATELIER_SD_PARSERS"]
fn the_pictures_of_another_reader_tell_what_its_tests_expect() {
    let clone = PathBuf::from(std::env::var_os("ATELIER_SD_PARSERS").expect("ATELIER_SD_PARSERS names a clone of sd-parsers"));
    let pictures = clone.join("tests/resources");
    let begins = |text: Option<String>, start: &str| text.unwrap_or_default().chars().take(start.chars().count()).collect::<String>();
    for row in &ROWS {
        let it = read_stealth_settings(&pictures.join(row.file)).unwrap();
        let model = it.model.unwrap_or_default();
        assert_eq!(
            (it.tool, it.seed, it.steps, it.guidance),
            (Some(row.tool), row.seed.map(Seed), Some(row.steps), Some(row.guidance)),
            "{}",
            row.file
        );
        assert_eq!((it.sampler.as_deref(), it.size), (Some(row.sampler), row.size), "{}", row.file);
        assert_eq!((model.name.as_deref(), model.hash.as_deref()), (row.model, row.hash), "{}", row.file);
        assert!(!row.prompt.is_empty() || it.prompt.is_none(), "{}: {:?}", row.file, it.prompt);
        assert_eq!(begins(it.prompt, row.prompt), row.prompt, "{}", row.file);
        assert_eq!(begins(it.negative_prompt, row.negative_prompt), row.negative_prompt, "{}", row.file);
    }
    // Values behind words are no words.
    let dream = read_stealth_settings(&pictures.join(INVOKEAI.file)).unwrap();
    assert!(dream.prompt.unwrap().ends_with("film grain, low contrast"));
    for file in ["bad_images/empty_image.png", "bad_images/empty_image.jpg"] {
        assert_eq!(read_stealth_settings(&pictures.join(file)).unwrap().tool, None, "{file}");
    }
    assert!(read_stealth_settings(&pictures.join("bad_images/empty_file.png")).is_err());
}
