//! Identification of a model file by its header: by the names and shapes of its tensors, by the
//! rules of the engine.
//!
//! File names and metadata are not believed, save where two language models differ in nothing else.
//! Pure: no files are read here.

use std::collections::{BTreeMap, HashMap};

use super::adapter_endings::is_of_adapter;
use super::container::TensorInfo;
use super::family::Family;
use super::header::Header;
use atelier_core::recipe::FileRole;
use atelier_language::{english, tr};

mod words;

use words::{CONTROL, EDIT, INPAINTING};
pub(crate) use words::{DETECTOR_OF, kind_words};

/// Kind of a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// Its role; `None` for LoRAs and unknown files.
    pub role: Option<FileRole>,
    /// The family, where the file alone tells.
    pub family: Option<Family>,
    /// Its name in English, without an article: `Qwen3-4B text encoder`.
    pub name: String,
    /// Number of values in all tensors.
    pub parameters: u64,
    /// The number type that most of its bytes have: `F16`, `Q4_K`.
    pub quantisation: String,
    /// True for low-rank adapters.
    pub is_lora: bool,
    /// True for a diffusion module that looks at reference pictures.
    pub looks_at_references: bool,
    /// True for a diffusion module that is given its start picture beside the noise: for inpainting or
    /// edits.
    pub sees_start_picture: bool,
    /// True for a diffusion module that is given a control picture without a `ControlNet`.
    pub reads_control: bool,
    /// True for a `PhotoMaker` v2, which reads features of faces beside pictures.
    pub reads_faces: bool,
    /// The modules in it, by the roles that files of them alone would have.
    pub contains: Vec<FileRole>,
    /// Width of a text encoder.
    pub text_width: Option<u64>,
    /// Rows of a text encoder's table of tokens.
    pub vocabulary: Option<u64>,
    /// Channels of the latents that a VAE or tiny autoencoder decodes.
    pub latent_channels: Option<u64>,
}

impl FileKind {
    /// The name in the chosen language, with its article where that has one: `a Qwen3-4B text
    /// encoder`.
    #[must_use]
    pub fn described(&self) -> String {
        let an = ["SD", "ER", "ES", "An", "Ov", "Id", "LT", "up", "un"].iter().any(|it| self.name.starts_with(it));
        let name = kind_words(&self.name);
        if an { tr!("library-an-kind", name) } else { tr!("library-a-kind", name) }
    }
}

/// Prefix of the diffusion module's tensors in a whole model.
pub(crate) const DIFFUSION_PREFIX: &str = "model.diffusion_model.";
/// All prefixes that its tensors have in files, of themselves alone too.
pub(crate) const DIFFUSION_PREFIXES: [&str; 4] = [DIFFUSION_PREFIX, "unet.", "diffusion_model.", "transformer."];

/// Prefixes of the VAE's tensors in a whole model.
pub(crate) const VAE_PREFIXES: [&str; 2] = ["first_stage_model.", "vae."];

/// The name within its module of a tensor of a language model that a whole model of `ComfyUI` keeps
/// under its kind, as in `text_encoders.qwen3_4b.transformer.model.norm.weight`.
pub(crate) fn in_language_model(name: &str) -> Option<&str> {
    let (_, rest) = name.strip_prefix("text_encoders.")?.split_once(".transformer.")?;
    rest.starts_with("model.").then_some(rest)
}

/// Part of the names of tensors that `PhotoMaker` v2 alone has (`pmid.hpp` of
/// stable-diffusion.cpp).
const PHOTOMAKER_V2: &str = "qformer_perceiver.";

/// Variant that fills a masked part, beside [`INPAINTING`].
const FILL: &str = " Fill";
/// Variant that fills a masked part and is given a control picture.
const FLEX_2: &str = " Flex.2";

/// Says what a file is.
#[must_use]
pub fn identify(header: &Header) -> FileKind {
    let tensors = Tensors::new(header);
    let mut kind = FileKind {
        role: None,
        family: None,
        name: english("library-kind-unknown").into(),
        parameters: header.tensors.iter().fold(0, |sum, it| sum.saturating_add(it.values())),
        quantisation: quantisation(header),
        is_lora: false,
        looks_at_references: false,
        sees_start_picture: false,
        reads_control: false,
        reads_faces: false,
        contains: Vec::new(),
        text_width: None,
        vocabulary: None,
        latent_channels: None,
    };
    // Before LoRAs: a PhotoMaker brings one along.
    if tensors.is_photomaker() {
        kind.reads_faces = tensors.any_contains(PHOTOMAKER_V2);
        kind.name = if kind.reads_faces { "PhotoMaker v2".into() } else { "PhotoMaker".into() };
        kind.role = Some(FileRole::Photomaker);
    } else if tensors.is_lora() {
        kind.is_lora = true;
        kind.family = tensors.lora_family();
        kind.name = kind.family.map_or_else(|| "LoRA".into(), |family| format!("{} LoRA", family.label()));
    } else if tensors.is_controlnet() {
        kind.family = tensors.unet_family();
        kind.name = kind.family.map_or_else(|| "ControlNet".into(), |family| format!("{} ControlNet", family.label()));
        kind.role = Some(FileRole::Controlnet);
    } else if let Some((family, variant)) = tensors.diffusion() {
        tensors.describe_diffusion(&mut kind, family, variant);
    } else if tensors.is_upscaler() {
        kind.name = english("library-kind-upscaler").into();
        kind.role = Some(FileRole::Upscaler);
    } else if !tensors.describe_text_encoder(&mut kind, header) {
        tensors.describe_autoencoder(&mut kind);
    }
    if let (Some(role), true) = (kind.role, kind.contains.is_empty()) {
        kind.contains.push(role);
    }
    kind
}

fn quantisation(header: &Header) -> String {
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in &header.tensors {
        let sum = bytes.entry(tensor.dtype.name()).or_default();
        *sum = sum.saturating_add(tensor.bytes);
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(name, _)| name.to_owned()).unwrap_or_default()
}

/// The tensors by name.
struct Tensors<'a> {
    by_name: HashMap<&'a str, &'a TensorInfo>,
}

impl<'a> Tensors<'a> {
    fn new(header: &'a Header) -> Self {
        Self { by_name: header.tensors.iter().map(|it| (it.name.as_str(), it)).collect() }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.by_name.keys().copied()
    }

    fn any_starts(&self, start: &str) -> bool {
        self.names().any(|it| it.starts_with(start))
    }

    fn any_ends(&self, end: &str) -> bool {
        self.names().any(|it| it.ends_with(end))
    }

    fn any_contains(&self, part: &str) -> bool {
        self.names().any(|it| it.contains(part))
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A dimension of a tensor, in PyTorch's order.
    fn dimension(&self, name: &str, at: usize) -> Option<u64> {
        self.by_name.get(name).and_then(|it| it.shape.get(at)).copied()
    }

    /// The tensor whose name ends so; the first by name where there are several.
    fn ending(&self, end: &str) -> Option<&'a TensorInfo> {
        self.by_name.iter().filter(|(name, _)| name.ends_with(end)).min_by_key(|(name, _)| **name).map(|(_, tensor)| *tensor)
    }

    fn is_lora(&self) -> bool {
        self.names().any(is_of_adapter)
    }

    fn lora_family(&self) -> Option<Family> {
        if self.any_contains("context_refiner") || self.any_contains("layers.0.attention.") || self.any_contains("layers_0_attention_") {
            return Some(Family::ZImage);
        }
        if ["double_blocks", "single_blocks", "single_transformer_blocks"].iter().any(|it| self.any_contains(it)) {
            return Some(Family::Flux);
        }
        let context =
            ["attn2_to_k.lora_down.weight", "attn2.to_k.lora_A.weight", "attn2.to_k.lora_down.weight", "attn2.to_k.lora.down.weight"];
        context.iter().find_map(|end| self.ending(end)).and_then(|it| unet_of_context(it.shape.get(1).copied()))
    }

    fn is_photomaker(&self) -> bool {
        self.any_contains(PHOTOMAKER_V2) || self.any_contains("fuse_module.mlp1.") || self.any_starts("pmid.")
    }

    fn is_controlnet(&self) -> bool {
        self.any_starts("control_model.") || self.has("input_hint_block.0.weight") || self.any_starts("controlnet_cond_embedding.")
    }

    fn is_upscaler(&self) -> bool {
        let modern = self.has("conv_first.weight") && self.any_starts("body.0.");
        modern || (self.has("model.0.weight") && self.any_starts("model.1.sub.0.RDB1."))
    }

    /// The diffusion module's family and variant, as the engine tells them.
    fn diffusion(&self) -> Option<(Family, &'static str)> {
        let prefix = DIFFUSION_PREFIXES.into_iter().find(|it| self.any_starts(it)).unwrap_or("");
        let has = |name: &str| self.has(&format!("{prefix}{name}"));
        let starts = |name: &str| self.any_starts(&format!("{prefix}{name}"));
        let dimension = |name: &str, at| self.dimension(&format!("{prefix}{name}"), at);

        // In the engine's order: families share names of tensors, and the first match decides.
        if has("net.lq_proj.latent_proj.0.weight") {
            return Some((Family::Pid, ""));
        }
        if self.any_contains("embed_image_indicator.weight") {
            return Some((Family::Ideogram4, ""));
        }
        if starts("nerf_final_layer_conv.") {
            return Some((Family::ChromaRadiance, ""));
        }
        let diffusers_sd3 = has("pos_embed.proj.weight") && has("transformer_blocks.0.attn.add_q_proj.weight");
        if starts("joint_blocks.") || diffusers_sd3 {
            return Some((Family::Sd3, ""));
        }
        if self.has("model.x_embedder.proj1.weight") && self.has("model.language_model.layers.0.self_attn.q_proj.weight") {
            return Some((Family::HidreamO1, ""));
        }
        if has("transformer_blocks.0.attn.norm_added_q.weight") && has("transformer_blocks.0.img_mlp.w1.weight") {
            return Some((Family::Lens, ""));
        }
        if has("transformer_blocks.0.img_mod.1.weight") {
            return Some((Family::QwenImage, ""));
        }
        if self.any_ends("llm_adapter.blocks.0.cross_attn.q_proj.weight") {
            return Some((Family::Anima, ""));
        }
        if has("double_blocks.0.img_mlp.gate_proj.weight") {
            return Some((Family::OvisImage, ""));
        }
        if has("cap_embedder.0.weight") {
            return Some((Family::ZImage, ""));
        }
        if has("layers.0.adaLN_sa_ln.weight") {
            return Some((Family::ErnieImage, ""));
        }
        if has("adaln_single.emb.timestep_embedder.linear_1.bias") {
            return Some((Family::Ltx, ""));
        }
        if has("blocks.0.cross_attn.norm_k.weight") {
            return Some((Family::Wan, ""));
        }
        if has("double_stream_modulation_img.lin.weight") {
            let large = has("single_blocks.47.linear1.weight");
            return Some((if large { Family::Flux2 } else { Family::Flux2Klein }, ""));
        }
        if starts("double_blocks.") || starts("single_transformer_blocks.") {
            let context = dimension("txt_in.weight", 1).or_else(|| dimension("context_embedder.weight", 1));
            if context == Some(3584) {
                return Some((Family::LongCat, ""));
            }
            if has("distilled_guidance_layer.in_proj.weight") {
                return Some((Family::Chroma, ""));
            }
            // Numbers of a patch of four latents: 64 of noise, 64 of a control picture, 64 of the
            // masked picture, and 4 (Flex.2) or 256 (Fill) of the mask.
            let variant = match dimension("img_in.weight", 1).or_else(|| dimension("x_embedder.weight", 1)) {
                Some(128) => CONTROL,
                Some(196) => FLEX_2,
                Some(384) => FILL,
                _ => "",
            };
            return Some((Family::Flux, variant));
        }
        let unet = has("input_blocks.0.0.weight") || (has("conv_in.weight") && starts("down_blocks."));
        if !unet {
            return None;
        }
        if has("input_blocks.8.0.time_mixer.mix_factor") {
            return Some((Family::Svd, ""));
        }
        let inputs = dimension("input_blocks.0.0.weight", 1).or_else(|| dimension("conv_in.weight", 1));
        // Latents have 4 channels; a picture to edit has 4 more, its mask another one.
        let variant = match inputs {
            Some(9) => INPAINTING,
            Some(8) => EDIT,
            _ => "",
        };
        self.unet_family().map(|family| (family, variant))
    }

    fn unet_family(&self) -> Option<Family> {
        unet_of_context(self.ending("attn2.to_k.weight").and_then(|it| it.shape.get(1)).copied())
    }

    fn describe_diffusion(&self, kind: &mut FileKind, family: Family, variant: &str) {
        const PARTS: [(&str, FileRole); 8] = [
            ("cond_stage_model.1.", FileRole::ClipG),
            ("conditioner.embedders.1.", FileRole::ClipG),
            ("text_encoders.clip_g.", FileRole::ClipG),
            ("conditioner.embedders.0.", FileRole::ClipL),
            ("text_encoders.clip_l.", FileRole::ClipL),
            ("text_encoders.t5xxl.", FileRole::T5xxl),
            ("text_encoders.llm.", FileRole::Llm),
            ("tae.", FileRole::Taesd),
        ];
        kind.family = Some(family);
        kind.looks_at_references = family.looks_at_references() || variant == EDIT;
        kind.sees_start_picture = [INPAINTING, EDIT, FILL, FLEX_2].contains(&variant);
        kind.reads_control = [CONTROL, FLEX_2].contains(&variant);
        kind.contains.push(FileRole::Diffusion);
        let clip_l = self.names().any(|it| it.starts_with("cond_stage_model.") && !it.starts_with("cond_stage_model.1."));
        // The engine takes it for one where it has this table.
        let llm = self.names().any(|it| in_language_model(it) == Some("model.embed_tokens.weight"));
        let vae = VAE_PREFIXES.iter().any(|start| self.any_starts(start));
        let parts = PARTS.iter().filter(|(start, _)| self.any_starts(start)).map(|(_, role)| *role);
        let others = [(llm, FileRole::Llm), (vae, FileRole::Vae), (clip_l, FileRole::ClipL)];
        for role in parts.chain(others.into_iter().filter_map(|(is_there, role)| is_there.then_some(role))) {
            if !kind.contains.contains(&role) {
                kind.contains.push(role);
            }
        }
        let whole = kind.contains.len() > 1 || family == Family::HidreamO1;
        kind.role = Some(if whole { FileRole::Model } else { FileRole::Diffusion });
        let what = if whole { "library-kind-full-model" } else { "library-kind-diffusion-module" };
        kind.name = format!("{}{variant} {}", family.label(), english(what));
        self.measure_text_encoder(kind);
        self.measure_autoencoder(kind);
    }

    fn measure_text_encoder(&self, kind: &mut FileKind) {
        let table = self
            .ending("embed_tokens.weight")
            .or_else(|| self.by_name.get("token_embd.weight").copied())
            .or_else(|| self.ending("shared.weight"))
            .or_else(|| self.ending("token_embedding.weight"));
        if let Some([rows, width]) = table.map(|it| it.shape.as_slice()) {
            (kind.vocabulary, kind.text_width) = (Some(*rows), Some(*width));
        }
    }

    /// Describes a text or vision encoder; false where it is none.
    fn describe_text_encoder(&self, kind: &mut FileKind, header: &Header) -> bool {
        let t5 = self.any_ends("block.0.layer.0.SelfAttention.q.weight") || self.has("enc.blk.0.attn_q.weight");
        let llm = self.any_ends("embed_tokens.weight") || self.has("token_embd.weight");
        let vision = self.any_ends("vision_model.embeddings.class_embedding") || self.any_ends("visual.class_embedding");
        let (name, role) = if t5 {
            self.measure_text_encoder(kind);
            let named = if kind.vocabulary.is_some_and(|it| it > 200_000) { "UMT5-XXL" } else { "T5-XXL" };
            let name = if kind.text_width == Some(4096) { text_encoder(named) } else { english("library-kind-small-t5").to_owned() };
            (name, FileRole::T5xxl)
        } else if llm {
            self.measure_text_encoder(kind);
            (self.language_model(kind, header), FileRole::Llm)
        } else if self.has("v.patch_embd.weight") || (self.any_starts("visual.") && self.any_contains("patch_embed")) {
            (english("library-kind-vision-half").to_owned(), FileRole::LlmVision)
        } else if self.any_ends("token_embedding.weight") {
            self.measure_text_encoder(kind);
            let (named, role) = match kind.text_width {
                Some(1280) => ("CLIP-G", FileRole::ClipG),
                Some(1024) => ("OpenCLIP-H", FileRole::ClipL),
                _ => ("CLIP-L", FileRole::ClipL),
            };
            (text_encoder(named), role)
        } else if vision {
            (english("library-kind-clip-vision").to_owned(), FileRole::ClipVision)
        } else {
            return false;
        };
        kind.name = name;
        kind.role = Some(role);
        true
    }

    /// Name of a language model, by its dimensions.
    fn language_model(&self, kind: &FileKind, header: &Header) -> String {
        let architecture = header.metadata.get("general.architecture").map_or("", String::as_str);
        let layers = self.names().filter_map(layer_number).max().map_or(0, |it| it + 1);
        let width = kind.text_width.unwrap_or(0);
        let vision = self.any_contains("visual.");
        let named = if self.any_contains("mlp.experts") || self.any_contains("ffn_gate_exps") {
            "gpt-oss"
        } else if self.any_contains("pre_feedforward_layernorm") || self.any_contains("post_ffw_norm") || architecture.starts_with("gemma")
        {
            match width {
                2304 => "Gemma-2-2B",
                3840 => "Gemma-3-12B",
                _ => "Gemma",
            }
        } else if self.any_ends("self_attn.q_norm.weight") || self.any_ends("attn_q_norm.weight") || architecture.starts_with("qwen3") {
            match (width, layers) {
                (1024, 28) => "Qwen3-0.6B",
                (2048, 28) => "Qwen3-1.7B",
                (2560, 36) if vision => "Qwen3-VL-4B",
                (2560, 36) => "Qwen3-4B",
                (4096, 36) if vision => "Qwen3-VL-8B",
                (4096, 36) => "Qwen3-8B",
                _ => "Qwen3",
            }
        } else if self.any_ends("self_attn.q_proj.bias") || self.any_ends("attn_q.bias") || architecture.starts_with("qwen2") {
            match width {
                3584 => "Qwen2.5-VL-7B",
                2048 => "Qwen2.5-VL-3B",
                _ => "Qwen2.5",
            }
        } else {
            match (width, layers) {
                (5120, 40) => "Mistral-Small-24B",
                (3072, 26) => "Ministral-3B",
                _ => return english("library-kind-language-model").into(),
            }
        };
        text_encoder(named)
    }

    fn measure_autoencoder(&self, kind: &mut FileKind) {
        let input = ["decoder.conv_in.weight", "decoder.layers.0.weight", "decoder.conv1.weight"];
        kind.latent_channels = input.iter().find_map(|end| self.ending(end)).and_then(|it| it.shape.get(1)).copied();
    }

    fn describe_autoencoder(&self, kind: &mut FileKind) {
        self.measure_autoencoder(kind);
        let tiny = self.any_ends("decoder.layers.0.weight") || self.has("decoder.3.conv.0.weight");
        let wan = self.any_ends("decoder.conv1.weight") && self.any_contains("decoder.middle.");
        if tiny {
            kind.role = Some(FileRole::Taesd);
            kind.name = english("library-kind-tiny-autoencoder").into();
        } else if wan {
            kind.role = Some(FileRole::Vae);
            kind.family = Some(Family::QwenImage);
            kind.name = english("library-kind-vae-of-wan").into();
        } else if self.any_ends("decoder.conv_in.weight") {
            kind.role = Some(FileRole::Vae);
            kind.name = match kind.latent_channels {
                Some(4) => english("library-kind-vae-4").into(),
                Some(16) => english("library-kind-vae-16").into(),
                Some(32) => english("library-kind-vae-32").into(),
                _ => "VAE".into(),
            };
        }
    }
}

fn text_encoder(named: &str) -> String {
    format!("{named} {}", english("library-kind-text-encoder"))
}

fn unet_of_context(width: Option<u64>) -> Option<Family> {
    match width? {
        768 => Some(Family::Sd1),
        1024 => Some(Family::Sd2),
        2048 => Some(Family::Sdxl),
        _ => None,
    }
}

/// The layer that a tensor of a language model belongs to.
fn layer_number(name: &str) -> Option<u64> {
    if name.contains("visual.") {
        return None;
    }
    let (_, rest) = name.split_once("layers.").or_else(|| name.split_once("blk."))?;
    rest.split('.').next()?.parse().ok().filter(|it| *it < 10_000)
}

#[cfg(test)]
pub(crate) mod tests;
