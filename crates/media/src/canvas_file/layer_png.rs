//! PNG with RGBA pixels, written from tiles and read into them.

use std::io::{self, BufReader, Cursor, Write};

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};

use atelier_core::canvas::{PixelRect, TILE_SIDE, TileImage};
use atelier_language::tr;

/// Most bytes that the decoder takes beside the pixels.
const DECODER_BYTES: usize = 64 << 20;

/// Takes the bytes of a row with its place in the document.
pub(super) type TakeRow<'a> = dyn FnMut(PixelRect, &[u8]) -> Result<(), String> + 'a;

/// Writes RGBA pixels, row of tiles by row of tiles. `read` gives the bytes of a rectangle in rows.
pub(super) fn write_png(target: &mut impl Write, frame: PixelRect, mut read: impl FnMut(PixelRect) -> Vec<u8>) -> io::Result<()> {
    let mut encoder = Encoder::new(target, frame.width, frame.height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header()?;
    let mut rows = writer.stream_writer()?;
    let mut top = frame.top;
    while top < frame.bottom() {
        let band = PixelRect { top, height: TILE_SIDE.min((frame.bottom() - top) as u32), ..frame };
        rows.write_all(&read(band))?;
        top = band.bottom();
    }
    rows.finish()?;
    writer.finish()?;
    Ok(())
}

/// Reads a PNG of exactly this size; `take` gets each row with its place in the document.
pub(super) fn read_png(bytes: &[u8], frame: PixelRect, take: &mut TakeRow<'_>) -> Result<(), String> {
    let mut decoder = Decoder::new_with_limits(BufReader::new(Cursor::new(bytes)), Limits { bytes: DECODER_BYTES });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let info = reader.info();
    if (info.color_type, info.bit_depth, info.interlaced) != (ColorType::Rgba, BitDepth::Eight, false) {
        return Err(tr!("media-a-layer-is-not").into());
    }
    if (info.width, info.height) != (frame.width, frame.height) {
        return Err(tr!("media-a-layers-size-does").into());
    }
    let mut row = vec![0; frame.width as usize * 4];
    for top in frame.top..frame.bottom() {
        if reader.read_row(&mut row).map_err(|error| error.to_string())?.is_none() {
            return Err(tr!("media-a-layer-ends-too").into());
        }
        take(PixelRect { top, height: 1, ..frame }, &row)?;
    }
    Ok(())
}

/// Puts a row of pixels at its place. Where it holds nothing, no tile is made: memory follows what
/// is there.
pub(super) fn put_row(pixels: &mut TileImage, place: PixelRect, row: &[u8]) {
    let mut left = place.left;
    let mut rest = row;
    while !rest.is_empty() {
        let to_edge = TILE_SIDE - left.unsigned_abs() % TILE_SIDE;
        let (run, after) = rest.split_at(rest.len().min(to_edge as usize * 4));
        let width = (run.len() / 4) as u32;
        if run.iter().any(|byte| *byte != 0) {
            pixels.change(PixelRect { left, width, ..place }, true, |_, _, target| target.copy_from_slice(run));
        }
        (left, rest) = (left.saturating_add_unsigned(width), after);
    }
}
