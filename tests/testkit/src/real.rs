//! Models of real size, for benchmarks and readers of headers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::tensor::{Init, Kind, Tensors, write_safetensors};

/// Extent of a real-sized file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Header and weights.
    Whole,
    /// Header only; the rest is a hole in a sparse file.
    HeaderOnly,
}

/// Width of the UNet's first blocks.
const BASE: usize = 320;
/// Width of the text encoder.
pub(crate) const TEXT: usize = 768;
/// Width of the VAE's first blocks.
const VAE: usize = 128;

/// Writes a whole SD1.5 checkpoint in F16 with random weights, 2.1 GB, in the names of
/// v1-5-pruned-emaonly. At most one tensor (76 MB) is in memory at a time.
pub fn sd15(path: &Path, seed: u64, contents: Contents) -> io::Result<()> {
    write_safetensors(path, &sd15_tensors(), seed, contents == Contents::Whole)
}

/// Path of an SD1.5 checkpoint in this folder; written at the first call, which takes a minute.
pub fn sd15_cached(dir: &Path) -> io::Result<PathBuf> {
    let path = dir.join("sd15-random-f16.safetensors");
    if !path.exists() {
        eprintln!("making a random SD1.5 of 2 GB ...");
        // Renamed when complete: an interrupted run leaves no model.
        let partial = dir.join("sd15-random-f16.begun");
        sd15(&partial, 1, Contents::Whole)?;
        fs::rename(&partial, &path)?;
    }
    Ok(path)
}

pub(crate) fn sd15_tensors() -> Tensors {
    let mut model = Model::default();
    model.unet(&Unet::SD15);
    model.text_encoder("cond_stage_model.transformer.text_model");
    model.vae("first_stage_model.", 4, true);
    model.0
}

/// The shape of a UNet.
pub(crate) struct Unet {
    /// Width of the first blocks.
    pub(crate) base: usize,
    /// Widths of the levels, as multiples of the base.
    pub(crate) multiples: &'static [usize],
    /// Transformer blocks at each level.
    pub(crate) depths: &'static [usize],
    /// Transformer blocks in the middle.
    pub(crate) middle: usize,
    /// Width of the text's encoding.
    pub(crate) context: usize,
    /// Width of the pooled conditioning; 0: none.
    pub(crate) label: usize,
    /// Input and output projections of transformers are matrices instead of convolutions.
    pub(crate) linear: bool,
}

impl Unet {
    /// Width of the time embedding.
    const fn time(&self) -> usize {
        4 * self.base
    }

    pub(crate) const SD15: Self =
        Self { base: BASE, multiples: &[1, 2, 4, 4], depths: &[1, 1, 1, 0], middle: 1, context: TEXT, label: 0, linear: false };
    pub(crate) const SDXL: Self =
        Self { base: BASE, multiples: &[1, 2, 4], depths: &[0, 2, 10], middle: 10, context: 2048, label: 2816, linear: true };
}

#[derive(Default)]
pub(crate) struct Model(pub(crate) Tensors);

impl Model {
    pub(crate) fn linear(&mut self, name: &str, outputs: usize, inputs: usize, gain: f32) {
        self.0.weight(format!("{name}.weight"), &[outputs, inputs], Kind::F16, gain);
        self.0.vector(format!("{name}.bias"), outputs, Kind::F16, 0.0);
    }

    pub(crate) fn conv(&mut self, name: &str, outputs: usize, inputs: usize, kernel: usize, gain: f32) {
        self.0.weight(format!("{name}.weight"), &[outputs, inputs, kernel, kernel], Kind::F16, gain);
        self.0.vector(format!("{name}.bias"), outputs, Kind::F16, 0.0);
    }

    pub(crate) fn norm(&mut self, name: &str, width: usize) {
        self.0.vector(format!("{name}.weight"), width, Kind::F16, 1.0);
        self.0.vector(format!("{name}.bias"), width, Kind::F16, 0.0);
    }

    pub(crate) fn unet(&mut self, shape: &Unet) {
        let unet = "model.diffusion_model";
        self.linear(&format!("{unet}.time_embed.0"), shape.time(), shape.base, 1.0);
        self.linear(&format!("{unet}.time_embed.2"), shape.time(), shape.time(), 1.0);
        if shape.label > 0 {
            self.linear(&format!("{unet}.label_emb.0.0"), shape.time(), shape.label, 1.0);
            self.linear(&format!("{unet}.label_emb.0.2"), shape.time(), shape.time(), 1.0);
        }
        let (mut width, mut skips) = self.unet_inputs(unet, shape);
        let levels = shape.multiples.iter().zip(shape.depths);
        self.residual(&format!("{unet}.middle_block.0"), width, width, shape);
        self.transformer(&format!("{unet}.middle_block.1"), width, shape.middle, shape);
        self.residual(&format!("{unet}.middle_block.2"), width, width, shape);
        let mut block = 0;
        for (level, (multiple, depth)) in levels.enumerate().rev() {
            for repeat in 0..3 {
                let skip = skips.pop().unwrap_or(shape.base);
                self.residual(&format!("{unet}.output_blocks.{block}.0"), width + skip, multiple * shape.base, shape);
                width = multiple * shape.base;
                self.transformer(&format!("{unet}.output_blocks.{block}.1"), width, *depth, shape);
                if level > 0 && repeat == 2 {
                    let place = if *depth > 0 { 2 } else { 1 };
                    self.conv(&format!("{unet}.output_blocks.{block}.{place}.conv"), width, width, 3, 1.0);
                }
                block += 1;
            }
        }
        self.norm(&format!("{unet}.out.0"), shape.base);
        self.conv(&format!("{unet}.out.2"), 4, shape.base, 3, 1.0);
    }

    /// The blocks of a UNet before its middle; returns the width there and those of its skip
    /// connections.
    fn unet_inputs(&mut self, unet: &str, shape: &Unet) -> (usize, Vec<usize>) {
        self.conv(&format!("{unet}.input_blocks.0.0"), shape.base, 4, 3, 1.0);
        let last = shape.multiples.len() - 1;
        let (mut width, mut block) = (shape.base, 0);
        let mut skips = vec![shape.base];
        for (level, (multiple, depth)) in shape.multiples.iter().zip(shape.depths).enumerate() {
            for _ in 0..2 {
                block += 1;
                self.residual(&format!("{unet}.input_blocks.{block}.0"), width, multiple * shape.base, shape);
                width = multiple * shape.base;
                self.transformer(&format!("{unet}.input_blocks.{block}.1"), width, *depth, shape);
                skips.push(width);
            }
            if level < last {
                block += 1;
                self.conv(&format!("{unet}.input_blocks.{block}.0.op"), width, width, 3, 1.0);
                skips.push(width);
            }
        }
        (width, skips)
    }

    /// A `ControlNet` for such a UNet: its first half, a picture's way in, and a convolution to
    /// each skip connection.
    pub(crate) fn controlnet(&mut self, shape: &Unet) {
        const HINT: [(usize, usize); 8] = [(0, 16), (2, 16), (4, 32), (6, 32), (8, 96), (10, 96), (12, 256), (14, 0)];
        let net = "control_model";
        self.linear(&format!("{net}.time_embed.0"), shape.time(), shape.base, 1.0);
        self.linear(&format!("{net}.time_embed.2"), shape.time(), shape.time(), 1.0);
        if shape.label > 0 {
            self.linear(&format!("{net}.label_emb.0.0"), shape.time(), shape.label, 1.0);
            self.linear(&format!("{net}.label_emb.0.2"), shape.time(), shape.time(), 1.0);
        }
        let mut inputs = 3;
        for (number, outputs) in HINT {
            let outputs = if outputs == 0 { shape.base } else { outputs };
            self.conv(&format!("{net}.input_hint_block.{number}"), outputs, inputs, 3, 1.0);
            inputs = outputs;
        }
        let (width, skips) = self.unet_inputs(net, shape);
        for (number, width) in skips.into_iter().enumerate() {
            self.conv(&format!("{net}.zero_convs.{number}.0"), width, width, 1, 1.0);
        }
        self.residual(&format!("{net}.middle_block.0"), width, width, shape);
        self.transformer(&format!("{net}.middle_block.1"), width, shape.middle, shape);
        self.residual(&format!("{net}.middle_block.2"), width, width, shape);
        self.conv(&format!("{net}.middle_block_out.0"), width, width, 1, 1.0);
    }

    fn residual(&mut self, name: &str, inputs: usize, outputs: usize, shape: &Unet) {
        self.norm(&format!("{name}.in_layers.0"), inputs);
        self.conv(&format!("{name}.in_layers.2"), outputs, inputs, 3, 1.0);
        self.linear(&format!("{name}.emb_layers.1"), outputs, shape.time(), 1.0);
        self.norm(&format!("{name}.out_layers.0"), outputs);
        self.conv(&format!("{name}.out_layers.3"), outputs, outputs, 3, 1.0);
        if inputs != outputs {
            self.conv(&format!("{name}.skip_connection"), outputs, inputs, 1, 1.0);
        }
    }

    fn transformer(&mut self, name: &str, width: usize, depth: usize, shape: &Unet) {
        if depth == 0 {
            return;
        }
        let way = |model: &mut Self, part: &str| {
            let name = format!("{name}.{part}");
            if shape.linear { model.linear(&name, width, width, 1.0) } else { model.conv(&name, width, width, 1, 1.0) }
        };
        self.norm(&format!("{name}.norm"), width);
        way(self, "proj_in");
        for block in 0..depth {
            let block = format!("{name}.transformer_blocks.{block}");
            for (attention, context) in [("attn1", width), ("attn2", shape.context)] {
                for (part, inputs) in [("to_q", width), ("to_k", context), ("to_v", context)] {
                    self.0.weight(format!("{block}.{attention}.{part}.weight"), &[width, inputs], Kind::F16, 1.0);
                }
                self.linear(&format!("{block}.{attention}.to_out.0"), width, width, 1.0);
            }
            self.linear(&format!("{block}.ff.net.0.proj"), 8 * width, width, 1.0);
            self.linear(&format!("{block}.ff.net.2"), width, 4 * width, 1.0);
            for norm in ["norm1", "norm2", "norm3"] {
                self.norm(&format!("{block}.{norm}"), width);
            }
        }
        way(self, "proj_out");
    }

    /// CLIP's vision encoder of the size L/14, in the names of the engine.
    pub(crate) fn clip_vision(&mut self, vision: &str) {
        const WIDTH: usize = 1024;
        self.0.weight(format!("{vision}.embeddings.patch_embedding.weight"), &[WIDTH, 3, 14, 14], Kind::F16, 1.0);
        self.0.vector(format!("{vision}.embeddings.class_embedding"), WIDTH, Kind::F16, 0.0);
        self.0.push(format!("{vision}.embeddings.position_embedding.weight"), &[257, WIDTH], Kind::F16, Init::Normal(0.1));
        self.norm(&format!("{vision}.pre_layernorm"), WIDTH);
        for layer in 0..24 {
            self.clip_layer(&format!("{vision}.encoder.layers.{layer}"), WIDTH);
        }
        self.norm(&format!("{vision}.post_layernorm"), WIDTH);
    }

    /// The identity encoder of a `PhotoMaker`, and the beginning of its LoRA for a UNet that is so
    /// wide in its second level.
    pub(crate) fn photomaker(&mut self, lora_width: Option<usize>) {
        const VISION: usize = 1024;
        const FIRST: usize = 768;
        const SECOND: usize = 1280;
        self.clip_vision("vision_model");
        self.0.weight("visual_projection.weight", &[FIRST, VISION], Kind::F16, 1.0);
        self.0.weight("visual_projection_2.weight", &[SECOND, VISION], Kind::F16, 1.0);
        let width = FIRST + SECOND;
        for (mlp, inputs) in [("mlp1", 2 * width), ("mlp2", width)] {
            self.linear(&format!("fuse_module.{mlp}.fc1"), width, inputs, 1.0);
            self.linear(&format!("fuse_module.{mlp}.fc2"), width, width, 1.0);
            self.norm(&format!("fuse_module.{mlp}.layernorm"), inputs);
        }
        self.norm("fuse_module.layer_norm", width);
        let Some(level) = lora_width else { return };
        let query = "unet.down_blocks.1.attentions.0.transformer_blocks.0.attn1.processor.to_q_lora";
        self.0.weight(format!("{query}.down.weight"), &[4, level], Kind::F16, 1.0);
        self.0.weight(format!("{query}.up.weight"), &[level, 4], Kind::F16, 1.0);
    }

    pub(crate) fn text_encoder(&mut self, text: &str) {
        self.clip(text, TEXT, 12);
    }

    /// A text encoder of the CLIP family.
    pub(crate) fn clip(&mut self, text: &str, width: usize, layers: usize) {
        self.0.push(format!("{text}.embeddings.token_embedding.weight"), &[49_408, width], Kind::F16, Init::Normal(1.0));
        self.0.push(format!("{text}.embeddings.position_embedding.weight"), &[77, width], Kind::F16, Init::Normal(0.1));
        for layer in 0..layers {
            self.clip_layer(&format!("{text}.encoder.layers.{layer}"), width);
        }
        self.norm(&format!("{text}.final_layer_norm"), width);
    }

    fn clip_layer(&mut self, layer: &str, width: usize) {
        for part in ["q_proj", "k_proj", "v_proj", "out_proj"] {
            self.linear(&format!("{layer}.self_attn.{part}"), width, width, 1.0);
        }
        self.norm(&format!("{layer}.layer_norm1"), width);
        self.linear(&format!("{layer}.mlp.fc1"), 4 * width, width, 1.0);
        self.linear(&format!("{layer}.mlp.fc2"), width, 4 * width, 1.0);
        self.norm(&format!("{layer}.layer_norm2"), width);
    }

    /// CLIP-G, in the names of SDXL.
    pub(crate) fn clip_g(&mut self) {
        const BIG: usize = 1280;
        let big = "conditioner.embedders.1.model";
        self.0.weight(format!("{big}.token_embedding.weight"), &[49_408, BIG], Kind::F16, 1.0);
        self.0.weight(format!("{big}.positional_embedding"), &[77, BIG], Kind::F16, 1.0);
        self.0.weight(format!("{big}.text_projection"), &[BIG, BIG], Kind::F16, 1.0);
        self.norm(&format!("{big}.ln_final"), BIG);
        for layer in 0..32 {
            let layer = format!("{big}.transformer.resblocks.{layer}");
            self.0.weight(format!("{layer}.attn.in_proj_weight"), &[3 * BIG, BIG], Kind::F16, 1.0);
            self.0.vector(format!("{layer}.attn.in_proj_bias"), 3 * BIG, Kind::F16, 0.0);
            self.linear(&format!("{layer}.attn.out_proj"), BIG, BIG, 1.0);
            self.linear(&format!("{layer}.mlp.c_fc"), 4 * BIG, BIG, 1.0);
            self.linear(&format!("{layer}.mlp.c_proj"), BIG, 4 * BIG, 1.0);
            self.norm(&format!("{layer}.ln_1"), BIG);
            self.norm(&format!("{layer}.ln_2"), BIG);
        }
    }

    /// `channels` of the latents; `quantised`: with `quant_conv` and `post_quant_conv`, as in older
    /// ones.
    pub(crate) fn vae(&mut self, prefix: &str, channels: usize, quantised: bool) {
        self.vae_with_decoder(prefix, channels, quantised, VAE);
    }

    /// As [`Self::vae`], with a decoder that begins as wide as `base`.
    pub(crate) fn vae_with_decoder(&mut self, prefix: &str, channels: usize, quantised: bool, base: usize) {
        let multiples = [1, 2, 4, 4];
        let last = 4 * VAE;
        let encoder = &format!("{prefix}encoder");
        self.conv(&format!("{encoder}.conv_in"), VAE, 3, 3, 1.0);
        let mut width = VAE;
        for (level, multiple) in multiples.iter().enumerate() {
            for block in 0..2 {
                self.vae_residual(&format!("{encoder}.down.{level}.block.{block}"), width, multiple * VAE);
                width = multiple * VAE;
            }
            if level < 3 {
                self.conv(&format!("{encoder}.down.{level}.downsample.conv"), width, width, 3, 1.0);
            }
        }
        self.vae_middle(encoder, last);
        self.norm(&format!("{encoder}.norm_out"), last);
        self.conv(&format!("{encoder}.conv_out"), 2 * channels, last, 3, 1.0);
        if quantised {
            self.conv(&format!("{prefix}quant_conv"), 2 * channels, 2 * channels, 1, 1.0);
            self.conv(&format!("{prefix}post_quant_conv"), channels, channels, 1, 1.0);
        }

        let decoder = &format!("{prefix}decoder");
        let last = 4 * base;
        self.conv(&format!("{decoder}.conv_in"), last, channels, 3, 1.0);
        self.vae_middle(decoder, last);
        let mut width = last;
        for (level, multiple) in multiples.iter().enumerate().rev() {
            for block in 0..3 {
                self.vae_residual(&format!("{decoder}.up.{level}.block.{block}"), width, multiple * base);
                width = multiple * base;
            }
            if level > 0 {
                self.conv(&format!("{decoder}.up.{level}.upsample.conv"), width, width, 3, 1.0);
            }
        }
        self.norm(&format!("{decoder}.norm_out"), base);
        // The last activation has about half the variance of a normal number; the picture's range
        // is -1 to 1.
        self.conv(&format!("{decoder}.conv_out"), 3, base, 3, 0.7);
    }

    fn vae_residual(&mut self, name: &str, inputs: usize, outputs: usize) {
        self.norm(&format!("{name}.norm1"), inputs);
        self.conv(&format!("{name}.conv1"), outputs, inputs, 3, 1.0);
        self.norm(&format!("{name}.norm2"), outputs);
        self.conv(&format!("{name}.conv2"), outputs, outputs, 3, 1.0);
        if inputs != outputs {
            self.conv(&format!("{name}.nin_shortcut"), outputs, inputs, 1, 1.0);
        }
    }

    fn vae_middle(&mut self, half: &str, width: usize) {
        self.vae_residual(&format!("{half}.mid.block_1"), width, width);
        self.norm(&format!("{half}.mid.attn_1.norm"), width);
        for part in ["q", "k", "v", "proj_out"] {
            self.conv(&format!("{half}.mid.attn_1.{part}"), width, width, 1, 1.0);
        }
        self.vae_residual(&format!("{half}.mid.block_2"), width, width);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    fn parameters(prefix: &str) -> usize {
        sd15_tensors().0.iter().filter(|it| it.name.starts_with(prefix)).map(crate::tensor::Tensor::elements).sum()
    }

    #[test]
    fn the_parts_of_sd15_have_as_many_parameters_as_the_real_ones() {
        assert_eq!(parameters("model.diffusion_model."), 859_520_964);
        assert_eq!(parameters("cond_stage_model."), 123_060_480);
        assert_eq!(parameters("first_stage_model."), 83_653_863);
    }

    #[test]
    fn a_header_without_contents_describes_the_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sd15.safetensors");
        sd15(&path, 1, Contents::HeaderOnly).unwrap();
        let mut file = File::open(&path).unwrap();
        let mut length = [0; 8];
        file.read_exact(&mut length).unwrap();
        let mut header = vec![0; u64::from_le_bytes(length) as usize];
        file.read_exact(&mut header).unwrap();
        let metadata: safetensors::tensor::Metadata = serde_json::from_slice(&header).unwrap();
        let data: usize = sd15_tensors().0.iter().map(crate::tensor::Tensor::byte_len).sum();
        assert_eq!(metadata.tensors().len(), sd15_tensors().0.len());
        assert_eq!(metadata.data_len(), data);
        assert_eq!(fs::metadata(&path).unwrap().len(), (8 + header.len() + data) as u64);
    }
}
