//! PNG files: written with the recipe that makes the picture again, and read back from any file.
//!
//! Invariants: reading takes bounded memory and time whatever the file says of itself, and looks at text only, never at pixels; a text
//! chunk that is damaged or too large is passed over.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::bufread::ZlibDecoder;
use png::text_metadata::{ITXtChunk, TEXtChunk};
use time::OffsetDateTime;

use super::a1111::{self, Parameters};
use super::{PictureError, StoredFile, StoredRecipe, file_names};
use atelier_core::paths;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};

/// Keyword of the text of A1111 and others.
const PARAMETERS: &str = "parameters";
/// Keyword of the stored recipe.
const RECIPE: &str = "atelier";
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of a text chunk, packed or unpacked; longer ones are passed over.
const MOST_TEXT: u64 = 4 << 20;
/// Chunks of a file that are looked at: 8 GiB of picture in the chunks that encoders make.
const MOST_CHUNKS: u32 = 1 << 20;

/// Metadata of a picture file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// A1111's `parameters` text.
    pub parameters: Option<String>,
    /// The recipe, where Atelier made the picture.
    pub recipe: Option<StoredRecipe>,
}

impl Metadata {
    /// Metadata of one picture of a recipe; `model` is the model's name, where it has one. Reads the sizes of the recipe's files.
    #[must_use]
    pub fn of(recipe: &Recipe, model: Option<String>, info: PictureInfo, notes: &[PictureNote], image: &Rgb8) -> Self {
        let (width, height) = (image.width(), image.height());
        let size_of = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        Self {
            parameters: Some(a1111::format(&Parameters::of(recipe, model.as_deref(), info, width, height))),
            recipe: Some(StoredRecipe::of(recipe, info, width, height, size_of).named(model).with_notes(notes)),
        }
    }

    /// The same for the enlarged picture; `model` is the upscaler's file.
    #[must_use]
    pub fn upscaled(mut self, model: &Path, image: &Rgb8) -> Self {
        let name = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut parameters = self.parameters.as_deref().map(a1111::parse).unwrap_or_default();
        parameters.push("Postprocess upscaler", name(model.file_stem()));
        parameters.push("Postprocess size", format!("{}x{}", image.width(), image.height()));
        parameters.push("Postprocess by", concat!("Atelier ", env!("CARGO_PKG_VERSION")));
        self.parameters = Some(a1111::format(&parameters));
        if let Some(recipe) = &mut self.recipe {
            let bytes = fs::metadata(model).map_or(0, |file| file.len());
            recipe.set_upscaled(StoredFile { name: name(model.file_name()), bytes }, image.width(), image.height());
        }
        self
    }
}

/// Saves one picture of a recipe in a folder, under a name of its own: date, first words of the prompt, seed. Never replaces a file.
/// `model` is the model's name, where it has one. Returns the path.
pub fn save_picture(
    folder: &Path,
    recipe: &Recipe,
    model: Option<String>,
    info: PictureInfo,
    notes: &[PictureNote],
    image: &Rgb8,
) -> Result<PathBuf, PictureError> {
    let metadata = Metadata::of(recipe, model, info, notes, image);
    let names = picture_file_names(&recipe.prompt, info.seed);
    paths::write_new(folder, names, |file| encode(file, image, &metadata)).map_err(|error| PictureError::write(folder, error))
}

/// Writes a picture to exactly this path, replacing a file that is there.
pub fn write_picture(path: &Path, image: &Rgb8, metadata: &Metadata) -> Result<(), PictureError> {
    paths::write_atomic(path, |file| encode(file, image, metadata)).map_err(|error| PictureError::write(path, error))
}

/// Encodes a picture with its metadata as the bytes of a file.
///
/// # Errors
/// If memory is short.
pub fn encode_picture(image: &Rgb8, metadata: &Metadata) -> Result<Vec<u8>, PictureError> {
    let mut bytes = Vec::new();
    encode(&mut bytes, image, metadata).map_err(|error| PictureError::write(Path::new("the picture"), error))?;
    Ok(bytes)
}

/// Names for a picture that is made now, of which the first free one is to be used.
pub fn picture_file_names(prompt: &str, seed: i64) -> impl Iterator<Item = String> + use<> {
    let now = OffsetDateTime::now_local().unwrap_or_else(|_| OffsetDateTime::now_utc());
    file_names::file_names(now, prompt, seed)
}

fn encode(file: &mut impl Write, image: &Rgb8, metadata: &Metadata) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    let mut encoder = png::Encoder::new(&mut file, image.width(), image.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header()?;
    if let Some(text) = &metadata.parameters {
        let text: String = text.chars().filter(|c| *c != '\0').collect();
        if fits_latin1(&text) {
            writer.write_text_chunk(&TEXtChunk::new(PARAMETERS, text))?;
        } else {
            writer.write_text_chunk(&ITXtChunk::new(PARAMETERS, text))?;
        }
    }
    if let Some(recipe) = &metadata.recipe {
        writer.write_text_chunk(&ITXtChunk::new(RECIPE, recipe.to_json()?))?;
    }
    writer.write_image_data(image.pixels())?;
    writer.finish()?;
    file.flush()
}

/// Reads the metadata of a PNG; both fields are empty where it has none.
pub fn read_metadata(path: &Path) -> Result<Metadata, PictureError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => PictureError::not_a_picture(path, error),
        _ => PictureError::read(path, error),
    };
    let file = fs::metadata(path).map_err(failed)?;
    if !file.is_file() {
        return Err(PictureError::not_a_picture(path, "it is not a file"));
    }
    let mut metadata = Metadata::default();
    texts(BufReader::new(File::open(path).map_err(failed)?), |keyword, text| match keyword {
        PARAMETERS if metadata.parameters.is_none() => metadata.parameters = Some(text),
        RECIPE if metadata.recipe.is_none() => metadata.recipe = StoredRecipe::from_json(&text),
        _ => {}
    })
    .map_err(failed)?;
    Ok(metadata)
}

/// Calls back with each keyword that is ours and its text. A file that ends early is read as far as it goes.
fn texts(mut file: impl BufRead + Seek, mut visit: impl FnMut(&str, String)) -> io::Result<()> {
    let mut signature = [0; 8];
    file.read_exact(&mut signature).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a PNG file"))?;
    if signature != *SIGNATURE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a PNG file"));
    }
    for _ in 0..MOST_CHUNKS {
        let (mut length, mut kind) = ([0; 4], [0; 4]);
        if file.read_exact(&mut length).and_then(|()| file.read_exact(&mut kind)).is_err() {
            return Ok(());
        }
        let length = u64::from(u32::from_be_bytes(length));
        if &kind == b"IEND" {
            return Ok(());
        }
        if !matches!(&kind, b"tEXt" | b"zTXt" | b"iTXt") || length > MOST_TEXT {
            file.seek_relative(length as i64 + 4)?;
            continue;
        }
        let (mut data, mut checksum) = (Vec::new(), [0; 4]);
        if (&mut file).take(length).read_to_end(&mut data)? as u64 != length || file.read_exact(&mut checksum).is_err() {
            return Ok(());
        }
        let mut crc = Crc::new();
        crc.update(&kind);
        crc.update(&data);
        if crc.sum() == u32::from_be_bytes(checksum)
            && let Some((keyword, text)) = text_of(kind, &data)
        {
            visit(keyword, text);
        }
    }
    Ok(())
}

/// The keyword and the text of a chunk, where the keyword is ours.
fn text_of(kind: [u8; 4], data: &[u8]) -> Option<(&'static str, String)> {
    let (keyword, rest) = until_zero(data)?;
    let keyword = [PARAMETERS, RECIPE].into_iter().find(|it| it.as_bytes() == keyword)?;
    let text = match &kind {
        b"tEXt" => latin1(rest),
        b"zTXt" => latin1(&unpack(rest.strip_prefix(&[0])?)?),
        _ => {
            let (packed, rest) = rest.split_first()?;
            let rest = rest.strip_prefix(&[0])?;
            let (_language, rest) = until_zero(rest)?;
            let (_translated, rest) = until_zero(rest)?;
            String::from_utf8(if *packed == 0 { rest.to_vec() } else { unpack(rest)? }).ok()?
        }
    };
    Some((keyword, text))
}

fn until_zero(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    Some((parts.next()?, parts.next()?))
}

/// True where the text, in Latin-1, reads back as itself: see [`latin1`].
fn fits_latin1(text: &str) -> bool {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.is_some_and(|bytes| latin1(&bytes) == text)
}

/// Some tools write UTF-8 where the format says Latin-1. Text that is both is hardly ever meant as Latin-1.
fn latin1(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect())
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    ZlibDecoder::new(packed).take(MOST_TEXT + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MOST_TEXT).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;

    use super::*;
    use atelier_core::recipe::FileRole;

    const INFO: PictureInfo = PictureInfo { index: 0, seed: 42, cpu_math: None };

    fn image() -> Rgb8 {
        Rgb8::new(3, 2, (0..18).map(|n| n * 14).collect()).unwrap()
    }

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

    fn read(chunks: &[Vec<u8>]) -> Vec<(String, String)> {
        let file = [SIGNATURE.to_vec(), chunks.concat()].concat();
        let mut all = Vec::new();
        texts(Cursor::new(file), |keyword, text| all.push((keyword.to_owned(), text))).unwrap();
        all
    }

    fn text_chunks(text: &str) -> Vec<(String, String)> {
        vec![(PARAMETERS.to_owned(), text.to_owned())]
    }

    #[test]
    fn a_saved_picture_has_its_pixels_its_text_and_its_recipe() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("tiny.gguf");
        fs::write(&model, [0; 77]).unwrap();
        let mut recipe = Recipe { prompt: "ein See, größer".into(), ..Recipe::default() };
        recipe.files.set(FileRole::Diffusion, &model);
        let path = save_picture(folder.path(), &recipe, None, INFO, &[], &image()).unwrap();
        let again = save_picture(folder.path(), &recipe, None, INFO, &[], &image()).unwrap();
        assert_ne!(path, again);
        assert!(path.file_name().unwrap().to_str().unwrap().ends_with(" ein See, größer 42.png"), "{}", path.display());
        let pixels = image::open(&path).unwrap().to_rgb8();
        assert_eq!(pixels.as_raw(), image().pixels());

        let metadata = read_metadata(&path).unwrap();
        let text = metadata.parameters.clone().unwrap();
        assert!(text.starts_with("ein See, größer\nSteps: 20, CFG scale: 7, Seed: 42, Size: 3x2, Model: tiny, "), "{text}");
        assert_eq!(metadata, Metadata::of(&recipe, None, INFO, &[], &image()));
        let restored = metadata.recipe.unwrap().into_recipe(|_, name, bytes| (bytes == 77).then(|| folder.path().join(name)));
        assert_eq!(restored.recipe, Recipe { seed: 42, width: 3, height: 2, ..recipe });
    }

    #[test]
    fn text_is_kept_in_the_chunk_that_can_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        for (text, kind) in
            [("Größe", &b"tEXtparameters\0Gr\xf6\xdfe"[..]), ("湖 🌅", &b"iTXtparameters\0"[..]), ("Ã¼", b"iTXtparameters\0")]
        {
            write_picture(&path, &image(), &Metadata { parameters: Some(text.into()), recipe: None }).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(bytes.windows(kind.len()).any(|window| window == kind), "{text}");
            assert_eq!(read_metadata(&path).unwrap().parameters.as_deref(), Some(text));
        }
    }

    #[test]
    fn a_prompt_with_a_zero_byte_is_written_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        write_picture(&path, &image(), &Metadata { parameters: Some("a\0b".into()), recipe: None }).unwrap();
        assert_eq!(read_metadata(&path).unwrap().parameters.as_deref(), Some("ab"));
    }

    #[test]
    fn an_enlarged_picture_keeps_what_the_first_one_said() {
        let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let metadata = Metadata::of(&recipe, None, INFO, &[], &image()).upscaled(Path::new("/models/4x.pth"), &image());
        let text = metadata.parameters.unwrap();
        assert!(text.starts_with("a lake\nSteps: 20") && text.contains("Postprocess upscaler: 4x, Postprocess size: 3x2"), "{text}");
        assert!(metadata.recipe.unwrap().to_json().unwrap().contains(r#""model":{"name":"4x.pth""#));
        let text = Metadata::default().upscaled(Path::new("4x.pth"), &image()).parameters.unwrap();
        assert_eq!(a1111::parse(&text).get("Postprocess upscaler"), Some("4x"));
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
            assert_eq!(read(&[text.clone(), pixels.clone(), chunk(*b"IEND", b"")]), text_chunks("a lake"));
            assert_eq!(read(&[pixels.clone(), text, chunk(*b"IEND", b"")]), text_chunks("a lake"));
        }
    }

    #[test]
    fn hostile_chunks_are_passed_over() {
        let mut flipped = chunk(*b"tEXt", b"parameters\0flipped");
        flipped[12] ^= 1;
        let bomb = zlib(&vec![b'a'; MOST_TEXT as usize + 1]);
        assert!(bomb.len() < 10_000);
        let good = chunk(*b"tEXt", b"parameters\0good");
        for bad in [
            flipped,
            chunk(*b"zTXt", &[&b"parameters\0\0"[..], &bomb].concat()),
            chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &bomb].concat()),
            chunk(*b"zTXt", b"parameters\0\0not zlib"),
            chunk(*b"zTXt", b"parameters\0\x07abc"),
            chunk(*b"iTXt", b"parameters\0\0\0\0\0\xff\xfe"),
            chunk(*b"iTXt", b"parameters\0\0\0no end"),
            chunk(*b"tEXt", b"parameters"),
            chunk(*b"tEXt", b""),
            chunk(*b"tEXt", b"other\0text"),
            chunk(*b"tEXt", &[&b"parameters\0"[..], &vec![b'a'; MOST_TEXT as usize]].concat()),
        ] {
            assert_eq!(read(&[bad, good.clone()]), text_chunks("good"));
        }
    }

    #[test]
    fn a_length_beyond_the_end_of_the_file_ends_the_reading() {
        let good = chunk(*b"tEXt", b"parameters\0good");
        for length in [1000_u32, u32::MAX] {
            for kind in [b"tEXt", b"IDAT"] {
                let lie = [&length.to_be_bytes()[..], kind, b"parameters\0short"].concat();
                assert_eq!(read(&[good.clone(), lie]), text_chunks("good"));
            }
        }
    }

    #[test]
    fn what_is_no_png_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        assert!(matches!(read_metadata(&path), Err(PictureError::Read { .. })));
        assert!(matches!(read_metadata(folder.path()), Err(PictureError::NotAPicture { .. })));
        for bytes in [&b""[..], b"GIF89a, really"] {
            fs::write(&path, bytes).unwrap();
            let error = read_metadata(&path).unwrap_err().to_string();
            assert!(error.contains("not a PNG"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_reading_fail_or_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), flip in 0..300_usize) {
            let mut file = [SIGNATURE.to_vec(), chunk(*b"iTXt", &[&b"parameters\0\x01\0\0\0"[..], &zlib(b"a lake")].concat()), bytes].concat();
            let at = 8 + flip % (file.len() - 8);
            file[at] ^= 0x55;
            let read = texts(Cursor::new(file), |_, _| ());
            prop_assert!(read.is_ok());
        }
    }
}
