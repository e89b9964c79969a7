//! Work of the canvas for other threads: pixels, and files. All of it blocks; nothing here knows
//! the state or draws.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, io, slice};

use eframe::egui::ColorImage;

use crate::gui::canvas::looks::PreparedLooks;
use crate::gui::pixels;
use atelier_core::advice::Advice;
use atelier_core::canvas::{
    AreaSettings, Borders, DocumentContent, LayerChoice, LayerError, LayerId, Mask, ModelSizes, NewRegion, PixelRect, TileImage,
    borders_of, crop_mask, crop_picture, plan_crop, plan_outpaint, rolled_mask, rolled_rect, wrap_shift,
};
use atelier_core::owner_only;
use atelier_core::paths::{self, Paths};
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{ImageSource, Rgb8, Seed};
use atelier_core::sentences::list;
use atelier_language::tr;
use atelier_media::canvas_file::{
    CANVAS_ENDING, CanvasHome, read_backup as read_canvas_backup, read_canvas, write_backup, write_canvas, write_composition, write_layers,
    write_open_raster,
};
use atelier_media::{PictureError, RgbaPixels};
use atelier_studio::canvas_backups::{self, Waiting};
use atelier_studio::vision::{self, Cutout, VisionWorker};
use atelier_vision::Detection;

/// The smallest rectangle that holds what is masked by half or more: less is no selection.
fn selection(mask: &Mask) -> Option<PixelRect> {
    let selected = mask.pixels().iter().map(|value| if *value >= 128 { 255 } else { 0 }).collect();
    Mask::new(mask.width(), mask.height(), selected)?.bounds()
}

/// Sizes of crops that every family takes; the recipe says which is best.
const MODEL_SIZES: ModelSizes = ModelSizes { multiple: 64, least: 512, best: 1024, most: 1536 };

/// What is found with less is more often nothing.
const MIN_PROBABILITY: f32 = 0.3;
/// Regions that are added at once; a crowd has more faces than anybody draws again.
const MAX_REGIONS: usize = 16;
/// Part of a detection's longer side that its region has around it, and its least in pixels: hair and
/// chin belong to a face.
const SURROUNDINGS: u32 = 8;
const MIN_SURROUNDINGS_PX: u32 = 8;

/// Number of an open document; they only grow.
pub type DocumentNumber = u64;

/// A form of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanvasExport {
    /// The picture as a PNG.
    Png,
    /// Each layer as a PNG, in a folder.
    Layers,
    /// `OpenRaster`.
    OpenRaster,
}

/// What the answer to the question what would be generated depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisBasis {
    /// Version of the document.
    pub version: u64,
    /// Width and height at which the model works best, in pixels.
    pub size: (u32, u32),
    /// Denoising strength, 0 to 1.
    pub strength: f32,
    /// How a part is generated.
    pub area: AreaSettings,
    /// The region that is generated; `None`: what is masked or empty.
    pub region: Option<LayerId>,
    /// Whether left and right, upper and lower border continue each other.
    pub wraps: [bool; 2],
}

/// What would be generated from a document.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What it was found out from.
    pub basis: AnalysisBasis,
    /// The picture over white.
    pub picture: Rgb8,
    /// The part that is generated anew; `None` where nothing is masked.
    pub mask: Option<Arc<Mask>>,
    /// That part as a picture: white, and all of it where nothing is masked.
    pub mask_picture: Option<Rgb8>,
    /// The smallest rectangle that holds the mask.
    pub masked: PixelRect,
    /// The smallest rectangle that holds what has no pixels.
    pub uncovered: PixelRect,
    /// The part that the model sees; empty where nothing is masked, or where it sees several. Over a
    /// border that another continues it reaches beyond it.
    pub crop: PixelRect,
    /// The picture for the ControlNet that layers hold.
    pub control: Option<Rgb8>,
    /// The reference pictures that layers hold.
    pub references: Vec<Rgb8>,
    /// The picture and its borders, where all that is generated is borders so wide that the model
    /// sees them in several parts.
    pub extension: Option<Extension>,
}

/// A picture that is extended.
#[derive(Clone, Debug)]
pub struct Extension {
    /// The picture without its borders.
    pub picture: Rgb8,
    pub borders: Borders,
}

/// What a candidate is made from.
#[derive(Clone, Debug)]
pub struct CandidateBase {
    pub document: DocumentNumber,
    pub picture: Rgb8,
    /// The part that is generated anew; `None`: all of it.
    pub mask: Option<Arc<Mask>>,
    /// The region that it is of.
    pub region: Option<LayerId>,
}

impl CandidateBase {
    pub(crate) fn new(document: DocumentNumber, analysis: &Analysis) -> Self {
        Self { document, picture: analysis.picture.clone(), mask: analysis.mask.clone(), region: analysis.basis.region }
    }
}

/// A candidate, ready for the screen.
#[derive(Debug)]
pub struct PreparedCandidate {
    pub seed: Option<Seed>,
    /// The region that it is of.
    pub region: Option<LayerId>,
    pub patch: TileImage,
    /// The rectangle that holds what it changes, and what is masked.
    pub bounds: PixelRect,
    /// What it changes, and what is masked, for the screen.
    pub overlay: ColorImage,
    /// Thumbnail for the strip.
    pub thumbnail: ColorImage,
}

/// Regions of what was found in a picture.
#[derive(Debug)]
pub struct FoundRegions {
    /// The most probable first.
    pub regions: Vec<NewRegion>,
    /// How many less probable ones were left out.
    pub left_out: usize,
    /// Width and height of the document, in pixels.
    pub size: (u32, u32),
}

/// What is in front on a layer, as a model sees it, which another process runs.
pub(crate) fn cut_out(model: &Path, content: &DocumentContent, layer: LayerId, is_cancelled: &AtomicBool) -> Result<Cutout, Advice> {
    let missing = || Advice::new(LayerError::Missing.to_string(), "");
    let picture = content.layer_picture(layer).ok_or_else(missing)?;
    with_vision(is_cancelled, |worker| vision::cut_out(worker, model, None, &picture))
}

/// Regions of all that detectors find in a document, one after the other, which another process
/// runs.
pub(crate) fn find_regions(models: &[PathBuf], content: &DocumentContent, is_cancelled: &AtomicBool) -> Result<FoundRegions, Advice> {
    let picture = content.picture();
    let mut detections = Vec::new();
    for model in models {
        detections.extend(with_vision(is_cancelled, |worker| vision::detect(worker, model, MIN_PROBABILITY, &picture))?);
    }
    Ok(regions_of(detections, (picture.width(), picture.height())))
}

fn with_vision<T>(is_cancelled: &AtomicBool, run: impl FnOnce(&VisionWorker<'_>) -> Result<T, Advice>) -> Result<T, Advice> {
    let not_found = |error: io::Error| Advice::new(tr!("canvas-ateliers-own-program-was", error), tr!("canvas-restart-atelier"));
    let program = env::current_exe().map_err(not_found)?;
    run(&VisionWorker::of_machine(&program, None, &|| is_cancelled.load(Ordering::Relaxed)))
}

/// A region for each detection, with some of its surroundings.
pub(crate) fn regions_of(mut detections: Vec<Detection>, size: (u32, u32)) -> FoundRegions {
    detections.sort_by(|one, two| two.probability.total_cmp(&one.probability));
    let left_out = detections.len().saturating_sub(MAX_REGIONS);
    detections.truncate(MAX_REGIONS);
    let region = |(at, detection): (usize, &Detection)| {
        let grow_px = (detection.rect.width.max(detection.rect.height) / SURROUNDINGS).max(MIN_SURROUNDINGS_PX);
        let mask = vision::mask_of(slice::from_ref(detection), size.0, size.1, grow_px);
        let rect = mask.bounds()?;
        let same_before = detections[..at].iter().filter(|it| it.class == detection.class).count();
        Some(NewRegion { name: format!("{} {}", detection.class, same_before + 1), rect, mask: crop_mask(&mask, &rect)? })
    };
    FoundRegions { regions: detections.iter().enumerate().filter_map(region).collect(), left_out, size }
}

/// Finds what a candidate changes of its base; `None` where it has another size. `max_side_px`: the
/// longest side that the graphics card takes.
pub(crate) fn prepare_candidate(picture: &Rgb8, base: &CandidateBase, seed: Option<Seed>, max_side_px: usize) -> Option<PreparedCandidate> {
    let mask = base.mask.as_deref();
    let patch = TileImage::of_difference(picture, &base.picture)?;
    let changed = patch.content_bounds();
    let bounds = mask.and_then(Mask::bounds).map_or(changed, |masked| changed.union(&masked));
    let size = [bounds.width as usize, bounds.height as usize];
    let is_small = size.iter().all(|side| *side <= max_side_px);
    // A card that takes so little shows the whole picture, made smaller, in its place.
    let (bounds, overlay) = if is_small {
        let pixels = overlay(&patch, picture, mask, bounds);
        (bounds, ColorImage::from_rgba_unmultiplied(size, &pixels))
    } else {
        (patch.bounds(), pixels::to_screen(picture, max_side_px))
    };
    Some(PreparedCandidate { seed, region: base.region, patch, bounds, overlay, thumbnail: pixels::thumbnail(picture) })
}

/// RGBA bytes of what a candidate changes in a rectangle, and of all that is masked there: where it
/// is as before, the mask's colour would show.
fn overlay(patch: &TileImage, picture: &Rgb8, mask: Option<&Mask>, rect: PixelRect) -> Vec<u8> {
    let mut pixels = patch.read(rect);
    let Some(mask) = mask else { return pixels };
    for (row, line) in pixels.chunks_exact_mut(rect.width as usize * 4).enumerate() {
        let first = (rect.top as usize + row) * picture.width() as usize + rect.left as usize;
        let masked = mask.pixels()[first..].iter().zip(picture.pixels()[first * 3..].chunks_exact(3));
        for (pixel, (_, colour)) in line.chunks_exact_mut(4).zip(masked).filter(|(_, (share, _))| **share > 0) {
            pixel[..3].copy_from_slice(colour);
            pixel[3] = 255;
        }
    }
    pixels
}

/// Finds out what would be generated.
pub(crate) fn analyse(basis: AnalysisBasis, content: &DocumentContent) -> Analysis {
    let (mask, hole) = match basis.region {
        Some(region) => (content.region_mask(region), None),
        None => (content.mask(), content.uncovered()),
    };
    let strength = if hole.is_some() { 1.0 } else { basis.strength };
    let picture = content.picture();
    let sizes = MODEL_SIZES.with_size(basis.size.0, basis.size.1);
    let size = (content.width(), content.height());
    let extension = hole.as_ref().filter(|hole| mask.as_ref() == Some(*hole)).and_then(|hole| {
        let (rect, borders) = borders_of(hole)?;
        let parts = plan_outpaint((rect.width, rect.height), &borders, &sizes, strength, &basis.area).len();
        (parts > 1).then_some(Extension { picture: crop_picture(&picture, &rect)?, borders })
    });
    let seen = mask.as_ref().filter(|_| extension.is_none()).and_then(|mask| {
        // As the engine does it.
        let shift = wrap_shift(mask, basis.wraps);
        let selected = if shift == (0, 0) { selection(mask) } else { selection(&rolled_mask(mask, shift)) };
        let crop = plan_crop(size, &selected?, &sizes, strength, &basis.area).0;
        Some(if shift == (0, 0) { crop } else { rolled_rect(&crop, size, (-shift.0, -shift.1)) })
    });
    let crop = seen.unwrap_or_default();
    let masked = mask.as_ref().and_then(Mask::bounds).unwrap_or_default();
    let uncovered = hole.and_then(|mask| mask.bounds()).unwrap_or_default();
    let white = || vec![255; picture.pixels().len()];
    let pixels = mask.as_ref().map_or_else(white, |mask| mask.pixels().iter().flat_map(|value| [*value; 3]).collect());
    let mask_picture = Rgb8::new(picture.width(), picture.height(), pixels);
    let (control, references) = (content.control_picture(), content.reference_pictures());
    Analysis { basis, picture, mask: mask.map(Arc::new), mask_picture, masked, uncovered, crop, control, references, extension }
}

/// Small looks of a document and of its layers.
pub(crate) fn small_looks(content: &DocumentContent) -> PreparedLooks {
    let small = content.reduced(pixels::THUMBNAIL_PX as u32);
    let size = [small.width() as usize, small.height() as usize];
    let image = |pixels: &[u8]| ColorImage::from_rgba_unmultiplied(size, pixels);
    let layers = small.layers().iter().map(|layer| (layer.id, image(&layer.pixels.read(small.bounds())))).collect();
    let bounds = content.layers().iter().map(|layer| (layer.id, layer.pixels.pixel_bounds())).collect();
    PreparedLooks { bounds, whole: image(&small.compose(small.bounds(), LayerChoice::Picture)), layers }
}

/// Makes a picture the first layer of a document. The sentence is on what it loses there.
pub(crate) fn open_picture(source: &ImageSource) -> Result<(DocumentContent, Option<String>), PictureError> {
    let RgbaPixels { width, height, samples, lost } = atelier_media::read_rgba_image(source)?;
    let pixels = TileImage::of_rgba(width, height, &samples).ok_or(PictureError::Empty)?;
    let content =
        DocumentContent::new(tr!("canvas-picture"), pixels).map_err(|error| PictureError::Encode { reason: error.to_string() })?;
    let note = (!lost.is_empty()).then(|| tr!("canvas-the-canvas-is-without", list = list(&lost)));
    Ok((content, note))
}

/// Reads a canvas.
pub(crate) fn open(path: &Path) -> Result<DocumentContent, PictureError> {
    read_canvas(path)
}

/// Writes a canvas where the person wants it, and returns its file.
pub(crate) fn save(path: &Path, content: &DocumentContent) -> Result<PathBuf, PictureError> {
    let path = with_ending(path, CANVAS_ENDING);
    write_canvas(&path, content).map(|()| path)
}

/// Writes the canvas in another form, and returns its file or folder.
pub(crate) fn export(export: CanvasExport, path: &Path, content: &DocumentContent) -> Result<PathBuf, PictureError> {
    match export {
        CanvasExport::Png => {
            let path = with_ending(path, "png");
            write_composition(&path, content).map(|()| path)
        }
        CanvasExport::OpenRaster => {
            let path = with_ending(path, "ora");
            write_open_raster(&path, content).map(|()| path)
        }
        CanvasExport::Layers => write_layers(path, content).map(|_| path.to_owned()),
    }
}

/// Writes what is autosaved, with the person's own file of it.
pub(crate) fn autosave(path: &Path, content: &DocumentContent, home: Option<&CanvasHome>) -> Result<(), PictureError> {
    if let Some(folder) = path.parent() {
        owner_only::ensure_folder(folder).map_err(|source| PictureError::Write { path: folder.to_owned(), source })?;
    }
    write_backup(path, content, home)
}

/// Moves an autosaved canvas to the system's trash.
pub(crate) fn discard(path: &Path) {
    if let Err(error) = atelier_library::to_trash(path).or_else(|_| paths::remove_if_there(path)) {
        tracing::warn!("{} stays: {error}", path.display());
    }
}

/// Looks for canvases of earlier sessions.
pub(crate) fn find_backups(paths: &Paths) -> Waiting {
    canvas_backups::waiting(&paths.canvases(), &ReadingMarks::open(&paths.reading_marks()))
}

/// The path, with this ending where it has another.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    if path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending)) {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Reads a canvas that nobody asked for by name: one that ended the program is left out.
pub(crate) fn read_backup(paths: &Paths, path: &Path) -> Result<(DocumentContent, Option<CanvasHome>), String> {
    let marks = ReadingMarks::open(&paths.reading_marks());
    let read = marks.read(path, || read_canvas_backup(path)).map_err(|error| error.to_string());
    let content = read.and_then(|read| read.map_err(|error| error.cause()));
    content.inspect_err(|error| tracing::warn!("{} could not be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_covers_the_masks_colour_also_where_it_changes_nothing() {
        let grey = |width: u32, height: u32| vec![90; (width * height * 3) as usize];
        let base = Rgb8::new(6, 4, grey(6, 4)).unwrap();
        let mut changed = grey(6, 4);
        changed[(2 * 6 + 4) * 3] = 7;
        let mut mask = Mask::filled(6, 4, 0);
        for at in [6 + 2, 6 + 3, 2 * 6 + 3] {
            mask.pixels_mut()[at] = 200;
        }
        let base = CandidateBase { document: 1, picture: base, mask: Some(Arc::new(mask)), region: None };
        let candidate = prepare_candidate(&Rgb8::new(6, 4, changed).unwrap(), &base, Some(Seed(5)), 64).unwrap();
        let shown: Vec<usize> = (0..24).filter(|at| candidate.overlay.pixels[*at].a() == 255).collect();
        assert_eq!((candidate.bounds, shown), (PixelRect::of_size(6, 4), vec![6 + 2, 6 + 3, 2 * 6 + 3, 2 * 6 + 4]));
        let alpha = |x, y| candidate.patch.read(PixelRect { left: x, top: y, width: 1, height: 1 })[3];
        assert_eq!((alpha(4, 2), alpha(3, 1)), (255, 0), "the layer has what changed alone");
    }
    #[test]
    fn each_detection_becomes_a_region_with_its_surroundings_and_the_least_probable_are_left_out() {
        let detection = |left: i32, probability: f32, class: &str| {
            let rect = PixelRect { left, top: 20, width: 80, height: 40 };
            Detection { rect, probability, class: class.to_owned() }
        };
        let found = regions_of(vec![detection(100, 0.5, "hand"), detection(20, 0.9, "face"), detection(200, 0.6, "face")], (300, 200));
        let places: Vec<_> = found.regions.iter().map(|it| (it.name.as_str(), it.rect)).collect();
        // An eighth of 80 around, and no more than the picture.
        let rect = |left: i32| PixelRect { left, top: 10, width: 100, height: 60 };
        assert_eq!(places, [("face 1", rect(10)), ("face 2", rect(190)), ("hand 1", rect(90))]);
        let mask = &found.regions[0].mask;
        assert_eq!((mask.row(30)[50], mask.row(0)[0], found.left_out, found.size), (255, 0, 0, (300, 200)), "an ellipse");
        let many = (0..20).map(|at| detection(at, 0.3 + at as f32 / 100.0, "face")).collect();
        let found = regions_of(many, (300, 200));
        assert_eq!((found.regions.len(), found.left_out, found.regions[15].rect.left), (16, 4, 0));
    }
}
