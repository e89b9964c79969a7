//! Models whose sizes the engine fixes: what a setting changes on its way to the picture has weights,
//! the rest is zeros that take no room.

use super::{FLUX_WIDTH, Part, flux_blocks, t5};
use crate::draft::{Container, Draft};
use crate::real::Model;
use crate::tensor::Kind;
use crate::tiny::autoencoder_tensors;

/// The files of a small Chroma with a T5 that tells words apart: Flux's blocks, one of each kind,
/// modulated by what the engine calls an approximator.
#[must_use]
pub fn chroma() -> Vec<(&'static str, Part)> {
    const TEXT: usize = 128;
    chroma_with(TEXT, Part::Draft(Draft::new(Container::Safetensors, &t5(TEXT, 256, 1), &[])))
}

/// The files of a small Chroma with [`t5_xxl`].
#[must_use]
pub fn chroma_of_t5_xxl() -> Vec<(&'static str, Part)> {
    chroma_with(T5_XXL, t5_xxl())
}

/// Width of the T5 of Flux, SD3 and Chroma.
const T5_XXL: usize = 4096;

/// That T5, of which the words and the first attention are no zeros. It is the only one that
/// programs with an unchanged engine read.
#[must_use]
pub fn t5_xxl() -> Part {
    const FILLED: [&str; 3] = ["shared.", "encoder.block.0.layer.0.", "norm"];
    let is_hole = |name: &str| !FILLED.iter().any(|part| name.contains(part));
    Part::Draft(Draft::with_holes(Container::Safetensors, &t5(T5_XXL, 10_240, 24), &[], is_hole).whole())
}

/// The files of a small Chroma with a T5 of this width.
fn chroma_with(text: usize, t5: Part) -> Vec<(&'static str, Part)> {
    /// Width and layers of the approximator.
    const INNER: usize = 5120;
    const LAYERS: usize = 5;
    /// What Flux computes its modulation with.
    const MODULATION: [&str; 4] = ["time_in.", "_mod.", ".modulation.", "adaLN_modulation."];
    let mut it = Model::default();
    flux_blocks(&mut it, text, false);
    it.0.0.retain(|tensor| !MODULATION.iter().any(|part| tensor.name.contains(part)));
    let name = "distilled_guidance_layer";
    it.linear(&format!("{name}.in_proj"), INNER, 64, 1.0);
    for layer in 0..LAYERS {
        it.0.vector(format!("{name}.norms.{layer}.scale"), INNER, Kind::F32, 1.0);
        it.linear(&format!("{name}.layers.{layer}.in_layer"), INNER, INNER, 1.0);
        it.linear(&format!("{name}.layers.{layer}.out_layer"), INNER, INNER, 1.0);
    }
    it.linear(&format!("{name}.out_proj"), FLUX_WIDTH, INNER, 1.0);
    let diffusion = Draft::with_holes(Container::Safetensors, &it.0, &[], |name| name.contains("distilled_guidance_layer.layers."));
    let taesd = Draft::new(Container::Safetensors, &autoencoder_tensors(16), &[]);
    vec![("diffusion", Part::Draft(diffusion)), ("t5xxl", t5), ("taesd", Part::Draft(taesd))]
}

/// The files of a Qwen-Image with one layer and its VAE. Its text encoder tells no words apart, and
/// its VAE encodes all pictures as the same one.
#[must_use]
pub fn qwen_image() -> Vec<(&'static str, Part)> {
    /// What leads from timestep and pictures to the result.
    const FILLED: [&str; 6] = ["img_in.", "time_text_embed.", "img_mod.", "attn.to_", "norm", "proj_out."];
    let vae = Draft::with_holes(Container::Safetensors, &wan_vae().0, &[], |name| {
        ["encoder.", ".residual.", "middle.", "time_conv."].iter().any(|part| name.contains(part))
    });
    let llm = Draft::with_holes(Container::Safetensors, &qwen_encoder().0, &[], |name| !name.contains("norm"));
    let module = Draft::with_holes(Container::Safetensors, &qwen_module().0, &[], |name| !FILLED.iter().any(|part| name.contains(part)));
    vec![("diffusion", Part::Draft(module)), ("llm", Part::Draft(llm)), ("vae", Part::Draft(vae))]
}

/// Width of what Qwen-Image's text encoder returns.
const QWEN_TEXT: usize = 3584;

fn qwen_module() -> Model {
    const WIDTH: usize = 3072;
    let mut it = Model::default();
    it.linear("img_in", WIDTH, 64, 1.0);
    it.linear("txt_in", WIDTH, QWEN_TEXT, 1.0);
    it.0.vector("txt_norm.weight", QWEN_TEXT, Kind::F32, 1.0);
    it.linear("time_text_embed.timestep_embedder.linear_1", WIDTH, 256, 1.0);
    it.linear("time_text_embed.timestep_embedder.linear_2", WIDTH, WIDTH, 1.0);
    let block = "transformer_blocks.0";
    for half in ["img", "txt"] {
        // Timesteps change the picture so that eight bits show it.
        it.linear(&format!("{block}.{half}_mod.1"), 6 * WIDTH, WIDTH, 4.0);
        it.linear(&format!("{block}.{half}_mlp.net.0.proj"), 4 * WIDTH, WIDTH, 1.0);
        it.linear(&format!("{block}.{half}_mlp.net.2"), WIDTH, 4 * WIDTH, 1.0);
    }
    for part in ["to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"] {
        it.linear(&format!("{block}.attn.{part}"), WIDTH, WIDTH, 1.0);
    }
    for norm in ["norm_q", "norm_k", "norm_added_q", "norm_added_k"] {
        it.0.vector(format!("{block}.attn.{norm}.weight"), 128, Kind::F32, 1.0);
    }
    it.linear("norm_out.linear", 2 * WIDTH, WIDTH, 1.0);
    it.linear("proj_out", 64, WIDTH, 1.0);
    it
}

/// Qwen2.5-VL's language model with one layer, no wider than it must be.
fn qwen_encoder() -> Model {
    const HEADS: usize = 28 * 128;
    const SHARED_HEADS: usize = 4 * 128;
    const HIDDEN: usize = 32;
    let mut it = Model::default();
    it.0.weight("model.embed_tokens.weight", &[152_064, QWEN_TEXT], Kind::F16, 1.0);
    let layer = "model.layers.0";
    for (part, outputs) in [("q", HEADS), ("k", SHARED_HEADS), ("v", SHARED_HEADS)] {
        it.linear(&format!("{layer}.self_attn.{part}_proj"), outputs, QWEN_TEXT, 1.0);
    }
    for (part, outputs, inputs) in [
        ("self_attn.o_proj", QWEN_TEXT, HEADS),
        ("mlp.gate_proj", HIDDEN, QWEN_TEXT),
        ("mlp.up_proj", HIDDEN, QWEN_TEXT),
        ("mlp.down_proj", QWEN_TEXT, HIDDEN),
    ] {
        it.0.weight(format!("{layer}.{part}.weight"), &[outputs, inputs], Kind::F16, 1.0);
    }
    for norm in ["model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm", "model.norm"] {
        it.0.vector(format!("{norm}.weight"), QWEN_TEXT, Kind::F32, 1.0);
    }
    it
}

/// The VAE of Wan 2.1 and Qwen-Image: of one frame, a kernel of three sees a third.
fn wan_vae() -> Model {
    const BASE: usize = 96;
    const LATENT: usize = 16;
    let mut it = Model::default();
    conv_of_frames(&mut it, "encoder.conv1", BASE, 3, &[3; 3]);
    let (mut number, mut width) = (0, BASE);
    for (level, outputs) in [BASE, 2 * BASE, 4 * BASE, 4 * BASE].into_iter().enumerate() {
        for _ in 0..2 {
            wan_residual(&mut it, &format!("encoder.downsamples.{number}"), outputs, width);
            (number, width) = (number + 1, outputs);
        }
        if level < 3 {
            let name = format!("encoder.downsamples.{number}");
            it.conv(&format!("{name}.resample.1"), width, width, 3, 1.0);
            if level > 0 {
                conv_of_frames(&mut it, &format!("{name}.time_conv"), width, width, &[3, 1, 1]);
            }
            number += 1;
        }
    }
    wan_middle(&mut it, "encoder", width);
    wan_head(&mut it, "encoder", 2 * LATENT, width);
    conv_of_frames(&mut it, "conv1", 2 * LATENT, 2 * LATENT, &[1; 3]);
    conv_of_frames(&mut it, "conv2", LATENT, LATENT, &[1; 3]);
    conv_of_frames(&mut it, "decoder.conv1", width, LATENT, &[3; 3]);
    wan_middle(&mut it, "decoder", width);
    number = 0;
    for (level, outputs) in [4 * BASE, 4 * BASE, 2 * BASE, BASE].into_iter().enumerate() {
        for _ in 0..3 {
            wan_residual(&mut it, &format!("decoder.upsamples.{number}"), outputs, width);
            (number, width) = (number + 1, outputs);
        }
        if level < 3 {
            let name = format!("decoder.upsamples.{number}");
            it.conv(&format!("{name}.resample.1"), width / 2, width, 3, 1.0);
            if level < 2 {
                conv_of_frames(&mut it, &format!("{name}.time_conv"), 2 * width, width, &[3, 1, 1]);
            }
            (number, width) = (number + 1, width / 2);
        }
    }
    wan_head(&mut it, "decoder", 3, width);
    it
}

/// A convolution over frames, rows and columns, with a kernel of these sizes.
fn conv_of_frames(it: &mut Model, name: &str, outputs: usize, inputs: usize, kernel: &[usize; 3]) {
    it.0.weight(format!("{name}.weight"), &[outputs, inputs, kernel[0], kernel[1], kernel[2]], Kind::F16, 1.5);
    it.0.vector(format!("{name}.bias"), outputs, Kind::F32, 0.0);
}

fn wan_residual(it: &mut Model, name: &str, outputs: usize, inputs: usize) {
    it.0.vector(format!("{name}.residual.0.gamma"), inputs, Kind::F32, 1.0);
    conv_of_frames(it, &format!("{name}.residual.2"), outputs, inputs, &[3; 3]);
    it.0.vector(format!("{name}.residual.3.gamma"), outputs, Kind::F32, 1.0);
    conv_of_frames(it, &format!("{name}.residual.6"), outputs, outputs, &[3; 3]);
    if inputs != outputs {
        conv_of_frames(it, &format!("{name}.shortcut"), outputs, inputs, &[1; 3]);
    }
}

fn wan_middle(it: &mut Model, half: &str, width: usize) {
    wan_residual(it, &format!("{half}.middle.0"), width, width);
    it.0.vector(format!("{half}.middle.1.norm.gamma"), width, Kind::F32, 1.0);
    it.conv(&format!("{half}.middle.1.to_qkv"), 3 * width, width, 1, 1.0);
    it.conv(&format!("{half}.middle.1.proj"), width, width, 1, 1.0);
    wan_residual(it, &format!("{half}.middle.2"), width, width);
}

fn wan_head(it: &mut Model, half: &str, outputs: usize, width: usize) {
    it.0.vector(format!("{half}.head.0.gamma"), width, Kind::F32, 1.0);
    conv_of_frames(it, &format!("{half}.head.2"), outputs, width, &[3; 3]);
}

/// The files of `PiD`, which sees its reference picture by a VAE alone, `is_of_flux2`: by that of
/// Flux.2. With a text encoder that tells no words apart, of one layer.
#[must_use]
pub fn pid(is_of_flux2: bool) -> Vec<(&'static str, Part)> {
    /// What leads from the reference picture's latents to the result.
    const FILLED: [&str; 9] = [
        "latent_proj.0.",
        "latent_proj.2.",
        "output_heads.0.",
        "pixel_embedder.",
        "pixel_blocks.0.adaLN_modulation.",
        "pixel_blocks.0.mlp.",
        "pixel_blocks.0.norm",
        "final_layer.",
        "s_embedder.",
    ];
    // The VAE of Flux.2 makes one latent of four.
    let (channels, of_vae) = if is_of_flux2 { (128, 32) } else { (16, 16) };
    let module =
        Draft::with_holes(Container::Safetensors, &pid_module(channels).0, &[], |name| !FILLED.iter().any(|part| name.contains(part)));
    let mut vae = Model::default();
    vae.vae_with_decoder("", of_vae, is_of_flux2, 32);
    let [llm, vae] = [&gemma().0, &vae.0].map(|it| Part::Draft(Draft::with_holes(Container::Safetensors, it, &[], |_| true)));
    vec![("diffusion", Part::Draft(module.whole())), ("llm", llm), ("vae", vae)]
}

/// Width of what `PiD`'s text encoder returns.
const GEMMA_TEXT: usize = 2304;

/// For latents of so many channels.
fn pid_module(channels: usize) -> Model {
    const WIDTH: usize = 1536;
    const HEAD: usize = 64;
    const HIDDEN: usize = 16;
    const PATCH: usize = 16 * 16;
    const PIXEL: usize = 16;
    const LATENT: usize = 512;
    const TOKENS: usize = 300;
    let mut it = Model::default();
    let norm = |it: &mut Model, name: String, width| it.0.vector(format!("{name}.weight"), width, Kind::F32, 1.0);
    it.linear("net.pixel_embedder.proj", PIXEL, 3, 1.0);
    it.linear("net.s_embedder.proj", WIDTH, 3 * PATCH, 1.0);
    it.linear("net.t_embedder.mlp.0", WIDTH, 256, 1.0);
    it.linear("net.t_embedder.mlp.2", WIDTH, WIDTH, 1.0);
    it.linear("net.y_embedder.proj", WIDTH, GEMMA_TEXT, 1.0);
    norm(&mut it, "net.y_embedder.norm".into(), WIDTH);
    it.0.weight("net.y_pos_embedding", &[1, TOKENS, WIDTH], Kind::F32, 1.0);
    for block in 0..14 {
        let name = format!("net.patch_blocks.{block}");
        for half in ["x", "y"] {
            norm(&mut it, format!("{name}.norm_{half}1"), WIDTH);
            norm(&mut it, format!("{name}.norm_{half}2"), WIDTH);
            it.0.weight(format!("{name}.attn.qkv_{half}.weight"), &[3 * WIDTH, WIDTH], Kind::F16, 1.0);
            norm(&mut it, format!("{name}.attn.q_norm_{half}"), HEAD);
            norm(&mut it, format!("{name}.attn.k_norm_{half}"), HEAD);
            it.linear(&format!("{name}.attn.proj_{half}"), WIDTH, WIDTH, 1.0);
            for (part, outputs, inputs) in [("w1", HIDDEN, WIDTH), ("w2", WIDTH, HIDDEN), ("w3", HIDDEN, WIDTH)] {
                it.0.weight(format!("{name}.mlp_{half}.{part}.weight"), &[outputs, inputs], Kind::F16, 1.0);
            }
        }
        for half in ["img", "txt"] {
            it.linear(&format!("{name}.adaLN_modulation_{half}.0"), 6 * WIDTH, WIDTH, 1.0);
        }
    }
    for block in 0..2 {
        pixel_block(&mut it, &format!("net.pixel_blocks.{block}"), WIDTH, PIXEL, PATCH);
    }
    norm(&mut it, "net.final_layer.norm".into(), PIXEL);
    it.linear("net.final_layer.linear", 3, PIXEL, 1.0);
    it.conv("net.lq_proj.latent_proj.0", LATENT, channels, 3, 1.0);
    it.conv("net.lq_proj.latent_proj.2", LATENT, LATENT, 3, 1.0);
    for block in 3..7 {
        for (norm, conv) in [(0, 2), (3, 5)] {
            it.norm(&format!("net.lq_proj.latent_proj.{block}.block.{norm}"), LATENT);
            it.conv(&format!("net.lq_proj.latent_proj.{block}.block.{conv}"), LATENT, LATENT, 3, 1.0);
        }
    }
    for output in 0..7 {
        it.linear(&format!("net.lq_proj.output_heads.{output}"), WIDTH, LATENT, 1.0);
        it.linear(&format!("net.lq_proj.gate_modules.{output}.content_proj"), WIDTH, 2 * WIDTH, 1.0);
        it.0.vector(format!("net.lq_proj.gate_modules.{output}.log_alpha"), 1, Kind::F32, 0.0);
    }
    it
}

/// A block of `PiD` over the pixels of patches, for a condition of this width.
fn pixel_block(it: &mut Model, name: &str, width: usize, pixel: usize, patch: usize) {
    const ATTENTION: usize = 1152;
    const HEAD: usize = 72;
    it.linear(&format!("{name}.compress_to_attn"), ATTENTION, patch * pixel, 1.0);
    it.linear(&format!("{name}.expand_from_attn"), patch * pixel, ATTENTION, 1.0);
    it.0.weight(format!("{name}.attn.qkv.weight"), &[3 * ATTENTION, ATTENTION], Kind::F16, 1.0);
    it.linear(&format!("{name}.attn.proj"), ATTENTION, ATTENTION, 1.0);
    it.linear(&format!("{name}.mlp.fc1"), 4 * pixel, pixel, 1.0);
    it.linear(&format!("{name}.mlp.fc2"), pixel, 4 * pixel, 1.0);
    it.linear(&format!("{name}.adaLN_modulation.0"), 6 * pixel * patch, width, 1.0);
    for (norm, width) in [("norm1", pixel), ("norm2", pixel), ("attn.q_norm", HEAD), ("attn.k_norm", HEAD)] {
        it.0.vector(format!("{name}.{norm}.weight"), width, Kind::F32, 1.0);
    }
}

/// Gemma 2 with one layer, no wider than it must be.
fn gemma() -> Model {
    const HEADS: usize = 8 * 256;
    const SHARED_HEADS: usize = 4 * 256;
    const HIDDEN: usize = 32;
    let mut it = Model::default();
    it.0.weight("model.embed_tokens.weight", &[256_000, GEMMA_TEXT], Kind::F16, 1.0);
    for (part, outputs, inputs) in [
        ("self_attn.q_proj", HEADS, GEMMA_TEXT),
        ("self_attn.k_proj", SHARED_HEADS, GEMMA_TEXT),
        ("self_attn.v_proj", SHARED_HEADS, GEMMA_TEXT),
        ("self_attn.o_proj", GEMMA_TEXT, HEADS),
        ("mlp.gate_proj", HIDDEN, GEMMA_TEXT),
        ("mlp.up_proj", HIDDEN, GEMMA_TEXT),
        ("mlp.down_proj", GEMMA_TEXT, HIDDEN),
    ] {
        it.0.weight(format!("model.layers.0.{part}.weight"), &[outputs, inputs], Kind::F16, 1.0);
    }
    for norm in ["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"] {
        it.0.vector(format!("model.layers.0.{norm}.weight"), GEMMA_TEXT, Kind::F32, 1.0);
    }
    it.0.vector("model.norm.weight", GEMMA_TEXT, Kind::F32, 1.0);
    it
}
