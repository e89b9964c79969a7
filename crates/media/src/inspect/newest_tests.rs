//! Pictures in the forms that programs of 2026 document, as files with the texts that each of them
//! writes.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::pictures::{Exif, jpeg, png};

use super::*;
use atelier_core::recipe::Seed;

fn read_png(texts: &[(&str, &str)]) -> PictureSettings {
    read_bytes("a.png", &png(texts))
}

fn read_bytes(name: &str, bytes: &[u8]) -> PictureSettings {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    read_settings(&path).unwrap()
}

fn listed(settings: &PictureSettings, name: &str) -> Option<String> {
    settings.not_understood.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
}

/// What every picture below tells.
fn check(settings: &PictureSettings, tool: Tool, size: (u32, u32)) {
    assert_eq!(settings.tool, Some(tool), "{settings:?}");
    assert_eq!(
        (settings.prompt.as_deref(), settings.seed, settings.steps),
        (Some("a red barn"), Some(Seed(4242)), Some(24)),
        "{settings:?}"
    );
    assert_eq!(settings.size, Some(size), "{settings:?}");
}

#[test]
fn comfyui_with_a_subgraph_a_switch_and_a_text_encoder_of_a_language_model() {
    let graph = json!({
        "60": { "class_type": "SaveImage", "inputs": { "filename_prefix": "ComfyUI", "images": ["75:8", 0] } },
        "75:8": { "class_type": "VAEDecode", "inputs": { "samples": ["75:3", 0], "vae": ["75:39", 0] } },
        "75:39": { "class_type": "VAELoader", "inputs": { "vae_name": "qwen_image_vae.safetensors" } },
        "75:38": { "class_type": "CLIPLoader", "inputs": { "clip_name": "qwen_2.5_vl_7b.safetensors", "type": "qwen_image", "device": "default" } },
        "75:37": { "class_type": "UNETLoader", "inputs": { "unet_name": "qwen_image.safetensors", "weight_dtype": "default" } },
        "75:66": { "class_type": "ModelSamplingAuraFlow", "inputs": { "shift": 3.1, "model": ["75:80", 0] } },
        "75:73": { "class_type": "LoraLoaderModelOnly", "inputs": { "lora_name": "inky.safetensors", "strength_model": 0.8, "model": ["75:37", 0] } },
        "75:80": { "class_type": "ComfySwitchNode", "inputs": { "switch": true, "on_false": ["75:37", 0], "on_true": ["75:73", 0] } },
        "75:6": { "class_type": "CLIPTextEncode", "inputs": { "text": ["75:90", 0], "clip": ["75:38", 0] } },
        "75:90": { "class_type": "PrimitiveStringMultiline", "inputs": { "value": "a red barn" } },
        "75:7": { "class_type": "ConditioningZeroOut", "inputs": { "conditioning": ["75:6", 0] } },
        "75:58": { "class_type": "EmptySD3LatentImage", "inputs": { "width": 1328, "height": 1024, "batch_size": 1 } },
        "75:3": { "class_type": "KSampler", "inputs": { "seed": 4242, "steps": ["75:91", 0], "cfg": 2.5, "sampler_name": "euler", "scheduler": "simple",
            "denoise": 1, "model": ["75:66", 0], "positive": ["75:6", 0], "negative": ["75:7", 0], "latent_image": ["75:58", 0] } },
        "75:91": { "class_type": "ComfySwitchNode", "inputs": { "switch": true, "on_false": ["75:92", 0], "on_true": ["75:93", 0] } },
        "75:92": { "class_type": "PrimitiveInt", "inputs": { "value": 50 } },
        "75:93": { "class_type": "PrimitiveInt", "inputs": { "value": 24 } },
    });
    let settings = read_png(&[("prompt", &graph.to_string()), ("workflow", "{\"nodes\": []}")]);
    check(&settings, Tool::ComfyUi, (1328, 1024));
    assert_eq!((settings.negative_prompt.as_deref(), settings.flow_shift, settings.guidance), (Some(""), Some(3.1), Some(2.5)));
    assert_eq!(settings.model.clone().and_then(|it| it.name).as_deref(), Some("qwen_image.safetensors"));
    assert_eq!(settings.loras, [PictureLora::new("inky.safetensors".into(), None, 0.8)]);
    // The way that was not taken is listed.
    assert_eq!(listed(&settings, "PrimitiveInt (node 75:92)").as_deref(), Some("value: 50"));
}

#[test]
fn comfyui_with_flux_2_and_references() {
    let graph = json!({
        "9": { "class_type": "SaveImage", "inputs": { "filename_prefix": "Flux2", "images": ["8", 0] } },
        "8": { "class_type": "VAEDecode", "inputs": { "samples": ["13", 0], "vae": ["10", 0] } },
        "10": { "class_type": "VAELoader", "inputs": { "vae_name": "flux2-vae.safetensors" } },
        "12": { "class_type": "UNETLoader", "inputs": { "unet_name": "flux2_dev.safetensors", "weight_dtype": "fp8_e4m3fn" } },
        "38": { "class_type": "CLIPLoader", "inputs": { "clip_name": "mistral.safetensors", "type": "flux2" } },
        "6": { "class_type": "CLIPTextEncode", "inputs": { "text": "a red barn", "clip": ["38", 0] } },
        "26": { "class_type": "FluxGuidance", "inputs": { "guidance": 4, "conditioning": ["6", 0] } },
        "39": { "class_type": "ReferenceLatent", "inputs": { "conditioning": ["26", 0], "latent": ["40", 0] } },
        "40": { "class_type": "VAEEncode", "inputs": { "pixels": ["42", 0], "vae": ["10", 0] } },
        "42": { "class_type": "LoadImage", "inputs": { "image": "reference.png" } },
        "22": { "class_type": "BasicGuider", "inputs": { "model": ["12", 0], "conditioning": ["39", 0] } },
        "25": { "class_type": "RandomNoise", "inputs": { "noise_seed": 4242 } },
        "16": { "class_type": "KSamplerSelect", "inputs": { "sampler_name": "euler" } },
        "48": { "class_type": "Flux2Scheduler", "inputs": { "steps": 24, "width": 1248, "height": 832 } },
        "47": { "class_type": "EmptyFlux2LatentImage", "inputs": { "width": 1248, "height": 832, "batch_size": 1 } },
        "13": { "class_type": "SamplerCustomAdvanced", "inputs": { "noise": ["25", 0], "guider": ["22", 0], "sampler": ["16", 0], "sigmas": ["48", 0],
            "latent_image": ["47", 0] } },
    });
    let settings = read_png(&[("prompt", &graph.to_string())]);
    check(&settings, Tool::ComfyUi, (1248, 832));
    assert_eq!((settings.guidance, settings.distilled_guidance, settings.strength), (Some(1.0), Some(4.0), None));
    assert_eq!(listed(&settings, "LoadImage (node 42)").as_deref(), Some("image: reference.png"));
    assert_eq!(listed(&settings, "UNETLoader (node 12)").as_deref(), Some("weight_dtype: fp8_e4m3fn"));
}

#[test]
fn invokeai_6_with_reference_pictures_and_a_text_encoder_of_its_own() {
    let metadata = json!({ "app_version": "6.11.0", "generation_mode": "z_image_txt2img", "positive_prompt": "a red barn", "negative_prompt": null,
        "width": 1024, "height": 768, "seed": 4242, "rand_device": "cpu", "steps": 24, "cfg_scale": 1, "scheduler": "euler",
        "model": { "key": "k", "hash": "blake3:1122", "name": "Z-Image Turbo", "base": "z-image", "type": "main" },
        "vae": { "key": "v", "hash": "blake3:33", "name": "FLUX VAE", "base": "flux", "type": "vae" },
        "qwen3_encoder": { "key": "q", "hash": "blake3:44", "name": "Qwen3 4B", "base": "any", "type": "qwen3_encoder" },
        "loras": [{ "model": { "key": "l", "hash": "blake3:55", "name": "Inky", "base": "z-image", "type": "lora" }, "weight": 0.8 }],
        "ref_images": [{ "id": "r", "isEnabled": true, "config": { "type": "ip_adapter" } }] });
    let settings = read_png(&[("invokeai_metadata", &metadata.to_string()), ("invokeai_graph", "{\"id\": \"g\"}")]);
    check(&settings, Tool::InvokeAi, (1024, 768));
    assert_eq!(settings.model.clone().and_then(|it| it.name).as_deref(), Some("Z-Image Turbo"));
    assert_eq!(settings.loras.len(), 1);
    assert!(listed(&settings, "qwen3_encoder").is_some() && listed(&settings, "ref_images").is_some());
}

#[test]
fn swarmui_with_what_its_server_adds() {
    let parameters = json!({
        "sui_image_params": { "prompt": "a red barn", "negativeprompt": "fog", "model": "Z-Image/z_image_turbo", "images": 1, "seed": 4242, "steps": 24,
            "cfgscale": 1.0, "aspectratio": "4:3", "width": 1152, "height": 896, "sampler": "euler", "scheduler": "simple", "sigmashift": 3.0,
            "loras": ["style/inky"], "loraweights": ["0.8"], "swarm_version": "0.9.8.0" },
        "sui_extra_data": { "date": "2026-06-01", "original_prompt": "a <random:red,blue> barn", "prep_time": "1 s", "generation_time": "2 s" },
        "sui_models": [{ "name": "Z-Image/z_image_turbo.safetensors", "param": "model", "hash": "0xabc123" }],
    });
    let settings = read_png(&[("parameters", &parameters.to_string())]);
    check(&settings, Tool::SwarmUi, (1152, 896));
    assert_eq!(settings.model.clone().and_then(|it| it.hash).as_deref(), Some("0xabc123"), "of the tensors, and not of the file");
    assert_eq!(settings.not_understood, [("original_prompt".to_owned(), "a <random:red,blue> barn".to_owned())]);
}

#[test]
fn words_of_swarmui_for_parts_and_passes_are_none_of_the_whole_picture() {
    let read = |prompt: &str, negative: &str| {
        let fields =
            json!({ "sui_image_params": { "prompt": prompt, "negativeprompt": negative, "model": "sea", "seed": 4242, "steps": 24 } });
        let settings = read_png(&[("parameters", &fields.to_string())]);
        (settings.prompt.unwrap(), settings.negative_prompt.unwrap(), settings.not_understood)
    };
    let (prompt, negative, left) =
        read("a barn <break> reeds <segment:face//cid=10> freckles <refiner> sharp", "fog<region:0,0,1,0.5>haze");
    assert_eq!((prompt.as_str(), negative.as_str()), ("a barn BREAK reeds", "fog"));
    let expected =
        [("prompt: sections", "<segment:face//cid=10> freckles <refiner> sharp"), ("negativeprompt: sections", "<region:0,0,1,0.5>haze")];
    assert_eq!(left, expected.map(|(name, words)| (name.to_owned(), words.to_owned())));
    assert_eq!(read("a < b <lora:ink> ", ""), ("a < b <lora:ink> ".to_owned(), String::new(), Vec::new()));
}

#[test]
fn forge_neo_sd_next_and_krita_in_the_text_of_a1111() {
    let neo = "a red barn\nNegative prompt: fog\nSteps: 24, Sampler: Euler, Schedule type: Beta, CFG scale: 1, Shift: 3, Seed: 4242, Size: 832x1216, \
        Model hash: aabbccddee, Model: z_image_turbo, Module 1: qwen_3_4b, Module 2: ae, Denoising strength: 0.55, RNG: CPU, Version: neo-2.7";
    let settings = read_png(&[("parameters", neo)]);
    check(&settings, Tool::A1111, (832, 1216));
    assert_eq!((settings.strength, settings.flow_shift, settings.and_is_word), (Some(0.55), Some(3.0), false));
    assert_eq!(listed(&settings, "Module 1").as_deref(), Some("qwen_3_4b"));

    let next = "a red barn\nNegative prompt: fog\nSteps: 24, Size: 1024x768, Seed: 4242, CFG scale: 6, Sampler: UniPC, Model: seaside_v3, App: SD.Next, \
        Version: 2b2ab5d, Pipeline: ZImagePipeline, Operations: txt2img, Extra: [\"a, b\", {\"c\": 1}], Clip skip: 2";
    let settings = read_bytes("a.jpg", &jpeg(&Exif::little_endian().with_comment(next, true)));
    check(&settings, Tool::A1111, (1024, 768));
    assert_eq!((settings.clip_skip, listed(&settings, "Extra").as_deref()), (Some(2), Some("[\"a, b\", {\"c\": 1}]")));

    let krita = "a red barn <lora:inky:0.8>\nNegative prompt: fog\nSteps: 24, Sampler: Euler - euler_a, CFG scale: 7.5, Seed: 4242, Size: 512x768, \
        Model hash: unknown, Model: seaside.safetensors, Denoising strength: 0.8, Mode: Refine";
    let settings = read_png(&[("parameters", krita)]);
    check(&settings, Tool::A1111, (512, 768));
    assert_eq!((settings.sampler.as_deref(), settings.strength, settings.loras.len()), (Some("euler_a"), Some(0.8), 1));
    assert!(settings.and_is_word, "ComfyUI is behind it");
    assert_eq!(listed(&settings, "Mode").as_deref(), Some("Refine"));
}

#[test]
fn a_strength_alone_is_no_start_picture_where_it_is_written_of_every_one() {
    let text = |rest: &str| {
        format!("a red barn\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 4242, Size: 512x768, Denoising strength: 0.7{rest}")
    };
    for (rest, strength, scale) in [
        ("", None, None),
        (", Version: v1.5.2", None, None),
        (", Version: v1.10.1", Some(0.7), None),
        (", Version: v1.5.2, Mask blur: 4", Some(0.7), None),
        (", Hires resize: 1024x1536, Hires upscaler: Latent", None, Some(2.0)),
        (", Hires resize: 1024x1024, Version: v1.10.1", None, None),
    ] {
        let settings = read_png(&[("parameters", &text(rest))]);
        assert_eq!((settings.strength, settings.hires.as_ref().map(|it| it.scale)), (strength, scale), "{rest}");
        let told = strength.is_some() || settings.hires.and_then(|it| it.strength).is_some();
        assert_eq!(settings.not_understood.iter().any(|(name, _)| name == "Denoising strength"), !told, "{rest}");
    }
}

#[test]
fn hashes_and_resources_are_read_whole() {
    let text = "a red barn <lora:ink, wash v2:0.8>\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 4242, Size: 512x768, \
        Lora hashes: \"ink, wash v2: 0a1b2c3d4e5f, b: 99aabbccddee\", Hashes: {\"model\": \"c0d1994c73\", \"vae\": \"c6a580b13a\"}";
    let settings = read_png(&[("parameters", text)]);
    check(&settings, Tool::A1111, (512, 768));
    assert_eq!(settings.loras[0].hash.as_deref(), Some("0a1b2c3d4e5f"));
    assert_eq!(settings.model.and_then(|it| it.hash).as_deref(), Some("c0d1994c73"));
    assert_eq!(settings.vae.and_then(|it| it.hash).as_deref(), Some("c6a580b13a"));

    let text = "a red barn\nSteps: 24, Sampler: Euler a, CFG scale: 7, Seed: 4242, Size: 832x1216, Created Date: 2026-06-01T03:04:27.1337Z, \
        Civitai resources: [{\"type\":\"checkpoint\",\"modelVersionId\":290640,\"modelName\":\"Sea: Turbo, XL\"},{\"type\":\"lora\",\"weight\":0.4,\
        \"modelName\":\"Knob\"}], Civitai metadata: {\"remixOfId\":7}";
    let settings = read_png(&[("parameters", text)]);
    check(&settings, Tool::A1111, (832, 1216));
    assert_eq!(settings.model.clone().and_then(|it| it.name).as_deref(), Some("Sea: Turbo, XL"));
    assert_eq!((settings.loras.len(), settings.loras[0].strength), (1, 0.4));
    assert!(listed(&settings, "Civitai resources").is_some_and(|text| text.ends_with("}]")), "the whole stays");
}

#[test]
fn novelai_4_5_with_characters() {
    let comment = json!({ "prompt": "a red barn", "uc": "fog", "steps": 24, "width": 832, "height": 1216, "scale": 5.0, "seed": 4242, "sampler": "k_euler_ancestral",
        "noise_schedule": "karras", "v4_prompt": { "caption": { "base_caption": "a red barn", "char_captions": [{ "char_caption": "girl" }] } } });
    let settings = read_png(&[("Software", "NovelAI"), ("Source", "NovelAI Diffusion V4.5 4BDE2A90"), ("Comment", &comment.to_string())]);
    check(&settings, Tool::NovelAi, (832, 1216));
    let expected = PictureModel { name: Some("NovelAI Diffusion V4.5".into()), hash: Some("4BDE2A90".into()) };
    assert_eq!(settings.model, Some(expected));
    assert!(listed(&settings, "v4_prompt").is_some_and(|text| text.contains("girl")));
}

#[test]
fn novelai_says_a_strength_of_every_picture_and_its_request_whether_it_began_with_one() {
    for (request, strength) in [
        (None, None),
        (Some("PromptGenerateRequest"), None),
        (Some("Img2ImgRequest"), Some(0.7)),
        (Some("NativeInfillingRequest"), Some(0.7)),
    ] {
        let comment = json!({ "prompt": "a red barn", "steps": 24, "width": 832, "height": 1216, "seed": 4242, "strength": 0.7, "request_type": request });
        let settings = read_png(&[("Software", "NovelAI"), ("Comment", &comment.to_string())]);
        assert_eq!(settings.strength, strength, "{request:?}");
        assert_eq!(listed(&settings, "strength").is_some(), strength.is_none(), "{request:?}");
        // As it stands in JPEG and WebP files.
        let all = json!({ "Software": "NovelAI", "Source": "NovelAI Diffusion V4.5 4BDE2A90", "Comment": comment.to_string() });
        let settings = read_bytes("a.jpg", &jpeg(&Exif::big_endian().with_comment(&all.to_string(), false)));
        check(&settings, Tool::NovelAi, (832, 1216));
        assert_eq!(settings.model.and_then(|it| it.hash).as_deref(), Some("4BDE2A90"));
    }
}

#[test]
fn exif_that_imagemagick_keeps_in_a_png_is_read_and_damaged_digits_are_a_text() {
    let text = "a red barn\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 4242, Size: 512x768";
    let exif = Exif::little_endian().with_comment(text, true).block();
    let bytes = [&b"Exif\0\0"[..], &exif].concat();
    let digits = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let lines: Vec<String> = bytes.chunks(36).map(digits).collect();
    let profile = |length: usize, lines: &str| format!("\nexif\n{length:8}\n{lines}\n");
    for keyword in ["Raw profile type exif", "Raw profile type APP1"] {
        check(&read_png(&[(keyword, &profile(bytes.len(), &lines.join("\n")))]), Tool::A1111, (512, 768));
    }
    for (length, lines) in [(bytes.len() + 1, lines.join("\n")), (bytes.len(), lines.join("x")), (0, String::new())] {
        let settings = read_png(&[("Raw profile type exif", &profile(length, &lines))]);
        assert_eq!((settings.tool, settings.raw_texts.len()), (None, 1));
    }
}

#[test]
fn a_list_of_loras_that_is_understood_in_part_stays_listed() {
    let (whole, half) = (json!({ "model": { "name": "ink" }, "weight": 0.5 }), json!({ "model": { "name": "chalk" } }));
    for (loras, is_listed) in [(json!([whole]), false), (json!([whole, half]), true)] {
        let metadata = json!({ "positive_prompt": "a red barn", "seed": 4242, "steps": 24, "width": 512, "height": 768, "app_version": "6.9.0",
            "generation_mode": "txt2img", "loras": loras });
        let settings = read_png(&[("invokeai_metadata", &metadata.to_string())]);
        check(&settings, Tool::InvokeAi, (512, 768));
        assert_eq!(settings.loras.len(), 1);
        assert_eq!(listed(&settings, "loras").is_some_and(|text| text.contains("chalk")), is_listed);
    }
}

#[test]
fn draw_things_in_a_jpeg() {
    let comment = json!({ "c": "a red barn", "uc": "fog", "seed": 4242, "steps": 24, "size": "1024x768", "scale": 4.5, "sampler": "UniPC AYS",
        "model": "z_image_turbo_1.0_q8p.ckpt", "seed_mode": "Scale Alike", "strength": 1, "shift": 3.0, "profile": { "duration": 7.1 },
        "v2": { "steps": 24 } });
    let settings = read_bytes("a.jpg", &jpeg(&Exif::big_endian().with_comment(&comment.to_string(), false)));
    check(&settings, Tool::DrawThings, (1024, 768));
    assert_eq!((settings.strength, settings.rng), (None, None));
    assert_eq!(listed(&settings, "seed_mode").as_deref(), Some("Scale Alike"));
}

#[test]
fn what_draw_things_says_to_its_scripts_alone_is_listed_where_it_is_on() {
    let read = |model: &str, script: Value| {
        let comment = json!({ "c": "a red barn", "uc": "fog", "seed": 4242, "steps": 24, "size": "1024x768", "scale": 3.5, "sampler": "Euler A Trailing",
            "model": model, "strength": 1, "clip_skip": 1, "v2": script });
        let settings = read_bytes("a.jpg", &jpeg(&Exif::big_endian().with_comment(&comment.to_string(), false)));
        check(&settings, Tool::DrawThings, (1024, 768));
        assert_eq!(settings.clip_skip, None, "1 is written of every picture");
        settings
    };
    let on = json!({ "hiresFix": true, "hiresFixWidth": 512, "hiresFixHeight": 384, "hiresFixStrength": 0.7, "refinerModel": "refiner.ckpt",
        "refinerStart": 0.8, "controls": [], "upscaler": "", "zeroNegativePrompt": false, "speedUpWithGuidanceEmbed": true, "guidanceScale": 3.5 });
    let settings = read("sd_xl_base_1.0_f16.ckpt", on);
    let expected = [
        ("v2: hiresFix", "true"),
        ("v2: hiresFixWidth", "512"),
        ("v2: hiresFixHeight", "384"),
        ("v2: hiresFixStrength", "0.7"),
        ("v2: refinerModel", "refiner.ckpt"),
        ("v2: refinerStart", "0.8"),
    ];
    assert_eq!(settings.not_understood, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!((settings.guidance, settings.distilled_guidance), (Some(3.5), None));
    let off = read(
        "flux_1_dev_q8p.ckpt",
        json!({ "hiresFix": false, "hiresFixWidth": 512, "speedUpWithGuidanceEmbed": true, "guidanceEmbed": 4.5 }),
    );
    assert_eq!(off.not_understood, []);
    assert_eq!((off.guidance, off.distilled_guidance), (Some(1.0), Some(3.5)));
    let both = read("flux_1_dev_q8p.ckpt", json!({ "speedUpWithGuidanceEmbed": false, "guidanceEmbed": 4.5 }));
    assert_eq!((both.guidance, both.distilled_guidance), (Some(3.5), Some(4.5)));
    let klein = read("flux_2_klein_base_4b_q8p.ckpt", json!({ "speedUpWithGuidanceEmbed": true, "guidanceEmbed": 4.5 }));
    assert_eq!((klein.guidance, klein.distilled_guidance), (Some(3.5), None), "it takes no guidance as an input");
}

#[test]
fn the_clip_skip_that_is_written_of_every_picture_leaves_the_layer_to_the_model() {
    let told = |layers: u32, version: &str| {
        let text = format!("a red barn\nSteps: 4, Sampler: Euler, CFG scale: 7, Seed: 42, Size: 64x64, Clip skip: {layers}{version}");
        read_png(&[("parameters", &text)]).clip_skip
    };
    assert_eq!((told(1, ""), told(2, ""), told(1, ", Version: v1.10.1")), (None, Some(2), None));
    assert_eq!((told(1, ", Version: Atelier 0.1.0"), told(1, ", Version: stable-diffusion.cpp")), (Some(1), Some(1)));
    let data = |layers: u32| json!({ "prompt": "a red barn", "seed": "4242", "steps": 24, "clipSkip": layers }).to_string();
    let site = |layers: u32| read_png(&[("generation_data", &data(layers))]).clip_skip;
    assert_eq!((site(1), site(2)), (None, Some(2)));
}

#[test]
fn a_second_pass_of_a1111_by_one_side_keeps_the_shape() {
    for (resize, scale) in [("1024x0", Some(2.0)), ("0x1152", Some(1.5)), ("1024x1536", Some(2.0)), ("0x0", None), ("256x0", None)] {
        let text = format!(
            "a red barn\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 4242, Size: 512x768, Denoising strength: 0.7, Hires resize: {resize}, \
             Hires upscaler: Latent, Version: v1.10.1"
        );
        let hires = read_png(&[("parameters", &text)]).hires;
        assert_eq!(hires.map(|it| (it.scale, it.strength)), scale.map(|scale| (scale, Some(0.7))), "{resize}");
    }
}

#[test]
fn the_oldest_invokeai_keeps_values_apart_from_words() {
    let settings = read_png(&[("Dream", "\"a red barn [fog]\" -s 24 -S4242 -W 512 -H 768 -C 7.5 -A k_lms -G 0.8 -U 2 0.75 -cf 0.5")]);
    check(&settings, Tool::InvokeAi, (512, 768));
    let expected = [("-G", "0.8"), ("-U", "2 0.75"), ("-cf", "0.5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(settings.not_understood, expected);
}

#[test]
fn a_text_beyond_the_limit_is_named() {
    let long = json!({ "1": { "class_type": "ETN_LoadImageBase64", "inputs": { "image": "A".repeat(5 << 20) } } });
    let settings = read_png(&[("prompt", &long.to_string())]);
    assert_eq!(settings.tool, None);
    assert!(listed(&settings, "prompt").is_some_and(|text| text.contains("was passed over")), "{:?}", settings.not_understood);
}

#[test]
fn seeds_of_all_64_bits_are_read_and_larger_ones_listed() {
    let read = |seed: Value| {
        let graph = json!({
            "3": { "class_type": "KSampler", "inputs": { "seed": seed, "steps": 4, "latent_image": ["5", 0] } },
            "5": { "class_type": "EmptyLatentImage", "inputs": { "width": 64, "height": 64 } },
            "9": { "class_type": "SaveImage", "inputs": { "images": ["3", 0] } },
        });
        let settings = read_png(&[("prompt", &graph.to_string())]);
        (settings.seed, listed(&settings, "seed"))
    };
    for seed in [1_u64 << 63, u64::MAX] {
        assert_eq!(read(seed.into()), (Some(Seed(seed)), None));
        assert_eq!(read(seed.to_string().into()), (Some(Seed(seed)), None));
    }
    assert_eq!(read((-1).into()), (None, Some("-1".to_owned())));
    assert_eq!(read("18446744073709551616".into()), (None, Some("18446744073709551616".to_owned())));
    let swarm = json!({ "sui_image_params": { "prompt": "a red barn", "model": "ink", "seed": u64::MAX, "steps": 24 } });
    assert_eq!(read_png(&[("parameters", &swarm.to_string())]).seed, Some(Seed::MAX));
    let a1111 = format!("a red barn\nSteps: 4, Sampler: Euler, CFG scale: 7, Seed: {}, Size: 64x64", u64::MAX);
    assert_eq!(read_png(&[("parameters", &a1111)]).seed, Some(Seed::MAX));
}

const A1111: &str = "a red barn\nNegative prompt: fog\nSteps: 24, Sampler: Euler, CFG scale: 7, Seed: 4242, Size: 512x768";

#[test]
fn hypernetworks_are_taken_out_of_the_words_and_told_as_not_applied() {
    let told = |settings: &PictureSettings| -> Vec<String> {
        let named = settings.not_understood.iter().filter(|(name, _)| name.starts_with("Hypernetwork"));
        named.map(|(_, value)| value.clone()).collect()
    };
    let settings = read_png(&[("parameters", &A1111.replace("barn", "<hypernet:ink:0.6>barn <lora:chalk:0.5> <hypernet:oil>"))]);
    assert_eq!((settings.prompt.as_deref(), settings.loras.len()), (Some("a red barn"), 1));
    assert_eq!(told(&settings), ["ink:0.6", "oil"]);
    // What is no tag is words, and so is a tag in a text of ours.
    for words in ["<hypernet:>", "<hypernet: a\n> b", "<hypernet:a <b>", "<hypernet:"] {
        let settings = read_png(&[("parameters", &A1111.replace("barn", words))]);
        assert_eq!((settings.prompt.clone(), told(&settings).len()), (Some(format!("a red {words}")), 0));
    }
    let settings = read_png(&[("parameters", &format!("{}, Version: Atelier 0.1.0", A1111.replace("barn", "<hypernet:ink:1>")))]);
    assert_eq!((settings.prompt.as_deref(), told(&settings).len()), (Some("a red <hypernet:ink:1>"), 0));
}

#[test]
fn ruined_fooocus_in_both_forms_of_its_loras() {
    let hash = "0a1b2c".repeat(10);
    for (loras, expected) in [
        (json!([[hash, "0.5 - ink.safetensors"]]), Some(hash.as_str())),
        (json!([["None", "0.5 - ink.safetensors"]]), None),
        (json!("Loras:<ink.safetensors:0.5>"), None),
    ] {
        let fields = json!({ "Prompt": "a red barn", "Negative": "fog", "steps": 24, "cfg": 7, "width": 832, "height": 1216, "seed": 4242, "loras": loras,
            "sampler_name": "dpmpp_2m_sde_gpu", "scheduler": "karras", "base_model_name": "sea.safetensors", "base_model_hash": "aabb", "start_step": 0,
            "denoise": null, "clip_skip": 1, "software": "RuinedFooocus" });
        for settings in [
            read_png(&[("parameters", &fields.to_string())]),
            read_bytes("a.jpg", &jpeg(&Exif::big_endian().with_comment(&fields.to_string(), true))),
        ] {
            check(&settings, Tool::Fooocus, (832, 1216));
            assert_eq!(settings.loras, [PictureLora::new("ink.safetensors".into(), expected.map(str::to_owned), 0.5)]);
            assert_eq!((settings.guidance, settings.negative_prompt.as_deref()), (Some(7.0), Some("fog")));
            assert_eq!(settings.not_understood, []);
        }
    }
    let fields = json!({ "Prompt": "a red barn", "loras": "Loras:<ink>", "denoise": 0.4, "software": "RuinedFooocus" });
    let settings = read_png(&[("parameters", &fields.to_string())]);
    assert_eq!((listed(&settings, "loras").as_deref(), listed(&settings, "denoise").as_deref()), (Some("Loras:<ink>"), Some("0.4")));
}

#[test]
fn tensor_art_says_what_its_graph_came_to() {
    let data = |images: Value| {
        json!({ "prompt": "a red barn", "negativePrompt": "fog", "width": 832, "height": 1216, "imageCount": 1, "seed": "4242", "steps": 24, "cfgScale": 7,
            "ksamplerName": "euler_ancestral", "schedule": "normal", "clipSkip": 2, "sdVae": "Automatic", "denoisingStrength": 0.5, "images": images,
            "baseModel": { "label": "Sea XL", "type": "BASE_MODEL", "modelId": "7", "modelFileName": "sea_v2", "hash": "AABBCC" },
            "models": [{ "type": "LORA", "modelFileName": "ink", "weight": 0.4, "hash": "DD" }, { "type": "EMBEDDING", "label": "calm" }] })
        .to_string()
    };
    let graph = json!({
        "3": { "class_type": "KSampler", "inputs": { "seed": 1, "steps": 9, "denoise": 1.0, "latent_image": ["5", 0], "model": ["4", 0] } },
        "4": { "class_type": "ECHOCheckpointLoaderSimple", "inputs": { "ckpt_name": "EMS-7-EMS.safetensors" } },
        "5": { "class_type": "EmptyLatentImage", "inputs": { "width": 832, "height": 1216 } },
        "9": { "class_type": "SaveImage", "inputs": { "images": ["3", 0] } },
    })
    .to_string();
    let alone = read_png(&[("generation_data", &data(json!([])))]);
    let beside = read_png(&[("prompt", &graph), ("generation_data", &data(json!([])))]);
    for settings in [&alone, &beside] {
        check(settings, Tool::ComfyUi, (832, 1216));
        assert_eq!((settings.sampler.as_deref(), settings.clip_skip, settings.strength), (Some("euler_ancestral"), Some(2), None));
        assert_eq!(settings.model, PictureModel::of(Some("sea_v2".into()), Some("AABBCC".into())));
        assert_eq!(settings.loras, [PictureLora::new("ink".into(), Some("DD".into()), 0.4)]);
        assert!(listed(settings, "models").is_some_and(|text| text.contains("calm")) && listed(settings, "denoisingStrength").is_some());
    }
    assert!(beside.not_understood.iter().any(|(name, _)| name.contains("ECHOCheckpointLoaderSimple")));
    assert_eq!(read_png(&[("generation_data", &data(json!([{ "id": 1 }])))]).strength, Some(0.5));
    // Of a text that is none, nothing is told.
    assert_eq!(read_png(&[("generation_data", "a lake")]).tool, None);
}

#[test]
fn captions_and_keywords_of_iptc_are_read_in_jpeg_and_png() {
    let field = |number: u8, text: &str| [&[0x1c, 2, number][..], &(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
    // Between keywords there are commas, also behind the words.
    let without_comma = |settings: PictureSettings| {
        assert_eq!(settings.negative_prompt.as_deref(), Some("fog"));
        let prompt = settings.prompt.as_deref().map(|it| it.trim_end_matches(',').to_owned());
        PictureSettings { prompt, ..settings }
    };
    // The settings as an editor cuts them into keywords.
    let keywords: Vec<u8> = A1111.replace('\n', ", ").split(", ").flat_map(|word| field(25, word)).collect();
    for fields in [field(120, A1111), field(40, A1111), keywords] {
        let padding = &[0][..fields.len() % 2];
        let resources = [&b"8BIM\x04\x04\0\0"[..], &(fields.len() as u32).to_be_bytes(), &fields, padding].concat();
        // In one segment, and in two.
        for segments in [vec![&resources[..]], vec![&resources[..20], &resources[20..]]] {
            let segment = |part: &&[u8]| {
                let length = (part.len() + 16) as u16;
                [&[0xff, 0xed][..], &length.to_be_bytes(), b"Photoshop 3.0\0", part].concat()
            };
            let photoshop: Vec<u8> = segments.iter().flat_map(segment).collect();
            let plain = jpeg(&Exif::big_endian());
            let settings = read_bytes("a.jpg", &[&plain[..2], &photoshop, &plain[2..]].concat());
            check(&without_comma(settings), Tool::A1111, (512, 768));
        }
        let digits: String = resources.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let profile = format!("\niptc\n{:8}\n{digits}\n", resources.len());
        check(&without_comma(read_png(&[("Raw profile type iptc", &profile)])), Tool::A1111, (512, 768));
    }
}

#[test]
fn a_text_that_is_damaged_is_named() {
    let mut bytes = png(&[("parameters", A1111), ("note", "a lake")]);
    let at = bytes.windows(8).position(|part| part == b"Negative").unwrap();
    bytes[at] ^= 0x20;
    let settings = read_bytes("a.png", &bytes);
    assert_eq!((settings.tool, settings.raw_texts.len()), (None, 1));
    assert!(listed(&settings, "parameters").is_some_and(|why| why.contains("damaged")), "{:?}", settings.not_understood);
}

#[test]
fn a_text_beside_a_picture_is_read_in_utf_16() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    fs::write(&path, png(&[])).unwrap();
    for is_little_endian in [true, false] {
        let text = format!("\u{feff}{}", A1111.replace('\n', "\r\n"));
        fs::write(path.with_extension("txt"), testkit::pictures::utf16(&text, is_little_endian)).unwrap();
        check(&read_settings(&path).unwrap(), Tool::A1111, (512, 768));
    }
}

#[test]
fn lines_that_end_as_on_old_macs_are_lines() {
    let settings = read_png(&[("parameters", &A1111.replace('\n', "\r"))]);
    check(&settings, Tool::A1111, (512, 768));
    assert_eq!(settings.negative_prompt.as_deref(), Some("fog"));
}

#[test]
fn keys_in_other_letter_case_and_descriptions_are_read() {
    for key in ["Parameters", "PARAMETERS", "Description", "description", "Comment", "comment"] {
        check(&read_png(&[(key, A1111)]), Tool::A1111, (512, 768));
    }
    let graph = json!({
        "3": { "class_type": "KSampler", "inputs": { "seed": 4242, "steps": 24, "positive": ["6", 0], "latent_image": ["5", 0] } },
        "5": { "class_type": "EmptyLatentImage", "inputs": { "width": 64, "height": 96 } },
        "6": { "class_type": "CLIPTextEncode", "inputs": { "text": "a red barn" } },
        "9": { "class_type": "SaveImage", "inputs": { "images": ["3", 0] } },
    });
    for words in ["{}", "a hut"] {
        let settings = read_png(&[("prompt", words), ("Prompt", &graph.to_string())]);
        check(&settings, Tool::ComfyUi, (64, 96));
    }
    let drawn = json!({ "nodes": [{ "id": 1, "type": "Poet", "widgets_values": ["calm"] }], "links": [] });
    let settings = read_png(&[("Workflow", &drawn.to_string())]);
    assert_eq!((settings.tool, settings.prompt), (Some(Tool::ComfyUi), None));
}

#[test]
fn invokeai_in_a_comment_and_by_its_graph() {
    let fields = json!({ "app_version": "6.8.0", "generation_mode": "txt2img", "positive_prompt": "a red barn", "negative_prompt": "fog", "seed": 4242,
        "steps": 24, "cfg_scale": 7.0, "width": 512, "height": 768, "scheduler": "euler", "mood": "calm" });
    for text in [fields.clone(), json!({ "invokeai_metadata": fields.clone() })] {
        let settings = read_bytes("a.jpg", &jpeg(&Exif::big_endian().with_comment(&text.to_string(), false)));
        check(&settings, Tool::InvokeAi, (512, 768));
        assert_eq!(listed(&settings, "mood").as_deref(), Some("calm"));
    }
    let mut node = fields;
    node["type"] = "core_metadata".into();
    let graph = |node: &Value| json!({ "graph": { "id": "g", "nodes": { "m": node, "n": { "type": "noise" } }, "edges": [] } }).to_string();
    let settings = read_png(&[("invokeai_metadata", &graph(&node))]);
    check(&settings, Tool::InvokeAi, (512, 768));
    assert!(listed(&settings, "graph").is_some_and(|text| text.contains("noise")));
    // Without its settings it tells no words, and no empty ones.
    let settings = read_png(&[("invokeai_metadata", &graph(&json!({ "type": "compel", "prompt": "a red barn" })))]);
    assert_eq!((settings.tool, settings.prompt.as_deref()), (Some(Tool::InvokeAi), None));
    assert!(listed(&settings, "graph").is_some_and(|text| text.contains("a red barn")));
}
