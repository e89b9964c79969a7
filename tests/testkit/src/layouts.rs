//! The same weights in the forms in which people keep models: parts, shards, other names.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;

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
