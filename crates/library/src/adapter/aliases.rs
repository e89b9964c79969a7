//! Names of layers: those of files, those of the engine, and those of trainers. Facts alone.
//!
//! A pattern is a name in which `#` stands for a number; what follows it in a name is kept.

use std::sync::LazyLock;

use crate::family::Family;

/// A module of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Diffusion,
    ClipL,
    ClipG,
    T5,
    Llm,
    Vae,
    /// The text encoder of this number, as trainers count them.
    Encoder(u8),
}

impl Slot {
    /// The module that it is in this family.
    pub(super) fn in_family(self, family: Family) -> Option<Self> {
        let Self::Encoder(number) = self else { return Some(self) };
        match (family, number) {
            (Family::Sd1 | Family::Sd2 | Family::Svd | Family::Sdxl | Family::Sd3 | Family::Flux, 1) => Some(Self::ClipL),
            (Family::Sdxl | Family::Sd3, 2) => Some(Self::ClipG),
            (Family::Sd3, 3) | (Family::Flux, 2 | 3) | (Family::Chroma | Family::ChromaRadiance, _) => Some(Self::T5),
            (_, 1) if family.reads_with_language_model() => Some(Self::Llm),
            _ => None,
        }
    }
}

/// The rows of a weight that a trainer's layer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// One of so many matrices that were joined.
    Nth(usize, usize),
    /// All, with the halves exchanged.
    Swapped,
    /// Queries, keys and values, without what a single block of Flux joins to them.
    Attention,
}

impl Part {
    /// First row and number of rows in a weight of this size.
    pub(super) fn rows(self, rows: u64, inputs: u64) -> Option<(u64, u64)> {
        match self {
            Self::Whole => Some((0, rows)),
            Self::Swapped => rows.is_multiple_of(2).then_some((rows / 2, rows)),
            Self::Attention => inputs.checked_mul(3).filter(|size| (1..=rows).contains(size)).map(|size| (0, size)),
            // Queries, keys, values, and what a single block of Flux joins to them.
            Self::Nth(index, 4) => {
                let first = inputs.checked_mul(index as u64)?;
                let size = if index < 3 { inputs } else { rows.checked_sub(first)? };
                (first + size <= rows && size > 0).then_some((first, size))
            }
            Self::Nth(index, count) => {
                let size = rows / count as u64;
                rows.is_multiple_of(count as u64).then_some((size * index as u64, size))
            }
        }
    }
}

/// A layer of the engine's, and what others call it or its parts.
struct Row {
    engine: String,
    others: Vec<String>,
    /// What one other name stands for; several stand for a part each.
    single: Part,
}

fn row(engine: &str, others: &[&str]) -> Row {
    Row { engine: engine.to_owned(), others: others.iter().map(|it| (*it).to_owned()).collect(), single: Part::Whole }
}

fn swapped(engine: &str, other: &str) -> Row {
    Row { single: Part::Swapped, ..row(engine, &[other]) }
}

/// diffusers' names of Flux and its relatives (`convert_flux_transformer_checkpoint_to_diffusers`
/// has the same pairs).
static FLUX: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = vec![
        row("time_in.in_layer", &["time_text_embed.timestep_embedder.linear_1"]),
        row("time_in.out_layer", &["time_text_embed.timestep_embedder.linear_2"]),
        row("time_in.in_layer", &["time_embed.timestep_embedder.linear_1"]),
        row("time_in.out_layer", &["time_embed.timestep_embedder.linear_2"]),
        row("time_in.in_layer", &["time_guidance_embed.timestep_embedder.linear_1"]),
        row("time_in.out_layer", &["time_guidance_embed.timestep_embedder.linear_2"]),
        row("vector_in.in_layer", &["time_text_embed.text_embedder.linear_1"]),
        row("vector_in.out_layer", &["time_text_embed.text_embedder.linear_2"]),
        row("guidance_in.in_layer", &["time_text_embed.guidance_embedder.linear_1"]),
        row("guidance_in.out_layer", &["time_text_embed.guidance_embedder.linear_2"]),
        row("guidance_in.in_layer", &["time_guidance_embed.guidance_embedder.linear_1"]),
        row("guidance_in.out_layer", &["time_guidance_embed.guidance_embedder.linear_2"]),
        row("txt_in", &["context_embedder"]),
        row("img_in", &["x_embedder"]),
        row("double_stream_modulation_img.lin", &["double_stream_modulation_img.linear"]),
        row("double_stream_modulation_txt.lin", &["double_stream_modulation_txt.linear"]),
        row("single_stream_modulation.lin", &["single_stream_modulation.linear"]),
        row("distilled_guidance_layer.layers.#.in_layer", &["distilled_guidance_layer.layers.#.linear_1"]),
        row("distilled_guidance_layer.layers.#.out_layer", &["distilled_guidance_layer.layers.#.linear_2"]),
        row("final_layer.linear", &["proj_out"]),
        swapped("final_layer.adaLN_modulation.1", "norm_out.linear"),
        row("single_blocks.#.modulation.lin", &["single_transformer_blocks.#.norm.linear"]),
        row("single_blocks.#.linear2", &["single_transformer_blocks.#.proj_out"]),
        row("single_blocks.#.linear2", &["single_transformer_blocks.#.attn.to_out"]),
        row("single_blocks.#.linear1", &["single_transformer_blocks.#.attn.to_qkv_mlp_proj"]),
        // XLabs' trainer changes the attention alone, and ComfyUI calls that the other way.
        Row { single: Part::Attention, ..row("single_blocks.#.linear1", &["single_blocks.#.qkv"]) },
        Row { single: Part::Attention, ..row("single_blocks.#.linear1", &["single_blocks.#.linear1_qkv"]) },
        // What diffusers calls its matrices where it has joined them.
        Row { single: Part::Attention, ..row("single_blocks.#.linear1", &["single_transformer_blocks.#.attn.to_qkv"]) },
        row("single_blocks.#.linear2", &["single_blocks.#.proj"]),
        row(
            "single_blocks.#.linear1",
            &[
                "single_transformer_blocks.#.attn.to_q",
                "single_transformer_blocks.#.attn.to_k",
                "single_transformer_blocks.#.attn.to_v",
                "single_transformer_blocks.#.proj_mlp",
            ],
        ),
    ];
    for (number, stream, norm, mlp, [q, k, v], joined, out) in [
        (1, "img", "norm1", "ff", ["to_q", "to_k", "to_v"], "to_qkv", "to_out.0"),
        (2, "txt", "norm1_context", "ff_context", ["add_q_proj", "add_k_proj", "add_v_proj"], "to_added_qkv", "to_add_out"),
    ] {
        let engine = |rest: &str| format!("double_blocks.#.{stream}_{rest}");
        let other = |rest: &str| format!("transformer_blocks.#.{rest}");
        let mut add = |own: &str, others: Vec<String>| rows.push(Row { engine: engine(own), others, single: Part::Whole });
        add("attn.qkv", [q, k, v].iter().map(|it| other(&format!("attn.{it}"))).collect());
        add("attn.proj", vec![other(&format!("attn.{out}"))]);
        add("attn.qkv", vec![other(&format!("attn.{joined}"))]);
        // XLabs' trainer numbers the streams.
        add("attn.qkv", vec![format!("double_blocks.#.qkv_lora{number}")]);
        add("attn.proj", vec![format!("double_blocks.#.proj_lora{number}")]);
        add("mod.lin", vec![other(&format!("{norm}.linear"))]);
        add("mlp.0", vec![other(&format!("{mlp}.net.0.proj"))]);
        add("mlp.2", vec![other(&format!("{mlp}.net.2"))]);
        add("mlp.0", vec![other(&format!("{mlp}.linear_in"))]);
        add("mlp.2", vec![other(&format!("{mlp}.linear_out"))]);
        // Ovis-Image, whose first two are one matrix in diffusers.
        add("mlp.down_proj", vec![other(&format!("{mlp}.net.2"))]);
    }
    rows
});

/// diffusers' names of Z-Image, and what older adapters call its attention.
static Z_IMAGE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = vec![
        row("x_embedder", &["all_x_embedder.2-1"]),
        row("final_layer.linear", &["all_final_layer.2-1.linear"]),
        row("final_layer.adaLN_modulation.1", &["all_final_layer.2-1.adaLN_modulation.1"]),
    ];
    for blocks in ["layers", "noise_refiner", "context_refiner"] {
        let name = |rest: &str| format!("{blocks}.#.attention.{rest}");
        let mut add = |engine: &str, others: &[&str]| {
            rows.push(Row { engine: name(engine), others: others.iter().map(|it| name(it)).collect(), single: Part::Whole });
        };
        add("qkv", &["to_q", "to_k", "to_v"]);
        add("qkv", &["to_qkv"]);
        add("out", &["to_out.0"]);
        add("out", &["to_out"]);
        add("q_norm", &["norm_q"]);
        add("k_norm", &["norm_k"]);
    }
    rows
});

/// diffusers' names of SD3.
static SD3: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = vec![
        row("t_embedder.mlp.0", &["time_text_embed.timestep_embedder.linear_1"]),
        row("t_embedder.mlp.2", &["time_text_embed.timestep_embedder.linear_2"]),
        row("y_embedder.mlp.0", &["time_text_embed.text_embedder.linear_1"]),
        row("y_embedder.mlp.2", &["time_text_embed.text_embedder.linear_2"]),
        row("context_embedder", &["context_embedder"]),
        row("x_embedder.proj", &["pos_embed.proj"]),
        row("final_layer.linear", &["proj_out"]),
        swapped("final_layer.adaLN_modulation.1", "norm_out.linear"),
    ];
    for (block, norm, mlp, [q, k, v], joined, out) in [
        ("x_block", "norm1", "ff", ["to_q", "to_k", "to_v"], "to_qkv", "to_out.0"),
        ("context_block", "norm1_context", "ff_context", ["add_q_proj", "add_k_proj", "add_v_proj"], "to_added_qkv", "to_add_out"),
    ] {
        let engine = |rest: &str| format!("joint_blocks.#.{block}.{rest}");
        let other = |rest: &str| format!("transformer_blocks.#.{rest}");
        let mut add = |own: &str, others: Vec<String>| rows.push(Row { engine: engine(own), others, single: Part::Whole });
        for attention in ["attn", "attn2"] {
            add(&format!("{attention}.qkv"), [q, k, v].iter().map(|it| other(&format!("{attention}.{it}"))).collect());
            add(&format!("{attention}.qkv"), vec![other(&format!("{attention}.{joined}"))]);
            add(&format!("{attention}.proj"), vec![other(&format!("{attention}.{out}"))]);
        }
        add("adaLN_modulation.1", vec![other(&format!("{norm}.linear"))]);
        add("mlp.fc1", vec![other(&format!("{mlp}.net.0.proj"))]);
        add("mlp.fc2", vec![other(&format!("{mlp}.net.2"))]);
    }
    rows
});

/// diffusers' names of the blocks of a UNet.
static UNET: LazyLock<Vec<Row>> = LazyLock::new(|| {
    const RESNET: [(&str, &str); 6] = [
        ("in_layers.0", "norm1"),
        ("in_layers.2", "conv1"),
        ("out_layers.0", "norm2"),
        ("out_layers.3", "conv2"),
        ("emb_layers.1", "time_emb_proj"),
        ("skip_connection", "conv_shortcut"),
    ];
    let mut rows = vec![
        row("time_embed.0", &["time_embedding.linear_1"]),
        row("time_embed.2", &["time_embedding.linear_2"]),
        row("label_emb.0.0", &["add_embedding.linear_1"]),
        row("label_emb.0.2", &["add_embedding.linear_2"]),
        row("input_blocks.0.0", &["conv_in"]),
        row("out.0", &["conv_norm_out"]),
        row("out.2", &["conv_out"]),
        row("middle_block.1", &["mid_block.attentions.0"]),
    ];
    let mut add = |engine: String, other: String| rows.push(Row { engine, others: vec![other], single: Part::Whole });
    let resnet = |add: &mut dyn FnMut(String, String), engine: &str, other: &str| {
        for (own, theirs) in RESNET {
            add(format!("{engine}.{own}"), format!("{other}.{theirs}"));
        }
    };
    for (own, theirs) in [(0, 0), (2, 1)] {
        resnet(&mut add, &format!("middle_block.{own}"), &format!("mid_block.resnets.{theirs}"));
    }
    for level in 0..4 {
        for index in 0..2 {
            let block = 3 * level + index + 1;
            resnet(&mut add, &format!("input_blocks.{block}.0"), &format!("down_blocks.{level}.resnets.{index}"));
            add(format!("input_blocks.{block}.1"), format!("down_blocks.{level}.attentions.{index}"));
        }
        add(format!("input_blocks.{}.0.op", 3 * level + 3), format!("down_blocks.{level}.downsamplers.0.conv"));
        for index in 0..3 {
            let block = 3 * level + index;
            resnet(&mut add, &format!("output_blocks.{block}.0"), &format!("up_blocks.{level}.resnets.{index}"));
            add(format!("output_blocks.{block}.1"), format!("up_blocks.{level}.attentions.{index}"));
        }
        // After the attention, which the first level of some has not.
        for at in if level == 0 { 1..=2 } else { 2..=2 } {
            add(format!("output_blocks.{}.{at}.conv", 3 * level + 2), format!("up_blocks.{level}.upsamplers.0.conv"));
        }
    }
    rows
});

/// `OpenCLIP`'s names of CLIP.
static CLIP: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = vec![row("transformer.text_model.final_layer_norm", &["model.ln_final"])];
    for (own, theirs) in [
        ("self_attn.in_proj", "attn.in_proj"),
        ("self_attn.out_proj", "attn.out_proj"),
        ("layer_norm1", "ln_1"),
        ("layer_norm2", "ln_2"),
        ("mlp.fc1", "mlp.c_fc"),
        ("mlp.fc2", "mlp.c_proj"),
    ] {
        rows.push(row(&format!("transformer.text_model.encoder.layers.#.{own}"), &[&format!("model.transformer.resblocks.#.{theirs}")]));
    }
    rows
});

/// llama.cpp's names of T5 and of language models.
static T5: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let names = [
        ("layer.0.SelfAttention.q", "attn_q"),
        ("layer.0.SelfAttention.k", "attn_k"),
        ("layer.0.SelfAttention.v", "attn_v"),
        ("layer.0.SelfAttention.o", "attn_o"),
        ("layer.0.layer_norm", "attn_norm"),
        ("layer.1.layer_norm", "ffn_norm"),
        ("layer.1.DenseReluDense.wi_1", "ffn_up"),
        ("layer.1.DenseReluDense.wo", "ffn_down"),
        ("layer.1.DenseReluDense.wi_0", "ffn_gate"),
    ];
    names.iter().map(|(own, theirs)| row(&format!("encoder.block.#.{own}"), &[&format!("enc.blk.#.{theirs}")])).collect()
});
static LLM: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let names = [
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("mlp.down_proj", "ffn_down"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
    ];
    names.iter().map(|(own, theirs)| row(&format!("model.layers.#.{own}"), &[&format!("blk.#.{theirs}")])).collect()
});

fn rows(family: Family, slot: Slot) -> &'static [Row] {
    match slot {
        Slot::ClipL | Slot::ClipG => &CLIP,
        Slot::T5 => &T5,
        Slot::Llm => &LLM,
        Slot::Diffusion if family.is_unet() => &UNET,
        Slot::Diffusion => match family {
            Family::Flux
            | Family::Flux2
            | Family::Flux2Klein
            | Family::Chroma
            | Family::ChromaRadiance
            | Family::OvisImage
            | Family::LongCat => &FLUX,
            Family::ZImage => &Z_IMAGE,
            Family::Sd3 => &SD3,
            _ => &[],
        },
        Slot::Vae | Slot::Encoder(_) => &[],
    }
}

/// A name that begins with a pattern, with another pattern in its place.
fn rewritten(name: &str, from: &str, to: &str) -> Option<String> {
    let mut rest = Some(name);
    let mut numbers = Vec::new();
    for part in from.split('.') {
        let (own, after) = rest.map(|rest| rest.split_once('.').map_or((rest, None), |(own, after)| (own, Some(after))))?;
        if part == "#" && own.bytes().all(|it| it.is_ascii_digit()) && !own.is_empty() {
            numbers.push(own);
        } else if own != part {
            return None;
        }
        rest = after;
    }
    let mut numbers = numbers.into_iter();
    let mut parts: Vec<&str> = to.split('.').map(|part| if part == "#" { numbers.next().unwrap_or(part) } else { part }).collect();
    parts.extend(rest);
    Some(parts.join("."))
}

/// The beginning of the engine's names of a module.
pub(super) const fn engine_prefix(family: Family, slot: Slot) -> &'static str {
    let is_unet = family.is_unet();
    match slot {
        Slot::Diffusion => "model.diffusion_model.",
        Slot::ClipL if is_unet => "cond_stage_model.",
        Slot::ClipG if is_unet => "cond_stage_model.1.",
        Slot::ClipL => "text_encoders.clip_l.",
        Slot::ClipG => "text_encoders.clip_g.",
        Slot::T5 => "text_encoders.t5xxl.transformer.",
        Slot::Llm => "text_encoders.llm.",
        Slot::Vae => "first_stage_model.",
        Slot::Encoder(_) => "",
    }
}

/// The engine looks rows of these up, and changes no table.
const TABLES: [&str; 7] =
    ["token_embedding", "position_embedding", "embed_tokens", "token_embd", "shared", "relative_attention_bias", "attn_rel_b"];

/// True for a layer of an adapter, as any trainer writes it, that is such a table.
pub(super) fn is_table(layer: &str) -> bool {
    TABLES.iter().any(|table| layer.strip_suffix(table).is_some_and(|before| before.is_empty() || before.ends_with(['.', '_'])))
}

/// The layer of a tensor and what it is to the layer: `weight` or `bias`. Others cannot be changed.
pub(super) fn layer_and_leaf(name: &str) -> Option<(&str, &str)> {
    // OpenCLIP writes these two as parameters of the attention.
    let joined = name.strip_suffix("_weight").map(|it| (it, "weight")).or_else(|| name.strip_suffix("_bias").map(|it| (it, "bias")));
    if let Some((layer, leaf)) = joined.filter(|(layer, _)| layer.ends_with("attn.in_proj")) {
        return Some((layer, leaf));
    }
    let (layer, leaf) = name.rsplit_once('.')?;
    let is_table = TABLES.iter().any(|table| layer.ends_with(table));
    (matches!(leaf, "weight" | "bias") && !is_table).then_some((layer, leaf))
}

/// The engine's name of a layer of a file, and true where the file has a part of it alone.
pub(super) fn engine_name(family: Family, slot: Slot, name: &str) -> (String, bool) {
    let name = match slot {
        // A file of the encoder alone may be without it.
        Slot::ClipL | Slot::ClipG if name.starts_with("text_model.") => format!("transformer.{name}"),
        Slot::ClipL | Slot::ClipG if name.starts_with("encoder.") => format!("transformer.text_model.{name}"),
        Slot::ClipL | Slot::ClipG if name.starts_with("transformer.encoder.") => {
            name.replacen("transformer.", "transformer.text_model.", 1)
        }
        Slot::ClipL | Slot::ClipG if name.starts_with("transformer.resblocks.") => format!("model.{name}"),
        Slot::T5 => name.strip_prefix("transformer.").unwrap_or(name).to_owned(),
        Slot::Llm if name.starts_with("layers.") => format!("model.{name}"),
        Slot::Diffusion if family == Family::Anima && !name.starts_with("net.") => format!("net.{name}"),
        _ => name.to_owned(),
    };
    let has_attention_first = family == Family::Sdxl;
    let is_of_family = |row: &&Row| row.engine != if has_attention_first { "output_blocks.2.1.conv" } else { "output_blocks.2.2.conv" };
    let of_row = |row: &Row| {
        let engine = row.others.iter().find_map(|other| rewritten(&name, other, &row.engine))?;
        Some((engine, row.others.len() > 1))
    };
    rows(family, slot).iter().filter(is_of_family).find_map(of_row).unwrap_or((name, false))
}

/// All names that trainers call a layer of the engine's with this many outputs and inputs, each with
/// the rows that it stands for. Without prefixes of modules.
pub(super) fn names_of_trainers(family: Family, slot: Slot, layer: &str, (rows_of_layer, inputs): (u64, u64)) -> Vec<(String, Part)> {
    // SD3's last block has no output for the text: as of the last layer, a scale and a shift.
    let is_last_of_text = layer.ends_with(".context_block.adaLN_modulation.1") && rows_of_layer == inputs.saturating_mul(2);
    let mut names = vec![(layer.to_owned(), Part::Whole)];
    for row in rows(family, slot) {
        for (index, other) in row.others.iter().enumerate() {
            let part = match row.others.len() {
                1 if is_last_of_text => Part::Swapped,
                1 => row.single,
                count => Part::Nth(index, count),
            };
            names.extend(rewritten(layer, &row.engine, other).map(|name| (name, part)));
            // The open format of model files (OMI), which OneTrainer writes, counts the parts.
            if row.others.len() > 1 && rewritten(layer, &row.engine, &row.engine).is_some() {
                names.push((format!("{layer}.{index}"), part));
            }
        }
    }
    match slot {
        Slot::ClipL | Slot::ClipG => {
            for (name, part) in names.clone() {
                // `transformer.text_model.encoder`, `model.transformer.resblocks`.
                let short = name.strip_prefix("transformer.").or_else(|| name.strip_prefix("model.")).unwrap_or(&name);
                names.push((short.to_owned(), part));
                names.extend(short.strip_prefix("text_model.").map(|shorter| (shorter.to_owned(), part)));
            }
            for (name, _) in names.clone() {
                let Some(attention) = name.strip_suffix("in_proj") else { continue };
                names.extend((0..3).map(|index| (format!("{attention}{}_proj", ["q", "k", "v"][index]), Part::Nth(index, 3))));
            }
            // What diffusers of 2023 called the four in text encoders.
            for (name, part) in names.clone() {
                let Some((block, own)) = name.rsplit_once("self_attn.") else { continue };
                let theirs = match own {
                    "q_proj" => "to_q",
                    "k_proj" => "to_k",
                    "v_proj" => "to_v",
                    "out_proj" => "to_out",
                    _ => continue,
                };
                names.push((format!("{block}self_attn.{theirs}"), part));
            }
        }
        Slot::Llm => names.extend(layer.strip_prefix("model.").map(|short| (short.to_owned(), Part::Whole))),
        Slot::Diffusion => {
            if let Some(short) = layer.strip_prefix("net.") {
                names.push((short.to_owned(), Part::Whole));
            }
            // diffusers' processors of 2023 leave the number out.
            for (name, part) in names.clone() {
                names.extend(name.strip_suffix(".to_out.0").map(|short| (format!("{short}.to_out"), part)));
            }
        }
        Slot::T5 | Slot::Vae | Slot::Encoder(_) => {}
    }
    names
}
