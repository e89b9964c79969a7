//! Which fields come back from which program: files are written by the testkit, in the forms that
//! the programs document.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use testkit::pictures::{self, tool_pictures};

use super::*;
use atelier_core::recipe::{
    ControlImage, FileRole, GuidanceRange, Hires, ImageSource, PictureInfo, Preprocessor, Recipe, Rgb8, Rng, Sampler, Seed,
};

const PROMPT: &str = "a lake, größer";
const NEGATIVE: &str = "fog, blurry";
const SEED: Seed = Seed(3_305_821_237);

/// A row of the table: a file, and the fields that come back from it.
fn row(settings: &PictureSettings) -> String {
    let mut fields = Vec::new();
    macro_rules! told {
        ($($field:ident),*) => { $(if settings.$field.is_some() { fields.push(stringify!($field)); })* };
    }
    told!(prompt, negative_prompt, seed, steps, guidance, distilled_guidance, flow_shift, eta, clip_skip, strength);
    told!(sampler, scheduler, size, rng, model, vae);
    if !settings.loras.is_empty() {
        fields.push("loras");
    }
    if settings.model.as_ref().is_some_and(|model| model.hash.is_some()) {
        fields.push("model_hash");
    }
    fields.join(" ")
}

/// What every file below tells.
const COMMON: &str = "prompt negative_prompt seed steps guidance";

/// Tool and file, and the fields that come back.
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    ("a1111.png", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 big-endian.jpg", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 little-endian.jpg", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 orders that differ.webp", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 named by another ending.png", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 sidecar.jpg", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 stealth alpha.png", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("a1111 stealth colours.png", "clip_skip sampler scheduler size rng model vae loras model_hash"),
    ("sd-cli.png", "distilled_guidance eta sampler size rng model"),
    ("comfyui both graphs.png", "clip_skip sampler scheduler size rng model vae loras"),
    ("comfyui workflow alone.png", "sampler scheduler size rng model loras"),
    ("comfyui.webp", "clip_skip sampler scheduler size rng model vae loras"),
    ("invokeai 5.png", "sampler size rng model vae loras model_hash"),
    ("invokeai 3.png", "clip_skip sampler size rng model loras"),
    ("invokeai 2.png", "sampler size model model_hash"),
    ("invokeai 1.png", "sampler size"),
    ("fooocus.png", "clip_skip sampler scheduler size rng model loras model_hash"),
    ("fooocus a1111.png", "sampler size rng model model_hash"),
    ("fooocus.jpg", "clip_skip sampler scheduler size rng model loras model_hash"),
    ("fooocus.webp", "clip_skip sampler scheduler size rng model loras model_hash"),
    ("fooocus early.png", "sampler scheduler size rng model loras"),
    ("swarmui.png", "sampler scheduler size rng model loras model_hash"),
    ("swarmui.jpg", "sampler scheduler size rng model loras model_hash"),
    ("swarmui early.jpg", "sampler scheduler size rng model loras model_hash"),
    ("swarmui sidecar.jpg", "sampler scheduler size rng model loras model_hash"),
    ("novelai.png", "sampler scheduler size model model_hash"),
    ("novelai stealth.png", "sampler scheduler size model model_hash"),
    ("draw things.png", "flow_shift clip_skip sampler size rng model loras"),
    ("draw things.jpg", "flow_shift clip_skip sampler size rng model loras"),
    ("easy diffusion.png", "clip_skip sampler size model loras"),
    ("easy diffusion titled.png", "sampler size model"),
    ("easy diffusion sidecar.jpg", "sampler size model"),
    ("easy diffusion json.jpg", "clip_skip sampler size model loras"),
];

#[test]
fn every_tool_tells_the_fields_of_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for picture in tool_pictures() {
        let path = picture.write(folder.path()).unwrap();
        let settings = read_stealth_settings(&path).unwrap();
        assert_eq!(settings.tool.map(Tool::key), Some(picture.tool), "{}", picture.name);
        println!("{:34} {}", picture.name, row(&settings));
        assert_eq!(settings.prompt.as_deref(), Some(PROMPT), "{}", picture.name);
        assert_eq!((settings.seed, settings.size), (Some(SEED), Some((768, 512))), "{}", picture.name);
        assert!(!settings.raw_texts.is_empty(), "{}", picture.name);
        if picture.name == "comfyui custom sampler.png" {
            continue;
        }
        let (_, fields) = TABLE.iter().find(|(name, _)| *name == picture.name).unwrap_or_else(|| panic!("no row for {}", picture.name));
        let sorted = |text: &str| text.split(' ').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(sorted(&row(&settings)), sorted(&format!("{COMMON} {fields}")), "{}", picture.name);
        assert_eq!((settings.negative_prompt.as_deref(), settings.guidance), (Some(NEGATIVE), Some(6.5)), "{}", picture.name);
        assert_eq!(settings.steps, Some(if picture.name == "fooocus early.png" { 30 } else { 28 }), "{}", picture.name);
        for lora in &settings.loras {
            assert!(lora.name.starts_with("ink") && (lora.strength - 0.8).abs() < 1e-6, "{}: {lora:?}", picture.name);
        }
        seen += 1;
    }
    assert_eq!(seen, TABLE.len());
}

fn read(name: &str) -> PictureSettings {
    let folder = tempfile::tempdir().unwrap();
    let picture = tool_pictures().into_iter().find(|picture| picture.name == name).unwrap();
    read_settings(&picture.write(folder.path()).unwrap()).unwrap()
}

fn names(settings: &PictureSettings) -> Vec<&str> {
    settings.not_understood.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn what_is_not_understood_stays_visible() {
    assert_eq!(names(&read("a1111.png")), [""; 0]);
    assert_eq!(read("comfyui both graphs.png").not_understood, [("FreeU_V2 (node 13)".to_owned(), "b1: 1.3".to_owned())]);
    assert_eq!(names(&read("invokeai 5.png")), ["cfg_rescale_multiplier"]);
    assert_eq!(names(&read("invokeai 1.png")), ["-G"]);
    assert!(names(&read("fooocus.png")).contains(&"styles"));
    assert_eq!(names(&read("swarmui.png")), ["refinerupscale"]);
    assert!(names(&read("draw things.png")).contains(&"mask_blur"));
    assert_eq!(names(&read("easy diffusion.png")), ["use_upscale"]);
}

#[test]
fn brackets_round_a_lora_are_steps_in_our_own_texts_alone() {
    let range = |version: &str| {
        let text = format!("a lake [<lora:ink:0.8>::5]\nSteps: 20, Sampler: Euler, Seed: 1, Size: 64x64, Version: {version}");
        let settings = a1111::settings(&text).unwrap();
        (settings.loras[0].start, settings.loras[0].end)
    };
    assert_eq!((range("Atelier 0.1.0"), range("v1.10.1")), ((0.0, 0.25), (0.0, 1.0)));
}

#[test]
fn a_lora_behind_the_mark_of_a_comment_is_one_in_texts_of_a1111() {
    for version in ["Atelier 0.1.0", "v1.10.1"] {
        let text = format!("# Scene\na lake // calm <lora:ink:0.8>\nSteps: 20, Sampler: Euler, Seed: 1, Size: 64x64, Version: {version}");
        let settings = a1111::settings(&text).unwrap();
        assert_eq!((settings.prompt.as_deref(), settings.loras.len()), (Some("# Scene\na lake // calm"), 1), "{version}");
    }
}

#[test]
fn a_second_pass_of_a1111_is_told_with_its_strength_and_no_start_picture() {
    let settings = read("a1111.png");
    let upscaler = Some("4x-UltraSharp".into());
    let expected = PictureHires { scale: 2.0, strength: Some(0.4), steps: Some(12), upscaler, ..PictureHires::default() };
    assert_eq!((settings.hires, settings.strength), (Some(expected), None));
}

#[test]
fn a_second_pass_of_sd_cli_has_its_factor_and_upscaler_under_keys_of_their_own() {
    let text = |resize: &str| {
        format!(
            "a lake\nSteps: 8, CFG scale: 1.000000, Guidance: 3.500000, Eta: inf, Extra sample args: apg_eta=1,apg_momentum=0.5, Seed: 7, \
             Size: 64x32, Model: m.gguf, RNG: cuda, Sampler RNG: cpu, Sampler: euler, Custom Sigmas: [14.6000, 0.0000], \
             Hires upscale: Latent (bicubic), Hires scale: 1.500000, Hires resize: {resize}, Hires steps: 0, Denoising strength: 0.700000, \
             Hires custom sigmas: [3.5, 1, 0], Version: stable-diffusion.cpp, \
             SDCPP: {{\"sampling\":{{\"extra_sample_args\":\"apg_eta=1,apg_momentum=0.5\"}}}}"
        )
    };
    let read = |resize: &str| settings_of_texts(vec![("parameters".to_owned(), text(resize))]);
    let settings = read("0x0");
    let upscaler = Some("Latent (bicubic)".to_owned());
    let expected = PictureHires { scale: 1.5, size: None, strength: Some(0.7), steps: None, sigmas: vec![3.5, 1.0, 0.0], upscaler };
    assert_eq!(settings.hires, Some(expected));
    assert_eq!((settings.sigmas, settings.sampler_rng), (Some(vec![14.6, 0.0]), Some(Rng::Cpu)));
    assert_eq!(settings.sampler_arguments.as_deref(), Some("apg_eta=1,apg_momentum=0.5"));
    assert!(settings.and_is_word);
    assert_eq!(read("96x0").hires.and_then(|hires| hires.size), Some((96, 96)));
    assert_eq!(read("128x96").hires.and_then(|hires| hires.size), Some((128, 96)));
}

#[test]
fn ranges_of_guidance_that_are_none_are_left_out() {
    for wrong in ["", "1@0.2-0.6", "[]", "[1@0.2]", "[1@0.2-0.6, x]", "[NaN@0-1]", "[1@0.2-inf]"] {
        assert_eq!(a1111::guidance_ranges(wrong), None, "{wrong}");
    }
    let many = format!("[{}]", ["1@0.2-0.6"; 20].join(","));
    assert_eq!(a1111::guidance_ranges(&many).unwrap().len(), GuidanceRange::MAX);
}

#[test]
fn sizes_and_numbers_from_strangers_are_checked() {
    let text = "x\nSteps: 4000000000, Size: 0x99999999, CFG scale: NaN, Seed: many, Clip skip: -1, Variation seed: 7, \
                Variation seed strength: 9, Custom Sigmas: [NaN, 0], SLG scale: inf";
    let settings = settings_of_texts(vec![("parameters".to_owned(), text.to_owned())]);
    assert_eq!((settings.steps, settings.size, settings.guidance, settings.seed), (Some(4_000_000_000), None, None, None));
    assert_eq!((settings.seed_blend, settings.clip_skip), (None, None));
    assert_eq!((&settings.sigmas, &settings.skip_layers), (&None, &None));
    assert_eq!(
        names(&settings),
        ["Size", "CFG scale", "Seed", "Clip skip", "Variation seed", "Variation seed strength", "Custom Sigmas", "SLG scale"]
    );
}

#[test]
fn a_controlnet_of_a1111_is_told_in_the_words_of_each_of_its_versions() {
    let control = |value: &str| {
        let text = format!(
            "a lake\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 42, Size: 512x768, ControlNet 0: {value:?}, Version: v1.10.1"
        );
        settings_of_texts(vec![("parameters".to_owned(), text)]).control
    };
    let newer = "Module: lineart_anime, Model: control_v11p_sd15_lineart [43d4be0d], Weight: 0.8, Resize Mode: Crop and Resize, \
                 Processor Res: 512, Guidance Start: 0.1, Guidance End: 0.65, Pixel Perfect: True, Control Mode: Balanced";
    let older = "preprocessor: lineart_anime, model: control_v11p_sd15_lineart [43d4be0d], weight: 0.8, starting/ending: (0.1, 0.65), \
                 resize mode: Crop and Resize, pixel perfect: True, control mode: Balanced, preprocessor params: (512, -1, -1)";
    let expected = PictureControl {
        model: Some("control_v11p_sd15_lineart [43d4be0d]".into()),
        preprocessor: Some("lineart_anime".into()),
        strength: Some(0.8),
        start: Some(0.1),
        end: Some(0.65),
    };
    assert_eq!([control(newer), control(older)], [Some(expected.clone()), Some(expected)]);
    assert_eq!(control("Module: none, Model: None"), None);
    let wild = control("Weight: NaN, Guidance Start: many, Guidance End: 9, starting/ending: (1").unwrap();
    assert_eq!((wild.strength, wild.start, wild.end), (None, None, Some(9.0)));
}

#[test]
fn the_control_of_our_own_pictures_is_written_as_a1111_does() {
    let control =
        ControlImage { end: 0.5, preprocessor: Some(Preprocessor::Canny), ..ControlImage::new(ImageSource::File("/p/pose.png".into())) };
    let mut recipe = Recipe { control: Some(control), ..Recipe::default() };
    recipe.files.set(FileRole::Controlnet, "/models/control_v11p_sd15_canny.safetensors");
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    let text = crate::a1111::format(&crate::a1111::Parameters::of(&recipe, None, info, 512, 512));
    let control = settings_of_texts(vec![("parameters".to_owned(), text)]).control.unwrap();
    assert_eq!((control.model.as_deref(), control.preprocessor.as_deref()), (Some("control_v11p_sd15_canny"), Some("canny")));
    assert_eq!((control.strength, control.start, control.end), (Some(0.9), Some(0.0), Some(0.5)));
}

#[test]
fn edges_that_continue_each_other_are_told() {
    assert_eq!(read("invokeai 5.png").seamless, Some([true, false]));
    assert_eq!(read("a1111.png").seamless, None);
}

#[test]
fn a_sampler_of_several_nodes_is_put_together() {
    let settings = read("comfyui custom sampler.png");
    assert_eq!((settings.sampler.as_deref(), settings.scheduler.as_deref(), settings.steps), (Some("euler"), Some("simple"), Some(28)));
    assert_eq!((settings.guidance, settings.distilled_guidance, settings.negative_prompt), (Some(1.0), Some(3.0), None));
    assert_eq!(settings.model.unwrap().name.as_deref(), Some("flux1-dev.safetensors"));
    assert_eq!(settings.vae.unwrap().name.as_deref(), Some("ae.safetensors"));
    assert_eq!(settings.loras.len(), 1);
}

fn comfyui(prompt: &serde_json::Value) -> PictureSettings {
    settings_of_texts(vec![("prompt".to_owned(), prompt.to_string())])
}

fn graph_with(inputs: &[(&str, &str, serde_json::Value)]) -> serde_json::Value {
    let mut graph = serde_json::json!({
        "1": { "class_type": "CLIPTextEncode", "inputs": { "text": "a lake" } },
        "2": { "class_type": "EmptyLatentImage", "inputs": { "width": 64, "height": 32 } },
        "3": { "class_type": "KSampler", "inputs": { "seed": 7, "steps": 4, "cfg": 2.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
            "positive": ["1", 0], "latent_image": ["2", 0] } },
        "9": { "class_type": "SaveImage", "inputs": { "images": ["3", 0] } },
    });
    for (id, class, inputs) in inputs {
        graph[*id] = serde_json::json!({ "class_type": class, "inputs": inputs });
    }
    graph
}

#[test]
fn of_two_passes_the_first_one_counts_and_the_second_is_listed() {
    let second = serde_json::json!({ "seed": 9, "steps": 10, "sampler_name": "heun", "denoise": 0.5, "latent_image": ["3", 0] });
    let graph = graph_with(&[("4", "KSampler", second), ("9", "SaveImage", serde_json::json!({ "images": ["4", 0] }))]);
    let settings = comfyui(&graph);
    assert_eq!((settings.seed, settings.steps, settings.size), (Some(Seed(7)), Some(4), Some((64, 32))));
    assert!(names(&settings).contains(&"KSampler (node 4)"), "{settings:?}");
}

#[test]
fn what_two_saved_pictures_do_not_share_is_not_guessed() {
    let other = serde_json::json!({ "seed": 9, "steps": 4, "cfg": 2.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
        "positive": ["1", 0], "latent_image": ["2", 0] });
    let graph = graph_with(&[("4", "KSampler", other), ("10", "SaveImage", serde_json::json!({ "images": ["4", 0] }))]);
    let settings = comfyui(&graph);
    assert_eq!((settings.seed, settings.steps, settings.prompt.as_deref()), (None, Some(4), Some("a lake")));
    assert!(
        settings.not_understood.iter().any(|(name, value)| name == "seed" && value.contains('7') && value.contains('9')),
        "{settings:?}"
    );
}

#[test]
fn of_several_texts_none_is_chosen() {
    let texts = [
        ("5", "CLIPTextEncode", serde_json::json!({ "text": "a hut" })),
        ("6", "ConditioningCombine", serde_json::json!({ "conditioning_1": ["1", 0], "conditioning_2": ["5", 0] })),
    ];
    let mut graph = graph_with(&texts);
    graph["3"]["inputs"]["positive"] = serde_json::json!(["6", 0]);
    let settings = comfyui(&graph);
    assert_eq!(settings.prompt, None);
    let listed: Vec<&str> = settings.not_understood.iter().map(|(_, text)| text.as_str()).filter(|text| text.starts_with("a ")).collect();
    assert_eq!(listed, ["a hut", "a lake"]);
}

#[test]
fn a_graph_in_circles_comes_to_an_end() {
    let circle = [
        ("4", "Reroute", serde_json::json!({ "": ["5", 0], "model": ["5", 0], "clip": ["4", 0] })),
        ("5", "Reroute", serde_json::json!({ "": ["4", 0], "model": ["4", 0], "value": ["4", 0] })),
    ];
    let mut graph = graph_with(&circle);
    for input in ["model", "positive", "negative", "latent_image", "seed"] {
        graph["3"]["inputs"][input] = serde_json::json!(["5", 0]);
    }
    graph["1"]["inputs"]["clip"] = serde_json::json!(["4", 0]);
    assert_eq!(comfyui(&graph).steps, Some(4));
}

#[test]
fn a_picture_of_ours_tells_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = Recipe { prompt: PROMPT.into(), guidance: 2.0, sampler: Some(Sampler::EulerA), rng: Rng::Cpu, ..Recipe::default() };
    recipe.files.set(FileRole::Diffusion, "/models/z_image.gguf");
    recipe.loras = vec![atelier_core::recipe::Lora::new("/loras/ink.safetensors".into(), 0.8)];
    (recipe.image_guidance, recipe.seamless_y) = (Some(1.5), true);
    recipe.hires = Some(Hires { scale: 1.5, strength: 0.3, steps: Some(6), upscaler: Some("/models/x4.pth".into()), ..Hires::default() });
    let image = Rgb8::new(4, 2, vec![9; 24]).unwrap();
    let info = PictureInfo { index: 0, seed: Some(Seed(42)), cpu_math: None, merged_loras: false };
    let path = crate::save_picture(folder.path(), &recipe, None, info, &[], &image).unwrap();
    let settings = read_settings(&path).unwrap();
    assert_eq!((settings.tool, settings.width, settings.height), (Some(Tool::Atelier), 4, 2));
    assert_eq!((settings.seed, settings.steps, settings.rng), (Some(Seed(42)), Some(20), Some(Rng::Cpu)));
    assert_eq!((settings.sampler.as_deref(), settings.prompt.as_deref()), (Some("Euler a"), Some(PROMPT)));
    assert_eq!(settings.model.as_ref().unwrap().name.as_deref(), Some("z_image"));
    assert_eq!(settings.loras, [PictureLora::new("ink".into(), None, 0.8)]);
    assert_eq!((settings.image_guidance, settings.seamless), (Some(1.5), Some([false, true])));
    let upscaler = Some("x4".into());
    let hires = PictureHires { scale: 1.5, strength: Some(0.3), steps: Some(6), upscaler, ..PictureHires::default() };
    assert_eq!(settings.hires, Some(hires));
    assert!(settings.recipe.is_some() && settings.raw_texts.len() == 2);
}

#[test]
fn a_photograph_has_no_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jpg");
    fs::write(&path, pictures::jpeg(&pictures::Exif::big_endian().with(0x0110, "NIKON D70").with_comment("Holiday: 2019", false))).unwrap();
    let settings = read_settings(&path).unwrap();
    assert_eq!((settings.tool, settings.prompt), (None, None));
    assert_eq!(settings.raw_texts.len(), 2);
    // A note beside it is no settings either.
    fs::write(folder.path().join("a.txt"), "Camera: mine\nLens: 50 mm").unwrap();
    assert_eq!(read_settings(&path).unwrap().tool, None);
    assert_eq!(read_stealth_settings(&path).unwrap().raw_texts.len(), 2);
}

#[test]
fn hidden_texts_are_read_on_request_only() {
    let folder = tempfile::tempdir().unwrap();
    let picture = tool_pictures().into_iter().find(|picture| picture.name == "a1111 stealth alpha.png").unwrap();
    let path = picture.write(folder.path()).unwrap();
    assert_eq!(read_settings(&path).unwrap().tool, None);
    assert_eq!(read_stealth_settings(&path).unwrap().tool, Some(Tool::A1111));
}

#[test]
fn what_is_no_picture_is_said_so() {
    assert!(read_settings(Path::new("/nowhere/a.png")).is_err());
    let folder = tempfile::tempdir().unwrap();
    assert!(read_settings(folder.path()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_damage_makes_reading_panic(which in 0..64_usize, at in 0..4096_usize, byte in any::<u8>(), end in 0..4096_usize) {
        let folder = tempfile::tempdir().unwrap();
        let all = tool_pictures();
        let mut bytes = all[which % all.len()].bytes.clone();
        let at = at % bytes.len();
        bytes[at] ^= byte;
        bytes.truncate(bytes.len() - end % 64);
        let path = folder.path().join("a.png");
        fs::write(&path, bytes).unwrap();
        let _ = read_stealth_settings(&path);
    }
}
