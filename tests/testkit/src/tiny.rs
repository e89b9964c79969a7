//! Tiny models of the Z-Image family, and a tiny upscaler: an image takes a fraction of a second on
//! one core.
//!
//! The engine reads the dimensions from the tensors' shapes, so these files take the same path as
//! Z-Image-Turbo.

use std::io;
use std::path::{Path, PathBuf};

use crate::gguf::write_gguf;
use crate::pickle::write_pth;
use crate::tensor::{Init, Kind, Tensors, write_safetensors};

/// Size of an attention head, which the engine does not read from the file.
const HEAD: usize = 128;
/// The width of the time embedding that modulates each block.
const MODULATION: usize = 256;
/// Maximum width of the time embedding's own layers, which are otherwise as wide as the module.
const WIDEST_TIME: usize = 1024;
/// Values in a patch of 2x2 latents of 16 channels.
const PATCH: usize = 64;
/// Channels of a latent.
const LATENT: usize = 16;
/// Channels inside the tiny autoencoder and the upscaler.
const CHANNELS: usize = 64;
/// Channels that each convolution of the upscaler's dense blocks adds.
const GROWTH: usize = 32;
/// Rows of a LoRA.
pub(crate) const RANK: usize = 4;

/// Writes the diffusion module alone, as safetensors.
pub fn diffusion(path: &Path, options: &Options) -> io::Result<PathBuf> {
    write_safetensors(path, &diffusion_tensors(options), options.seed, true)?;
    Ok(path.to_owned())
}

/// File format of the diffusion module and the text encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// safetensors, matrices in F16.
    #[default]
    Safetensors,
    /// GGUF, matrices in F16; the same weights as [`Format::Safetensors`].
    Gguf,
    /// GGUF, matrices in `Q8_0` where their rows are a multiple of 32.
    GgufQ8,
}

/// The dimensions of a tiny model. The default is the smallest that the engine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of all weights.
    pub seed: u64,
    /// Width of the diffusion module: a multiple of 128, at least 256.
    pub width: usize,
    /// Layers of the diffusion module, at least 1.
    pub layers: usize,
    /// Refiners of each kind, at least 1.
    pub refiners: usize,
    /// Width of the text encoder.
    pub encoder_width: usize,
    /// Layers of the text encoder; never 28, which the engine takes for another number of heads.
    pub encoder_layers: usize,
    /// Rows of the text encoder's table of tokens; the tokenizer has 151674.
    pub vocabulary: usize,
    /// Format of the diffusion module and the text encoder; the autoencoder is always safetensors.
    pub format: Format,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            width: 256,
            layers: 2,
            refiners: 1,
            encoder_width: 8,
            encoder_layers: 0,
            vocabulary: 151_936,
            format: Format::Safetensors,
        }
    }
}

/// The files of a tiny model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TinyFiles {
    pub diffusion: PathBuf,
    /// The text encoder, of the Qwen3 family.
    pub llm: PathBuf,
    /// The tiny autoencoder, encoder and decoder.
    pub taesd: PathBuf,
}

/// Writes a model of the Z-Image family into a folder that exists.
pub fn zimage(dir: &Path, options: &Options) -> io::Result<TinyFiles> {
    let extension = if options.format == Format::Safetensors { "safetensors" } else { "gguf" };
    let files = TinyFiles {
        diffusion: dir.join(format!("tiny-zimage.{extension}")),
        llm: dir.join(format!("tiny-qwen3.{extension}")),
        taesd: dir.join("tiny-taesd.safetensors"),
    };
    let (mut dit, mut llm) = (diffusion_tensors(options), encoder_tensors(options));
    if options.format == Format::GgufQ8 {
        quantise(&mut dit);
        quantise(&mut llm);
    }
    match options.format {
        Format::Safetensors => {
            write_safetensors(&files.diffusion, &dit, options.seed, true)?;
            write_safetensors(&files.llm, &llm, options.seed, true)?;
        }
        Format::Gguf | Format::GgufQ8 => {
            let named = |architecture| [("general.architecture", architecture), ("general.name", "tiny")];
            write_gguf(&files.diffusion, &dit, &named("lumina2"), options.seed, str::to_owned)?;
            write_gguf(&files.llm, &llm, &named("qwen3"), options.seed, llama_name)?;
        }
    }
    write_safetensors(&files.taesd, &autoencoder_tensors(LATENT), options.seed, true)?;
    Ok(files)
}

/// Model name in the manifest of [`builtin`].
pub const BUILTIN_NAME: &str = "Tiny test model";

/// Writes a model of the Z-Image family with a manifest, like the built-in model: 3 steps at 64x64.
pub fn builtin(dir: &Path, options: &Options) -> io::Result<TinyFiles> {
    let files = zimage(dir, options)?;
    let mut entries = Vec::new();
    for (role, path) in [("diffusion", &files.diffusion), ("llm", &files.llm), ("tae", &files.taesd)] {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        entries.push(format!(r#"    {{ "role": "{role}", "filename": "{name}", "size": {} }}"#, std::fs::metadata(path)?.len()));
    }
    let text = format!(
        r#"{{
  "id": "tiny-test-model",
  "name": "{BUILTIN_NAME}",
  "description": "Random weights; paints nothing but colour.",
  "licence": "MIT OR Apache-2.0",
  "files": [
{}
  ],
  "defaults": {{ "steps": 3, "cfg": 1.0, "width": 64, "height": 64, "sampler": "euler", "preview": "tae" }}
}}
"#,
        entries.join(",\n")
    );
    std::fs::write(dir.join("manifest.json"), text)?;
    Ok(files)
}

/// Writes a LoRA for the diffusion module of [`zimage`] with the same options, in the names that
/// its trainers use (`diffusion_model.layers.0.attention.to_q.lora_A.weight`). At strength 1 it
/// changes the picture clearly.
pub fn lora(dir: &Path, options: &Options) -> io::Result<PathBuf> {
    let path = dir.join("tiny-lora.safetensors");
    write_safetensors(&path, &lora_tensors(options, RANK), options.seed.wrapping_add(1), true)?;
    Ok(path)
}

/// The same LoRA with a part for the first layer of the text encoder.
pub fn lora_with_encoder(dir: &Path, options: &Options) -> io::Result<PathBuf> {
    let mut tensors = lora_tensors(options, RANK);
    for (part, rows) in [("self_attn.q_proj", 32 * HEAD), ("mlp.up_proj", 4 * options.encoder_width)] {
        let name = format!("text_encoders.llm.model.layers.0.{part}");
        tensors.weight(format!("{name}.lora_A.weight"), &[RANK, options.encoder_width], Kind::F16, 1.0);
        tensors.weight(format!("{name}.lora_B.weight"), &[rows, RANK], Kind::F16, 1.0);
    }
    let path = dir.join("encoder-lora.safetensors");
    write_safetensors(&path, &tensors, options.seed.wrapping_add(1), true)?;
    Ok(path)
}

/// The same LoRA with as many rows as asked for: a file as large as wanted.
pub fn lora_of_rank(dir: &Path, options: &Options, rank: usize) -> io::Result<PathBuf> {
    let path = dir.join(format!("tiny-lora-{rank}.safetensors"));
    write_safetensors(&path, &lora_tensors(options, rank), options.seed.wrapping_add(1), true)?;
    Ok(path)
}

/// The same LoRA with two tensors for a layer that the model does not have.
pub fn partial_lora(dir: &Path, options: &Options) -> io::Result<PathBuf> {
    let mut tensors = lora_tensors(options, RANK);
    let name = format!("diffusion_model.layers.{}.attention.to_q", options.layers + 7);
    tensors.weight(format!("{name}.lora_A.weight"), &[RANK, options.width], Kind::F16, 1.0);
    tensors.weight(format!("{name}.lora_B.weight"), &[options.width, RANK], Kind::F16, 1.0);
    let path = dir.join("partial-lora.safetensors");
    write_safetensors(&path, &tensors, options.seed.wrapping_add(1), true)?;
    Ok(path)
}

pub(crate) fn lora_tensors(options: &Options, rank: usize) -> Tensors {
    let (width, hidden) = (options.width, feed_forward(options.width));
    let mut tensors = Tensors::default();
    for layer in 0..options.layers {
        let mut pair = |name: &str, rows: usize, columns: usize| {
            let name = format!("diffusion_model.layers.{layer}.{name}");
            tensors.weight(format!("{name}.lora_A.weight"), &[rank, columns], Kind::F16, 1.0);
            tensors.weight(format!("{name}.lora_B.weight"), &[rows, rank], Kind::F16, 1.0);
        };
        for part in ["to_q", "to_k", "to_v", "to_out.0"] {
            pair(&format!("attention.{part}"), width, width);
        }
        pair("feed_forward.w1", hidden, width);
        pair("feed_forward.w2", width, hidden);
        pair("feed_forward.w3", hidden, width);
    }
    tensors
}

/// Writes a LoRA that matches no tensor of the Z-Image family: names and shapes are those of SD1.5.
pub fn unmatched_lora(dir: &Path) -> io::Result<PathBuf> {
    let mut tensors = Tensors::default();
    for part in ["attn1_to_q", "attn1_to_k", "attn1_to_v", "attn2_to_q"] {
        let name = format!("lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_{part}");
        tensors.weight(format!("{name}.lora_down.weight"), &[RANK, 320], Kind::F16, 1.0);
        tensors.weight(format!("{name}.lora_up.weight"), &[320, RANK], Kind::F16, 1.0);
        tensors.push(format!("{name}.alpha"), &[], Kind::F16, Init::Constant(RANK as f32));
    }
    let path = dir.join("unmatched-lora.safetensors");
    write_safetensors(&path, &tensors, 1, true)?;
    Ok(path)
}

/// Writes an ESRGAN upscaler of one block that upscales by `factor`: 1, 2 or 4.
/// Another factor is an error.
pub fn upscaler(dir: &Path, factor: u32, seed: u64) -> io::Result<PathBuf> {
    let path = dir.join(format!("tiny-esrgan-x{factor}.safetensors"));
    write_safetensors(&path, &upscaler_tensors(factor)?, seed, true)?;
    Ok(path)
}

/// The same upscaler as PyTorch stores it, in a pickle.
pub fn upscaler_pth(dir: &Path, factor: u32, seed: u64) -> io::Result<PathBuf> {
    let path = dir.join(format!("tiny-esrgan-x{factor}.pth"));
    write_pth(&path, &upscaler_tensors(factor)?, seed)?;
    Ok(path)
}

pub(crate) fn upscaler_tensors(factor: u32) -> io::Result<Tensors> {
    if ![1, 2, 4].contains(&factor) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no ESRGAN upscales by {factor}")));
    }
    let mut tensors = Tensors::default();
    let mut conv = |name: &str, outputs: usize, inputs: usize, gain: f32, bias: f32| {
        tensors.weight(format!("{name}.weight"), &[outputs, inputs, 3, 3], Kind::F16, gain);
        tensors.vector(format!("{name}.bias"), outputs, Kind::F32, bias);
    };
    conv("conv_first", CHANNELS, 3, 1.0, 0.0);
    for block in 1..=3 {
        for layer in 0..5 {
            let outputs = if layer == 4 { CHANNELS } else { GROWTH };
            conv(&format!("body.0.rdb{block}.conv{}", layer + 1), outputs, CHANNELS + layer * GROWTH, 1.0, 0.0);
        }
    }
    conv("conv_body", CHANNELS, CHANNELS, 1.0, 0.0);
    if factor >= 2 {
        conv("conv_up1", CHANNELS, CHANNELS, 1.0, 0.0);
    }
    if factor == 4 {
        conv("conv_up2", CHANNELS, CHANNELS, 1.0, 0.0);
    }
    conv("conv_hr", CHANNELS, CHANNELS, 1.0, 0.0);
    conv("conv_last", 3, CHANNELS, 0.5, 0.5);
    Ok(tensors)
}

/// The width of the feed-forward part: 8/3 of the module's, rounded up to 256.
fn feed_forward(width: usize) -> usize {
    (width * 8 / 3).next_multiple_of(256)
}

pub(crate) fn diffusion_tensors(options: &Options) -> Tensors {
    let (width, encoder) = (options.width, options.encoder_width);
    let hidden = feed_forward(width);
    let mut out = Tensors::default();
    let linear = |out: &mut Tensors, name: &str, rows: usize, columns: usize, kind: Kind| {
        out.weight(format!("{name}.weight"), &[rows, columns], kind, 1.0);
        out.vector(format!("{name}.bias"), rows, Kind::F32, 0.0);
    };
    linear(&mut out, "x_embedder", width, PATCH, Kind::F16);
    linear(&mut out, "t_embedder.mlp.0", width.min(WIDEST_TIME), 256, Kind::F32);
    linear(&mut out, "t_embedder.mlp.2", MODULATION, width.min(WIDEST_TIME), Kind::F32);
    out.vector("cap_embedder.0.weight", encoder, Kind::F32, 1.0);
    linear(&mut out, "cap_embedder.1", width, encoder, Kind::F16);
    for token in ["cap_pad_token", "x_pad_token"] {
        out.push(token, &[width], Kind::F32, Init::Normal(0.5));
    }
    for (group, count) in [("noise_refiner", options.refiners), ("context_refiner", options.refiners), ("layers", options.layers)] {
        for layer in 0..count {
            let name = |part: &str| format!("{group}.{layer}.{part}");
            out.weight(name("attention.qkv.weight"), &[3 * width, width], Kind::F16, 1.0);
            out.weight(name("attention.out.weight"), &[width, width], Kind::F16, 1.0);
            for norm in ["attention.q_norm.weight", "attention.k_norm.weight"] {
                out.vector(name(norm), HEAD, Kind::F32, 1.0);
            }
            out.weight(name("feed_forward.w1.weight"), &[hidden, width], Kind::F16, 1.0);
            out.weight(name("feed_forward.w2.weight"), &[width, hidden], Kind::F16, 1.0);
            out.weight(name("feed_forward.w3.weight"), &[hidden, width], Kind::F16, 1.0);
            for norm in ["attention_norm1", "attention_norm2", "ffn_norm1", "ffn_norm2"] {
                out.vector(name(&format!("{norm}.weight")), width, Kind::F32, 1.0);
            }
            if group != "context_refiner" {
                linear(&mut out, &name("adaLN_modulation.0"), 4 * width, MODULATION, Kind::F16);
            }
        }
    }
    linear(&mut out, "final_layer.linear", PATCH, width, Kind::F32);
    linear(&mut out, "final_layer.adaLN_modulation.1", width, MODULATION, Kind::F16);
    out
}

pub(crate) fn encoder_tensors(options: &Options) -> Tensors {
    let width = options.encoder_width;
    let inner = 4 * width;
    let mut out = Tensors::default();
    out.push("model.embed_tokens.weight", &[options.vocabulary, width], Kind::F16, Init::Normal(1.0));
    for layer in 0..options.encoder_layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        out.weight(name("self_attn.q_proj"), &[32 * HEAD, width], Kind::F16, 1.0);
        out.weight(name("self_attn.k_proj"), &[8 * HEAD, width], Kind::F16, 1.0);
        out.weight(name("self_attn.v_proj"), &[8 * HEAD, width], Kind::F16, 1.0);
        out.weight(name("self_attn.o_proj"), &[width, 32 * HEAD], Kind::F16, 1.0);
        out.vector(name("self_attn.q_norm"), HEAD, Kind::F32, 1.0);
        out.vector(name("self_attn.k_norm"), HEAD, Kind::F32, 1.0);
        out.weight(name("mlp.gate_proj"), &[inner, width], Kind::F16, 1.0);
        out.weight(name("mlp.up_proj"), &[inner, width], Kind::F16, 1.0);
        out.weight(name("mlp.down_proj"), &[width, inner], Kind::F16, 1.0);
        out.vector(name("input_layernorm"), width, Kind::F32, 1.0);
        out.vector(name("post_attention_layernorm"), width, Kind::F32, 1.0);
    }
    out.vector("model.norm.weight", width, Kind::F32, 1.0);
    out
}

/// A tiny autoencoder for latents of this many channels.
pub(crate) fn autoencoder_tensors(latent: usize) -> Tensors {
    let mut out = Tensors::default();
    let conv = |out: &mut Tensors, name: String, outputs: usize, inputs: usize, gain: f32, bias: Option<f32>| {
        out.weight(format!("{name}.weight"), &[outputs, inputs, 3, 3], Kind::F16, gain);
        if let Some(bias) = bias {
            out.vector(format!("{name}.bias"), outputs, Kind::F32, bias);
        }
    };
    let half = |out: &mut Tensors, half: &str, blocks: &[usize], resizes: &[usize]| {
        for block in blocks {
            for step in [0, 2, 4] {
                conv(out, format!("{half}.layers.{block}.conv.{step}"), CHANNELS, CHANNELS, 1.0, Some(0.0));
            }
        }
        for resize in resizes {
            conv(out, format!("{half}.layers.{resize}"), CHANNELS, CHANNELS, 1.0, None);
        }
    };
    conv(&mut out, "encoder.layers.0".into(), CHANNELS, 3, 1.0, Some(0.0));
    half(&mut out, "encoder", &[1, 3, 4, 5, 7, 8, 9, 11, 12, 13], &[2, 6, 10]);
    conv(&mut out, "encoder.layers.14".into(), latent, CHANNELS, 1.0, Some(0.0));
    conv(&mut out, "decoder.layers.0".into(), CHANNELS, latent, 1.0, Some(0.0));
    half(&mut out, "decoder", &[2, 3, 4, 7, 8, 9, 12, 13, 14, 17], &[6, 11, 16]);
    // Half grey, with a contrast that leaves most values between black and white.
    conv(&mut out, "decoder.layers.18".into(), 3, CHANNELS, 0.8, Some(0.5));
    out
}

pub(crate) fn quantise(tensors: &mut Tensors) {
    for tensor in &mut tensors.0 {
        if tensor.kind == Kind::F16 && tensor.shape.last().is_some_and(|columns| columns % 32 == 0) {
            tensor.kind = Kind::Q8;
        }
    }
}

/// Name of a text encoder's tensor in GGUF files, which is llama.cpp's.
pub(crate) fn llama_name(name: &str) -> String {
    const PARTS: [(&str, &str); 14] = [
        ("model.embed_tokens.", "token_embd."),
        ("model.layers.", "blk."),
        ("model.norm.", "output_norm."),
        ("self_attn.q_proj.", "attn_q."),
        ("self_attn.k_proj.", "attn_k."),
        ("self_attn.v_proj.", "attn_v."),
        ("self_attn.o_proj.", "attn_output."),
        ("self_attn.q_norm.", "attn_q_norm."),
        ("self_attn.k_norm.", "attn_k_norm."),
        ("mlp.gate_proj.", "ffn_gate."),
        ("mlp.up_proj.", "ffn_up."),
        ("mlp.down_proj.", "ffn_down."),
        ("input_layernorm.", "attn_norm."),
        ("post_attention_layernorm.", "ffn_norm."),
    ];
    PARTS.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn read(path: &Path) -> Vec<u8> {
        fs::read(path).unwrap()
    }

    fn all(files: &TinyFiles) -> [Vec<u8>; 3] {
        [read(&files.diffusion), read(&files.llm), read(&files.taesd)]
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        for format in [Format::Safetensors, Format::Gguf, Format::GgufQ8] {
            let dir = tempfile::tempdir().unwrap();
            let options = Options { format, ..Options::default() };
            let first = all(&zimage(dir.path(), &options).unwrap());
            let again = all(&zimage(dir.path(), &options).unwrap());
            let other = all(&zimage(dir.path(), &Options { seed: 2, ..options }).unwrap());
            assert_eq!(first, again);
            for (one, two) in first.iter().zip(&other) {
                assert_eq!(one.len(), two.len());
                assert_ne!(one, two);
            }
        }
    }

    #[test]
    fn the_safetensors_crate_reads_every_file_back_with_the_shapes_that_the_engine_needs() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { encoder_layers: 1, encoder_width: 64, ..Options::default() };
        let files = zimage(dir.path(), &options).unwrap();
        let shapes = |path: &Path| -> BTreeMap<String, Vec<usize>> {
            let bytes = read(path);
            let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            file.tensors().into_iter().map(|(name, view)| (name, view.shape().to_vec())).collect()
        };
        let dit = shapes(&files.diffusion);
        assert_eq!(dit["layers.1.attention.qkv.weight"], [768, 256]);
        assert_eq!(dit["layers.0.feed_forward.w2.weight"], [256, 768]);
        assert_eq!(dit["cap_embedder.1.weight"], [256, 64]);
        assert!(!dit.contains_key("context_refiner.0.adaLN_modulation.0.weight"));
        let llm = shapes(&files.llm);
        assert_eq!(llm["model.embed_tokens.weight"], [151_936, 64]);
        assert_eq!(llm["model.layers.0.self_attn.q_proj.weight"], [4096, 64]);
        let taesd = shapes(&files.taesd);
        assert_eq!(taesd["encoder.layers.14.weight"], [16, 64, 3, 3]);
        assert_eq!(taesd["decoder.layers.0.weight"], [64, 16, 3, 3]);
        assert_eq!(shapes(&upscaler(dir.path(), 2, 1).unwrap())["body.0.rdb3.conv5.weight"], [64, 192, 3, 3]);
        assert_eq!(shapes(&lora(dir.path(), &options).unwrap())["diffusion_model.layers.0.attention.to_k.lora_B.weight"], [256, 4]);
        assert_eq!(shapes(&unmatched_lora(dir.path()).unwrap()).len(), 12);
    }

    #[test]
    fn the_weights_are_scaled_by_their_inputs() {
        let dir = tempfile::tempdir().unwrap();
        let files = zimage(dir.path(), &Options::default()).unwrap();
        let bytes = read(&files.diffusion);
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let view = file.tensor("layers.0.feed_forward.w2.weight").unwrap();
        let values: Vec<f32> = view.data().chunks_exact(2).map(|it| half::f16::from_le_bytes([it[0], it[1]]).to_f32()).collect();
        let deviation = (values.iter().map(|it| it * it).sum::<f32>() / values.len() as f32).sqrt();
        assert!((deviation * 768f32.sqrt() - 1.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn a_gguf_file_is_as_long_as_its_tensors_say() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { format: Format::GgufQ8, encoder_width: 64, ..Options::default() };
        let files = zimage(dir.path(), &options).unwrap();
        let bytes = read(&files.llm);
        assert_eq!(&bytes[..8], b"GGUF\x03\0\0\0");
        let mut tensors = encoder_tensors(&options);
        quantise(&mut tensors);
        let data: usize = tensors.0.iter().map(|it| it.bytes(1).len().next_multiple_of(32)).sum();
        assert_eq!(tensors.0[0].byte_len(), 151_936 * 64 / 32 * 34);
        assert_eq!((bytes.len() - data) % 32, 0);
        assert!(bytes.len() - data < 1024);
    }
}
