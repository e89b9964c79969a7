//! The same weights in the forms in which people keep models: parts, shards, other names.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Writes the tensors of a safetensors file under other names to another one; those without a name
/// are left out.
///
/// # Errors
/// Files that cannot be read or written, or two tensors of one name.
pub fn renamed(from: &Path, to: &Path, name: impl Fn(&str) -> Option<String>) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let views: Vec<_> = file.tensors().into_iter().filter_map(|(own, view)| Some((name(&own)?, view))).collect();
    if views.iter().map(|(name, _)| name).collect::<HashSet<_>>().len() < views.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "two tensors of one name"));
    }
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Writes the tensors of safetensors files into one, each file's with its beginning before their
/// names.
///
/// # Errors
/// Files that cannot be read or written.
pub fn joined(parts: &[(&str, &Path)], to: &Path) -> io::Result<PathBuf> {
    let bytes = parts.iter().map(|(_, path)| std::fs::read(path)).collect::<io::Result<Vec<_>>>()?;
    let files = bytes.iter().map(|it| SafeTensors::deserialize(it)).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    let views = parts
        .iter()
        .zip(&files)
        .flat_map(|((start, _), file)| file.tensors().into_iter().map(move |(name, view)| (format!("{start}{name}"), view)));
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Writes the tensors of a safetensors file with a text in the metadata.
///
/// # Errors
/// Files that cannot be read or written.
pub fn with_metadata(from: &Path, to: &Path, key: &str, text: &str) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let metadata = HashMap::from([(key.to_owned(), text.to_owned())]);
    safetensors::serialize_to_file(file.tensors(), Some(metadata), to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Writes the tensors of a safetensors file, with other last bytes of one of them.
///
/// # Errors
/// Files that cannot be read or written.
pub fn with_last_bytes(from: &Path, to: &Path, name: &str, end: &[u8]) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let view = file.tensor(name).map_err(io::Error::other)?;
    let data = [view.data().get(..view.data().len() - end.len()).unwrap_or_default(), end].concat();
    let changed = TensorView::new(view.dtype(), view.shape().to_vec(), &data).map_err(io::Error::other)?;
    let views = file.tensors().into_iter().map(|(own, view)| if own == name { (own, changed.clone()) } else { (own, view) });
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Writes the tensors of a safetensors file in so many files into a folder, with their index;
/// returns the path of the index.
///
/// # Errors
/// Files that cannot be read or written.
pub fn sharded(from: &Path, folder: &Path, count: usize) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut places = serde_json::Map::new();
    for index in 0..count {
        let name = format!("model-{:05}-of-{count:05}.safetensors", index + 1);
        let views: Vec<_> =
            file.tensors().into_iter().enumerate().filter(|(number, _)| number % count == index).map(|(_, view)| view).collect();
        places.extend(views.iter().map(|(tensor, _)| (tensor.clone(), name.clone().into())));
        safetensors::serialize_to_file(views, None, &folder.join(name)).map_err(io::Error::other)?;
    }
    let index = folder.join("model.safetensors.index.json");
    std::fs::write(&index, serde_json::json!({ "metadata": {}, "weight_map": places }).to_string())?;
    Ok(index)
}

/// Modules of a block of SD3 and what diffusers calls them, of the picture's half and of the text's;
/// the first one is three modules there.
const SD3_BLOCK: [(&str, [&str; 2]); 5] = [
    ("attn.qkv", ["attn.to_", "attn.add_"]),
    ("attn.proj", ["attn.to_out.0", "attn.to_add_out"]),
    ("mlp.fc1", ["ff.net.0.proj", "ff_context.net.0.proj"]),
    ("mlp.fc2", ["ff.net.2", "ff_context.net.2"]),
    ("adaLN_modulation.1", ["norm1.linear", "norm1_context.linear"]),
];
/// The other modules of SD3.
const SD3: [(&str, &str); 7] = [
    ("x_embedder.proj", "pos_embed.proj"),
    ("t_embedder.mlp.0", "time_text_embed.timestep_embedder.linear_1"),
    ("t_embedder.mlp.2", "time_text_embed.timestep_embedder.linear_2"),
    ("y_embedder.mlp.0", "time_text_embed.text_embedder.linear_1"),
    ("y_embedder.mlp.2", "time_text_embed.text_embedder.linear_2"),
    ("final_layer.linear", "proj_out"),
    ("final_layer.adaLN_modulation.1", "norm_out.linear"),
];

/// Writes an SD3 of the engine's names as diffusers keeps it: attention in three matrices, and in
/// modulations of two halves scale before shift.
///
/// # Errors
/// Files that cannot be read or written, or a tensor that is not SD3's.
pub fn diffusers_sd3(from: &Path, to: &Path) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut tensors = Vec::new();
    for (name, view) in file.tensors() {
        let (module, leaf) = name.rsplit_once('.').unwrap_or((&name, ""));
        let rows = view.shape().first().copied().unwrap_or(0);
        let is_halves = module.starts_with("final_layer.adaLN") || module.contains("context_block.adaLN") && is_of_two(&file, module);
        let mut add = |own: String, parts: &[&[u8]], rows: usize| {
            let shape = [&[rows][..], view.shape().get(1..).unwrap_or(&[])].concat();
            tensors.push((own, shape, view.dtype(), parts.concat()));
        };
        if name == "pos_embed" {
            add("pos_embed.pos_embed".to_owned(), &[view.data()], rows);
            continue;
        }
        let own = if let Some(rest) = module.strip_prefix("joint_blocks.") {
            let (block, rest) = rest.split_once('.').unwrap_or_default();
            let (half, part) = rest.split_once('.').unwrap_or_default();
            let names = SD3_BLOCK.iter().find(|(own, _)| *own == part).map(|(_, names)| names[usize::from(half == "context_block")]);
            names.map(|own| format!("transformer_blocks.{block}.{own}"))
        } else {
            SD3.iter()
                .find(|(own, _)| *own == module)
                .map(|(_, own)| (*own).to_owned())
                .or((module == "context_embedder").then(|| module.to_owned()))
        };
        let own = own.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is not SD3's")))?;
        if module.ends_with("attn.qkv") {
            let ends = if own.ends_with("add_") { ["q_proj", "k_proj", "v_proj"] } else { ["q", "k", "v"] };
            for (part, end) in view.data().chunks(view.data().len() / 3).zip(ends) {
                add(format!("{own}{end}.{leaf}"), &[part], rows / 3);
            }
        } else if is_halves {
            let (shift, scale) = view.data().split_at(view.data().len() / 2);
            add(format!("{own}.{leaf}"), &[scale, shift], rows);
        } else {
            add(format!("{own}.{leaf}"), &[view.data()], rows);
        }
    }
    let views: Result<Vec<_>, _> =
        tensors.iter().map(|(name, shape, dtype, data)| Ok((name.as_str(), TensorView::new(*dtype, shape.clone(), data)?))).collect();
    safetensors::serialize_to_file(views.map_err(|error: safetensors::SafeTensorError| io::Error::other(error))?, None, to)
        .map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Modules of Flux and what diffusers calls them; `#` is the number of a block. Those of several
/// names are so many modules there.
const FLUX: [(&str, &[&str]); 28] = [
    ("img_in", &["x_embedder"]),
    ("txt_in", &["context_embedder"]),
    ("time_in.in_layer", &["time_text_embed.timestep_embedder.linear_1"]),
    ("time_in.out_layer", &["time_text_embed.timestep_embedder.linear_2"]),
    ("vector_in.in_layer", &["time_text_embed.text_embedder.linear_1"]),
    ("vector_in.out_layer", &["time_text_embed.text_embedder.linear_2"]),
    ("guidance_in.in_layer", &["time_text_embed.guidance_embedder.linear_1"]),
    ("guidance_in.out_layer", &["time_text_embed.guidance_embedder.linear_2"]),
    ("double_blocks.#.img_mlp.0", &["transformer_blocks.#.ff.net.0.proj"]),
    ("double_blocks.#.img_mlp.2", &["transformer_blocks.#.ff.net.2"]),
    ("double_blocks.#.txt_mlp.0", &["transformer_blocks.#.ff_context.net.0.proj"]),
    ("double_blocks.#.txt_mlp.2", &["transformer_blocks.#.ff_context.net.2"]),
    ("double_blocks.#.img_mod.lin", &["transformer_blocks.#.norm1.linear"]),
    ("double_blocks.#.txt_mod.lin", &["transformer_blocks.#.norm1_context.linear"]),
    (
        "double_blocks.#.img_attn.qkv",
        &["transformer_blocks.#.attn.to_q", "transformer_blocks.#.attn.to_k", "transformer_blocks.#.attn.to_v"],
    ),
    (
        "double_blocks.#.txt_attn.qkv",
        &["transformer_blocks.#.attn.add_q_proj", "transformer_blocks.#.attn.add_k_proj", "transformer_blocks.#.attn.add_v_proj"],
    ),
    ("double_blocks.#.img_attn.proj", &["transformer_blocks.#.attn.to_out.0"]),
    ("double_blocks.#.txt_attn.proj", &["transformer_blocks.#.attn.to_add_out"]),
    ("double_blocks.#.img_attn.norm.query_norm", &["transformer_blocks.#.attn.norm_q"]),
    ("double_blocks.#.img_attn.norm.key_norm", &["transformer_blocks.#.attn.norm_k"]),
    ("double_blocks.#.txt_attn.norm.query_norm", &["transformer_blocks.#.attn.norm_added_q"]),
    ("double_blocks.#.txt_attn.norm.key_norm", &["transformer_blocks.#.attn.norm_added_k"]),
    ("single_blocks.#.modulation.lin", &["single_transformer_blocks.#.norm.linear"]),
    (
        "single_blocks.#.linear1",
        &[
            "single_transformer_blocks.#.attn.to_q",
            "single_transformer_blocks.#.attn.to_k",
            "single_transformer_blocks.#.attn.to_v",
            "single_transformer_blocks.#.proj_mlp",
        ],
    ),
    ("single_blocks.#.linear2", &["single_transformer_blocks.#.proj_out"]),
    ("single_blocks.#.norm.query_norm", &["single_transformer_blocks.#.attn.norm_q"]),
    ("single_blocks.#.norm.key_norm", &["single_transformer_blocks.#.attn.norm_k"]),
    ("final_layer.linear", &["proj_out"]),
];

/// Writes the modules of the engine's Flux, of which the heads have this width, as diffusers keeps
/// them: attention in several matrices, and in the last modulation scale before shift. Modules of
/// other names, such as those of a relative of Flux, stay as they are.
///
/// # Errors
/// Files that cannot be read or written.
pub fn diffusers_flux(from: &Path, to: &Path, width: usize) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut tensors = Vec::new();
    for (name, view) in file.tensors() {
        let (module, leaf) = name.rsplit_once('.').unwrap_or((&name, ""));
        let number = module.split('.').find(|part| part.parse::<usize>().is_ok() && module.contains("_blocks")).unwrap_or_default();
        let pattern = if number.is_empty() { module.to_owned() } else { module.replacen(&format!(".{number}."), ".#.", 1) };
        let leaf = if leaf == "scale" && module.ends_with("_norm") && module.contains("_blocks") { "weight" } else { leaf };
        let rows = view.shape().first().copied().unwrap_or(0);
        let row_bytes = view.data().len() / rows.max(1);
        let mut add = |own: &str, data: Vec<u8>| {
            let shape = [&[data.len() / row_bytes][..], view.shape().get(1..).unwrap_or(&[])].concat();
            tensors.push((format!("{}.{leaf}", own.replace('#', number)), shape, view.dtype(), data));
        };
        if module == "final_layer.adaLN_modulation.1" {
            let (shift, scale) = view.data().split_at(view.data().len() / 2);
            add("norm_out.linear", [scale, shift].concat());
            continue;
        }
        match FLUX.iter().find(|(own, _)| *own == pattern).map(|(_, others)| *others) {
            Some(&[other]) => add(other, view.data().to_vec()),
            Some(others) => {
                let mut rest = view.data();
                for (at, other) in others.iter().enumerate() {
                    let (part, after) = if at + 1 < others.len() { rest.split_at(width * row_bytes) } else { (rest, &[][..]) };
                    add(other, part.to_vec());
                    rest = after;
                }
            }
            None => add(module, view.data().to_vec()),
        }
    }
    let views = tensors.iter().map(|(name, shape, dtype, data)| TensorView::new(*dtype, shape.clone(), data).map(|view| (name, view)));
    let views = views.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// Writes a Z-Image of the engine's names as diffusers keeps it: attention in three matrices, and the
/// patches' sizes in the names of what makes and reads them.
///
/// # Errors
/// Files that cannot be read or written.
pub fn diffusers_zimage(from: &Path, to: &Path) -> io::Result<PathBuf> {
    const NAMES: [(&str, &str); 5] = [
        ("attention.out.", "attention.to_out.0."),
        ("attention.q_norm.", "attention.norm_q."),
        ("attention.k_norm.", "attention.norm_k."),
        ("final_layer.", "all_final_layer.2-1."),
        ("x_embedder.", "all_x_embedder.2-1."),
    ];
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut views = Vec::new();
    for (name, view) in file.tensors() {
        let Some((start, end)) = name.split_once("attention.qkv.") else {
            views.push((NAMES.iter().fold(name, |name, (own, other)| name.replace(own, other)), view));
            continue;
        };
        let [rows, rest @ ..] = view.shape() else { return Err(io::Error::new(io::ErrorKind::InvalidInput, name)) };
        let parts = view.data().chunks(view.data().len() / 3);
        for (part, letter) in parts.zip(["q", "k", "v"]) {
            let view = TensorView::new(view.dtype(), [&[rows / 3][..], rest].concat(), part).map_err(io::Error::other)?;
            views.push((format!("{start}attention.to_{letter}.{end}"), view));
        }
    }
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

/// True for a modulation of two halves: the last block's, which has no output for the text.
fn is_of_two(file: &SafeTensors<'_>, module: &str) -> bool {
    file.tensor(&format!("{module}.weight")).is_ok_and(|it| matches!(*it.shape(), [rows, columns] if rows == 2 * columns))
}

/// Writes files into the folders of a model of diffusers, `unet/diffusion_pytorch_model.safetensors`
/// and so on, with the index that says that it is one.
///
/// # Errors
/// Files that cannot be written.
pub fn diffusers_folder(parts: &[(&str, &Path)], folder: &Path) -> io::Result<()> {
    for (part, file) in parts {
        let name = if part.starts_with("text_encoder") { "model.safetensors" } else { "diffusion_pytorch_model.safetensors" };
        std::fs::create_dir_all(folder.join(part))?;
        std::fs::copy(file, folder.join(part).join(name))?;
        std::fs::write(folder.join(part).join("config.json"), "{}")?;
    }
    std::fs::write(folder.join("model_index.json"), "{}")
}

/// What the values of [`fp8`] are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// Nothing.
    None,
    /// One number of each matrix, as `ComfyUI` keeps it.
    Whole,
    /// One number of each of its rows.
    Rows,
}

/// How [`fp8`] writes matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In E4M3, beside their scales.
    Stored,
    /// The same values in F16.
    Computed,
}

/// Writes a safetensors file whose matrices and convolutions have the values of fp8: all of them, or
/// those called weights where there are scales.
///
/// # Errors
/// Files that cannot be read or written.
pub fn fp8(from: &Path, to: &Path, scales: Scales, form: Form) -> io::Result<PathBuf> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let codes = e4m3_values();
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, view) in file.tensors() {
        let is_matrix = matches!(view.dtype(), Dtype::F32 | Dtype::F16 | Dtype::BF16) && view.shape().len() > 1;
        let layer = name.strip_suffix(".weight");
        if !is_matrix || (layer.is_none() && scales != Scales::None) {
            tensors.push((name, view.dtype(), view.shape().to_vec(), view.data().to_vec()));
            continue;
        }
        let values = floats(view.dtype(), view.data());
        let rows = if scales == Scales::Rows { view.shape()[0] } else { 1 };
        let columns = values.len() / rows;
        let scale_of = |row: &[f32]| match scales {
            Scales::None => 1.0,
            Scales::Whole | Scales::Rows => {
                row.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs())) / codes[codes.len() - 1]
            }
        };
        let all: Vec<f32> = values.chunks(columns).map(scale_of).collect();
        let code = |at: usize, value: f32| nearest(&codes, value.abs() / all[at / columns]) as u8 | if value < 0.0 { 0x80 } else { 0 };
        let (dtype, data) = match form {
            Form::Stored => (Dtype::F8_E4M3, values.iter().enumerate().map(|(at, value)| code(at, *value)).collect()),
            Form::Computed => {
                let exact = |(at, value): (usize, &f32)| {
                    let bits = usize::from(code(at, *value) & 0x7f);
                    f16::from_f32(codes[bits].copysign(*value) * all[at / columns]).to_le_bytes()
                };
                (Dtype::F16, values.iter().enumerate().flat_map(exact).collect())
            }
        };
        let companion = layer.filter(|_| form == Form::Stored).and_then(|layer| match scales {
            Scales::None => None,
            Scales::Whole => Some((format!("{layer}.scale_weight"), vec![1])),
            Scales::Rows => Some((format!("{layer}.weight_scale"), vec![rows, 1])),
        });
        if let Some((name, shape)) = companion {
            tensors.push((name, Dtype::F32, shape, all.iter().flat_map(|scale| scale.to_le_bytes()).collect()));
        }
        tensors.push((name.clone(), dtype, view.shape().to_vec(), data));
    }
    let views = tensors.iter().map(|(name, dtype, shape, data)| TensorView::new(*dtype, shape.clone(), data).map(|view| (name, view)));
    let views = views.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    safetensors::serialize_to_file(views, None, to).map_err(io::Error::other)?;
    Ok(to.to_owned())
}

pub(crate) fn floats(dtype: Dtype, data: &[u8]) -> Vec<f32> {
    match dtype {
        Dtype::F32 => data.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect(),
        Dtype::F16 => data.as_chunks::<2>().0.iter().map(|it| f16::from_le_bytes(*it).to_f32()).collect(),
        _ => data.as_chunks::<2>().0.iter().map(|it| bf16::from_le_bytes(*it).to_f32()).collect(),
    }
}

/// The values of E4M3 without sign, by their codes, which rise with them; the last code is no
/// number and left out.
fn e4m3_values() -> Vec<f32> {
    let value = |code: i32| {
        let (exponent, mantissa) = (code >> 3, f32::from(code as u8 & 7) / 8.0);
        if exponent == 0 { mantissa * 2.0_f32.powi(-6) } else { (1.0 + mantissa) * 2.0_f32.powi(exponent - 7) }
    };
    (0..127).map(value).collect()
}

/// Index of the value that is nearest.
fn nearest(values: &[f32], wanted: f32) -> usize {
    let above = values.partition_point(|value| *value < wanted).min(values.len() - 1);
    if above > 0 && wanted - values[above - 1] < values[above] - wanted { above - 1 } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e4m3_ends_at_448_and_takes_the_nearest_value() {
        let values = e4m3_values();
        assert_eq!((values[1], values[8], values[0x38], values[126]), (2.0_f32.powi(-9), 2.0_f32.powi(-6), 1.0, 448.0));
        assert_eq!((nearest(&values, 1.05), nearest(&values, 1.07), nearest(&values, 900.0)), (0x38, 0x39, 126));
    }
}
