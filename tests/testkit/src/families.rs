//! Tiny models of several families, as files in memory that can be changed before they are written.
//!
//! The engine reads the dimensions of diffusion modules, of language models
//! and of T5 from their tensors, so those are small. Those of CLIP are fixed in it: CLIP-L and
//! CLIP-G have their real size, all zeros, in sparse files.

use std::io;
use std::path::{Path, PathBuf};

use crate::draft::{Container, Draft};
use crate::real::{Model, Unet};
use crate::tensor::{Init, Kind, Tensors, write_safetensors};
use crate::tiny::{self, Options, autoencoder_tensors, diffusion_tensors, encoder_tensors};

mod fixed;

pub use fixed::{chroma, chroma_of_t5_xxl, pid, qwen_image, t5_xxl};

/// The families that are made.
pub const FAMILIES: [&str; 7] = ["zimage", "zimage-gguf", "zimage-vae", "sd15", "sdxl", "sd3", "ovis"];

/// A file of a tiny model.
#[derive(Clone, Debug)]
pub enum Part {
    /// It is changed: header and weights in memory.
    Draft(Draft),
    /// It lies on the disk and stays as it is.
    File(PathBuf),
}

impl Part {
    /// Path of the file, which is written into `dir` under the name of its role where it is a
    /// draft.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, dir: &Path, role: &str) -> io::Result<PathBuf> {
        match self {
            Self::Draft(draft) => {
                let path = dir.join(format!("{role}.{}", draft.extension()));
                draft.write(&path)?;
                Ok(path)
            }
            Self::File(path) => Ok(path.clone()),
        }
    }
}

/// Writes the files of a family that do not change into `dir` and returns all of them, by the names
/// of Atelier's roles.
///
/// # Errors
/// An unknown family, or a file that cannot be written.
pub fn family(name: &str, dir: &Path) -> io::Result<Vec<(&'static str, Part)>> {
    let options = Options { layers: 1, ..Options::default() };
    let draft = |tensors: &Tensors| Part::Draft(Draft::new(Container::Safetensors, tensors, &[]));
    let llm = || draft(&encoder_tensors(&Options { encoder_layers: 1, ..options.clone() }));
    let autoencoder = |channels| draft(&autoencoder_tensors(channels));
    Ok(match name {
        "zimage" => vec![("diffusion", draft(&diffusion_tensors(&options))), ("llm", llm()), ("taesd", autoencoder(16))],
        "zimage-vae" => {
            let mut model = Model::default();
            model.vae_with_decoder("", 16, false, 32);
            let vae = Draft::with_holes(Container::Safetensors, &model.0, &[], |name| name.starts_with("encoder."));
            vec![("diffusion", draft(&diffusion_tensors(&options))), ("llm", llm()), ("vae", Part::Draft(vae))]
        }
        "zimage-gguf" => {
            let options = Options { encoder_layers: 1, encoder_width: 32, ..options.clone() };
            let (mut module, mut encoder) = (diffusion_tensors(&options), encoder_tensors(&options));
            tiny::quantise(&mut module);
            tiny::quantise(&mut encoder);
            for tensor in &mut encoder.0 {
                tensor.name = tiny::llama_name(&tensor.name);
            }
            let gguf = |tensors: &Tensors, kind| Part::Draft(Draft::new(Container::Gguf, tensors, &[("general.architecture", kind)]));
            vec![("diffusion", gguf(&module, "lumina2")), ("llm", gguf(&encoder, "qwen3")), ("taesd", autoencoder(16))]
        }
        "sd15" => vec![("model", whole(&sd15(), &[])), ("taesd", autoencoder(4))],
        "sdxl" => vec![("model", whole(&sdxl(), &[])), ("taesd", autoencoder(4))],
        "sd3" => vec![("diffusion", draft(&sd3())), ("clip_l", clip_l(dir)?), ("clip_g", clip_g(dir)?), ("taesd", autoencoder(16))],
        "ovis" => vec![("diffusion", draft(&ovis(options.encoder_width))), ("llm", llm()), ("taesd", autoencoder(16))],
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no family is called {name}"))),
    })
}

/// Parts of the names of what tells words apart.
const READING: [&str; 5] = ["token_embedding", "final_layer_norm", "ln_final", "text_projection", "position"];

/// The files of `sd15`, `sdxl`, `sd3` or `flux`, with text encoders that tell words apart: their
/// vocabularies are no zeros, nor what leads to their results. `sd3` and `flux` have T5s, and all in
/// parts.
///
/// # Panics
/// For another family.
#[must_use]
pub fn reading(name: &str) -> Vec<(&'static str, Part)> {
    /// Layers of Flux's T5: enough to be cut. Those of SD3's, which is as wide as the real one, are
    /// 134 MB each.
    const LAYERS: usize = 3;
    let draft = |tensors: &Tensors| Part::Draft(Draft::new(Container::Safetensors, tensors, &[]));
    let autoencoder = |channels| draft(&autoencoder_tensors(channels));
    let clip = |model: Model| {
        let is_hole = |name: &str| !READING.iter().any(|part| name.contains(part));
        Part::Draft(Draft::with_holes(Container::Safetensors, &model.0, &[], is_hole))
    };
    match name {
        "sd15" => vec![("model", whole(&sd15(), &READING)), ("taesd", autoencoder(4))],
        "sdxl" => vec![("model", whole(&sdxl(), &READING)), ("taesd", autoencoder(4))],
        "sd3" => vec![
            ("diffusion", draft(&sd3())),
            ("clip_l", clip(clip_l_model())),
            ("clip_g", clip(clip_g_model())),
            ("t5xxl", draft(&t5(4096, 64, 1))),
            ("taesd", autoencoder(16)),
        ],
        "flux" => vec![
            ("diffusion", draft(&flux_for_t5(128))),
            ("clip_l", clip(clip_l_model())),
            ("t5xxl", draft(&t5(128, 256, LAYERS))),
            ("taesd", autoencoder(16)),
        ],
        _ => panic!("no family with encoders that read is called {name}"),
    }
}

/// T5's encoder of this width, with so many values within its layers and heads of 64.
fn t5(width: usize, hidden: usize, layers: usize) -> Tensors {
    const VOCABULARY: usize = 32_128;
    let mut it = Tensors::default();
    it.push("shared.weight", &[VOCABULARY, width], Kind::F16, Init::Normal(1.0));
    for layer in 0..layers {
        let name = format!("encoder.block.{layer}.layer");
        for part in ["q", "k", "v", "o"] {
            it.weight(format!("{name}.0.SelfAttention.{part}.weight"), &[width, width], Kind::F16, 0.3);
        }
        if layer == 0 {
            it.weight(format!("{name}.0.SelfAttention.relative_attention_bias.weight"), &[32, width / 64], Kind::F16, 1.0);
        }
        it.vector(format!("{name}.0.layer_norm.weight"), width, Kind::F16, 1.0);
        for part in ["wi_0", "wi_1"] {
            it.weight(format!("{name}.1.DenseReluDense.{part}.weight"), &[hidden, width], Kind::F16, 0.3);
        }
        it.weight(format!("{name}.1.DenseReluDense.wo.weight"), &[width, hidden], Kind::F16, 0.3);
        it.vector(format!("{name}.1.layer_norm.weight"), width, Kind::F16, 1.0);
    }
    it.vector("encoder.final_layer_norm.weight", width, Kind::F16, 1.0);
    it
}

/// The whole model of [`reading`]'s `sdxl` as the engine's own converter writes it, with its
/// projection of 8 bits: in the file's names, or with the projection in the engine's.
#[must_use]
pub fn converted_sdxl(is_renamed: bool) -> Part {
    let mut model = sdxl();
    for tensor in model.0.0.iter_mut().filter(|it| it.name.ends_with("model.text_projection")) {
        tensor.kind = Kind::Q8;
    }
    let Part::Draft(mut draft) = whole_in(Container::Gguf, &model, &READING) else { unreachable!("it is one") };
    if is_renamed {
        draft.rename("conditioner.embedders.1.model.text_projection", "cond_stage_model.1.transformer.text_model.text_projection");
    }
    Part::Draft(draft)
}

/// A small SD1.5.
fn sd15() -> Model {
    let mut model = Model::default();
    model.unet(&Unet { base: 32, multiples: &[1, 2, 4, 4], depths: &[1, 1, 1, 0], middle: 1, context: 768, label: 0, linear: false });
    model.text_encoder("cond_stage_model.transformer.text_model");
    model
}

/// Width of a small SDXL's first blocks, and of its second level as a multiple of it.
const XL_BASE: usize = 64;
const XL_SECOND: usize = 2;

fn sdxl() -> Model {
    let mut model = Model::default();
    model.unet(&Unet {
        base: XL_BASE,
        multiples: &[1, XL_SECOND, 4],
        depths: &[0, 2, 10],
        middle: 10,
        context: 2048,
        label: 2816,
        linear: true,
    });
    model.text_encoder("conditioner.embedders.0.transformer.text_model");
    model.clip_g();
    model
}

/// The family `zimage-vae` with a VAE that encodes too: pictures differ in what it makes of them.
#[must_use]
pub fn zimage_with_whole_vae() -> Vec<(&'static str, Part)> {
    let options = Options { layers: 1, encoder_layers: 1, ..Options::default() };
    let mut vae = Model::default();
    vae.vae_with_decoder("", 16, false, 32);
    // Residual blocks of zeros pass on what they are given; these have most of the weights.
    let is_hole = |name: &str| name.starts_with("encoder.mid.") || name.starts_with("encoder.down.3.");
    let vae = Draft::with_holes(Container::Safetensors, &vae.0, &[], is_hole);
    let draft = |tensors: &Tensors| Part::Draft(Draft::new(Container::Safetensors, tensors, &[]));
    vec![("diffusion", draft(&diffusion_tensors(&options))), ("llm", draft(&encoder_tensors(&options))), ("vae", Part::Draft(vae))]
}

/// The family `sdxl` with a VAE that decodes.
#[must_use]
pub fn sdxl_with_vae() -> Vec<(&'static str, Part)> {
    let mut vae = Model::default();
    vae.vae_with_decoder("", 4, true, 32);
    let vae = Draft::with_holes(Container::Safetensors, &vae.0, &[], |name| name.starts_with("encoder."));
    vec![("model", whole(&sdxl(), &[])), ("vae", Part::Draft(vae))]
}

/// A LoRA for the family `zimage`.
#[must_use]
pub fn lora() -> Draft {
    Draft::new(Container::Safetensors, &tiny::lora_tensors(&Options { layers: 1, ..Options::default() }, tiny::RANK), &[])
}

/// A LoRA for the family `sd15` with parts in its UNet and in its text encoder, in kohya's names.
#[must_use]
pub fn lora_of_two_modules() -> Draft {
    let mut it = Tensors::default();
    for (name, width) in [
        ("lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q", 32),
        ("lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn2_to_v", 32),
        ("lora_te_text_model_encoder_layers_0_self_attn_q_proj", 768),
    ] {
        let input = if name.contains("attn2_to_v") { 768 } else { width };
        it.weight(format!("{name}.lora_down.weight"), &[tiny::RANK, input], Kind::F16, 1.0);
        it.weight(format!("{name}.lora_up.weight"), &[width, tiny::RANK], Kind::F16, 1.0);
    }
    Draft::new(Container::Safetensors, &it, &[])
}

/// A model with a `ControlNet` for it.
#[derive(Clone, Debug)]
pub struct ControlledFiles {
    pub model: PathBuf,
    pub taesd: PathBuf,
    pub controlnet: PathBuf,
}

/// Writes an SD1.5 with a `ControlNet` into a folder that exists. The sizes of a `ControlNet` are
/// fixed in the engine, so both have their real ones, in sparse files: of their weights, only those
/// on the shortest way from the control picture to the result are no zeros.
///
/// # Errors
/// A file that cannot be written.
pub fn controlled_sd15(dir: &Path) -> io::Result<ControlledFiles> {
    const UNET: [&str; 3] =
        ["model.diffusion_model.input_blocks.0.", "model.diffusion_model.output_blocks.11.0.", "model.diffusion_model.out."];
    let files = ControlledFiles {
        model: dir.join("sd15.safetensors"),
        taesd: dir.join("taesd.safetensors"),
        controlnet: dir.join("controlnet.safetensors"),
    };
    let mut model = Model::default();
    model.unet(&Unet::SD15);
    model.text_encoder("cond_stage_model.transformer.text_model");
    let is_hole = |name: &str| !UNET.iter().any(|start| name.starts_with(start));
    Draft::with_holes(Container::Safetensors, &model.0, &[], is_hole).write(&files.model)?;
    controlnet(&Unet::SD15).write(&files.controlnet)?;
    write_safetensors(&files.taesd, &autoencoder_tensors(4), 1, true)?;
    Ok(files)
}

/// Writes an SDXL with a `ControlNet` into a folder that exists, as [`controlled_sd15`] does.
///
/// # Errors
/// A file that cannot be written.
pub fn controlled_sdxl(dir: &Path) -> io::Result<ControlledFiles> {
    const UNET: [&str; 3] =
        ["model.diffusion_model.input_blocks.0.", "model.diffusion_model.output_blocks.8.0.", "model.diffusion_model.out."];
    let files = ControlledFiles {
        model: dir.join("sdxl.safetensors"),
        taesd: dir.join("taesd.safetensors"),
        controlnet: dir.join("sdxl-controlnet.safetensors"),
    };
    let mut model = Model::default();
    model.unet(&Unet::SDXL);
    model.text_encoder("conditioner.embedders.0.transformer.text_model");
    model.clip_g();
    let is_hole = |name: &str| !UNET.iter().any(|start| name.starts_with(start));
    Draft::with_holes(Container::Safetensors, &model.0, &[], is_hole).whole().write(&files.model)?;
    let [controlnet, _] = sdxl_controlnets();
    controlnet.write(&files.controlnet)?;
    write_safetensors(&files.taesd, &autoencoder_tensors(4), 1, true)?;
    Ok(files)
}

/// A `ControlNet` for such a UNet.
fn controlnet(shape: &Unet) -> Draft {
    const FILLED: [&str; 2] = ["control_model.input_hint_block.", "control_model.zero_convs.0."];
    let mut model = Model::default();
    model.controlnet(shape);
    Draft::with_holes(Container::Safetensors, &model.0, &[], |name| !FILLED.iter().any(|start| name.starts_with(start)))
}

/// The files of Ideogram 4 without its second diffusion module. The sizes of all are fixed in the
/// engine: one layer of the diffusion module, no wider than they must be, in sparse files.
#[must_use]
pub fn ideogram4() -> Vec<(&'static str, Part)> {
    /// The last layer whose output the engine hands to the diffusion module.
    const ENCODER_LAYERS: usize = 36;
    const WIDTH: usize = 4096;
    const HEAD: usize = 128;
    let mut encoder = Tensors::default();
    encoder.weight("model.embed_tokens.weight", &[151_936, WIDTH], Kind::F16, 1.0);
    for layer in 0..ENCODER_LAYERS {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        for (part, rows, columns) in [
            ("self_attn.q_proj", 32 * HEAD, WIDTH),
            ("self_attn.k_proj", 8 * HEAD, WIDTH),
            ("self_attn.v_proj", 8 * HEAD, WIDTH),
            ("self_attn.o_proj", WIDTH, 32 * HEAD),
            ("mlp.gate_proj", 32, WIDTH),
            ("mlp.up_proj", 32, WIDTH),
            ("mlp.down_proj", WIDTH, 32),
        ] {
            encoder.weight(name(part), &[rows, columns], Kind::F16, 1.0);
        }
        for (part, length) in
            [("self_attn.q_norm", HEAD), ("self_attn.k_norm", HEAD), ("input_layernorm", WIDTH), ("post_attention_layernorm", WIDTH)]
        {
            encoder.vector(name(part), length, Kind::F32, 1.0);
        }
    }
    encoder.vector("model.norm.weight", WIDTH, Kind::F32, 1.0);
    let llm = Draft::with_holes(Container::Safetensors, &encoder, &[], |name| !name.contains("norm")).whole();
    let mut autoencoder = autoencoder_tensors(32);
    for block in ["decoder.layers.2", "decoder.layers.3", "decoder.layers.4", "encoder.layers.11", "encoder.layers.12", "encoder.layers.13"]
    {
        autoencoder.weight(format!("{block}.pool.0.weight"), &[256, 64, 1, 1], Kind::F16, 1.0);
        autoencoder.vector(format!("{block}.pool.1.weight"), 256, Kind::F32, 1.0);
        autoencoder.vector(format!("{block}.pool.1.bias"), 256, Kind::F32, 0.0);
        autoencoder.weight(format!("{block}.pool.3.weight"), &[64, 256, 1, 1], Kind::F16, 0.1);
    }
    let taesd = Draft::new(Container::Safetensors, &autoencoder, &[]);
    vec![("diffusion", Part::Draft(ideogram4_module(0.0))), ("llm", Part::Draft(llm)), ("taesd", Part::Draft(taesd))]
}

/// A diffusion module of Ideogram 4 that adds this to all values.
#[must_use]
pub fn ideogram4_module(bias: f32) -> Draft {
    const WIDTH: usize = 4608;
    const FILLED: [&str; 3] = ["input_proj.", "final_layer.linear.", "norm"];
    let mut it = Tensors::default();
    let linear = |it: &mut Tensors, name: &str, rows: usize, columns: usize, bias: Option<f32>| {
        it.weight(format!("{name}.weight"), &[rows, columns], Kind::F16, 1.0);
        if let Some(bias) = bias {
            it.vector(format!("{name}.bias"), rows, Kind::F32, bias);
        }
    };
    for (name, rows, columns) in [
        ("input_proj", WIDTH, 128),
        ("llm_cond_proj", WIDTH, 13 * 4096),
        ("t_embedding.mlp_in", WIDTH, WIDTH),
        ("t_embedding.mlp_out", WIDTH, WIDTH),
        ("adaln_proj", 512, WIDTH),
        ("layers.0.adaln_modulation", 4 * WIDTH, 512),
        ("final_layer.adaln_modulation", WIDTH, 512),
    ] {
        linear(&mut it, name, rows, columns, Some(0.0));
    }
    for (name, rows, columns) in [
        ("attention.qkv", 3 * WIDTH, WIDTH),
        ("attention.o", WIDTH, WIDTH),
        ("feed_forward.w1", 12_288, WIDTH),
        ("feed_forward.w2", WIDTH, 12_288),
        ("feed_forward.w3", 12_288, WIDTH),
    ] {
        linear(&mut it, &format!("layers.0.{name}"), rows, columns, None);
    }
    linear(&mut it, "final_layer.linear", 128, WIDTH, Some(bias));
    it.weight("embed_image_indicator.weight", &[2, WIDTH], Kind::F16, 1.0);
    it.vector("llm_cond_norm.weight", 13 * 4096, Kind::F32, 1.0);
    for (name, length) in [
        ("attention.norm_q", 256),
        ("attention.norm_k", 256),
        ("attention_norm1", WIDTH),
        ("ffn_norm1", WIDTH),
        ("attention_norm2", WIDTH),
        ("ffn_norm2", WIDTH),
    ] {
        it.vector(format!("layers.0.{name}.weight"), length, Kind::F32, 1.0);
    }
    Draft::with_holes(Container::Safetensors, &it, &[], |name| !FILLED.iter().any(|part| name.contains(part))).whole()
}

/// The `ControlNet` of [`controlled_sd15`] as diffusers names its tensors.
#[must_use]
pub fn sd15_controlnet_of_diffusers() -> Draft {
    let mut draft = controlnet(&Unet::SD15);
    draft.rename_all(diffusers_controlnet_name);
    draft
}

/// A `ControlNet` of SDXL, in the first names and as diffusers names its tensors.
#[must_use]
pub fn sdxl_controlnets() -> [Draft; 2] {
    let first = controlnet(&Unet::SDXL).whole();
    let mut renamed = first.clone();
    renamed.rename_all(diffusers_controlnet_name);
    [first, renamed]
}

/// diffusers' name of a tensor of a `ControlNet`.
fn diffusers_controlnet_name(name: &str) -> String {
    let name = name.trim_start_matches("control_model.");
    let parts: Vec<&str> = name.split('.').collect();
    let number = |at: usize| parts.get(at).and_then(|it| it.parse::<usize>().ok()).unwrap_or_default();
    let rest = |from: usize| parts[from..].join(".");
    let residual = |block: String, from: usize| {
        let part = match (parts[from], parts[from + 1]) {
            ("in_layers", "0") => "norm1",
            ("in_layers", _) => "conv1",
            ("emb_layers", _) => "time_emb_proj",
            ("out_layers", "0") => "norm2",
            ("out_layers", _) => "conv2",
            _ => return format!("{block}.conv_shortcut.{}", rest(from + 1)),
        };
        format!("{block}.{part}.{}", rest(from + 2))
    };
    match parts[0] {
        "time_embed" => format!("time_embedding.linear_{}.{}", if number(1) == 0 { 1 } else { 2 }, rest(2)),
        "label_emb" => format!("add_embedding.linear_{}.{}", if number(2) == 0 { 1 } else { 2 }, rest(3)),
        "zero_convs" => format!("controlnet_down_blocks.{}.{}", number(1), rest(3)),
        "middle_block_out" => format!("controlnet_mid_block.{}", rest(2)),
        "input_hint_block" => match number(1) {
            0 => format!("controlnet_cond_embedding.conv_in.{}", rest(2)),
            14 => format!("controlnet_cond_embedding.conv_out.{}", rest(2)),
            at => format!("controlnet_cond_embedding.blocks.{}.{}", at / 2 - 1, rest(2)),
        },
        "middle_block" if number(1) == 1 => format!("mid_block.attentions.0.{}", rest(2)),
        "middle_block" => residual(format!("mid_block.resnets.{}", number(1) / 2), 2),
        "input_blocks" if number(1) == 0 => format!("conv_in.{}", rest(3)),
        "input_blocks" => {
            let (level, at) = ((number(1) - 1) / 3, (number(1) - 1) % 3);
            match (at, parts[2]) {
                (2, _) => format!("down_blocks.{level}.downsamplers.0.conv.{}", rest(4)),
                (_, "0") => residual(format!("down_blocks.{level}.resnets.{at}"), 3),
                _ => format!("down_blocks.{level}.attentions.{at}.{}", rest(3)),
            }
        }
        _ => name.to_owned(),
    }
}

/// A small Flux that reads so many numbers of a patch: 128 with a control picture, 196 with a masked
/// one too (Flex.2). Without T5: the engine does without it.
///
/// # Errors
/// A file that cannot be written.
pub fn flux(inputs: usize, dir: &Path) -> io::Result<Vec<(&'static str, Part)>> {
    const WIDTH: usize = 128;
    let draft = |tensors: &Tensors| Part::Draft(Draft::new(Container::Safetensors, tensors, &[]));
    let module = crate::headers::flux(WIDTH, inputs, 1, 1);
    Ok(vec![("diffusion", draft(&module.0)), ("clip_l", clip_l(dir)?), ("taesd", draft(&autoencoder_tensors(16)))])
}

/// An embedding (textual inversion) for SD1.5, in numbers of 32 bits as most are.
#[must_use]
pub fn embedding() -> Draft {
    let mut tensors = Tensors::default();
    tensors.weight("emb_params", &[4, 768], Kind::F32, 1.0);
    Draft::new(Container::Safetensors, &tensors, &[])
}

/// The beginning of a CLIP vision encoder.
#[must_use]
pub fn clip_vision() -> Draft {
    let mut tensors = Tensors::default();
    tensors.vector("vision_model.embeddings.class_embedding", 8, Kind::F16, 0.0);
    tensors.weight("vision_model.embeddings.position_embedding.weight", &[5, 8], Kind::F16, 1.0);
    Draft::new(Container::Safetensors, &tensors, &[])
}

/// A `PhotoMaker` for the family `sdxl`. Its sizes are fixed in the engine: of its weights, only
/// those on a way from the pictures to the result are no zeros.
#[must_use]
pub fn photomaker() -> Draft {
    const FILLED: [&str; 9] = [
        "vision_model.embeddings.",
        "vision_model.pre_layernorm.",
        "vision_model.encoder.layers.0.self_attn.",
        "vision_model.encoder.layers.0.layer_norm1.",
        "vision_model.post_layernorm.",
        "visual_projection",
        "fuse_module.mlp1.",
        "fuse_module.layer_norm.",
        "unet.",
    ];
    photomaker_with_holes(Some(XL_BASE * XL_SECOND), |name| !FILLED.iter().any(|start| name.starts_with(start)))
}

/// A `PhotoMaker` of zeros; `is_v2`: with a tensor that the second version alone has.
#[must_use]
pub fn photomaker_of_zeros(is_v2: bool) -> Draft {
    let mut draft = photomaker_with_holes(Some(XL_BASE * XL_SECOND), |_| true);
    if is_v2 {
        draft.add("qformer_perceiver.token_norm.weight", &[2048]);
    }
    draft
}

/// A `PhotoMaker` of zeros that brings no LoRA along.
#[must_use]
pub fn photomaker_without_lora() -> Draft {
    photomaker_with_holes(None, |_| true)
}

fn photomaker_with_holes(lora_width: Option<usize>, is_hole: impl Fn(&str) -> bool) -> Draft {
    let mut model = Model::default();
    model.photomaker(lora_width);
    Draft::with_holes(Container::Safetensors, &model.0, &[], is_hole)
}

/// An upscaler that upscales by two.
///
/// # Errors
/// None; the tensors of this factor are known.
pub fn upscaler() -> io::Result<Draft> {
    Ok(Draft::new(Container::Safetensors, &tiny::upscaler_tensors(2)?, &[]))
}

/// A few tensors of vision encoders, `ControlNet`s and `PhotoMaker`s, too few for any.
#[must_use]
pub fn fragment() -> Draft {
    let mut tensors = Tensors::default();
    for (name, shape) in [
        ("visual.patch_embed.proj.0.weight", &[8usize, 3, 2, 2][..]),
        ("visual.blocks.0.attn.qkv.weight", &[24, 8]),
        ("visual.merger.ln_q.weight", &[8]),
        ("v.blk.0.attn_q.weight", &[8, 8]),
        ("vision_model.embeddings.position_embedding.weight", &[5, 8]),
        ("vision_model.encoder.layers.0.mlp.fc1.weight", &[16, 8]),
        ("input_hint_block.2.weight", &[16, 3, 3, 3]),
        ("input_blocks.1.0.in_layers.2.weight", &[8, 8, 3, 3]),
        ("pmid.fuse_module.mlp1.fc1.weight", &[8, 8]),
        ("qformer.token_proj.0.weight", &[8, 8]),
    ] {
        tensors.weight(name, shape, Kind::F16, 1.0);
    }
    Draft::new(Container::Safetensors, &tensors, &[])
}

/// A file with the diffusion module and text encoders, which are zeros but for the tensors with one
/// of these parts in their names.
fn whole(model: &Model, filled: &[&str]) -> Part {
    whole_in(Container::Safetensors, model, filled)
}

fn whole_in(container: Container, model: &Model, filled: &[&str]) -> Part {
    let is_filled = |name: &str| name.starts_with("model.diffusion_model.") || filled.iter().any(|part| name.contains(part));
    Part::Draft(Draft::with_holes(container, &model.0, &[], |name| !is_filled(name)))
}

fn clip_l(dir: &Path) -> io::Result<Part> {
    sparse(dir, "clip_l", &clip_l_model().0)
}

fn clip_l_model() -> Model {
    let mut model = Model::default();
    model.text_encoder("text_model");
    model
}

fn clip_g(dir: &Path) -> io::Result<Part> {
    sparse(dir, "clip_g", &clip_g_model().0)
}

fn clip_g_model() -> Model {
    const WIDTH: usize = 1280;
    let mut model = Model::default();
    model.clip("text_model", WIDTH, 32);
    model.0.weight("text_projection.weight", &[WIDTH, WIDTH], Kind::F16, 1.0);
    model
}

fn sparse(dir: &Path, name: &str, tensors: &Tensors) -> io::Result<Part> {
    let path = dir.join(format!("{name}.safetensors"));
    write_safetensors(&path, tensors, 1, false)?;
    Ok(Part::File(path))
}

/// `MMDiT` of the fewest blocks that the engine makes, whose last one has no output for the text.
/// It has as many heads as blocks.
fn sd3() -> Tensors {
    const BLOCKS: usize = 24;
    const WIDTH: usize = 4 * BLOCKS;
    let mut it = Model::default();
    it.conv("x_embedder.proj", WIDTH, 16, 2, 1.0);
    it.0.weight("pos_embed", &[1, 64 * 64, WIDTH], Kind::F16, 1.0);
    for (part, inputs) in [("t_embedder", 256), ("y_embedder", 2048)] {
        it.linear(&format!("{part}.mlp.0"), WIDTH, inputs, 1.0);
        it.linear(&format!("{part}.mlp.2"), WIDTH, WIDTH, 1.0);
    }
    it.linear("context_embedder", WIDTH, 4096, 1.0);
    for block in 0..BLOCKS {
        for half in ["context_block", "x_block"] {
            let name = format!("joint_blocks.{block}.{half}");
            let is_last = block + 1 == BLOCKS && half == "context_block";
            it.linear(&format!("{name}.adaLN_modulation.1"), if is_last { 2 } else { 6 } * WIDTH, WIDTH, 1.0);
            it.linear(&format!("{name}.attn.qkv"), 3 * WIDTH, WIDTH, 1.0);
            if !is_last {
                it.linear(&format!("{name}.attn.proj"), WIDTH, WIDTH, 1.0);
                it.linear(&format!("{name}.mlp.fc1"), 4 * WIDTH, WIDTH, 1.0);
                it.linear(&format!("{name}.mlp.fc2"), WIDTH, 4 * WIDTH, 1.0);
            }
        }
    }
    it.linear("final_layer.linear", 64, WIDTH, 1.0);
    it.linear("final_layer.adaLN_modulation.1", 2 * WIDTH, WIDTH, 1.0);
    it.0
}

/// Ovis-Image: Flux's blocks, one of each kind, for a text encoder of this width.
fn ovis(text_width: usize) -> Tensors {
    let mut it = Model::default();
    it.0.vector("txt_norm.scale", text_width, Kind::F32, 1.0);
    flux_blocks(&mut it, text_width, true);
    it.0
}

/// Flux with one block of each kind, for a T5 of this width and a CLIP-L.
fn flux_for_t5(text_width: usize) -> Tensors {
    let mut it = Model::default();
    for (part, inputs) in [("vector_in", 768), ("guidance_in", 256)] {
        it.linear(&format!("{part}.in_layer"), FLUX_WIDTH, inputs, 1.0);
        it.linear(&format!("{part}.out_layer"), FLUX_WIDTH, FLUX_WIDTH, 1.0);
    }
    flux_blocks(&mut it, text_width, false);
    it.0
}

/// Width of a small Flux, which has one head.
const FLUX_WIDTH: usize = 128;

/// `is_gated`: the blocks are Ovis-Image's.
fn flux_blocks(it: &mut Model, text_width: usize, is_gated: bool) {
    const WIDTH: usize = FLUX_WIDTH;
    const HIDDEN: usize = 4 * WIDTH;
    it.linear("img_in", WIDTH, 64, 1.0);
    it.linear("time_in.in_layer", WIDTH, 256, 1.0);
    it.linear("time_in.out_layer", WIDTH, WIDTH, 1.0);
    it.linear("txt_in", WIDTH, text_width, 1.0);
    let norms = |it: &mut Model, name: &str| {
        for norm in ["query_norm", "key_norm"] {
            it.0.vector(format!("{name}.{norm}.scale"), WIDTH, Kind::F32, 1.0);
        }
    };
    for half in ["img", "txt"] {
        let name = format!("double_blocks.0.{half}");
        it.linear(&format!("{name}_mod.lin"), 6 * WIDTH, WIDTH, 1.0);
        it.linear(&format!("{name}_attn.qkv"), 3 * WIDTH, WIDTH, 1.0);
        it.linear(&format!("{name}_attn.proj"), WIDTH, WIDTH, 1.0);
        norms(it, &format!("{name}_attn.norm"));
        let layers: &[(&str, usize, usize)] = if is_gated {
            &[("gate_proj", HIDDEN, WIDTH), ("up_proj", HIDDEN, WIDTH), ("down_proj", WIDTH, HIDDEN)]
        } else {
            &[("0", HIDDEN, WIDTH), ("2", WIDTH, HIDDEN)]
        };
        for (layer, outputs, inputs) in layers {
            it.linear(&format!("{name}_mlp.{layer}"), *outputs, *inputs, 1.0);
        }
    }
    let name = "single_blocks.0";
    it.linear(&format!("{name}.modulation.lin"), 3 * WIDTH, WIDTH, 1.0);
    it.linear(&format!("{name}.linear1"), 3 * WIDTH + if is_gated { 2 } else { 1 } * HIDDEN, WIDTH, 1.0);
    it.linear(&format!("{name}.linear2"), WIDTH, WIDTH + HIDDEN, 1.0);
    norms(it, &format!("{name}.norm"));
    it.linear("final_layer.linear", 64, WIDTH, 1.0);
    it.linear("final_layer.adaLN_modulation.1", 2 * WIDTH, WIDTH, 1.0);
}
