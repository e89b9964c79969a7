//! Texts of PNG, JPEG and WebP files. A file is known by its first bytes; of what it holds only texts are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use super::texts::Texts;
use super::{exif, xmp};
use crate::PictureError;
use crate::png_text::{self, Chunk, MOST_TEXT, latin1};

/// Keyword of XMP in PNG files.
const XMP_KEYWORD: &str = "XML:com.adobe.xmp";
/// Starts of JPEG's segments with EXIF and XMP.
const JPEG_EXIF: &[u8] = b"Exif\0\0";
const JPEG_XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
/// Segments or chunks of a file that are looked at.
const MOST_PARTS: u32 = 1 << 16;

/// The texts of a picture file; none where it is of another kind. A file that ends early is read as far as it goes.
pub(super) fn read(path: &Path) -> Result<Texts, PictureError> {
    let failed = |error: io::Error| PictureError::read(path, error);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut texts = Texts::default();
    let start = file.fill_buf().map_err(failed)?;
    let read = if start.starts_with(png_text::SIGNATURE) {
        png(file, &mut texts)
    } else if start.starts_with(&[0xff, 0xd8, 0xff]) {
        jpeg(file, &mut texts)
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        webp(file, &mut texts)
    } else {
        Ok(())
    };
    match read {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(failed(error)),
        Ok(()) | Err(_) => Ok(texts),
    }
}

fn png(file: impl BufRead + Seek, texts: &mut Texts) -> io::Result<()> {
    png_text::chunks(file, |chunk| match chunk {
        Chunk::Text(keyword, text) if keyword == XMP_KEYWORD => xmp::read(&text, texts),
        Chunk::Text(keyword, text) => texts.push(keyword, text),
        Chunk::Exif(block) => exif::read(block, texts),
    })
}

fn jpeg(mut file: impl BufRead + Seek, texts: &mut Texts) -> io::Result<()> {
    file.seek_relative(2)?;
    for _ in 0..MOST_PARTS {
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        if byte != [0xff] {
            return Ok(());
        }
        // Bytes of 0xff may fill the room between segments.
        while byte == [0xff] {
            file.read_exact(&mut byte)?;
        }
        let [kind] = byte;
        match kind {
            // Markers without a length.
            0x01 | 0xd0..=0xd7 => continue,
            // The pixels, or the end.
            0xda | 0xd9 => return Ok(()),
            _ => {}
        }
        let mut length = [0; 2];
        file.read_exact(&mut length)?;
        let Some(length) = u16::from_be_bytes(length).checked_sub(2) else { return Ok(()) };
        if !matches!(kind, 0xe1 | 0xfe) {
            file.seek_relative(i64::from(length))?;
            continue;
        }
        let data = bytes(&mut file, u64::from(length))?;
        if let Some(block) = data.strip_prefix(JPEG_EXIF) {
            exif::read(block.to_vec(), texts);
        } else if let Some(packet) = data.strip_prefix(JPEG_XMP) {
            xmp::read(&String::from_utf8_lossy(packet), texts);
        } else if kind == 0xfe {
            texts.push("Comment", latin1(&data).trim_end_matches('\0'));
        }
    }
    Ok(())
}

fn webp(mut file: impl BufRead + Seek, texts: &mut Texts) -> io::Result<()> {
    file.seek_relative(12)?;
    for _ in 0..MOST_PARTS {
        let (mut kind, mut length) = ([0; 4], [0; 4]);
        file.read_exact(&mut kind)?;
        file.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        if !matches!(&kind, b"EXIF" | b"XMP ") || length > MOST_TEXT {
            file.seek_relative((length + length % 2) as i64)?;
            continue;
        }
        let data = bytes(&mut file, length)?;
        if &kind == b"EXIF" {
            // Some encoders keep JPEG's mark.
            exif::read(data.strip_prefix(JPEG_EXIF).unwrap_or(&data).to_vec(), texts);
        } else {
            xmp::read(&String::from_utf8_lossy(&data), texts);
        }
        file.seek_relative((length % 2) as i64)?;
    }
    Ok(())
}

/// As many bytes, without believing the number before they are there.
fn bytes(file: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    if file.take(length).read_to_end(&mut data)? as u64 == length { Ok(data) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
