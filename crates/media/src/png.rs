//! PNG files: written with the recipe that makes the picture again, and read back from any file.
//!
//! Invariants: reading takes bounded memory and time whatever the file says of itself, and looks at
//! text only, never at pixels.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use png::text_metadata::{ITXtChunk, TEXtChunk};
use time::OffsetDateTime;

use super::a1111::{self, Parameters};
use super::png_text::{self, Chunk};
use super::{PictureError, StoredRecipe, file_names};
use atelier_core::paths;
use atelier_core::picture_note::{PictureNote, used_recipe};
use atelier_core::recipe::{FineColours, PictureInfo, Recipe, Rgb8, Samples, Seed, StoredFile};
use atelier_language::tr;

/// Keyword of the text of A1111 and others.
pub(crate) const PARAMETERS: &str = "parameters";
/// Keyword of the stored recipe.
pub(crate) const RECIPE: &str = "atelier";
/// Texts of that keyword that are tried where the first ones hold no recipe.
const MAX_RECIPES: u32 = 8;

/// Metadata of a picture file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// A1111's `parameters` text.
    pub parameters: Option<String>,
    /// The recipe, where Atelier made the picture.
    pub recipe: Option<StoredRecipe>,
}

impl Metadata {
    /// Metadata of one picture of a recipe; `model` is the model's name, where it has one. Reads
    /// the sizes of the recipe's files.
    #[must_use]
    pub fn of(recipe: &Recipe, model: Option<String>, info: PictureInfo, notes: &[PictureNote], image: &Rgb8) -> Self {
        let recipe = &used_recipe(recipe.clone(), notes);
        let (width, height) = (image.width(), image.height());
        let size_of = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        Self {
            parameters: Some(a1111::format(&Parameters::of(recipe, model.as_deref(), info, width, height))),
            recipe: Some(StoredRecipe::of(recipe, info, width, height, size_of).named(model).with_notes(notes)),
        }
    }

    /// Metadata of a picture that another studio made by this recipe.
    #[must_use]
    pub fn made_on(studio: &str, recipe: StoredRecipe, image: &Rgb8) -> Self {
        let used = recipe.clone().with_names().recipe;
        let info = PictureInfo { index: 0, seed: used.seed, cpu_math: recipe.cpu_math(), merged_loras: false };
        let mut parameters = Parameters::of(&used, recipe.model(), info, image.width(), image.height());
        parameters.push("Studio", studio);
        Self { parameters: Some(a1111::format(&parameters)), recipe: Some(recipe.made_on(studio)) }
    }

    /// The same for the upscaled picture; `model` is the upscaler's file.
    #[must_use]
    pub fn upscaled(mut self, model: &Path, image: &Rgb8) -> Self {
        let name = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut parameters = self.parameters.as_deref().map(a1111::parse).unwrap_or_default();
        parameters.push(a1111::key::POSTPROCESS_UPSCALER, name(model.file_stem()));
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

/// Saves one picture of a recipe in a folder, under a name of its own: date, first words of the
/// prompt, seed. Never replaces a file. `model` is the model's name, where it has one. Returns the
/// path.
pub fn save_picture(
    folder: &Path,
    recipe: &Recipe,
    model: Option<String>,
    info: PictureInfo,
    notes: &[PictureNote],
    image: &Rgb8,
) -> Result<PathBuf, PictureError> {
    save_with_metadata(folder, &recipe.prompt, info.seed, image, &Metadata::of(recipe, model, info, notes, image))
}

/// The same for a picture whose metadata is known.
pub fn save_with_metadata(
    folder: &Path,
    prompt: &str,
    seed: Option<Seed>,
    image: &Rgb8,
    metadata: &Metadata,
) -> Result<PathBuf, PictureError> {
    let names = picture_file_names(prompt, seed);
    paths::write_new(folder, names, |file| encode(file, image, metadata)).map_err(|error| PictureError::write(folder, error))
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
pub fn picture_file_names(prompt: &str, seed: Option<Seed>) -> impl Iterator<Item = String> + use<> {
    let now = OffsetDateTime::now_local().unwrap_or_else(|_| OffsetDateTime::now_utc());
    file_names::file_names(now, prompt, seed)
}

pub(crate) fn encode(file: &mut impl Write, image: &Rgb8, metadata: &Metadata) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    let (has_alpha, is_deep) = match image.fine() {
        Some(fine) => (fine.has_alpha, matches!(fine.samples, Samples::Sixteen(_))),
        None => (false, false),
    };
    let mut info = png::Info::with_size(image.width(), image.height());
    info.color_type = if has_alpha { png::ColorType::Rgba } else { png::ColorType::Rgb };
    info.bit_depth = if is_deep { png::BitDepth::Sixteen } else { png::BitDepth::Eight };
    let profile = image.fine().and_then(|fine| fine.profile.as_deref());
    info.icc_profile = profile.map(Cow::Borrowed);
    let mut encoder = png::Encoder::with_info(&mut file, info)?;
    if profile.is_none() {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
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
    match image.fine() {
        None => writer.write_image_data(image.pixels())?,
        Some(fine) => writer.write_image_data(&samples_of(fine))?,
    }
    writer.finish()?;
    file.flush()
}

/// The samples as PNG has them, without opacity where every pixel is opaque.
fn samples_of(fine: &FineColours) -> Vec<u8> {
    let channels = if fine.has_alpha { 4 } else { 3 };
    match &fine.samples {
        Samples::Eight(samples) => samples.chunks_exact(4).flat_map(|pixel| pixel[..channels].iter().copied()).collect(),
        Samples::Sixteen(samples) => {
            samples.chunks_exact(4).flat_map(|pixel| pixel[..channels].iter().flat_map(|value| value.to_be_bytes())).collect()
        }
    }
}

/// Reads the metadata of a PNG; both fields are empty where it has none.
pub fn read_metadata(path: &Path) -> Result<Metadata, PictureError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => PictureError::not_a_picture(path, error),
        _ => PictureError::read(path, error),
    };
    let file = fs::metadata(path).map_err(failed)?;
    if !file.is_file() {
        return Err(PictureError::not_a_picture(path, tr!("media-it-is-not-a")));
    }
    let mut metadata = Metadata::default();
    let mut recipes = MAX_RECIPES;
    png_text::chunks(BufReader::new(File::open(path).map_err(failed)?), |chunk| {
        match chunk {
            Chunk::Text(keyword, text) if keyword == PARAMETERS && metadata.parameters.is_none() => metadata.parameters = Some(text),
            Chunk::Text(keyword, text) if keyword == RECIPE && recipes > 0 => {
                recipes -= 1;
                metadata.recipe = metadata.recipe.take().or_else(|| StoredRecipe::from_json(&text));
            }
            Chunk::Text(..) | Chunk::Exif(_) | Chunk::TooLong(..) | Chunk::Damaged(_) => {}
        }
        let has_all = metadata.parameters.is_some() && (metadata.recipe.is_some() || recipes == 0);
        if has_all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(failed)?;
    Ok(metadata)
}

/// True where the text, in Latin-1, reads back as itself: see [`png_text::latin1`].
fn fits_latin1(text: &str) -> bool {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.is_some_and(|bytes| png_text::latin1(&bytes) == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::FileRole;

    const INFO: PictureInfo = PictureInfo { index: 0, seed: Some(Seed(42)), cpu_math: None, merged_loras: false };

    fn image() -> Rgb8 {
        Rgb8::new(3, 2, (0..18).map(|n| n * 14).collect()).unwrap()
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
        // So small a picture is not made: its size is brought to the least.
        let restored = metadata.recipe.unwrap().into_recipe(|_, name, bytes| (bytes == 77).then(|| folder.path().join(name)));
        assert_eq!(restored.recipe, Recipe { seed: Some(Seed(42)), width: 64, height: 64, ..recipe });
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
    fn an_upscaled_picture_keeps_what_the_first_one_said() {
        let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let metadata = Metadata::of(&recipe, None, INFO, &[], &image()).upscaled(Path::new("/models/4x.pth"), &image());
        let text = metadata.parameters.unwrap();
        assert!(text.starts_with("a lake\nSteps: 20") && text.contains("Postprocess upscaler: 4x, Postprocess size: 3x2"), "{text}");
        assert!(metadata.recipe.unwrap().to_json().unwrap().contains(r#""model":{"name":"4x.pth""#));
        let text = Metadata::default().upscaled(Path::new("4x.pth"), &image()).parameters.unwrap();
        assert_eq!(a1111::parse(&text).get("Postprocess upscaler"), Some("4x"));
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
}
