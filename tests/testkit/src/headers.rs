//! Large models of several families: whole, or with headers alone (sparse files of full length).

use std::io;
use std::path::{Path, PathBuf};

use crate::real::{Contents, Model, TEXT, Unet};
use crate::tensor::{Kind, Tensors, write_safetensors};
use crate::tiny::{Options, diffusion_tensors, encoder_tensors};

/// Files of a model that is not one checkpoint.
#[derive(Clone, Debug)]
pub struct Parts {
    pub diffusion: PathBuf,
    /// The large text encoder: T5-XXL, or a language model.
    pub text: PathBuf,
    /// CLIP-L, if the family has it.
    pub clip_l: Option<PathBuf>,
    pub vae: PathBuf,
}

/// The header of SDXL in one file of F16: the UNet, CLIP-L, CLIP-G and the VAE, 6.9 GB.
pub fn sdxl(path: &Path) -> io::Result<()> {
    sdxl_with(path, Contents::HeaderOnly)
}

/// SDXL in one file of F16, with random weights if wanted.
pub fn sdxl_with(path: &Path, contents: Contents) -> io::Result<()> {
    let mut model = Model::default();
    model.unet(&Unet::SDXL);
    model.text_encoder("conditioner.embedders.0.transformer.text_model");
    model.clip_g();
    model.vae("first_stage_model.", 4, true);
    write(path, &model.0, contents)
}

/// The headers of Flux.1-dev with T5-XXL, in F16, 33 GB.
pub fn flux_dev(dir: &Path) -> io::Result<Parts> {
    flux_dev_with(dir, Contents::HeaderOnly)
}

/// Flux.1-dev with T5-XXL, with random weights if wanted.
pub fn flux_dev_with(dir: &Path, contents: Contents) -> io::Result<Parts> {
    const WIDTH: usize = 3072;
    const TEXT_WIDTH: usize = 4096;
    const HIDDEN: usize = 10_240;
    let it = flux(WIDTH, 64, 19, 38);
    let mut t5 = Tensors::default();
    t5.weight("shared.weight", &[32_128, TEXT_WIDTH], Kind::F16, 1.0);
    for block in 0..24 {
        let block = format!("encoder.block.{block}");
        for part in ["q", "k", "v", "o"] {
            t5.weight(format!("{block}.layer.0.SelfAttention.{part}.weight"), &[TEXT_WIDTH, TEXT_WIDTH], Kind::F16, 1.0);
        }
        t5.vector(format!("{block}.layer.0.layer_norm.weight"), TEXT_WIDTH, Kind::F16, 1.0);
        t5.vector(format!("{block}.layer.1.layer_norm.weight"), TEXT_WIDTH, Kind::F16, 1.0);
        for part in ["wi_0", "wi_1"] {
            t5.weight(format!("{block}.layer.1.DenseReluDense.{part}.weight"), &[HIDDEN, TEXT_WIDTH], Kind::F16, 1.0);
        }
        t5.weight(format!("{block}.layer.1.DenseReluDense.wo.weight"), &[TEXT_WIDTH, HIDDEN], Kind::F16, 1.0);
    }
    t5.weight("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", &[32, 64], Kind::F16, 1.0);
    t5.vector("encoder.final_layer_norm.weight", TEXT_WIDTH, Kind::F16, 1.0);

    let mut clip = Model::default();
    clip.text_encoder("text_model");
    Ok(Parts {
        diffusion: part(dir, "flux1-dev", &it.0, contents)?,
        text: part(dir, "t5xxl", &t5, contents)?,
        clip_l: Some(part(dir, "clip_l", &clip.0, contents)?),
        vae: part(dir, "ae", &vae(), contents)?,
    })
}

/// Flux of this width, with so many numbers of a patch and blocks of both kinds.
pub(crate) fn flux(width: usize, inputs: usize, double_blocks: usize, single_blocks: usize) -> Model {
    let mut it = Model::default();
    it.linear("img_in", width, inputs, 1.0);
    it.linear("txt_in", width, 4096, 1.0);
    for (part, inputs) in [("time_in", 256), ("guidance_in", 256), ("vector_in", TEXT)] {
        it.linear(&format!("{part}.in_layer"), width, inputs, 1.0);
        it.linear(&format!("{part}.out_layer"), width, width, 1.0);
    }
    for block in 0..double_blocks {
        for half in ["img", "txt"] {
            let name = format!("double_blocks.{block}.{half}");
            it.linear(&format!("{name}_mod.lin"), 6 * width, width, 1.0);
            it.linear(&format!("{name}_attn.qkv"), 3 * width, width, 1.0);
            it.linear(&format!("{name}_attn.proj"), width, width, 1.0);
            it.linear(&format!("{name}_mlp.0"), 4 * width, width, 1.0);
            it.linear(&format!("{name}_mlp.2"), width, 4 * width, 1.0);
            for norm in ["query_norm", "key_norm"] {
                it.0.vector(format!("{name}_attn.norm.{norm}.scale"), 128, Kind::F16, 1.0);
            }
        }
    }
    for block in 0..single_blocks {
        let name = format!("single_blocks.{block}");
        it.linear(&format!("{name}.modulation.lin"), 3 * width, width, 1.0);
        it.linear(&format!("{name}.linear1"), 7 * width, width, 1.0);
        it.linear(&format!("{name}.linear2"), width, 5 * width, 1.0);
        for norm in ["query_norm", "key_norm"] {
            it.0.vector(format!("{name}.norm.{norm}.scale"), 128, Kind::F16, 1.0);
        }
    }
    it.linear("final_layer.linear", 64, width, 1.0);
    it.linear("final_layer.adaLN_modulation.1", 2 * width, width, 1.0);
    it
}

/// The headers of Z-Image with Qwen3-4B, in F16, 21 GB.
pub fn zimage(dir: &Path) -> io::Result<Parts> {
    zimage_with(dir, Contents::HeaderOnly)
}

/// Z-Image with Qwen3-4B, with random weights if wanted.
pub fn zimage_with(dir: &Path, contents: Contents) -> io::Result<Parts> {
    let options = Options {
        width: 3840,
        layers: 30,
        refiners: 2,
        encoder_width: 2560,
        encoder_layers: 36,
        vocabulary: 151_936,
        ..Options::default()
    };
    Ok(Parts {
        diffusion: part(dir, "z_image", &diffusion_tensors(&options), contents)?,
        text: part(dir, "qwen3_4b", &encoder_tensors(&options), contents)?,
        clip_l: None,
        vae: part(dir, "ae", &vae(), contents)?,
    })
}

fn vae() -> Tensors {
    let mut model = Model::default();
    model.vae("", 16, false);
    model.0
}

fn part(dir: &Path, name: &str, tensors: &Tensors, contents: Contents) -> io::Result<PathBuf> {
    let path = dir.join(format!("{name}.safetensors"));
    write(&path, tensors, contents)?;
    Ok(path)
}

fn write(path: &Path, tensors: &Tensors, contents: Contents) -> io::Result<()> {
    write_safetensors(path, tensors, 0, contents == Contents::Whole)
}
