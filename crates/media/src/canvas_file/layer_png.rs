//! PNG with RGBA pixels, written from tiles and read into them.

use std::io::{self, BufReader, Cursor, Write};

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};

use atelier_core::canvas::{PixelRect, TILE_SIDE, TileImage};

/// Most bytes that the decoder takes beside the pixels.
const DECODER_BYTES: usize = 64 << 20;

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

/// Reads a PNG of exactly this size into a document's layer of `width` and `height`.
pub(super) fn read_png(bytes: &[u8], width: u32, height: u32, frame: PixelRect) -> Result<TileImage, String> {
    let mut decoder = Decoder::new_with_limits(BufReader::new(Cursor::new(bytes)), Limits { bytes: DECODER_BYTES });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let info = reader.info();
    if (info.color_type, info.bit_depth, info.interlaced) != (ColorType::Rgba, BitDepth::Eight, false) {
        return Err("a layer is no plain RGBA picture".into());
    }
    if (info.width, info.height) != (frame.width, frame.height) {
        return Err("a layer has another size than the list says".into());
    }
    let mut pixels = TileImage::new(width, height);
    let mut row = vec![0; frame.width as usize * 4];
    for top in frame.top..frame.bottom() {
        if reader.read_row(&mut row).map_err(|error| error.to_string())?.is_none() {
            return Err("a layer ends too early".into());
        }
        // Rows of nothing make no tiles: memory follows what is there.
        if row.iter().all(|byte| *byte == 0) {
            continue;
        }
        pixels.change(PixelRect { top, height: 1, ..frame }, true, |x, _, run| {
            let at = (x as i32 - frame.left) as usize * 4;
            run.copy_from_slice(&row[at..at + run.len()]);
        });
    }
    pixels.drop_blank_tiles();
    Ok(pixels)
}
