//! Smaller copies of model files: what can be copied, the name of the copy, the room that it needs,
//! and the file itself, which has its name only when it is whole.
//!
//! Everything here reads files, and a copy takes minutes: for threads that may wait.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atelier_core::format::file_size;
use atelier_core::recipe::{FileRole, TensorType, TensorTypeRules};
use atelier_downloads::free_bytes;
use atelier_engine::{Conversion, NotConverted};
use atelier_language::tr;
use atelier_library::{Header, MANIFEST, file_name, identify, read_header};

/// Types that are offered, the largest first.
const OFFERED: [TensorType; 5] = [TensorType::Q8_0, TensorType::Q6K, TensorType::Q5_0, TensorType::Q4K, TensorType::Q4_0];
/// Part of the original's bytes below which a copy is worth having.
const WORTHWHILE: f64 = 0.95;
/// Room on the disk that a copy leaves to others.
const SPARE_BYTES: u64 = 64 << 20;

/// A copy that can be made.
#[derive(Clone, Debug)]
pub struct ModelCopy {
    conversion: Conversion,
    /// The file.
    pub output: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Those of the original.
    pub original_bytes: u64,
}

/// Error: there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The original is no model file.
    #[error("{0}")]
    Original(String),
    /// The original is of a kind that is not copied.
    #[error("{0}")]
    Kind(String),
    /// No name for the copy.
    #[error("{}", tr!("studio-the-copy-is-a"))]
    Name,
    /// A file has the name of the copy.
    #[error("{}", tr!("studio-is-there-already-choose", reason = _0))]
    Exists(String),
    /// Too little room.
    #[error("{}", tr!("studio-the-copy-needs-and", needed = file_size(*needed), free = file_size(*free)))]
    Room {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The engine could not make it.
    #[error("{0}")]
    Engine(String),
    /// It could not be written.
    #[error("{}", tr!("studio-the-copy-could-not", reason = _0))]
    Disk(#[from] io::Error),
    /// Somebody said so.
    #[error("{}", tr!("studio-the-copy-was-stopped"))]
    Stopped,
}

impl From<NotConverted> for CopyError {
    fn from(error: NotConverted) -> Self {
        match error {
            NotConverted::Cancelled => Self::Stopped,
            NotConverted::Failed(failure) => Self::Engine(failure.advice.to_string()),
        }
    }
}

/// Bytes of a file, and of its copies that are worth having by type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySizes {
    /// Those of the file.
    pub original_bytes: u64,
    /// The largest first.
    pub copies: Vec<(TensorType, u64)>,
}

/// Looks at a file, and says what its copies would take.
pub fn copy_sizes(original: &Path) -> Result<CopySizes, CopyError> {
    let mut sizes = CopySizes { original_bytes: 0, copies: Vec::new() };
    for weight_type in OFFERED {
        let copy = ModelCopy::plan(original, Some(weight_type), TensorTypeRules::default(), None, None)?;
        sizes.original_bytes = copy.original_bytes;
        if (copy.bytes as f64) < WORTHWHILE * copy.original_bytes as f64 {
            sizes.copies.push((weight_type, copy.bytes));
        }
    }
    Ok(sizes)
}

impl ModelCopy {
    /// Looks at a file, and says what a copy of it would be. `output`: the copy's name; `None`:
    /// beside the original. `licence` is kept in the copy where the original does not tell its own.
    pub fn plan(
        original: &Path,
        weight_type: Option<TensorType>,
        rules: TensorTypeRules,
        output: Option<&Path>,
        licence: Option<&str>,
    ) -> Result<Self, CopyError> {
        let header = read_header(original).map_err(|error| CopyError::Original(error.to_string()))?;
        let role = role_of(original, &header)?;
        let output = output.map_or_else(|| name_beside(original, weight_type), Path::to_owned);
        if !output.extension().is_some_and(|it| it.eq_ignore_ascii_case("gguf")) {
            return Err(CopyError::Name);
        }
        let entries = entries(original, &header, licence);
        let conversion = Conversion { input: original.to_owned(), role, weight_type, rules, entries };
        let bytes = conversion.bytes()?;
        Ok(Self { conversion, output, bytes, original_bytes: header.file_bytes })
    }

    /// Type of its weights; `None`: as the original has them.
    #[must_use]
    pub const fn weight_type(&self) -> Option<TensorType> {
        self.conversion.weight_type
    }

    /// Makes the copy. `go_on` is given the bytes that are written and all bytes; false stops it.
    pub fn make(&self, go_on: &(dyn Fn(u64, u64) -> bool + Sync)) -> Result<(), CopyError> {
        if self.output.try_exists()? {
            return Err(CopyError::Exists(file_name(&self.output)));
        }
        let folder = self.output.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let (needed, free) = (self.bytes + SPARE_BYTES, free_bytes(folder)?);
        if needed > free {
            return Err(CopyError::Room { needed, free });
        }
        let begun = tempfile::Builder::new().prefix(".converted-").suffix(".part").tempfile_in(folder)?;
        self.conversion.write(begun.path(), go_on)?;
        let whole = read_header(begun.path()).map_err(|error| CopyError::Original(error.to_string()))?;
        if identify(&whole).role != Some(self.conversion.role) {
            return Err(CopyError::Kind(tr!("studio-the-copy-would-not").to_owned()));
        }
        begun.as_file().sync_all()?;
        fs::set_permissions(begun.path(), fs::metadata(&self.conversion.input)?.permissions())?;
        begun.persist_noclobber(&self.output).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists(file_name(&self.output)),
            _ => CopyError::Disk(error.error),
        })?;
        Ok(())
    }
}

/// The role of a file that can be copied.
fn role_of(path: &Path, header: &Header) -> Result<FileRole, CopyError> {
    let kind = identify(header);
    let refuse = |why: &str| CopyError::Kind(tr!("studio-is", path = file_name(path), described = kind.described(), why));
    match kind.role {
        Some(role @ (FileRole::Model | FileRole::Diffusion | FileRole::Llm | FileRole::ClipL | FileRole::ClipG | FileRole::T5xxl)) => {
            Ok(role)
        }
        Some(_) => Err(refuse(tr!("studio-it-takes-little-memory"))),
        None => Err(refuse(tr!("studio-only-models-diffusion-modules"))),
    }
}

/// The name of a copy: beside the original, but not in the folder of a downloaded model, whose files
/// its manifest names.
fn name_beside(original: &Path, weight_type: Option<TensorType>) -> PathBuf {
    let stem = original.file_stem().unwrap_or_default().to_string_lossy();
    // Of a model in several files, the name that they have in common.
    let stem = stem.split_once("-00001-of-").map_or(&*stem, |(stem, _)| stem);
    let of_types = TensorType::ALL.iter().map(|it| it.label().to_ascii_lowercase()).chain(["fp16".into(), "fp8".into(), "fp32".into()]);
    let old = of_types.filter(|it| stem.to_ascii_lowercase().ends_with(it)).max_by_key(String::len);
    let bare =
        old.and_then(|it| stem.get(..stem.len() - it.len())).map(|it| it.trim_end_matches(['-', '_', '.'])).filter(|it| !it.is_empty());
    let name = format!("{}-{}.gguf", bare.unwrap_or(stem), weight_type.map_or("converted", TensorType::label));
    let folder = original.parent().unwrap_or_else(|| Path::new(""));
    let is_of_manifest = folder.join(MANIFEST).is_file();
    folder.parent().filter(|_| is_of_manifest).unwrap_or(folder).join(name)
}

/// Where a model comes from, in GGUF's words; those that the original has in them are copied anyway.
fn entries(original: &Path, header: &Header, licence: Option<&str>) -> Vec<(String, String)> {
    let own = |key: &str| header.metadata.get(key).filter(|text| !text.trim().is_empty());
    let known = [
        ("general.name", own("modelspec.title").cloned().or_else(|| Some(original.file_stem()?.to_string_lossy().into_owned()))),
        ("general.author", own("modelspec.author").cloned()),
        ("general.description", own("modelspec.description").cloned()),
        ("general.license", own("modelspec.license").cloned().or_else(|| licence.map(str::to_owned))),
        ("general.version", own("modelspec.version").cloned()),
        ("general.source.url", own("modelspec.resolution_url").or(own("modelspec.url")).cloned()),
    ];
    let mut entries: Vec<(String, String)> =
        known.into_iter().filter(|(key, _)| own(key).is_none()).filter_map(|(key, text)| Some((key.to_owned(), text?))).collect();
    entries.push(("general.source.file".into(), file_name(original)));
    entries.push(("general.quantized_by".into(), "Atelier".into()));
    // A NUL would end the text for C.
    entries.retain(|(_, text)| !text.contains('\0'));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_after_its_original_and_its_type() {
        let name = |original: &str, to| name_beside(Path::new(original), to).to_string_lossy().into_owned();
        assert_eq!(name("/m/flux1-dev.safetensors", Some(TensorType::Q8_0)), "/m/flux1-dev-Q8_0.gguf");
        assert_eq!(name("/m/z_image-BF16.gguf", Some(TensorType::Q4K)), "/m/z_image-Q4_K.gguf");
        assert_eq!(name("/m/sdxl_fp16.safetensors", None), "/m/sdxl-converted.gguf");
        assert_eq!(name("/m/F16.gguf", Some(TensorType::Q4_0)), "/m/F16-Q4_0.gguf");
        assert_eq!(name("/m/qwen-00001-of-00003.safetensors", Some(TensorType::Q8_0)), "/m/qwen-Q8_0.gguf");
    }
}
