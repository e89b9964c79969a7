//! Adapters of each kind for the diffusion module of [`tiny::zimage`](crate::tiny::zimage), for a
//! UNet and for Flux, each beside the module with the same change merged by hand.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use half::f16;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::tensor::{Init, Kind, Tensor};

/// Columns of the halves of an adapter.
pub const RANK: usize = 4;

/// Kinds of adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    /// Two halves, with an alpha.
    Lora,
    /// The product of two such pairs, value by value.
    Loha,
    /// A Kronecker product, of which the second factor has two halves.
    Lokr,
    /// Two halves, and the lengths of the weight's rows.
    Dora,
    /// The whole change.
    Diff,
}

impl AdapterKind {
    pub const ALL: [Self; 5] = [Self::Lora, Self::Loha, Self::Lokr, Self::Dora, Self::Diff];
}

/// An adapter, and the module with its change.
#[derive(Clone, Debug)]
pub struct AdapterFiles {
    pub adapter: PathBuf,
    pub merged: PathBuf,
}

/// A matrix of so many columns.
#[derive(Clone)]
struct Matrix {
    columns: usize,
    values: Vec<f32>,
}

impl Matrix {
    /// Random values that F16 holds, of this deviation.
    fn random(name: &str, rows: usize, columns: usize, deviation: f32) -> Self {
        let tensor = Tensor { name: name.into(), shape: vec![rows, columns], kind: Kind::F16, init: Init::Normal(deviation) };
        Self { columns, values: halves(&tensor.bytes(7)) }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn at(&self, row: usize, column: usize) -> f32 {
        self.values[row * self.columns + column]
    }

    fn made(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f32) -> Self {
        let value = &value;
        Self { columns, values: (0..rows).flat_map(|row| (0..columns).map(move |column| value(row, column))).collect() }
    }

    fn product(&self, other: &Self) -> Self {
        Self::made(self.rows(), other.columns, |row, column| (0..self.columns).map(|k| self.at(row, k) * other.at(k, column)).sum())
    }

    fn lengths(&self) -> Vec<f32> {
        self.values.chunks_exact(self.columns).map(|row| row.iter().map(|it| it * it).sum::<f32>().sqrt()).collect()
    }
}

fn halves(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(2).map(|it| f16::from_le_bytes([it[0], it[1]]).to_f32()).collect()
}

/// Writes an adapter of this kind for parts of the first layer of the module at `base`, which has
/// F16 matrices, into `dir`: two of the three parts of its fused attention, and two whole weights,
/// in the names of a trainer: `layer` makes one of a layer's name with dots.
///
/// # Errors
/// Files that cannot be read or written, or a module that is not Z-Image's.
pub fn zimage(dir: &Path, base: &Path, kind: AdapterKind, layer: impl Fn(&str) -> String) -> io::Result<AdapterFiles> {
    const LAYERS: [(&str, &str, usize); 4] = [
        ("attention.to_q", "attention.qkv", 0),
        ("attention.to_v", "attention.qkv", 2),
        ("attention.to_out.0", "attention.out", 0),
        ("feed_forward.w2", "feed_forward.w2", 0),
    ];
    let bytes = std::fs::read(base)?;
    let module = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut merged: HashMap<String, Matrix> = HashMap::new();
    let mut adapter: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
    for (theirs, ours, part) in LAYERS {
        let weight_name = format!("layers.0.{ours}.weight");
        let view = module.tensor(&weight_name).map_err(io::Error::other)?;
        let columns = view.shape()[1];
        let whole = merged.entry(weight_name.clone()).or_insert_with(|| Matrix { columns, values: halves(view.data()) });
        let rows = if ours.ends_with("qkv") { whole.rows() / 3 } else { whole.rows() };
        let name = layer(&format!("layers.0.{theirs}"));
        let random = |end: &str, rows, columns, deviation| Matrix::random(&format!("{theirs}{end}"), rows, columns, deviation);
        let own = Matrix { columns, values: whole.values[part * rows * columns..(part + 1) * rows * columns].to_vec() };
        let inputs = 1.0 / (columns as f32).sqrt();
        let mut add =
            |end: &str, matrix: &Matrix| adapter.push((format!("{name}{end}"), vec![matrix.rows(), matrix.columns], matrix.values.clone()));
        let (change, alpha) = match kind {
            AdapterKind::Lora | AdapterKind::Dora => {
                let (down, up) = (random("down", RANK, columns, inputs), random("up", rows, RANK, 0.5));
                add(".lora_down.weight", &down);
                add(".lora_up.weight", &up);
                (up.product(&down), 2.0)
            }
            AdapterKind::Loha => {
                let pair = |end: &str| (random(&format!("{end}a"), rows, RANK, 0.5), random(&format!("{end}b"), RANK, columns, 0.25));
                let ((a1, b1), (a2, b2)) = (pair("1"), pair("2"));
                for (end, matrix) in [(".hada_w1_a", &a1), (".hada_w1_b", &b1), (".hada_w2_a", &a2), (".hada_w2_b", &b2)] {
                    add(end, matrix);
                }
                let (first, second) = (a1.product(&b1), a2.product(&b2));
                (Matrix::made(rows, columns, |row, column| first.at(row, column) * second.at(row, column)), 2.0)
            }
            AdapterKind::Lokr => {
                let w1 = random("w1", 4, 4, 0.5);
                let (a, b) = (random("w2a", rows / 4, RANK, 0.5), random("w2b", RANK, columns / 4, 2.0 * inputs));
                add(".lokr_w1", &w1);
                add(".lokr_w2_a", &a);
                add(".lokr_w2_b", &b);
                let w2 = a.product(&b);
                let value =
                    |row: usize, column: usize| w1.at(row / w2.rows(), column / w2.columns) * w2.at(row % w2.rows(), column % w2.columns);
                (Matrix::made(rows, columns, value), 2.0)
            }
            AdapterKind::Diff => {
                let diff = random("diff", rows, columns, 0.4 * inputs);
                add(".diff", &diff);
                (diff, RANK as f32)
            }
        };
        let mut sum = Matrix::made(rows, columns, |row, column| own.at(row, column) + change.at(row, column) * alpha / RANK as f32);
        if kind != AdapterKind::Diff {
            adapter.push((format!("{name}.alpha"), Vec::new(), vec![alpha]));
        }
        if kind == AdapterKind::Dora {
            let lengths = sum.lengths();
            let wanted: Vec<f32> =
                lengths.iter().enumerate().map(|(row, length)| f16::from_f32(length * (1.0 + 0.1 * (row % 6) as f32)).to_f32()).collect();
            adapter.push((format!("{name}.dora_scale"), vec![rows, 1], wanted.clone()));
            sum = Matrix::made(rows, columns, |row, column| sum.at(row, column) * wanted[row] / lengths[row]);
        }
        whole.values[part * rows * columns..(part + 1) * rows * columns].copy_from_slice(&sum.values);
    }

    let files =
        AdapterFiles { adapter: dir.join(format!("{kind:?}.safetensors")), merged: dir.join(format!("{kind:?}-merged.safetensors")) };
    write_halves(&files.adapter, &adapter)?;
    write_merged(&files.merged, &module, &merged)?;
    Ok(files)
}

/// Writes a LoRA as `XLabs`' trainer does for the first blocks of the Flux at `base`, which has F16
/// matrices, into `dir`, and the module with its change.
///
/// # Errors
/// Files that cannot be read or written, or another module.
pub fn xlabs(dir: &Path, base: &Path) -> io::Result<AdapterFiles> {
    /// The trainer's name and the layer's.
    const LAYERS: [(&str, &str); 6] = [
        ("double_blocks.0.processor.qkv_lora1", "double_blocks.0.img_attn.qkv"),
        ("double_blocks.0.processor.qkv_lora2", "double_blocks.0.txt_attn.qkv"),
        ("double_blocks.0.processor.proj_lora1", "double_blocks.0.img_attn.proj"),
        ("double_blocks.0.processor.proj_lora2", "double_blocks.0.txt_attn.proj"),
        ("single_blocks.0.processor.qkv_lora", "single_blocks.0.linear1"),
        ("single_blocks.0.processor.proj_lora", "single_blocks.0.linear2"),
    ];
    let bytes = std::fs::read(base)?;
    let module = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut merged: HashMap<String, Matrix> = HashMap::new();
    let mut adapter = Vec::new();
    for (theirs, ours) in LAYERS {
        let weight_name = format!("{ours}.weight");
        let view = module.tensor(&weight_name).map_err(io::Error::other)?;
        let columns = view.shape()[1];
        let mut whole = Matrix { columns, values: halves(view.data()) };
        // A single block has more rows after those of its attention.
        let rows = if theirs.contains("qkv") { 3 * columns } else { whole.rows() };
        let down = Matrix::random(&format!("{theirs} down"), RANK, columns, 1.0 / (columns as f32).sqrt());
        let up = Matrix::random(&format!("{theirs} up"), rows, RANK, 0.25);
        for (own, change) in whole.values.iter_mut().zip(up.product(&down).values) {
            *own += change;
        }
        merged.insert(weight_name, whole);
        adapter.push((format!("{theirs}.down.weight"), vec![RANK, columns], down.values));
        adapter.push((format!("{theirs}.up.weight"), vec![rows, RANK], up.values));
    }
    let files = AdapterFiles { adapter: dir.join("xlabs.safetensors"), merged: dir.join("xlabs-merged.safetensors") };
    write_halves(&files.adapter, &adapter)?;
    write_merged(&files.merged, &module, &merged)?;
    Ok(files)
}

/// Writes a module with these weights in the place of its own, in F32.
fn write_merged(path: &Path, module: &SafeTensors<'_>, merged: &HashMap<String, Matrix>) -> io::Result<()> {
    let bytes = |matrix: &Matrix| matrix.values.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let merged: HashMap<&str, Vec<u8>> = merged.iter().map(|(name, matrix)| (name.as_str(), bytes(matrix))).collect();
    let views = module.tensors().into_iter().map(|(name, view)| match merged.get(name.as_str()) {
        Some(data) => Ok((name, TensorView::new(Dtype::F32, view.shape().to_vec(), data)?)),
        None => Ok((name, view)),
    });
    write(path, views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(io::Error::other)?)
}

fn write<N: AsRef<str> + Ord + std::fmt::Display>(path: &Path, views: Vec<(N, TensorView<'_>)>) -> io::Result<()> {
    safetensors::serialize_to_file(views, None, path).map_err(io::Error::other)
}

/// Kinds of changes of a UNet's first residual block that no matrix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvolutionKind {
    /// Two halves with a core between them.
    LoraCore,
    /// The product of two changes with cores, value by value.
    LohaCore,
    /// A Kronecker product, of which the second factor has a core.
    LokrCore,
    /// A Kronecker product, of which the second factor has two halves.
    Lokr,
    /// Differences of a norm's weight and bias, and of the convolution's bias.
    NormAndBias,
}

impl ConvolutionKind {
    pub const ALL: [Self; 5] = [Self::LoraCore, Self::LohaCore, Self::LokrCore, Self::Lokr, Self::NormAndBias];
}

/// Points of the kernel.
const AREA: usize = 9;

/// `[rows, inputs * AREA]` of a core `[RANK, RANK * AREA]` between `[RANK, rows]` and `[RANK,
/// inputs]`, as `LyCORIS` puts them together.
fn with_core(core: &Matrix, a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::made(a.columns, b.columns * AREA, |row, column| {
        let (input, point) = (column / AREA, column % AREA);
        let inner = |outer: usize| (0..RANK).map(|at| core.at(outer, at * AREA + point) * b.at(at, input)).sum::<f32>();
        (0..RANK).map(|outer| a.at(outer, row) * inner(outer)).sum()
    })
}

/// Writes an adapter of this kind for the first residual block of a whole Stable Diffusion 1.5 at
/// `base`, in kohya's names, into `dir`, and the model with its change.
///
/// # Errors
/// Files that cannot be read or written, or another model.
pub fn sd15(dir: &Path, base: &Path, kind: ConvolutionKind) -> io::Result<AdapterFiles> {
    const OURS: &str = "model.diffusion_model.input_blocks.1.0.in_layers";
    const THEIRS: &str = "lora_unet_down_blocks_0_resnets_0";
    let bytes = std::fs::read(base)?;
    let model = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let weight = format!("{OURS}.2.weight");
    let shape = model.tensor(&weight).map_err(io::Error::other)?.shape().to_vec();
    let (rows, inputs) = (shape[0], shape[1]);
    let random = |name: &str, rows, columns, deviation| Matrix::random(&format!("{kind:?} {name}"), rows, columns, deviation);
    let mut adapter: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
    let mut add = |end: &str, shape: &[usize], matrix: &Matrix| {
        adapter.push((format!("{THEIRS}_{end}"), shape.to_vec(), matrix.values.clone()));
    };
    let core_shape = [RANK, RANK, 3, 3];
    let w1 = random("w1", 4, 4, 0.5);
    let kronecker = |w2: &Matrix| {
        let (block, width) = (w2.rows(), w2.columns / AREA);
        Matrix::made(rows, inputs * AREA, |row, column| {
            let (input, point) = (column / AREA, column % AREA);
            w1.at(row / block, input / width) * w2.at(row % block, (input % width) * AREA + point)
        })
    };
    let mut changes: Vec<(String, Matrix)> = Vec::new();
    let scale = |matrix: &Matrix, by: f32| Matrix { columns: matrix.columns, values: matrix.values.iter().map(|it| it * by).collect() };
    match kind {
        ConvolutionKind::LoraCore => {
            let (core, a, b) = (random("t", RANK, RANK * AREA, 0.5), random("a", RANK, rows, 0.6), random("b", RANK, inputs, 0.6));
            add("conv1.lora_up.weight", &[rows, RANK, 1, 1], &Matrix::made(rows, RANK, |row, rank| a.at(rank, row)));
            add("conv1.lora_mid.weight", &core_shape, &core);
            add("conv1.lora_down.weight", &[RANK, inputs, 1, 1], &b);
            changes.push((weight, scale(&with_core(&core, &a, &b), 0.5)));
        }
        ConvolutionKind::LohaCore => {
            let factor = |end: &str| {
                let core = random(&format!("t{end}"), RANK, RANK * AREA, 0.5);
                (core, random(&format!("a{end}"), RANK, rows, 0.6), random(&format!("b{end}"), RANK, inputs, 0.6))
            };
            let pairs = [factor("1"), factor("2")];
            for (end, (core, a, b)) in ["1", "2"].iter().zip(&pairs) {
                add(&format!("conv1.hada_t{end}"), &core_shape, core);
                add(&format!("conv1.hada_w{end}_a"), &[RANK, rows], a);
                add(&format!("conv1.hada_w{end}_b"), &[RANK, inputs], b);
            }
            let [first, second] = pairs.map(|(core, a, b)| with_core(&core, &a, &b));
            let product = Matrix::made(rows, inputs * AREA, |row, column| first.at(row, column) * second.at(row, column));
            changes.push((weight, scale(&product, 0.5)));
        }
        ConvolutionKind::LokrCore => {
            let core = random("t", RANK, RANK * AREA, 0.5);
            let (a, b) = (random("a", RANK, rows / 4, 0.6), random("b", RANK, inputs / 4, 0.6));
            add("conv1.lokr_w1", &[4, 4], &w1);
            add("conv1.lokr_t2", &core_shape, &core);
            add("conv1.lokr_w2_a", &[RANK, rows / 4], &a);
            add("conv1.lokr_w2_b", &[RANK, inputs / 4], &b);
            changes.push((weight, scale(&kronecker(&with_core(&core, &a, &b)), 0.5)));
        }
        ConvolutionKind::Lokr => {
            let (a, b) = (random("a", rows / 4, RANK, 0.5), random("b", RANK, inputs / 4 * AREA, 0.2));
            add("conv1.lokr_w1", &[4, 4], &w1);
            add("conv1.lokr_w2_a", &[rows / 4, RANK], &a);
            add("conv1.lokr_w2_b", &[RANK, inputs / 4 * AREA], &b);
            changes.push((weight, scale(&kronecker(&a.product(&b)), 0.5)));
        }
        ConvolutionKind::NormAndBias => {
            for (end, ours, size) in
                [("norm1.w_norm", "0.weight", inputs), ("norm1.b_norm", "0.bias", inputs), ("conv1.diff_b", "2.bias", rows)]
            {
                let change = random(end, 1, size, 0.5);
                add(end, &[size], &change);
                changes.push((format!("{OURS}.{ours}"), change));
            }
        }
    }
    if kind != ConvolutionKind::NormAndBias {
        add("conv1.alpha", &[], &Matrix { columns: 1, values: vec![2.0] });
    }

    let files =
        AdapterFiles { adapter: dir.join(format!("{kind:?}.safetensors")), merged: dir.join(format!("{kind:?}-merged.safetensors")) };
    write_halves(&files.adapter, &adapter)?;
    let mut merged = Vec::new();
    for (name, change) in &changes {
        let view = model.tensor(name).map_err(io::Error::other)?;
        let own = if view.dtype() == Dtype::F32 { floats(view.data()) } else { halves(view.data()) };
        let sum: Vec<u8> = own.iter().zip(&change.values).flat_map(|(own, change)| (own + change).to_le_bytes()).collect();
        merged.push((name, view.shape().to_vec(), sum));
    }
    let views = model.tensors().into_iter().map(|(name, view)| match merged.iter().find(|(it, ..)| **it == name) {
        Some((_, shape, data)) => Ok((name, TensorView::new(Dtype::F32, shape.clone(), data)?)),
        None => Ok((name, view)),
    });
    write(&files.merged, views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(io::Error::other)?)?;
    Ok(files)
}

/// Trainers' names of the layers of an SDXL's UNet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdxlNames {
    /// kohya's, of the model's own names.
    Kohya,
    /// kohya's, of diffusers' names.
    KohyaDiffusers,
    /// diffusers', with PEFT's halves.
    Peft,
}

impl SdxlNames {
    pub const ALL: [Self; 3] = [Self::Kohya, Self::KohyaDiffusers, Self::Peft];
}

/// Writes a LoRA in these names for some layers of the UNet of the family `sdxl` into `dir`; it is
/// the same one in all names.
///
/// # Errors
/// A file that cannot be written.
pub fn sdxl(dir: &Path, names: SdxlNames) -> io::Result<PathBuf> {
    /// The model's and diffusers' name, rows, columns, and the side of a kernel.
    const LAYERS: [(&str, &str, usize, usize, usize); 6] = [
        ("input_blocks.4.0.in_layers.2", "down_blocks.1.resnets.0.conv1", 128, 64, 3),
        ("input_blocks.4.1.transformer_blocks.0.attn1.to_q", "down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q", 128, 128, 1),
        ("input_blocks.5.1.transformer_blocks.1.attn2.to_k", "down_blocks.1.attentions.1.transformer_blocks.1.attn2.to_k", 128, 2048, 1),
        ("middle_block.1.transformer_blocks.0.attn1.to_out.0", "mid_block.attentions.0.transformer_blocks.0.attn1.to_out.0", 256, 256, 1),
        ("output_blocks.0.1.transformer_blocks.0.ff.net.2", "up_blocks.0.attentions.0.transformer_blocks.0.ff.net.2", 256, 1024, 1),
        ("output_blocks.3.1.proj_in", "up_blocks.1.attentions.0.proj_in", 128, 128, 1),
    ];
    let mut adapter = Vec::new();
    for (own, theirs, rows, columns, side) in LAYERS {
        let (inputs, is_kernel) = (columns * side * side, side > 1);
        let down = Matrix::random(&format!("{own} down"), RANK, inputs, 1.0 / (inputs as f32).sqrt());
        let up = Matrix::random(&format!("{own} up"), rows, RANK, 0.5);
        let shape = |rows, columns, side| if is_kernel { vec![rows, columns, side, side] } else { vec![rows, columns] };
        let name = match names {
            SdxlNames::Kohya => format!("lora_unet_{}", own.replace('.', "_")),
            SdxlNames::KohyaDiffusers => format!("lora_unet_{}", theirs.replace('.', "_")),
            SdxlNames::Peft => format!("unet.{theirs}"),
        };
        let [first, second] = if names == SdxlNames::Peft { ["lora_A", "lora_B"] } else { ["lora_down", "lora_up"] };
        adapter.push((format!("{name}.{first}.weight"), shape(RANK, columns, side), down.values));
        adapter.push((format!("{name}.{second}.weight"), shape(rows, RANK, 1), up.values));
        // What diffusers takes for granted.
        if names != SdxlNames::Peft {
            adapter.push((format!("{name}.alpha"), Vec::new(), vec![RANK as f32]));
        }
    }
    let path = dir.join(format!("{names:?}.safetensors"));
    write_halves(&path, &adapter)?;
    Ok(path)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect()
}

/// Writes an adapter's tensors in F16.
fn write_halves(path: &Path, adapter: &[(String, Vec<usize>, Vec<f32>)]) -> io::Result<()> {
    let adapter: Vec<_> = adapter
        .iter()
        .map(|(name, shape, values)| (name, shape, values.iter().flat_map(|it| f16::from_f32(*it).to_le_bytes()).collect::<Vec<u8>>()))
        .collect();
    let views = adapter.iter().map(|(name, shape, data)| Ok((*name, TensorView::new(Dtype::F16, (*shape).clone(), data)?)));
    write(path, views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(io::Error::other)?)
}
