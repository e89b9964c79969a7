//! Adapters of each kind for the diffusion module of [`tiny::zimage`](crate::tiny::zimage), each
//! beside the module with the same change merged by hand.

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
    let adapter: Vec<_> = adapter
        .into_iter()
        .map(|(name, shape, values)| (name, shape, values.iter().flat_map(|it| f16::from_f32(*it).to_le_bytes()).collect::<Vec<u8>>()))
        .collect();
    let views = adapter.iter().map(|(name, shape, data)| Ok((name, TensorView::new(Dtype::F16, shape.clone(), data)?)));
    write(&files.adapter, views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(io::Error::other)?)?;
    let merged: HashMap<String, Vec<u8>> =
        merged.into_iter().map(|(name, matrix)| (name, matrix.values.iter().flat_map(|it| it.to_le_bytes()).collect())).collect();
    let views = module.tensors().into_iter().map(|(name, view)| match merged.get(&name) {
        Some(data) => Ok((name, TensorView::new(Dtype::F32, view.shape().to_vec(), data)?)),
        None => Ok((name, view)),
    });
    write(&files.merged, views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(io::Error::other)?)?;
    Ok(files)
}

fn write<N: AsRef<str> + Ord + std::fmt::Display>(path: &Path, views: Vec<(N, TensorView<'_>)>) -> io::Result<()> {
    safetensors::serialize_to_file(views, None, path).map_err(io::Error::other)
}
