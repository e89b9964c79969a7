//! Chunks of PNG files that hold text or EXIF.
//!
//! Invariants: reading takes bounded memory and time whatever the file says of itself, and never
//! looks at pixels; of a chunk that is damaged or too large only its keyword is read.

use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use atelier_language::tr;
use flate2::Crc;
use flate2::bufread::ZlibDecoder;

pub(crate) const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of a text chunk, packed or unpacked; longer ones are passed over.
pub(crate) const MAX_TEXT: u64 = 4 << 20;
/// Bytes of all packed texts of a file, unpacked; what comes after is passed over.
const MAX_UNPACKED: u64 = 32 << 20;
/// Bytes of a keyword with the zero after it.
const MAX_KEYWORD: u64 = 80;
/// Chunks of a file that are looked at: 8 GiB of picture in the chunks that encoders make.
const MAX_CHUNKS: u32 = 1 << 20;

/// A chunk that tells of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// Keyword and text.
    Text(String, String),
    /// A TIFF structure.
    Exif(Vec<u8>),
    /// Keyword and bytes of a text that is too long to be read; packed, its length is not known.
    TooLong(String, Option<u64>),
    /// Keyword of a text that cannot be read.
    Damaged(String),
}

/// Calls back with each text and EXIF chunk until it is told to stop. A file that ends early is
/// read as far as it goes. Returns false where packed texts were passed over, because those before
/// them unpack to all that is read.
pub(crate) fn chunks(mut file: impl BufRead + Seek, mut visit: impl FnMut(Chunk) -> ControlFlow<()>) -> io::Result<bool> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut signature = [0; 8];
    file.read_exact(&mut signature).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, tr!("media-it-is-not-a-png-file")))?;
    if signature != *SIGNATURE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("media-it-is-not-a-png-file")));
    }
    let mut room = Room { left: MAX_UNPACKED, is_short: false };
    for _ in 0..MAX_CHUNKS {
        let (mut length, mut kind) = ([0; 4], [0; 4]);
        if file.read_exact(&mut length).and_then(|()| file.read_exact(&mut kind)).is_err() {
            break;
        }
        let length = u64::from(u32::from_be_bytes(length));
        if &kind == b"IEND" {
            break;
        }
        if !matches!(&kind, b"tEXt" | b"zTXt" | b"iTXt" | b"eXIf") {
            file.seek_relative(length as i64 + 4)?;
            continue;
        }
        if length > MAX_TEXT {
            // What the file does not have is no text of it.
            if file.stream_position()?.saturating_add(length) > bytes {
                break;
            }
            let mut start = Vec::new();
            (&mut file).take(MAX_KEYWORD).read_to_end(&mut start)?;
            if visit(Chunk::TooLong(keyword(kind, &start), Some(length))).is_break() {
                break;
            }
            file.seek_relative((length - MAX_KEYWORD) as i64 + 4)?;
            continue;
        }
        let (mut data, mut checksum) = (Vec::new(), [0; 4]);
        if (&mut file).take(length).read_to_end(&mut data)? as u64 != length || file.read_exact(&mut checksum).is_err() {
            break;
        }
        let mut crc = Crc::new();
        crc.update(&kind);
        crc.update(&data);
        let chunk = if crc.sum() != u32::from_be_bytes(checksum) {
            Some(Chunk::Damaged(keyword(kind, &data)))
        } else if &kind == b"eXIf" {
            Some(Chunk::Exif(data))
        } else {
            text_of(kind, &data, &mut room)
        };
        if chunk.is_some_and(|chunk| visit(chunk).is_break()) {
            break;
        }
    }
    Ok(!room.is_short)
}

/// Room for unpacked texts.
struct Room {
    /// Bytes that may still be unpacked.
    left: u64,
    /// True once a text was passed over that would have been read with more room.
    is_short: bool,
}

/// The keyword of a chunk, by its beginning.
fn keyword(kind: [u8; 4], data: &[u8]) -> String {
    if &kind == b"eXIf" {
        return "EXIF".to_owned();
    }
    let start = data.get(..MAX_KEYWORD as usize).unwrap_or(data);
    until_zero(start).map(|(keyword, _)| latin1(keyword)).unwrap_or_default()
}

/// Keyword and text of a chunk; `None` where texts before it took the room for it.
fn text_of(kind: [u8; 4], data: &[u8], room: &mut Room) -> Option<Chunk> {
    let damaged = || Some(Chunk::Damaged(keyword(kind, data)));
    let Some((name, (is_packed, bytes))) = until_zero(data).and_then(|(name, rest)| Some((name, body(kind, rest)?))) else {
        return damaged();
    };
    let bytes = match is_packed.then(|| unpack(bytes, room)) {
        None => bytes.to_vec(),
        Some(Unpacked::Whole(bytes)) => bytes,
        Some(Unpacked::TooLong) => return Some(Chunk::TooLong(keyword(kind, data), None)),
        Some(Unpacked::Damaged) => return damaged(),
        Some(Unpacked::NoRoom) => return None,
    };
    // Of UTF-8 that is damaged in places, such as half of a surrogate pair, the rest is read.
    let text = if &kind == b"iTXt" { String::from_utf8_lossy(&bytes).into_owned() } else { latin1(&bytes) };
    // A byte of Latin-1, or one that cannot be read, is a sign of several.
    let is_too_long = text.len() as u64 > MAX_TEXT;
    Some(if is_too_long { Chunk::TooLong(keyword(kind, data), None) } else { Chunk::Text(latin1(name), text) })
}

/// Whether what is behind the keyword is packed, and the bytes of its text.
fn body(kind: [u8; 4], rest: &[u8]) -> Option<(bool, &[u8])> {
    match &kind {
        b"tEXt" => Some((false, rest)),
        b"zTXt" => Some((true, rest.strip_prefix(&[0])?)),
        _ => {
            let (packed, rest) = rest.split_first()?;
            let rest = rest.strip_prefix(&[0])?;
            let (_language, rest) = until_zero(rest)?;
            let (_translated, rest) = until_zero(rest)?;
            Some((*packed != 0, rest))
        }
    }
}

fn until_zero(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    Some((parts.next()?, parts.next()?))
}

/// Some tools write UTF-8 where the format says Latin-1. Text that is both is hardly ever meant as
/// Latin-1.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// The unpacked bytes. They take room also where they come to nothing.
fn unpack(packed: &[u8], room: &mut Room) -> Unpacked {
    let most = MAX_TEXT.min(room.left);
    let mut text = Vec::new();
    let unpacked = ZlibDecoder::new(packed).take(most + 1).read_to_end(&mut text);
    let bytes = text.len() as u64;
    room.left = room.left.saturating_sub(bytes);
    room.is_short |= bytes > most && most < MAX_TEXT;
    match unpacked {
        Ok(_) if bytes <= most => Unpacked::Whole(text),
        Ok(_) if most == MAX_TEXT => Unpacked::TooLong,
        Ok(_) => Unpacked::NoRoom,
        Err(_) => Unpacked::Damaged,
    }
}

/// What came of a packed text.
enum Unpacked {
    Whole(Vec<u8>),
    TooLong,
    /// Others took the room for it.
    NoRoom,
    /// It is no packed text.
    Damaged,
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;

    use super::*;

    fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(&kind);
        crc.update(data);
        [&(data.len() as u32).to_be_bytes()[..], &kind, data, &crc.sum().to_be_bytes()].concat()
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn read(parts: &[Vec<u8>]) -> Vec<Chunk> {
        let file = [SIGNATURE.to_vec(), parts.concat()].concat();
        let mut all = Vec::new();
        chunks(Cursor::new(file), |chunk| {
            all.push(chunk);
            ControlFlow::Continue(())
        })
        .unwrap();
        all
    }

    fn parameters(text: &str) -> Vec<Chunk> {
        vec![Chunk::Text("parameters".to_owned(), text.to_owned())]
    }

    #[test]
    fn every_kind_of_text_chunk_is_read_before_and_after_the_pixels() {
        let pixels = chunk(*b"IDAT", &[0; 4000]);
        for text in [
            chunk(*b"tEXt", b"parameters\0a lake"),
            chunk(*b"zTXt", &[&b"parameters\0\0"[..], &zlib(b"a lake")].concat()),
            chunk(*b"iTXt", b"parameters\0\0\0en\0Parameter\0a lake"),
            chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &zlib(b"a lake")].concat()),
        ] {
            assert_eq!(read(&[text.clone(), pixels.clone(), chunk(*b"IEND", b"")]), parameters("a lake"));
            assert_eq!(read(&[pixels.clone(), text, chunk(*b"IEND", b"")]), parameters("a lake"));
        }
        assert_eq!(read(&[chunk(*b"eXIf", b"MM")]), [Chunk::Exif(b"MM".to_vec())]);
    }

    #[test]
    fn hostile_chunks_are_passed_over() {
        let mut flipped = chunk(*b"tEXt", b"parameters\0flipped");
        flipped[12] ^= 1;
        let bomb = zlib(&vec![b'a'; MAX_TEXT as usize + 1]);
        assert!(bomb.len() < 10_000);
        let good = chunk(*b"tEXt", b"parameters\0good");
        for (bad, keyword) in [
            (flipped, "paraleters"),
            (chunk(*b"zTXt", b"parameters\0\0not zlib"), "parameters"),
            (chunk(*b"zTXt", b"parameters\0\x07abc"), "parameters"),
            (chunk(*b"iTXt", b"parameters\0\0\0no end"), "parameters"),
            (chunk(*b"tEXt", b"parameters"), ""),
            (chunk(*b"tEXt", &vec![b'a'; 1 << 20]), ""),
            (chunk(*b"tEXt", b""), ""),
        ] {
            let expected = [vec![Chunk::Damaged(keyword.to_owned())], parameters("good")].concat();
            assert_eq!(read(&[bad, good.clone()]), expected, "it is told");
        }
        let halves = chunk(*b"iTXt", "parameters\0\0\0\0\0größer \u{1f600}".as_bytes().strip_suffix(b"\x80").unwrap());
        assert_eq!(read(&[halves]), parameters("größer \u{fffd}"));
        let long = 11 + MAX_TEXT;
        for (bad, bytes) in [
            (chunk(*b"zTXt", &[&b"parameters\0\0"[..], &bomb].concat()), None),
            (chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &bomb].concat()), None),
            (chunk(*b"tEXt", &[&b"parameters\0"[..], &vec![b'a'; MAX_TEXT as usize]].concat()), Some(long)),
            (chunk(*b"tEXt", &[&b"parameters\0"[..], &vec![0xe9; MAX_TEXT as usize - 100]].concat()), None),
        ] {
            let expected = [vec![Chunk::TooLong("parameters".to_owned(), bytes)], parameters("good")].concat();
            assert_eq!(read(&[bad, good.clone()]), expected, "it is told");
        }
    }

    #[test]
    fn a_length_beyond_the_end_of_the_file_ends_the_reading() {
        let good = chunk(*b"tEXt", b"parameters\0good");
        for length in [1000_u32, u32::MAX] {
            for kind in [b"tEXt", b"IDAT"] {
                let lie = [&length.to_be_bytes()[..], kind, b"parameters\0short"].concat();
                assert_eq!(read(&[good.clone(), lie]), parameters("good"));
            }
        }
    }

    #[test]
    fn packed_texts_unpack_to_a_bounded_number_of_bytes_whether_or_not_they_are_texts() {
        for bytes in [vec![b'a'; MAX_TEXT as usize], vec![0xff; MAX_TEXT as usize], vec![b'a'; MAX_TEXT as usize + 1]] {
            let packed = chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &zlib(&bytes)].concat());
            let file = [SIGNATURE.to_vec(), packed.repeat(500), chunk(*b"tEXt", b"parameters\0good")].concat();
            let mut texts = 0;
            let mut last = None;
            let is_all_unpacked = chunks(Cursor::new(file), |chunk| {
                texts += 1;
                last = Some(chunk);
                ControlFlow::Continue(())
            });
            assert!(!is_all_unpacked.unwrap(), "it is told");
            assert!(texts <= MAX_UNPACKED / MAX_TEXT + 1, "{texts}");
            assert_eq!(last, parameters("good").pop(), "what is not packed is read all the same");
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_reading_fail_or_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), flip in 0..300_usize) {
            let mut file = [SIGNATURE.to_vec(), chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &zlib(b"a lake")].concat()), bytes].concat();
            let at = 8 + flip % (file.len() - 8);
            file[at] ^= 0x55;
            let read = chunks(Cursor::new(file), |_| ControlFlow::Continue(()));
            prop_assert!(read.is_ok());
        }
    }
}
