//! Sheets of pictures: drawn with captions, and kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use atelier_core::canvas::StartFit;
use atelier_core::grid::{Captions, MAX_AXES, Place};
use atelier_core::paths;
use atelier_core::recipe::Rgb8;
use atelier_media::{MAX_SIDE, Metadata, PictureError, fit_image, picture_file_names, write_picture};

use crate::picture_index::PictureIndex;

/// Pixels between pictures, of a cell's width.
const GAP_SHARE: u32 = 32;
/// Pixels of a letter's height, of a cell's width.
const LETTER_SHARE: u32 = 18;
const MIN_LETTER: u32 = 12;
const MAX_LETTER: u32 = 48;
const GROUND: u8 = 0xf4;
const INK: u8 = 0x20;
/// Where a cell has no picture.
const EMPTY: u8 = 0xe2;

/// Pixels of a sheet's parts.
struct Layout {
    cell: (u32, u32),
    gap: u32,
    letter: u32,
    /// Of the names of rows.
    left: u32,
    /// Of the names of a page and of columns.
    top: u32,
}

impl Layout {
    fn new(captions: &Captions, cell: (u32, u32), font: &FontRef<'_>) -> Self {
        let letter = (cell.0 / LETTER_SHARE).clamp(MIN_LETTER, MAX_LETTER);
        let gap = (cell.0 / GAP_SHARE).max(4);
        let rows = (0..captions.size()[1]).filter_map(|row| captions.value(1, row));
        let widest = rows.map(|text| width_of(font, &text, letter)).max().unwrap_or(0);
        let left = if widest == 0 { gap } else { widest.min(cell.0 / 2) + 2 * gap };
        let lines = 1 + u32::from(captions.axes() > 2);
        Self { cell, gap, letter, left, top: lines * (letter + gap) + gap }
    }

    fn page_height(&self, rows: u32) -> u32 {
        self.top + rows * (self.cell.1 + self.gap)
    }

    fn size(&self, [columns, rows, pages]: [u32; MAX_AXES]) -> (u32, u32) {
        (self.left + columns * (self.cell.0 + self.gap), pages * self.page_height(rows))
    }
}

/// Draws a sheet from the pictures of its cells, by their places; a cell without one stays empty.
///
/// # Errors
/// No picture, or a sheet that is too large for a file.
pub fn draw_sheet(captions: &Captions, pictures: &BTreeMap<Place, Arc<Rgb8>>) -> Result<Rgb8, PictureError> {
    let font = FontRef::try_from_slice(ttf_inter::REGULAR).map_err(|_| PictureError::Empty)?;
    let counts = captions.size().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let side = |side: fn(&Rgb8) -> u32| pictures.values().map(|it| side(it)).max().unwrap_or(0);
    let (width, height) = (side(Rgb8::width), side(Rgb8::height));
    // As large as they are, or as fits in a file.
    let fits = |share: f64| {
        let cell = ((f64::from(width) * share) as u32, (f64::from(height) * share) as u32);
        let layout = Layout::new(captions, cell, &font);
        let (wide, high) = layout.size(counts);
        let is_drawn = cell.0 > 0 && cell.1 > 0;
        (is_drawn && wide <= MAX_SIDE && high <= MAX_SIDE && u64::from(wide) * u64::from(high) <= MAX_PIXELS).then_some(layout)
    };
    let layout = SHARES.iter().find_map(|share| fits(*share)).ok_or(PictureError::Empty)?;
    let (wide, high) = layout.size(counts);
    let mut canvas = Canvas { width: wide, height: high, pixels: vec![GROUND; wide as usize * high as usize * 3], font };
    for z in 0..counts[2] {
        canvas.page(captions, pictures, &layout, z)?;
    }
    Rgb8::new(wide, high, canvas.pixels).ok_or(PictureError::Empty)
}

/// Pixels of a whole sheet: 400 MB in memory.
const MAX_PIXELS: u64 = 128 << 20;
/// Sizes of pictures that are tried, of their own.
const SHARES: [f64; 7] = [1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0625];

struct Canvas<'a> {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
    font: FontRef<'a>,
}

impl Canvas<'_> {
    fn page(&mut self, captions: &Captions, pictures: &BTreeMap<Place, Arc<Rgb8>>, layout: &Layout, page: u32) -> Result<(), PictureError> {
        let Layout { cell, gap, letter, left, .. } = *layout;
        let [columns, rows, _] = captions.size().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let top = page * layout.page_height(rows);
        let text = |axis: usize, value: u32| captions.value(axis, value as usize);
        if let Some(name) = text(2, page) {
            self.write(&name, (left, top + gap), letter, self.width.saturating_sub(left));
        }
        for x in 0..columns {
            let at = left + x * (cell.0 + gap);
            self.write(&text(0, x).unwrap_or_default(), (at, top + layout.top - gap / 2 - letter), letter, cell.0);
        }
        for y in 0..rows {
            let at = top + layout.top + y * (cell.1 + gap);
            if let Some(name) = text(1, y) {
                self.write(&name, (gap, at + cell.1.saturating_sub(letter) / 2), letter, left.saturating_sub(2 * gap));
            }
            for x in 0..columns {
                let place = (left + x * (cell.0 + gap), at);
                match pictures.get(&[x as usize, y as usize, page as usize]) {
                    Some(picture) => {
                        let share = (f64::from(cell.0) / f64::from(picture.width())).min(f64::from(cell.1) / f64::from(picture.height()));
                        let size = |side: u32| ((f64::from(side) * share).round() as u32).max(1);
                        let (wide, high) = (size(picture.width()), size(picture.height()));
                        self.lay(&fit_image(picture, wide, high, StartFit::Stretch)?, place);
                    }
                    None => self.fill(place, cell),
                }
            }
        }
        Ok(())
    }

    fn at(&mut self, x: u32, y: u32) -> Option<&mut [u8]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        self.pixels.get_mut(at..at + 3)
    }

    fn lay(&mut self, picture: &Rgb8, (left, top): (u32, u32)) {
        let row = picture.width() as usize * 3;
        for (y, colours) in (top..).zip(picture.pixels().chunks_exact(row.max(1))) {
            for (x, colour) in (left..).zip(colours.chunks_exact(3)) {
                if let Some(pixel) = self.at(x, y) {
                    pixel.copy_from_slice(colour);
                }
            }
        }
    }

    fn fill(&mut self, (left, top): (u32, u32), (width, height): (u32, u32)) {
        for y in top..top + height {
            for x in left..left + width {
                if let Some(pixel) = self.at(x, y) {
                    pixel.fill(EMPTY);
                }
            }
        }
    }

    /// Writes a line into so many pixels; what is longer ends with dots.
    fn write(&mut self, text: &str, (left, top): (u32, u32), letter: u32, width: u32) {
        let line = shortened(&self.font, text, letter, width);
        let font = self.font.clone();
        let scaled = font.as_scaled(PxScale::from(letter as f32));
        let mut x = left as f32;
        let baseline = top as f32 + scaled.ascent();
        for character in line.chars() {
            let glyph = scaled.scaled_glyph(character);
            let id = glyph.id;
            let placed = ab_glyph::Glyph { position: point(x, baseline), ..glyph };
            x += scaled.h_advance(id);
            let Some(outline) = font.outline_glyph(placed) else { continue };
            let bounds = outline.px_bounds();
            outline.draw(|dx, dy, share| {
                let (x, y) = (bounds.min.x as i64 + i64::from(dx), bounds.min.y as i64 + i64::from(dy));
                let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
                if let Some(pixel) = self.at(x, y) {
                    for value in pixel {
                        let share = share.clamp(0.0, 1.0);
                        *value = (f32::from(*value) * (1.0 - share) + f32::from(INK) * share).round() as u8;
                    }
                }
            });
        }
    }
}

/// Width of a line in pixels.
fn width_of(font: &FontRef<'_>, text: &str, letter: u32) -> u32 {
    let scaled = font.as_scaled(PxScale::from(letter as f32));
    text.chars().map(|character| scaled.h_advance(scaled.glyph_id(character))).sum::<f32>().ceil() as u32
}

fn shortened(font: &FontRef<'_>, text: &str, letter: u32, width: u32) -> String {
    let line: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if width_of(font, &line, letter) <= width {
        return line;
    }
    let dots = '…';
    let mut short = String::new();
    for character in line.chars() {
        if width_of(font, &format!("{short}{character}{dots}"), letter) > width {
            break;
        }
        short.push(character);
    }
    short.push(dots);
    short
}

/// Keeps a sheet, in exactly this file or under a name of its own in the folder, and adds it to the
/// gallery beside its pictures.
///
/// # Errors
/// If the file cannot be written.
pub fn keep_sheet(
    sheet: &Rgb8,
    folder: &Path,
    file: Option<&Path>,
    prompt: &str,
    index: &mut PictureIndex,
) -> Result<PathBuf, PictureError> {
    let path = if let Some(file) = file {
        write_picture(file, sheet, &Metadata::default())?;
        file.to_owned()
    } else {
        let bytes = atelier_media::encode_picture(sheet, &Metadata::default())?;
        let names = picture_file_names(prompt, None).map(|name| format!("sheet_{name}"));
        let write = |file: &mut std::fs::File| std::io::Write::write_all(file, &bytes);
        paths::write_new(folder, names, write).map_err(|source| PictureError::Write { path: folder.to_owned(), source })?
    };
    if let Err(sentence) = index.add(&path, None, None, index.group()) {
        tracing::warn!("{sentence}");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use atelier_core::grid::{Axis, AxisFiles, Grid};
    use atelier_core::recipe::{Recipe, Seed};

    struct Nothing;

    impl AxisFiles for Nothing {
        fn model(&self, _: &str) -> Result<Recipe, String> {
            Err(String::new())
        }

        fn lora(&self, _: &str) -> Result<PathBuf, String> {
            Err(String::new())
        }
    }

    fn grid(axes: &[&str]) -> Grid {
        let base = Recipe { prompt: "a lake".into(), seed: Some(Seed(1)), ..Recipe::default() };
        let axes = axes.iter().map(|text| Axis::read(text, &base, &Nothing).unwrap()).collect();
        Grid::new(base, axes).unwrap()
    }

    fn picture(side: u32, shade: u8) -> Arc<Rgb8> {
        Arc::new(Rgb8::new(side, side, [shade, 0, 255].repeat((side * side) as usize)).unwrap())
    }

    #[test]
    fn every_picture_is_in_its_place_and_every_row_and_column_has_its_name() {
        let grid = grid(&["steps=4,8", "sampler=euler,heun,lcm", "seed=1,2"]);
        let mut pictures = BTreeMap::new();
        for (index, cell) in grid.cells().iter().enumerate() {
            pictures.insert(cell.at, picture(64, 20 + index as u8));
        }
        let missing = [1, 2, 1];
        pictures.remove(&missing);
        let sheet = draw_sheet(grid.captions(), &pictures).unwrap();
        let has = |colour: [u8; 3]| sheet.pixels().chunks_exact(3).filter(|pixel| *pixel == colour).count();
        for (index, cell) in grid.cells().iter().enumerate() {
            let expected = if cell.at == missing { 0 } else { 64 * 64 };
            assert_eq!(has([20 + index as u8, 0, 255]), expected, "{:?}", cell.at);
        }
        // Thin strokes are seldom of the ink alone.
        let is_inked = |pixel: &[u8]| pixel[0] < 0x80 && pixel.iter().all(|it| *it == pixel[0]);
        let inked = sheet.pixels().chunks_exact(3).filter(|pixel| is_inked(pixel)).count();
        assert!(inked > 100 && has([INK; 3]) > 0, "{inked} pixels of letters, {} of ink", has([INK; 3]));
        // The empty place is what the picture would have covered; letters have shades of their own.
        pictures.insert(missing, picture(64, 200));
        let whole = draw_sheet(grid.captions(), &pictures).unwrap();
        let pixels = |sheet: &Rgb8| sheet.pixels().chunks_exact(3).map(<[u8]>::to_owned).collect::<Vec<_>>();
        let places = pixels(&sheet).into_iter().zip(pixels(&whole)).filter(|(one, two)| one != two);
        let place: Vec<_> = places.map(|(empty, _)| empty).collect();
        assert!(place.len() == 64 * 64 && place.iter().all(|pixel| *pixel == [EMPTY; 3]), "{}", place.len());
        let other = draw_sheet(self::grid(&["steps=4,9", "sampler=euler,heun,lcm", "seed=1,2"]).captions(), &pictures).unwrap();
        assert_ne!(other, sheet, "a name is drawn as it is");
    }

    #[test]
    fn a_sheet_that_is_too_large_is_made_of_smaller_pictures_and_one_of_nothing_is_refused() {
        let grid = grid(&["seed=1..40"]);
        let pictures: BTreeMap<_, _> = grid.cells().iter().map(|cell| (cell.at, picture(700, 9))).collect();
        let sheet = draw_sheet(grid.captions(), &pictures).unwrap();
        assert!(sheet.width() <= MAX_SIDE && sheet.width() > 8000, "{}", sheet.width());
        assert!(draw_sheet(grid.captions(), &BTreeMap::new()).is_err());
    }

    #[test]
    fn a_long_name_ends_with_dots() {
        let font = FontRef::try_from_slice(ttf_inter::REGULAR).unwrap();
        let long = "a lake at dawn\nwith a boat, still water and far mountains";
        let short = shortened(&font, long, 16, 120);
        assert!(short.ends_with('…') && short.starts_with("a lake") && width_of(&font, &short, 16) <= 130, "{short}");
        assert_eq!(shortened(&font, "day", 16, 120), "day");
    }
}
