//! One picture a program and a container, of the same lake.

use serde_json::{Value, json};

use super::{Exif, Stealth, jpeg, png, stealth_png, webp};

/// A picture as a program writes it.
#[derive(Clone, Debug)]
pub struct ToolPicture {
    /// The program's name, as `atelier inspect --json` has it.
    pub tool: &'static str,
    /// A file name that tells program, age and container.
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// A text file beside it: its ending and its text.
    pub sidecar: Option<(&'static str, String)>,
}

/// Tool, name, file, sidecar.
type Row = (&'static str, &'static str, Vec<u8>, Option<(&'static str, String)>);

const PROMPT: &str = "a lake, größer";
const NEGATIVE: &str = "fog, blurry";
const SEED: i64 = 3_305_821_237;

/// A1111's text. The last line has pairs; values with commas are quoted.
fn parameters() -> String {
    format!(
        "{PROMPT} <lora:ink:0.8>\nNegative prompt: {NEGATIVE}\nSteps: 28, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, Seed: {SEED}, \
         Size: 768x512, Model hash: 31e35c80fc, Model: sd_xl_base_1.0, VAE hash: 235745af8d, VAE: sdxl_vae.safetensors, Clip skip: 2, \
         Lora hashes: \"ink: 0a1b2c3d4e5f\", Denoising strength: 0.4, Hires upscale: 2, Hires steps: 12, Hires upscaler: 4x-UltraSharp, Version: v1.10.1"
    )
}

#[allow(clippy::needless_pass_by_value, reason = "it is written out at each call")]
fn node(class: &str, inputs: Value) -> Value {
    json!({ "class_type": class, "inputs": inputs, "_meta": { "title": class } })
}

/// A graph with a checkpoint, a LoRA and `KSampler`, and one that a custom node stands in.
fn comfyui_graph() -> Value {
    json!({
        "3": node("KSampler", json!({ "seed": SEED, "steps": 28, "cfg": 6.5, "sampler_name": "dpmpp_2m", "scheduler": "karras", "denoise": 1.0,
            "model": ["10", 0], "positive": ["6", 0], "negative": ["7", 0], "latent_image": ["5", 0] })),
        "4": node("CheckpointLoaderSimple", json!({ "ckpt_name": "sd_xl_base_1.0.safetensors" })),
        "5": node("EmptyLatentImage", json!({ "width": 768, "height": 512, "batch_size": 1 })),
        "6": node("CLIPTextEncode", json!({ "text": PROMPT, "clip": ["11", 0] })),
        "7": node("CLIPTextEncode", json!({ "text": NEGATIVE, "clip": ["11", 0] })),
        "8": node("VAEDecode", json!({ "samples": ["3", 0], "vae": ["12", 0] })),
        "9": node("SaveImage", json!({ "filename_prefix": "lake", "images": ["8", 0] })),
        "10": node("LoraLoader", json!({ "lora_name": "ink.safetensors", "strength_model": 0.8, "strength_clip": 0.8, "model": ["13", 0], "clip": ["4", 1] })),
        "11": node("CLIPSetLastLayer", json!({ "stop_at_clip_layer": -2, "clip": ["10", 1] })),
        "12": node("VAELoader", json!({ "vae_name": "sdxl_vae.safetensors" })),
        "13": node("FreeU_V2", json!({ "b1": 1.3, "model": ["4", 0] })),
    })
}

/// A graph with `SamplerCustomAdvanced`: noise, guider, sampler and sigmas are nodes of their own.
fn comfyui_custom_graph() -> Value {
    json!({
        "1": node("UNETLoader", json!({ "unet_name": "flux1-dev.safetensors", "weight_dtype": "default" })),
        "2": node("LoraLoaderModelOnly", json!({ "lora_name": "ink.safetensors", "strength_model": 0.8, "model": ["1", 0] })),
        "3": node("RandomNoise", json!({ "noise_seed": SEED })),
        "4": node("BasicGuider", json!({ "model": ["2", 0], "conditioning": ["5", 0] })),
        "5": node("FluxGuidance", json!({ "guidance": 3.0, "conditioning": ["6", 0] })),
        "6": node("CLIPTextEncode", json!({ "text": ["14", 0], "clip": ["7", 0] })),
        "7": node("DualCLIPLoader", json!({ "clip_name1": "clip_l.safetensors", "clip_name2": "t5xxl_fp16.safetensors", "type": "flux" })),
        "8": node("KSamplerSelect", json!({ "sampler_name": "euler" })),
        "9": node("BasicScheduler", json!({ "scheduler": "simple", "steps": 28, "denoise": 1.0, "model": ["2", 0] })),
        "10": node("EmptySD3LatentImage", json!({ "width": 768, "height": 512, "batch_size": 1 })),
        "11": node("SamplerCustomAdvanced", json!({ "noise": ["3", 0], "guider": ["4", 0], "sampler": ["8", 0], "sigmas": ["9", 0], "latent_image": ["10", 0] })),
        "12": node("VAEDecode", json!({ "samples": ["11", 0], "vae": ["13", 0] })),
        "13": node("VAELoader", json!({ "vae_name": "ae.safetensors" })),
        "14": node("PrimitiveStringMultiline", json!({ "value": PROMPT })),
        "15": node("SaveImage", json!({ "filename_prefix": "lake", "images": ["12", 0] })),
    })
}

/// The first graph as it is drawn: values without names, links by number.
fn comfyui_workflow() -> Value {
    let drawn = |id: u64, class: &str, values: Value, inputs: &[(&str, u64)]| {
        let inputs: Vec<Value> = inputs.iter().map(|(name, link)| json!({ "name": name, "type": "*", "link": link })).collect();
        json!({ "id": id, "type": class, "mode": 0, "inputs": inputs, "widgets_values": values })
    };
    let mut bypassed = drawn(13, "LoraLoaderModelOnly", json!(["unused.safetensors", 1.0]), &[("model", 9)]);
    bypassed["mode"] = json!(4);
    json!({
        "last_node_id": 13, "version": 0.4,
        "nodes": [
            drawn(3, "KSampler", json!([SEED, "fixed", 28, 6.5, "dpmpp_2m", "karras", 1.0]), &[("model", 1), ("positive", 2), ("negative", 3), ("latent_image", 4)]),
            drawn(4, "CheckpointLoaderSimple", json!(["sd_xl_base_1.0.safetensors"]), &[]),
            drawn(5, "EmptyLatentImage", json!([768, 512, 1]), &[]),
            drawn(6, "CLIPTextEncode", json!([PROMPT]), &[("clip", 5)]),
            drawn(7, "CLIPTextEncode", json!([NEGATIVE]), &[("clip", 6)]),
            drawn(8, "VAEDecode", json!([]), &[("samples", 7), ("vae", 11)]),
            drawn(9, "SaveImage", json!(["lake"]), &[("images", 8)]),
            drawn(10, "LoraLoader", json!(["ink.safetensors", 0.8, 0.8]), &[("model", 10), ("clip", 12)]),
            bypassed,
        ],
        "links": [
            [1, 10, 0, 3, 0, "MODEL"], [2, 6, 0, 3, 1, "CONDITIONING"], [3, 7, 0, 3, 2, "CONDITIONING"], [4, 5, 0, 3, 3, "LATENT"],
            [5, 10, 1, 6, 0, "CLIP"], [6, 10, 1, 7, 0, "CLIP"], [7, 3, 0, 8, 0, "LATENT"], [8, 8, 0, 9, 0, "IMAGE"],
            [9, 4, 0, 13, 0, "MODEL"], [10, 13, 0, 10, 0, "MODEL"], [11, 4, 2, 8, 1, "VAE"], [12, 4, 1, 10, 1, "CLIP"],
        ],
    })
}

fn invokeai_metadata() -> Value {
    json!({
        "app_version": "5.4.0", "generation_mode": "sdxl_txt2img", "positive_prompt": PROMPT, "negative_prompt": NEGATIVE, "width": 768,
        "height": 512, "seed": SEED, "rand_device": "cpu", "cfg_scale": 6.5, "cfg_rescale_multiplier": 0.0, "steps": 28,
        "scheduler": "dpmpp_2m_k", "clip_skip": 0, "seamless_x": true,
        "model": { "key": "8e1b", "hash": "blake3:0a1b2c3d", "name": "stable-diffusion-xl-base", "base": "sdxl", "type": "main" },
        "vae": { "key": "77aa", "hash": "blake3:99", "name": "sdxl-vae-fp16-fix", "base": "sdxl", "type": "vae" },
        "loras": [{ "model": { "key": "12", "hash": "blake3:aa", "name": "ink", "base": "sdxl", "type": "lora" }, "weight": 0.8 }],
    })
}

fn invokeai_metadata_3() -> Value {
    json!({
        "app_version": "3.0.2", "positive_prompt": PROMPT, "negative_prompt": NEGATIVE, "width": 768, "height": 512, "seed": SEED,
        "rand_device": "cpu", "cfg_scale": 6.5, "steps": 28, "scheduler": "euler", "clip_skip": 1,
        "model": { "model_name": "stable-diffusion-v1-5", "base_model": "sd-1", "model_type": "main" },
        "loras": [{ "lora": { "model_name": "ink", "base_model": "sd-1" }, "weight": 0.8 }],
    })
}

fn sd_metadata() -> Value {
    json!({
        "model": "stable diffusion", "model_weights": "stable-diffusion-1.5", "model_hash": "cc6cb27103417325ff94f52b7a5d2dde45a7515b25c255d8e396c90014281516",
        "app_id": "invoke-ai/InvokeAI", "app_version": "2.3.5",
        "image": { "prompt": [{ "prompt": format!("{PROMPT} [{NEGATIVE}]"), "weight": 1.0 }], "steps": 28, "cfg_scale": 6.5, "threshold": 0.0,
            "width": 768, "height": 512, "seed": SEED, "seamless": false, "hires_fix": true, "type": "txt2img", "sampler": "k_lms" },
    })
}

fn fooocus() -> Value {
    json!({
        "adm_guidance": "(1.5, 0.8, 0.3)", "base_model": "juggernautXL_v8Rundiffusion", "base_model_hash": "aeb7e9e689", "clip_skip": 2,
        "guidance_scale": 6.5, "loras": [["ink", 0.8, "0a1b2c3d4e"]], "metadata_scheme": "fooocus", "negative_prompt": NEGATIVE,
        "performance": "Speed", "prompt": PROMPT, "refiner_model": "None", "refiner_switch": 0.5, "resolution": "(768, 512)",
        "sampler": "dpmpp_2m_sde_gpu", "scheduler": "karras", "seed": SEED.to_string(), "sharpness": 2.0, "steps": 28,
        "styles": "['Fooocus V2', 'Fooocus Sharp']", "vae": "Default (model)", "version": "Fooocus v2.5.5",
    })
}

fn fooocus_early() -> Value {
    json!({
        "Prompt": PROMPT, "Negative Prompt": NEGATIVE, "Styles": "['Fooocus V2']", "Performance": "Speed", "Resolution": "(768, 512)",
        "Sharpness": 2.0, "Guidance Scale": 6.5, "Base Model": "juggernautXL.safetensors", "Refiner Model": "None", "Sampler": "dpmpp_2m_sde_gpu",
        "Scheduler": "karras", "Seed": SEED, "LoRA 1": "ink.safetensors : 0.8", "Version": "v2.1.865",
    })
}

fn fooocus_a1111() -> String {
    format!(
        "{PROMPT}\nNegative prompt: {NEGATIVE}\nSteps: 28, Sampler: DPM++ 2M SDE, Seed: {SEED}, Size: 768x512, CFG scale: 6.5, Sharpness: 2.0, \
         ADM Guidance: \"(1.5, 0.8, 0.3)\", Model: juggernautXL, Model hash: aeb7e9e689, Performance: Speed, Scheduler: karras, \
         Version: Fooocus v2.5.5"
    )
}

fn swarmui() -> Value {
    json!({
        "sui_image_params": { "prompt": PROMPT, "negativeprompt": NEGATIVE, "model": "OfficialStableDiffusion/sd_xl_base_1.0", "seed": SEED,
            "steps": 28, "cfgscale": 6.5, "aspectratio": "3:2", "width": 768, "height": 512, "sampler": "dpmpp_2m", "scheduler": "karras",
            "automaticvae": true, "loras": ["ink"], "loraweights": ["0.8"], "refinerupscale": 1.5, "swarm_version": "0.9.5.0" },
        "sui_extra_data": { "date": "2026-01-02", "generation_time": "2.1 seconds" },
        "sui_models": [
            { "name": "OfficialStableDiffusion/sd_xl_base_1.0.safetensors", "param": "model", "hash": "0x31e35c80fc4829d14f90153f4c74cd59" },
            { "name": "ink.safetensors", "param": "loras", "hash": "0x0a1b2c3d" },
        ],
    })
}

fn novelai_comment() -> Value {
    json!({ "prompt": PROMPT, "steps": 28, "height": 512, "width": 768, "scale": 6.5, "uncond_scale": 1.0, "cfg_rescale": 0.0, "seed": SEED,
        "n_samples": 1, "noise_schedule": "karras", "sampler": "k_dpmpp_2m", "uc": NEGATIVE, "request_type": "PromptGenerateRequest" })
}

fn draw_things() -> Value {
    json!({ "c": PROMPT, "uc": NEGATIVE, "seed": SEED, "seed_mode": "Torch CPU Compatible", "scale": 6.5, "size": "768x512", "steps": 28,
        "sampler": "DPM++ 2M Karras", "model": "sd_xl_base_1.0_f16.ckpt", "strength": 1.0, "clip_skip": 2, "shift": 1.0, "mask_blur": 1.5,
        "lora": [{ "model": "ink_lora_f16.ckpt", "weight": 0.8 }], "v2": { "seed": SEED } })
}

fn xmp(comment: &str) -> String {
    let escaped = comment.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!(
        "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" \
         xmlns:exif=\"http://ns.adobe.com/exif/1.0/\" xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\"><xmp:CreatorTool>Draw Things</xmp:CreatorTool>\
         <exif:UserComment><rdf:Alt><rdf:li xml:lang=\"x-default\">{escaped}</rdf:li></rdf:Alt></exif:UserComment></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
}

/// Pictures of every program, age and container that is documented.
#[must_use]
#[allow(clippy::too_many_lines, reason = "a table")]
pub fn tool_pictures() -> Vec<ToolPicture> {
    let text = |value: Value| value.to_string();
    let seed = SEED.to_string();
    let graph = text(comfyui_graph());
    // Python writes numbers that JSON does not have.
    let with_nan = graph.replacen("\"_meta\":", "\"is_changed\":[NaN],\"_meta\":", 1);
    let workflow = text(comfyui_workflow());
    let novelai = |comment: &str| {
        png(&[
            ("Title", "AI generated image"),
            ("Description", PROMPT),
            ("Software", "NovelAI"),
            ("Source", "Stable Diffusion XL C1E1DE52"),
            ("Comment", comment),
        ])
    };
    let hidden = text(
        json!({ "Description": PROMPT, "Software": "NovelAI", "Source": "Stable Diffusion XL C1E1DE52", "Comment": text(novelai_comment()) }),
    );
    let easy_diffusion = [
        ("prompt", PROMPT),
        ("negative_prompt", NEGATIVE),
        ("seed", &seed),
        ("num_inference_steps", "28"),
        ("guidance_scale", "6.5"),
        ("width", "768"),
        ("height", "512"),
        ("sampler_name", "dpmpp_2m"),
        ("use_stable_diffusion_model", "models/sd_xl_base_1.0"),
        ("use_vae_model", "None"),
        ("clip_skip", "True"),
        ("use_lora_model", "ink"),
        ("lora_alpha", "0.8"),
        ("use_upscale", "RealESRGAN_x4plus"),
    ];
    let titled = [
        ("Prompt", PROMPT),
        ("Negative Prompt", NEGATIVE),
        ("Seed", &seed),
        ("Steps", "28"),
        ("Guidance Scale", "6.5"),
        ("Width", "768"),
        ("Height", "512"),
        ("Sampler", "dpmpp_2m"),
        ("Stable Diffusion model", "sd_xl_base_1.0"),
    ];
    let lines = titled.map(|(key, value)| format!("{key}: {value}")).join("\n");
    let sd_cli = format!(
        "{PROMPT}\nNegative prompt: {NEGATIVE}\nSteps: 28, CFG scale: 6.5, Guidance: 3.5, Eta: 0, Seed: {SEED}, Size: 768x512, Model: z_image.gguf, \
         RNG: cuda, Sampler: euler_a karras, Version: stable-diffusion.cpp"
    );
    let rows: Vec<Row> = vec![
        ("a1111", "a1111.png", png(&[("parameters", &parameters())]), None),
        ("a1111", "a1111 big-endian.jpg", jpeg(&Exif::big_endian().with_comment(&parameters(), false)), None),
        ("a1111", "a1111 little-endian.jpg", jpeg(&Exif::little_endian().with_comment(&parameters(), true)), None),
        ("a1111", "a1111 orders that differ.webp", webp(&Exif::little_endian().with_comment(&parameters(), false)), None),
        ("a1111", "a1111 named by another ending.png", jpeg(&Exif::big_endian().with_comment(&parameters(), false)), None),
        ("a1111", "a1111 sidecar.jpg", jpeg(&Exif::big_endian()), Some(("txt", parameters()))),
        ("a1111", "a1111 stealth alpha.png", stealth_png(&parameters(), Stealth::Alpha, true), None),
        ("a1111", "a1111 stealth colours.png", stealth_png(&parameters(), Stealth::Colours, false), None),
        ("a1111", "sd-cli.png", png(&[("parameters", &sd_cli)]), None),
        ("comfyui", "comfyui both graphs.png", png(&[("prompt", &with_nan), ("workflow", &workflow)]), None),
        ("comfyui", "comfyui workflow alone.png", png(&[("workflow", &workflow)]), None),
        ("comfyui", "comfyui custom sampler.png", png(&[("prompt", &text(comfyui_custom_graph()))]), None),
        (
            "comfyui",
            "comfyui.webp",
            webp(&Exif::big_endian().with(0x0110, &format!("prompt:{graph}")).with(0x010f, &format!("workflow:{workflow}"))),
            None,
        ),
        ("invokeai", "invokeai 5.png", png(&[("invokeai_metadata", &text(invokeai_metadata())), ("invokeai_graph", "{}")]), None),
        ("invokeai", "invokeai 3.png", png(&[("invokeai_metadata", &text(invokeai_metadata_3()))]), None),
        ("invokeai", "invokeai 2.png", png(&[("sd-metadata", &text(sd_metadata())), ("Dream", "x")]), None),
        (
            "invokeai",
            "invokeai 1.png",
            png(&[("Dream", &format!("\"{PROMPT} [{NEGATIVE}]\" -s 28 -S {SEED} -W 768 -H 512 -C 6.5 -A k_lms -G 0.8"))]),
            None,
        ),
        ("fooocus", "fooocus.png", png(&[("parameters", &text(fooocus())), ("fooocus_scheme", "fooocus")]), None),
        ("fooocus", "fooocus a1111.png", png(&[("parameters", &fooocus_a1111()), ("fooocus_scheme", "a1111")]), None),
        (
            "fooocus",
            "fooocus.jpg",
            jpeg(&Exif::little_endian().with_bytes(0x9286, text(fooocus()).as_bytes()).with_bytes(0x927c, b"fooocus")),
            None,
        ),
        (
            "fooocus",
            "fooocus.webp",
            webp(&Exif::little_endian().with_bytes(0x9286, text(fooocus()).as_bytes()).with_bytes(0x927c, b"fooocus")),
            None,
        ),
        ("fooocus", "fooocus early.png", png(&[("Comment", &text(fooocus_early()))]), None),
        ("swarmui", "swarmui.png", png(&[("parameters", &text(swarmui()))]), None),
        ("swarmui", "swarmui.jpg", jpeg(&Exif::little_endian().with_comment(&text(swarmui()), true)), None),
        ("swarmui", "swarmui early.jpg", jpeg(&Exif::little_endian().with(0x0110, &text(swarmui()))), None),
        ("swarmui", "swarmui sidecar.jpg", jpeg(&Exif::big_endian()), Some(("swarm.json", text(swarmui())))),
        ("novelai", "novelai.png", novelai(&text(novelai_comment())), None),
        ("novelai", "novelai stealth.png", stealth_png(&hidden, Stealth::Alpha, true), None),
        ("draw_things", "draw things.png", png(&[("XML:com.adobe.xmp", &xmp(&text(draw_things())))]), None),
        (
            "draw_things",
            "draw things.jpg",
            jpeg(&Exif::big_endian().with_bytes(0x9286, &[b"ASCII\0\0\0".as_slice(), text(draw_things()).as_bytes()].concat())),
            None,
        ),
        ("easy_diffusion", "easy diffusion.png", png(&easy_diffusion), None),
        ("easy_diffusion", "easy diffusion titled.png", png(&titled), None),
        ("easy_diffusion", "easy diffusion sidecar.jpg", jpeg(&Exif::big_endian()), Some(("txt", lines))),
        (
            "easy_diffusion",
            "easy diffusion json.jpg",
            jpeg(&Exif::big_endian()),
            Some(("json", text(easy_diffusion.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect()))),
        ),
    ];
    rows.into_iter().map(|(tool, name, bytes, sidecar)| ToolPicture { tool, name, bytes, sidecar }).collect()
}

impl ToolPicture {
    /// Writes the picture and what is beside it into a folder; the picture's path.
    ///
    /// # Errors
    /// As the disk says.
    pub fn write(&self, folder: &std::path::Path) -> std::io::Result<std::path::PathBuf> {
        let path = folder.join(self.name);
        std::fs::write(&path, &self.bytes)?;
        if let Some((ending, text)) = &self.sidecar {
            std::fs::write(path.with_extension(ending), text)?;
        }
        Ok(path)
    }
}
