//! Several start pictures: each has pictures of its own.

use std::path::{Path, PathBuf};

use super::super::flags::InputFlags;
use super::UsageError;
use atelier_core::recipe::{ImageSource, first_of_other_size};

/// The start pictures of these flags in their order; `None` alone where there is none. Of several
/// with one mask it reads the headers.
///
/// # Errors
/// Where one mask lies over start pictures of several sizes, or it is not known whether it does.
pub(super) fn all(inputs: &InputFlags) -> Result<Vec<Option<PathBuf>>, UsageError> {
    let starts = &inputs.init_img;
    if starts.is_empty() {
        return Ok(vec![None]);
    }
    if inputs.mask.is_some() && starts.len() > 1 {
        check_one_size(starts)?;
    }
    Ok(starts.iter().cloned().map(Some).collect())
}

/// The start picture of these flags. `why`: the reason that there is one at most.
///
/// # Errors
/// For several.
pub(super) fn only(inputs: &InputFlags, why: &'static str) -> Result<Option<PathBuf>, UsageError> {
    match &inputs.init_img[..] {
        [] => Ok(None),
        [start] => Ok(Some(start.clone())),
        several => Err(UsageError::SeveralStarts(why, several.len())),
    }
}

fn check_one_size(starts: &[PathBuf]) -> Result<(), UsageError> {
    let size = |path: &PathBuf| {
        atelier_media::image_size(&ImageSource::File(path.clone())).map_err(|error| UsageError::StartPicture(error.to_string()))
    };
    let sizes = starts.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some(at)) = (starts.first(), first_of_other_size(&sizes)) else { return Ok(()) };
    let words = |path: &Path, (width, height): (u32, u32)| format!("{} has {width} x {height} pixels", path.display());
    Err(UsageError::StartPicture(format!(
        "one mask fits start pictures of one size alone, and {}, {}; run the command once for each, with a mask of its own",
        words(first, sizes[0]),
        words(&starts[at], sizes[at])
    )))
}
