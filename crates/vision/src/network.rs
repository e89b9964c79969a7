//! An ONNX model with one picture as its input.

use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rten::{Dimension, Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use atelier_language::tr;
use atelier_library::{Anchored, Fault, OnnxHeader};

use super::error::{MAX_MODEL_BYTES, VisionError};

/// Sides in pixels that an input may have.
const SIDES: std::ops::RangeInclusive<usize> = 32..=4096;

/// A model that is ready to run.
pub(crate) struct Network {
    model: Model,
    path: PathBuf,
    /// Width and height in pixels of its input; `None` where it takes any.
    size: Option<(u32, u32)>,
    header: OnnxHeader,
    threads: Arc<ThreadPool>,
}

impl Network {
    /// Reads a model and checks that its input is a picture. Reads the whole file into memory.
    pub(crate) fn open(path: &Path, purpose: &'static str, threads: usize) -> Result<Self, VisionError> {
        let bytes = read(path)?;
        let header = match OnnxHeader::read(&mut Cursor::new(&bytes), bytes.len() as u64, &path.display().to_string()) {
            Ok(header) => header,
            // The runtime below says what it makes of it.
            Err(error) if matches!(error.fault, Fault::Damaged | Fault::Unsupported) => OnnxHeader::default(),
            Err(error) => return Err(VisionError::Header { error }),
        };
        let not_a_model = |reason: String| VisionError::NotAModel { path: path.to_owned(), reason };
        if header.is_quantised {
            return Err(not_a_model(tr!("vision-it-is-quantised-to").into()));
        }
        if header.is_in_parts {
            return Err(not_a_model(tr!("vision-its-weights-lie-in-another-file").into()));
        }
        let model = Model::load(bytes).map_err(|error| not_a_model(error.to_string()))?;
        let other = |reason: String| VisionError::OtherPurpose { path: path.to_owned(), purpose, reason };
        let shape = model.input_shape(0).ok_or_else(|| other(tr!("vision-its-input-has-no").into()))?;
        let (channels, height, width) = match shape.as_slice() {
            [_, height, width, channels] if header.channels_are_last() => (channels, height, width),
            [_, channels, height, width] => (channels, height, width),
            _ => return Err(other(tr!("vision-its-input-has-dimensions", shape = shape.len()))),
        };
        if let Dimension::Fixed(channels) = channels
            && *channels != 3
        {
            return Err(other(tr!("vision-its-input-has-channels", channels)));
        }
        let size = match (width, height) {
            (Dimension::Fixed(width), Dimension::Fixed(height)) => {
                if !SIDES.contains(width) || !SIDES.contains(height) {
                    return Err(other(tr!("vision-its-input-has-x", width, height)));
                }
                Some((*width as u32, *height as u32))
            }
            _ => None,
        };
        let threads = Arc::new(ThreadPool::with_num_threads(threads.max(1)));
        Ok(Self { model, path: path.to_owned(), size, header, threads })
    }

    /// Width and height in pixels of its input; `None` where it takes any.
    pub(crate) const fn size(&self) -> Option<(u32, u32)> {
        self.size
    }

    /// Width and height in pixels of the pictures that it was exported for, where it takes any.
    pub(crate) fn picture_size(&self) -> Option<(u32, u32)> {
        self.header.picture_size.and_then(|(width, height)| Some((side(width)?, side(height)?)))
    }

    /// Names of the classes that it tells apart, by number; empty where the file has none.
    pub(crate) fn class_names(&self) -> &[String] {
        &self.header.class_names
    }

    /// Lengths of the dimensions of its result, `None` where the file leaves one open; empty where
    /// it says nothing.
    pub(crate) fn result(&self) -> &[Option<u64>] {
        &self.header.output
    }

    pub(crate) fn other_purpose(&self, purpose: &'static str, reason: String) -> VisionError {
        VisionError::OtherPurpose { path: self.path.clone(), purpose, reason }
    }

    /// The detector of `MediaPipe` that it is.
    pub(crate) fn anchored(&self) -> Option<Anchored> {
        self.header.anchored()
    }

    /// The first results of a picture of the shape `[1, 3, height, width]`.
    pub(crate) fn run<const RESULTS: usize>(&self, input: &NdTensor<f32, 4>) -> Result<[Value; RESULTS], VisionError> {
        let failed = |reason: String| VisionError::Run { path: self.path.clone(), reason };
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads)));
        let picture: ValueOrView<'_> =
            if self.header.channels_are_last() { input.permuted([0, 2, 3, 1]).to_tensor().into() } else { input.view().into() };
        let results = self.model.output_ids().get(..RESULTS).and_then(|ids| <[NodeId; RESULTS]>::try_from(ids).ok());
        let (Some(&place), Some(results)) = (self.model.input_ids().first(), results) else {
            return Err(failed(tr!("vision-it-has-too-few-results").into()));
        };
        self.model.run_n(vec![(place, picture)], results, Some(options)).map_err(|error| failed(error.to_string()))
    }
}

/// A shape as it stands in errors: `[1, ?, 640]`.
pub(crate) fn shown(shape: &[Option<u64>]) -> String {
    let lengths: Vec<String> = shape.iter().map(|length| length.map_or_else(|| "?".to_owned(), |length| length.to_string())).collect();
    format!("[{}]", lengths.join(", "))
}

/// A side that an input may have.
fn side(pixels: u64) -> Option<u32> {
    let pixels = usize::try_from(pixels).ok()?;
    SIDES.contains(&pixels).then_some(pixels as u32)
}

fn read(path: &Path) -> Result<Vec<u8>, VisionError> {
    let failed = |source| VisionError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MAX_MODEL_BYTES {
        return Err(VisionError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}
