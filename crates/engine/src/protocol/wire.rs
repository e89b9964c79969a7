//! Messages on a pipe.
//!
//! A frame is a length, a header in JSON of so many bytes, and the pixels of the message's images
//! one after the other, as bytes. Invariants: what [`write()`] accepts, [`read`] returns equal (a
//! double to its last bit or the one before it, as `serde_json` reads them: its exact mode would
//! also refuse pictures whose numbers are too large); every size is checked before memory is
//! allocated for it, and hostile bytes give an error.

use std::io::{self, Read, Write};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Event, Picture, Preview, Query, Request, Task};
use crate::protocol::Control;
use atelier_core::recipe::{FineColours, ImageSource, Recipe, Rgb8};

/// Bytes of a header: prompts, notes and log lines.
const MAX_HEADER_BYTES: u32 = 16 << 20;
/// Images of one message.
const MAX_IMAGES: usize = 256;
/// Bytes of all pixels of one message: an image of 16,384 pixels a side, upscaled to twice that.
const MAX_PIXEL_BYTES: u64 = 4 << 30;

/// A message that a frame can carry: a [`Request`] or an [`Event`].
pub trait Message: Serialize + DeserializeOwned {
    /// Calls `visit` with each image, in an order that depends on nothing but the message's form.
    fn visit_images(&mut self, visit: &mut dyn FnMut(&mut Rgb8));
}

#[derive(Serialize, Deserialize)]
struct Header<M> {
    images: Vec<ImageHeader>,
    /// The message, its images without pixels.
    message: M,
}

/// What stands before the bytes of an image.
#[derive(Serialize, Deserialize)]
struct ImageHeader {
    /// Width in pixels.
    width: u32,
    /// Height in pixels.
    height: u32,
    /// Bytes that follow the pixels: its [`FineColours`] in JSON; 0 without them.
    fine: u64,
}

/// Writes a message as one frame.
///
/// # Errors
/// If the pipe is broken; and, before anything is written, with `InvalidData` if the message cannot
/// be carried: it is too large, a path is not UTF-8, or a number is infinite.
pub fn write<M: Message>(to: &mut impl Write, mut message: M) -> io::Result<()> {
    let mut images = Vec::new();
    message.visit_images(&mut |image| images.push(std::mem::replace(image, without_pixels())));
    let fine = images.iter().map(|image| image.fine().map(serde_json::to_vec).transpose().map(Option::unwrap_or_default));
    let fine = fine.collect::<Result<Vec<Vec<u8>>, _>>().map_err(invalid)?;
    let headers = images.iter().zip(&fine);
    let images_headers =
        headers.map(|(image, fine)| ImageHeader { width: image.width(), height: image.height(), fine: fine.len() as u64 }).collect();
    let header = Header { images: images_headers, message };
    let json = serde_json::to_vec(&header).map_err(invalid)?;
    // JSON has no infinity: what it was written as cannot be read.
    let readable: Header<M> = serde_json::from_slice(&json).map_err(invalid)?;
    check_images(&readable.images)?;
    let length =
        u32::try_from(json.len()).ok().filter(|length| *length <= MAX_HEADER_BYTES).ok_or_else(|| invalid("a header is too long"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&json)?;
    for (image, fine) in images.iter().zip(&fine) {
        to.write_all(image.pixels())?;
        to.write_all(fine)?;
    }
    to.flush()
}

/// Reads the next message; `None` where the pipe was closed between two frames.
///
/// # Errors
/// If the pipe is broken or closed within a frame; with `InvalidData` if the bytes are no frame.
pub fn read<M: Message>(from: &mut impl Read) -> io::Result<Option<M>> {
    let Some(length) = read_length(from)? else { return Ok(None) };
    if length > MAX_HEADER_BYTES {
        return Err(invalid("a header is too long"));
    }
    let json = read_bytes(from, length.into())?;
    let Header::<M> { images, mut message } = serde_json::from_slice(&json).map_err(invalid)?;
    check_images(&images)?;
    let mut slots = 0;
    message.visit_images(&mut |_| slots += 1);
    if slots != images.len() {
        return Err(invalid("a message has a wrong number of images"));
    }
    let mut pixels = Vec::with_capacity(slots);
    for ImageHeader { width, height, fine } in images {
        let image = Rgb8::new(width, height, read_bytes(from, pixel_bytes(width, height))?);
        let fine = read_bytes(from, fine)?;
        let fine: Option<FineColours> = if fine.is_empty() { None } else { Some(serde_json::from_slice(&fine).map_err(invalid)?) };
        let image = image.and_then(|image| image.with_fine(fine));
        pixels.push(image.ok_or_else(|| invalid("an image has the wrong size"))?);
    }
    let mut pixels = pixels.into_iter();
    message.visit_images(&mut |image| *image = pixels.next().unwrap_or_else(without_pixels));
    Ok(Some(message))
}

/// The length of a frame's header; `None` at the end of the pipe.
fn read_length(from: &mut impl Read) -> io::Result<Option<u32>> {
    let mut bytes = Vec::new();
    from.by_ref().take(4).read_to_end(&mut bytes)?;
    match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(u32::from_le_bytes(bytes))),
        Err(_) if bytes.is_empty() => Ok(None),
        Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads exactly so many bytes. Memory grows with what arrives, not with what was announced.
fn read_bytes(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn check_images(images: &[ImageHeader]) -> io::Result<()> {
    let bytes = images.iter().map(|image| pixel_bytes(image.width, image.height).saturating_add(image.fine));
    let bytes = bytes.fold(0_u64, u64::saturating_add);
    if images.len() > MAX_IMAGES || bytes > MAX_PIXEL_BYTES {
        return Err(invalid("the images of a message are too large"));
    }
    Ok(())
}

fn pixel_bytes(width: u32, height: u32) -> u64 {
    (u64::from(width) * u64::from(height)).saturating_mul(3)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Stands for an image in a header.
fn without_pixels() -> Rgb8 {
    Rgb8::new(0, 0, Vec::new()).unwrap_or_else(|| unreachable!("no pixels are no bytes"))
}

impl Message for Request {
    fn visit_images(&mut self, visit: &mut dyn FnMut(&mut Rgb8)) {
        match self {
            Self::Job { job: _, task: Task::Upscale { image, model: _, allow_pickle: _, placement: _, threads: _ } } => {
                visit_source(image, visit);
            }
            Self::Job { job: _, task: Task::Generate { recipe, preview: _, shares_steps: _ } }
            | Self::Query(Query::Estimate(recipe))
            | Self::Control(Control::Preload(Some(recipe))) => visit_recipe(recipe, visit),
            Self::Query(Query::Devices)
            | Self::Control(
                Control::Cancel(_)
                | Control::AddServer(_)
                | Control::UnloadAll
                | Control::Unload(_)
                | Control::Keep { .. }
                | Control::SetReserve(_)
                | Control::PlaceAutomatically(_)
                | Control::WatchDevices(_)
                | Control::Preload(None)
                | Control::Measure(_),
            ) => {}
        }
    }
}

impl Message for Event {
    fn visit_images(&mut self, visit: &mut dyn FnMut(&mut Rgb8)) {
        match self {
            Self::Preview { job: _, preview: Preview { picture: _, step: _, place: _, image } }
            | Self::Picture { job: _, picture: Picture { info: _, notes: _, image } } => visit(Arc::make_mut(image)),
            Self::Estimated { recipe, estimate: _ } => visit_recipe(recipe, visit),
            Self::Begin { .. }
            | Self::Phase { .. }
            | Self::Step { .. }
            | Self::Log { .. }
            | Self::Measured { .. }
            | Self::Waiting { .. }
            | Self::Residency(_)
            | Self::Devices(_)
            | Self::Rates { .. }
            | Self::Server { .. }
            | Self::End { .. } => {}
        }
    }
}

fn visit_recipe(recipe: &mut Recipe, visit: &mut dyn FnMut(&mut Rgb8)) {
    for source in recipe.pictures_mut() {
        visit_source(source, visit);
    }
}

fn visit_source(source: &mut ImageSource, visit: &mut dyn FnMut(&mut Rgb8)) {
    match source {
        ImageSource::File(_) => {}
        ImageSource::Pixels(image) => visit(image),
    }
}

#[cfg(test)]
mod tests;
