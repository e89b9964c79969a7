//! A model file in memory, and random changes of it: well-formed files that mean no good, and files
//! with damaged bytes.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::tensor::{Kind, Tensors};
use crate::weights::SplitMix;

/// Container of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Safetensors,
    /// GGUF, version 3.
    Gguf,
}

/// A number type: GGUF's number, safetensors' name, values and bytes of a block.
type Type = (Option<u32>, Option<&'static str>, u64, u64);

/// F32, F16 and `Q8_0`, by their places in [`TYPES`].
const F32: usize = 0;
const F16: usize = 1;
const Q8: usize = 2;

const TYPES: [Type; 37] = [
    (Some(0), Some("F32"), 1, 4),
    (Some(1), Some("F16"), 1, 2),
    (Some(8), None, 32, 34),
    (Some(30), Some("BF16"), 1, 2),
    (Some(28), Some("F64"), 1, 8),
    (None, Some("F8_E4M3"), 1, 1),
    (None, Some("F8_E5M2"), 1, 1),
    (Some(27), Some("I64"), 1, 8),
    (Some(26), Some("I32"), 1, 4),
    (Some(25), None, 1, 2),
    (Some(24), None, 1, 1),
    (None, Some("U8"), 1, 1),
    (Some(2), None, 32, 18),
    (Some(3), None, 32, 20),
    (Some(6), None, 32, 22),
    (Some(7), None, 32, 24),
    (Some(9), None, 32, 36),
    (Some(10), None, 256, 84),
    (Some(11), None, 256, 110),
    (Some(12), None, 256, 144),
    (Some(13), None, 256, 176),
    (Some(14), None, 256, 210),
    (Some(15), None, 256, 292),
    (Some(16), None, 256, 66),
    (Some(17), None, 256, 74),
    (Some(18), None, 256, 98),
    (Some(19), None, 256, 50),
    (Some(20), None, 32, 18),
    (Some(21), None, 256, 110),
    (Some(22), None, 256, 82),
    (Some(23), None, 256, 136),
    (Some(29), None, 256, 56),
    (Some(34), None, 256, 54),
    (Some(35), None, 256, 66),
    (Some(39), None, 32, 17),
    (Some(40), None, 64, 36),
    (Some(41), None, 128, 18),
];

/// The longest tensor whose bytes are written; a longer one ends in a hole.
const MAX_WRITTEN: u64 = 16 << 20;
/// The longest file. Longer ones say nothing new and take the memory that is counted.
const MAX_FILE: u64 = 2 << 30;

/// A source of random numbers that is the same on every machine.
#[derive(Debug)]
pub struct Random(SplitMix);

impl Random {
    /// One for each seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    pub fn number(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `count`; 0 where `count` is.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.number() % count as u64) as usize }
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Changes a few bytes: sets, flips, repeats, removes, inserts or cuts.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(8) {
                0 => bytes[at] = self.number() as u8,
                1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes[at] = self.one_of(&[0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'9']),
                3 => {
                    let count = self.below(9).min(bytes.len() - at);
                    bytes.drain(at..at + count);
                }
                4 => {
                    let count = self.below(9).min(bytes.len() - at);
                    let copied = bytes[at..at + count].to_vec();
                    bytes.splice(at..at, copied);
                }
                5 => {
                    let value = self.one_of(&[0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, u64::MAX / 2, 0xffff_ffff]);
                    let count = 8.min(bytes.len() - at);
                    bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
                }
                6 => {
                    let value = (self.number() as u32).to_le_bytes();
                    let count = 4.min(bytes.len() - at);
                    bytes[at..at + count].copy_from_slice(&value[..count]);
                }
                _ => {
                    if self.below(4) == 0 {
                        bytes.truncate(at);
                    }
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    dtype: usize,
    shape: Vec<u64>,
    data: Vec<u8>,
}

impl Entry {
    /// Bytes by type and shape; `None` where they do not come out even or are too many.
    fn byte_len(&self) -> Option<u64> {
        let (_, _, block, bytes) = TYPES[self.dtype];
        let values = self.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
        (values.is_multiple_of(block)).then_some(())?;
        (values / block).checked_mul(bytes)
    }
}

/// A model file in memory.
#[derive(Clone, Debug)]
pub struct Draft {
    container: Container,
    metadata: Vec<(String, String)>,
    tensors: Vec<Entry>,
    /// Seed of the damage to the header's bytes.
    damage: Option<u64>,
    /// Its longest file.
    max_file: u64,
}

impl Draft {
    pub(crate) fn new(container: Container, tensors: &Tensors, metadata: &[(&str, &str)]) -> Self {
        Self::with_holes(container, tensors, metadata, |_| false)
    }

    /// A draft in which the tensors of the names for which `is_hole` is true are zeros that take no
    /// room.
    pub(crate) fn with_holes(container: Container, tensors: &Tensors, metadata: &[(&str, &str)], is_hole: impl Fn(&str) -> bool) -> Self {
        let tensors = tensors.0.iter().map(|it| Entry {
            name: it.name.clone(),
            dtype: match it.kind {
                Kind::F32 => F32,
                Kind::F16 => F16,
                Kind::Q8 => Q8,
            },
            shape: it.shape.iter().map(|size| *size as u64).collect(),
            data: if is_hole(&it.name) { Vec::new() } else { it.bytes(1) },
        });
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Self { container, metadata, tensors: tensors.collect(), damage: None, max_file: MAX_FILE }
    }

    /// The same, written as a whole though it is a large file, most of it holes.
    pub(crate) fn whole(self) -> Self {
        Self { max_file: 16 << 30, ..self }
    }

    /// The tensors that get a name, with their weights: what takes no room still takes none.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(&str) -> Option<String>) -> Self {
        let tensors = self.tensors.iter().filter_map(|it| Some(Entry { name: name(&it.name)?, ..it.clone() })).collect();
        let metadata = self.metadata.clone();
        Self { container: self.container, metadata, tensors, damage: self.damage, max_file: self.max_file }
    }

    /// Gives all tensors other names; their weights stay.
    pub(crate) fn rename_all(&mut self, name: impl Fn(&str) -> String) {
        self.tensors.iter_mut().for_each(|it| it.name = name(&it.name));
    }

    /// Gives a tensor another number type, by safetensors' name of it.
    ///
    /// # Errors
    /// An unknown tensor or type.
    pub fn retype(&mut self, name: &str, dtype: &str) -> io::Result<()> {
        let tensor = self.tensors.iter().position(|it| it.name == name);
        let dtype = TYPES.iter().position(|it| it.1 == Some(dtype));
        let (Some(tensor), Some(dtype)) = (tensor, dtype) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no tensor {name}, or no such type")));
        };
        self.tensors[tensor].dtype = dtype;
        self.fit(tensor);
        Ok(())
    }

    /// Gives a tensor another name.
    pub fn rename(&mut self, name: &str, to: &str) {
        self.tensors.iter_mut().filter(|it| it.name == name).for_each(|it| to.clone_into(&mut it.name));
    }

    /// Adds a tensor of zeros.
    pub fn add(&mut self, name: &str, shape: &[u64]) {
        self.tensors.push(Entry { name: name.into(), dtype: F32, shape: shape.into(), data: Vec::new() });
    }

    /// Extension of its file.
    #[must_use]
    pub const fn extension(&self) -> &'static str {
        match self.container {
            Container::Safetensors => "safetensors",
            Container::Gguf => "gguf",
        }
    }

    /// Changes it at random, and says how.
    pub fn mutate(&mut self, random: &mut Random) -> String {
        let mut said = Vec::new();
        for _ in 0..=random.below(3).saturating_sub(1) {
            said.push(self.mutate_once(random));
        }
        said.join("; ")
    }

    fn mutate_once(&mut self, random: &mut Random) -> String {
        if self.tensors.is_empty() {
            return "nothing".into();
        }
        let at = random.below(self.tensors.len());
        let name = self.tensors[at].name.clone();
        match random.below(20) {
            0..=6 => {
                let other = random.below(self.tensors.len());
                let other_size = self.tensors[other].shape.first().copied().unwrap_or(1);
                let shape = &mut self.tensors[at].shape;
                if shape.is_empty() {
                    shape.push(1);
                }
                let axis = random.below(shape.len());
                let size = shape[axis];
                shape[axis] = match random.below(9) {
                    0 => 0,
                    1 => 1,
                    2 => size / 2,
                    3 => size.saturating_mul(2),
                    4 => size + 1,
                    5 => size.saturating_sub(1),
                    6 => other_size,
                    7 => random
                        .one_of(&[2, 3, 7, 8, 31, 32, 33, 64, 77, 100, 127, 128, 129, 256, 320, 512, 768, 1024, 4096, 65_536, 151_674]),
                    _ => random.one_of(&[1 << 16, 1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 62, u64::MAX]),
                };
                let shape = format!("{name} has the shape {:?}", self.tensors[at].shape);
                self.fit(at);
                shape
            }
            7..=8 => {
                let shape = &mut self.tensors[at].shape;
                match random.below(5) {
                    0 => shape.reverse(),
                    1 => shape.insert(0, 1),
                    2 => shape.push(1),
                    3 => *shape = vec![shape.iter().product()],
                    _ => {
                        if let [rows, columns] = shape[..] {
                            *shape = vec![rows, columns, 1, 1];
                        } else {
                            shape.pop();
                        }
                    }
                }
                let shape = format!("{name} has the shape {:?}", self.tensors[at].shape);
                self.fit(at);
                shape
            }
            9..=11 => {
                // All of a name's like have the type, or one.
                let dtype = random.below(TYPES.len());
                let is_all = random.below(4) == 0;
                let end = name.rsplit('.').next().unwrap_or_default().to_owned();
                for index in 0..self.tensors.len() {
                    if index == at || (is_all && self.tensors[index].name.ends_with(&end)) {
                        self.tensors[index].dtype = dtype;
                        self.fit(index);
                    }
                }
                format!("{name}{} of type {dtype}", if is_all { " and those like it are" } else { " is" })
            }
            12..=13 => {
                self.tensors.remove(at);
                format!("{name} is missing")
            }
            14 => {
                let other = random.below(self.tensors.len());
                let other_name = self.tensors[other].name.clone();
                self.tensors[other].name.clone_from(&name);
                self.tensors[at].name.clone_from(&other_name);
                format!("{name} and {other_name} are exchanged")
            }
            15..=16 => {
                let number = random.one_of(&[
                    "0",
                    "1",
                    "2",
                    "5",
                    "19",
                    "63",
                    "1000",
                    "1001",
                    "2000000000",
                    "-1",
                    "-2000000000",
                    "99999999999999",
                    "x",
                    "",
                ]);
                let mut parts: Vec<&str> = name.split('.').collect();
                let numbers: Vec<usize> = (0..parts.len()).filter(|it| parts[*it].parse::<u64>().is_ok()).collect();
                let index = if numbers.is_empty() { random.below(parts.len()) } else { random.one_of(&numbers) };
                parts[index] = number;
                let new = parts.join(".");
                if random.below(2) == 0 {
                    self.tensors[at].name.clone_from(&new);
                } else {
                    let added = Entry { name: new.clone(), ..self.tensors[at].clone() };
                    self.tensors.push(added);
                }
                format!("{name} is, or is also, {new}")
            }
            17 => {
                let value = random.one_of(&[f32::NAN, f32::INFINITY, f32::MAX, -1.0, 0.0, 1e-45]);
                let tensor = &mut self.tensors[at];
                let bytes = value.to_le_bytes();
                for (byte, value) in tensor.data.iter_mut().zip(bytes.iter().cycle()) {
                    *byte = *value;
                }
                format!("{name} is full of {value}")
            }
            18 => {
                let marks = [
                    "v_pred",
                    "edm_vpred.sigma_max",
                    "__x0__",
                    "__32x32__",
                    "__index_timestep_zero__",
                    "scaled_fp8",
                    "ztsnr",
                    "guidance_in.in_layer.weight",
                    "distilled_guidance_layer.in_proj.weight",
                    "embed_image_indicator.weight",
                    "nerf_final_layer_conv.x",
                    "joint_blocks.0.x",
                    "transformer_blocks.0.img_mod.1.weight",
                    "input_blocks.8.0.time_mixer.mix_factor",
                    "visual.x",
                    "context_refiner.7.x",
                    "decoder.conv_in.weight",
                    "conv_up2.weight",
                    "model.diffusion_model.label_emb.0.0.weight",
                    "token_embd.weight",
                    "txt_in.weight",
                ];
                let mark = random.one_of(&marks);
                let shape = random.one_of(&[&[0u64][..], &[1], &[4, 4], &[1, 1, 1, 1], &[]]).to_vec();
                self.add(mark, &shape);
                format!("{mark} of the shape {shape:?} is added")
            }
            _ => {
                let seed = random.number();
                self.damage = Some(seed);
                format!("the header is damaged with {seed}")
            }
        }
    }

    /// Gives a tensor as many bytes as type and shape ask for, as far as they are written.
    fn fit(&mut self, at: usize) {
        let tensor = &mut self.tensors[at];
        let length = tensor.byte_len().unwrap_or(tensor.data.len() as u64).min(MAX_WRITTEN) as usize;
        if tensor.data.is_empty() {
            tensor.data.push(0);
        }
        let data = std::mem::take(&mut tensor.data);
        tensor.data = data.into_iter().cycle().take(length).collect();
    }

    /// Writes it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let alignment = if self.container == Container::Gguf { 32 } else { 1 };
        let mut header = match self.container {
            Container::Safetensors => self.safetensors_header(),
            Container::Gguf => self.gguf_header(),
        };
        if let Some(seed) = self.damage {
            Random::new(seed).damage(&mut header);
        }
        let mut file = File::create(path)?;
        file.write_all(&header)?;
        let mut position = header.len() as u64;
        for tensor in &self.tensors {
            let length = tensor.byte_len().unwrap_or(tensor.data.len() as u64);
            let Some(end) =
                position.checked_add(length).and_then(|it| it.checked_next_multiple_of(alignment)).filter(|it| *it < self.max_file)
            else {
                break;
            };
            let written = (tensor.data.len() as u64).min(length) as usize;
            file.write_all(&tensor.data[..written])?;
            file.seek(SeekFrom::Start(end))?;
            position = end;
        }
        file.set_len(position)
    }

    fn safetensors_header(&self) -> Vec<u8> {
        let mut entries = vec![r#""__metadata__":{"format":"pt"}"#.to_owned()];
        let mut offset = 0u64;
        for tensor in &self.tensors {
            let end = offset.saturating_add(tensor.byte_len().unwrap_or(tensor.data.len() as u64));
            let dtype = TYPES[tensor.dtype].1.unwrap_or("X");
            let (name, shape) = (&tensor.name, &tensor.shape);
            entries.push(format!(r#"{name:?}:{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{offset},{end}]}}"#));
            offset = end;
        }
        let mut json = format!("{{{}}}", entries.join(","));
        // As other writers do it, so that weights lie where they can be computed in place.
        json.push_str(&" ".repeat(json.len().next_multiple_of(8) - json.len()));
        let mut out = (json.len() as u64).to_le_bytes().to_vec();
        out.extend_from_slice(json.as_bytes());
        out
    }

    fn gguf_header(&self) -> Vec<u8> {
        fn string(out: &mut Vec<u8>, text: &str) {
            out.extend_from_slice(&(text.len() as u64).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend_from_slice(&(self.tensors.len() as u64).to_le_bytes());
        out.extend_from_slice(&(self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            string(&mut out, key);
            out.extend_from_slice(&8u32.to_le_bytes());
            string(&mut out, value);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            string(&mut out, &tensor.name);
            out.extend_from_slice(&(tensor.shape.len() as u32).to_le_bytes());
            for size in tensor.shape.iter().rev() {
                out.extend_from_slice(&size.to_le_bytes());
            }
            out.extend_from_slice(&TYPES[tensor.dtype].0.unwrap_or(99).to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            let length = tensor.byte_len().unwrap_or(tensor.data.len() as u64);
            offset = offset.saturating_add(length.checked_next_multiple_of(32).unwrap_or(0));
        }
        out.resize(out.len().next_multiple_of(32), 0);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Part, family};

    #[test]
    fn an_unchanged_draft_is_a_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let parts = family("zimage", dir.path()).unwrap();
        let Part::Draft(draft) = &parts[0].1 else { panic!("{parts:?}") };
        draft.write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("layers.0.attention.qkv.weight").unwrap().shape(), [768, 256]);
    }

    #[test]
    fn a_renamed_draft_has_the_tensors_that_got_a_name_and_their_weights() {
        let dir = tempfile::tempdir().unwrap();
        let [whole, part] = ["whole", "part"].map(|name| dir.path().join(name));
        let parts = family("zimage", dir.path()).unwrap();
        let Part::Draft(draft) = &parts[0].1 else { panic!("{parts:?}") };
        draft.write(&whole).unwrap();
        draft.renamed(|name| name.strip_prefix("layers.0.").map(str::to_owned)).write(&part).unwrap();
        let [whole, part] = [whole, part].map(|path| std::fs::read(path).unwrap());
        let [whole, part] = [&whole, &part].map(|bytes| safetensors::SafeTensors::deserialize(bytes).unwrap());
        let name = "attention.qkv.weight";
        assert_eq!(part.tensor(name).unwrap(), whole.tensor(&format!("layers.0.{name}")).unwrap());
        assert!(part.len() < whole.len() && part.tensor("x_embedder.weight").is_err());
    }

    #[test]
    fn the_same_seed_changes_the_same() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["zimage", "zimage-gguf", "ovis"] {
            let parts = family(name, dir.path()).unwrap();
            let Part::Draft(draft) = &parts[0].1 else { panic!("{name}") };
            let said = |seed| draft.clone().mutate(&mut Random::new(seed));
            assert_eq!((0..50).map(said).collect::<Vec<_>>(), (0..50).map(said).collect::<Vec<_>>());
            assert_ne!(said(1), said(2));
        }
    }
}
