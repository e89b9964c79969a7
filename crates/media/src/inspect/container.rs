//! Texts of PNG, JPEG and WebP files. A file is known by its first bytes; of what it holds only
//! texts are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use atelier_language::tr;

use super::exif::ExifBudget;
use super::texts::{COMMENT, Texts};
use super::{exif, iptc, xmp};
use crate::PictureError;
use crate::png_text::{self, Chunk, MAX_TEXT};

/// Keyword of XMP in PNG files.
const XMP_KEYWORD: &str = "XML:com.adobe.xmp";
/// Start of the keywords of segments of JPEG that `ImageMagick` keeps in PNG files, in hexadecimal digits.
const RAW_PROFILE: &str = "Raw profile type ";
/// Starts of JPEG's segments with EXIF and XMP.
const JPEG_EXIF: &[u8] = b"Exif\0\0";
const JPEG_XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
/// Start of those with more of a packet than one has room for.
const JPEG_MORE_XMP: &[u8] = b"http://ns.adobe.com/xmp/extension/\0";
/// Start of those with Photoshop's resources, which go on from one to the next.
const JPEG_PHOTOSHOP: &[u8] = b"Photoshop 3.0\0";
/// Segments or chunks of a file that are looked at.
const MAX_PARTS: u32 = 1 << 16;

/// What was found in a file, and what may still be read of it.
#[derive(Default)]
struct Collector {
    texts: Texts,
    exif: ExifBudget,
    has_xmp: bool,
    /// Photoshop's resources of a JPEG so far.
    photoshop: Vec<u8>,
}

impl Collector {
    fn exif(&mut self, block: &[u8]) {
        exif::read(block, &mut self.exif, &mut self.texts);
    }

    /// The segments of JPEG that a PNG file keeps; false where it is of no known kind.
    fn raw_profile(&mut self, block: &[u8]) -> bool {
        if let Some(block) = block.strip_prefix(JPEG_EXIF) {
            self.exif(block);
        } else if let Some(packet) = block.strip_prefix(JPEG_XMP) {
            self.xmp(&String::from_utf8_lossy(packet));
        } else {
            let resources = block.strip_prefix(JPEG_PHOTOSHOP).unwrap_or(block);
            if !resources.starts_with(iptc::RESOURCE) {
                return false;
            }
            iptc::read(resources, &mut self.texts);
        }
        true
    }

    /// A file has one packet; others are passed over.
    fn xmp(&mut self, packet: &str) {
        if std::mem::replace(&mut self.has_xmp, true) {
            self.texts.pass_over("XMP", tr!("media-more-than-one-packet"));
        } else {
            xmp::read(packet, &mut self.texts);
        }
    }
}

/// The texts of a picture file; none where it is of another kind. A file that ends early is read as
/// far as it goes.
pub(super) fn read(path: &Path) -> Result<Texts, PictureError> {
    let failed = |error: io::Error| PictureError::read(path, error);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut found = Collector::default();
    let start = file.fill_buf().map_err(failed)?;
    let read = if start.starts_with(png_text::SIGNATURE) {
        png(file, &mut found)
    } else if start.starts_with(&[0xff, 0xd8, 0xff]) {
        jpeg(file, &mut found)
    } else if is_webp(start) {
        webp(file, &mut found)
    } else {
        Ok(())
    };
    match read {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(failed(error)),
        Ok(()) | Err(_) => Ok(found.texts),
    }
}

fn is_webp(start: &[u8]) -> bool {
    start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP")
}

fn png(file: impl BufRead + Seek, found: &mut Collector) -> io::Result<()> {
    let is_all_unpacked = png_text::chunks(file, |chunk| {
        match chunk {
            Chunk::Text(keyword, text) if keyword == XMP_KEYWORD => found.xmp(&text),
            Chunk::Text(keyword, text) => {
                let block = keyword.strip_prefix(RAW_PROFILE).and_then(|_| raw_profile(&text));
                if !block.is_some_and(|block| found.raw_profile(&block)) {
                    found.texts.push(keyword, text);
                }
            }
            Chunk::Exif(block) => found.exif(&block),
            Chunk::TooLong(keyword, bytes) => found.texts.pass_over_long(&keyword, bytes),
            Chunk::Damaged(keyword) => found.texts.pass_over_damaged(&keyword),
        }
        if found.texts.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if !is_all_unpacked {
        found.texts.pass_over(tr!("media-texts"), tr!("media-compressed-texts-are-larger"));
    }
    Ok(())
}

/// The bytes of such a profile: a line with its name, one with its length, and lines of digits.
fn raw_profile(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.trim_start().lines().skip(1);
    let length: usize = lines.next()?.trim().parse().ok()?;
    let digits = lines.flat_map(str::chars).filter(|c| !c.is_ascii_whitespace());
    let digits: Vec<u8> = digits.map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    (rest.is_empty() && pairs.len() == length).then(|| pairs.iter().map(|[high, low]| (high << 4) | low).collect())
}

fn jpeg(file: impl BufRead + Seek, found: &mut Collector) -> io::Result<()> {
    let read = jpeg_segments(file, found);
    iptc::read(&found.photoshop, &mut found.texts);
    read
}

fn jpeg_segments(mut file: impl BufRead + Seek, found: &mut Collector) -> io::Result<()> {
    file.seek_relative(2)?;
    for _ in 0..MAX_PARTS {
        if found.texts.is_full() {
            return Ok(());
        }
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
        if !matches!(kind, 0xe1 | 0xed | 0xfe) {
            file.seek_relative(i64::from(length))?;
            continue;
        }
        let data = bytes(&mut file, u64::from(length))?;
        if let Some(block) = data.strip_prefix(JPEG_EXIF) {
            found.exif(block);
        } else if let Some(packet) = data.strip_prefix(JPEG_XMP) {
            found.xmp(&String::from_utf8_lossy(packet));
        } else if data.starts_with(JPEG_MORE_XMP) {
            found.texts.pass_over("XMP", tr!("media-it-goes-on-in-further"));
        } else if let Some(resources) = data.strip_prefix(JPEG_PHOTOSHOP) {
            if (found.photoshop.len() + resources.len()) as u64 > MAX_TEXT {
                found.texts.pass_over_long("IPTC", None);
            } else {
                found.photoshop.extend(resources);
            }
        } else if kind == 0xfe {
            found.texts.push(COMMENT, exif::plain(&data).trim_end_matches('\0'));
        }
    }
    Ok(())
}

fn webp(mut file: impl BufRead + Seek, found: &mut Collector) -> io::Result<()> {
    webp_chunks(
        &mut file,
        |kind| matches!(kind, b"EXIF" | b"XMP "),
        |kind, part| {
            match (kind, part) {
                // Some encoders keep JPEG's mark.
                (b"EXIF", Part::Whole(data)) => found.exif(data.strip_prefix(JPEG_EXIF).unwrap_or(data)),
                (_, Part::Whole(data)) => found.xmp(&String::from_utf8_lossy(data)),
                (_, Part::TooLong(bytes)) => found.texts.pass_over_long(String::from_utf8_lossy(kind).trim_end(), Some(bytes)),
            }
            if found.texts.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    )
}

/// The EXIF block of a WebP file, where it has one that is not too long.
pub(crate) fn webp_exif(path: &Path) -> Option<Vec<u8>> {
    webp_chunk(path, *b"EXIF")
}

/// The colour profile of a WebP file, where it has one that is not too long.
pub(crate) fn webp_profile(path: &Path) -> Option<Vec<u8>> {
    webp_chunk(path, *b"ICCP")
}

/// The first chunk of this kind in a WebP file.
fn webp_chunk(path: &Path, wanted: [u8; 4]) -> Option<Vec<u8>> {
    let mut file = BufReader::new(File::open(path).ok()?);
    if !is_webp(file.fill_buf().ok()?) {
        return None;
    }
    let mut found = None;
    // Of a file that ends early, what was found counts.
    let _ = webp_chunks(
        &mut file,
        |kind| *kind == wanted,
        |_, part| {
            if let Part::Whole(data) = part {
                found = Some(data.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        },
    );
    found
}

/// What a chunk holds.
#[derive(Clone, Copy)]
enum Part<'a> {
    Whole(&'a [u8]),
    /// More bytes than are read of one.
    TooLong(u64),
}

/// Visits those chunks of a WebP file that are used; longer ones than are read are passed over.
fn webp_chunks(
    file: &mut (impl BufRead + Seek),
    is_used: impl Fn(&[u8; 4]) -> bool,
    mut visit: impl FnMut(&[u8; 4], Part<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    file.seek_relative(12)?;
    for _ in 0..MAX_PARTS {
        let (mut kind, mut length) = ([0; 4], [0; 4]);
        file.read_exact(&mut kind)?;
        file.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let is_used = is_used(&kind);
        if !is_used || length > MAX_TEXT {
            if is_used && visit(&kind, Part::TooLong(length)).is_break() {
                return Ok(());
            }
            file.seek_relative((length + length % 2) as i64)?;
            continue;
        }
        if visit(&kind, Part::Whole(&bytes(file, length)?)).is_break() {
            return Ok(());
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
