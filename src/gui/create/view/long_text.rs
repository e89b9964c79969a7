//! Long lines of a field's text, laid out in parts. egui keeps what it has shaped by lines of text,
//! and a prompt is one, however long: each letter that is typed in it would shape all of it again.
//! Here a line is cut where its rows end, so that what is shaped again ends some rows further on.
//!
//! A row that begins a part begins at a whole pixel, so that a few rows may break at another word
//! than in one piece.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::text::{ByteIndex, LayoutJob, LayoutSection};
use eframe::egui::{Galley, Id, Ui};

use crate::gui::bidi;
use crate::gui::memo::memoize;

/// Bytes of the longest line that is laid out in one piece.
const MAX_WHOLE: usize = 2_000;
/// Letters that are laid out for a part. Its last rows begin the next one.
const PART: usize = 600;
/// Bytes of a row's beginning by which it is chosen to begin a part.
const MARK: usize = 16;

/// Rows that follow each other.
struct Part {
    /// What egui keeps of it.
    galley: Arc<Galley>,
    /// Its first rows, which are those that count.
    rows: usize,
    /// The text after them begins a line.
    ends_line: bool,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        // The one that is known is kept, so that no other has its place in memory.
        Arc::ptr_eq(&self.galley, &other.galley) && self.rows == other.rows && self.ends_line == other.ends_line
    }
}

/// Lays out the text of a field.
pub(super) fn laid_out(ui: &Ui, field: Id, job: LayoutJob) -> Arc<Galley> {
    // All of them are asked for in each frame, because egui forgets what is not.
    let Some(parts) = parts(ui, &job) else { return bidi::laid_out(ui, job) };
    let made = memoize(ui.ctx(), field.with("parts"), parts, |parts| Arc::new(joined(job, parts)));
    Arc::clone(&made.1)
}

/// The parts of a text with a long line; `None` where it has none, and where it is not known which
/// glyph is which letter.
fn parts(ui: &Ui, job: &LayoutJob) -> Option<Vec<Part>> {
    let text = job.text.as_str();
    if text.split('\n').all(|line| line.len() <= MAX_WHOLE) || bidi::has_right_to_left(text) {
        return None;
    }
    let mut parts = Vec::new();
    let in_one_piece = |bytes: Range<usize>| {
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(part_of(job, &bytes)));
        Part { rows: galley.rows.len(), galley, ends_line: true }
    };
    // Where the short lines begin that were not laid out yet.
    let mut short: Option<usize> = None;
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.len();
        if line.len() > MAX_WHOLE {
            parts.extend(short.take().map(|first| in_one_piece(first..start - 1)));
            cut(ui, job, &(start..end), &mut parts)?;
        } else {
            short.get_or_insert(start);
        }
        start = end + 1;
    }
    parts.extend(short.map(|first| in_one_piece(first..text.len())));
    Some(parts)
}

/// Adds the parts of a line. `None` where it is not known which glyph is which letter.
fn cut(ui: &Ui, job: &LayoutJob, line: &Range<usize>, parts: &mut Vec<Part>) -> Option<()> {
    let (mut start, mut most) = (line.start, PART);
    loop {
        let rest = job.text.get(start..line.end)?;
        let text = rest.char_indices().nth(most).map_or(rest, |(at, _)| rest.get(..at).unwrap_or(rest));
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(part_of(job, &(start..start + text.len()))));
        let glyphs: usize = galley.rows.iter().map(|placed| placed.row.glyphs.len()).sum();
        if glyphs != text.chars().count() {
            return None;
        }
        if text.len() == rest.len() {
            parts.push(Part { rows: galley.rows.len(), galley, ends_line: true });
            return Some(());
        }
        let Some((rows, bytes)) = border(&galley, rest) else {
            most *= 2;
            continue;
        };
        start += bytes;
        parts.push(Part { galley, rows, ends_line: false });
        most = PART;
    }
}

/// The rows of a part, and their bytes. `text`: that of the galley, and what follows it. `None` where
/// there is one row alone.
///
/// The row that begins the next part is chosen by its own words, so that it is the same one again
/// after a letter was typed somewhere before it.
fn border(galley: &Galley, text: &str) -> Option<(usize, usize)> {
    // Where the last row ends, the text after it says.
    let most = galley.rows.len().checked_sub(1)?;
    let mut bytes = 0;
    let mut chosen: Option<(u32, usize, usize)> = None;
    for (before, placed) in galley.rows.iter().take(most).enumerate() {
        let rest = text.get(bytes..)?;
        bytes += rest.char_indices().nth(placed.row.glyphs.len()).map_or(rest.len(), |(at, _)| at);
        let rows = before + 1;
        if bytes == 0 || rows * 2 < most {
            continue;
        }
        let mark = text.get(bytes..)?.bytes().take(MARK).fold(0_u32, |mark, byte| (mark ^ u32::from(byte)).wrapping_mul(16_777_619));
        if chosen.is_none_or(|(least, ..)| mark <= least) {
            chosen = Some((mark, rows, bytes));
        }
    }
    chosen.map(|(_, rows, bytes)| (rows, bytes))
}

/// Some bytes of a text, in its looks.
fn part_of(job: &LayoutJob, bytes: &Range<usize>) -> LayoutJob {
    let mut part = LayoutJob {
        text: job.text.get(bytes.clone()).unwrap_or_default().to_owned(),
        wrap: job.wrap.clone(),
        keep_trailing_whitespace: job.keep_trailing_whitespace,
        ..LayoutJob::default()
    };
    let first = job.sections.partition_point(|section| section.byte_range.end.0 <= bytes.start).min(job.sections.len().saturating_sub(1));
    for section in job.sections.iter().skip(first) {
        let start = section.byte_range.start.0.clamp(bytes.start, bytes.end);
        let end = section.byte_range.end.0.clamp(bytes.start, bytes.end);
        // An empty line has the height of its section.
        if start == end && !(bytes.is_empty() && part.sections.is_empty()) {
            break;
        }
        let byte_range = ByteIndex(start - bytes.start)..ByteIndex(end - bytes.start);
        part.sections.push(LayoutSection { byte_range, ..section.clone() });
    }
    part
}

/// The whole text, from its parts.
fn joined(job: LayoutJob, parts: &[Part]) -> Galley {
    let galleys = parts.iter().map(|part| {
        let mut galley = Arc::clone(&part.galley);
        if part.rows < galley.rows.len() {
            Arc::make_mut(&mut galley).rows.truncate(part.rows);
        }
        galley
    });
    let galleys: Vec<Arc<Galley>> = galleys.collect();
    let pixels_per_point = galleys.first().map_or(1.0, |galley| galley.pixels_per_point);
    let mut whole = Galley::concat(Arc::new(job), &galleys, pixels_per_point);
    let mut end = 0;
    for part in parts {
        end += part.rows;
        // egui takes the end of each for that of a line.
        if let Some(last) = end.checked_sub(1).and_then(|last| whole.rows.get_mut(last)).filter(|_| !part.ends_line) {
            last.ends_with_newline = false;
        }
    }
    // It counts the rows that were cut off too.
    let meshes = || whole.rows.iter().map(|placed| &placed.row.visuals.mesh);
    let (vertices, indices): (usize, usize) =
        (meshes().map(|mesh| mesh.vertices.len()).sum(), meshes().map(|mesh| mesh.indices.len()).sum());
    (whole.num_vertices, whole.num_indices) = (vertices, indices);
    whole
}

#[cfg(test)]
mod tests {
    use eframe::egui::text::TextFormat;
    use eframe::egui::{Color32, Context, FontId, RawInput, Stroke};

    use super::*;

    const WIDTH: f32 = 300.0;

    fn format(underline: Stroke) -> TextFormat {
        TextFormat { underline, line_height: Some(20.0), ..TextFormat::simple(FontId::default(), Color32::WHITE) }
    }

    /// The text with a line under a quarter of it.
    fn job(text: &str) -> LayoutJob {
        let mut job = LayoutJob { keep_trailing_whitespace: true, ..LayoutJob::default() };
        job.wrap.max_width = WIDTH;
        let border = text.ceil_char_boundary(text.len() / 4);
        job.append(&text[..border], 0.0, format(Stroke::new(1.0, Color32::WHITE)));
        job.append(&text[border..], 0.0, format(Stroke::NONE));
        job
    }

    fn in_window(mut test: impl FnMut(&Ui)) {
        let mut output = Context::default().run_ui(RawInput::default(), |ui| test(ui));
        // Without a screen nobody else takes them.
        output.textures_delta.clear();
    }

    /// Words of many lengths in no order, in which rows that break elsewhere soon break where they did.
    fn long_line() -> String {
        let mut state = 7_u32;
        let words = (0..900).map(|_| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            ["a ", "forêt ", "(red:1.2) ", "in ", "fog, ", "lighthouses ", "sea ", "dusk "][(state >> 16) as usize % 8]
        });
        words.collect()
    }

    /// The letters of the rows, as they are drawn.
    fn letters(galley: &Galley) -> String {
        let rows = galley.rows.iter().map(|placed| {
            let row: String = placed.row.glyphs.iter().map(|glyph| glyph.chr).collect();
            row + if placed.ends_with_newline { "\n" } else { "" }
        });
        rows.collect()
    }

    #[test]
    fn a_text_in_parts_has_all_its_letters_in_rows_that_fit() {
        let line = long_line();
        let texts = [line.clone(), format!("{line}\n"), format!("\n\n{line}\nfog\n\n{line}\nmist"), "a".repeat(5_000), " ".repeat(5_000)];
        in_window(|ui| {
            for text in &texts {
                let galley = laid_out(ui, Id::unique(text), job(text));
                assert!(parts(ui, &job(text)).is_some_and(|parts| parts.len() > 3));
                assert_eq!((galley.text(), letters(&galley)), (text.as_str(), text.clone()));
                assert!(galley.rows.iter().all(|placed| placed.row.size.x <= WIDTH + 20.0), "words are not wider, blanks may be");
                let tops: Vec<f32> = galley.rows.iter().map(|placed| placed.pos.y).collect();
                assert!(tops.windows(2).all(|it| it[1] - it[0] == 20.0), "{tops:?}");
                assert_eq!(galley.rect.height(), 20.0 * galley.rows.len() as f32);
                let whole = bidi::laid_out(ui, job(text));
                assert!(
                    galley.rows.len().abs_diff(whole.rows.len()) <= whole.rows.len() / 20,
                    "{} and {} rows",
                    galley.rows.len(),
                    whole.rows.len()
                );
                assert_eq!(galley.num_vertices, galley.rows.iter().map(|placed| placed.row.visuals.mesh.vertices.len()).sum::<usize>());
            }
        });
    }

    #[test]
    fn a_letter_more_leaves_most_parts_as_they_are() {
        let text = long_line();
        in_window(|ui| {
            let before = parts(ui, &job(&text)).unwrap();
            assert!(before.len() > 8);
            for at in [0, 1_500, text.len() - 1] {
                let at = text.ceil_char_boundary(at);
                let mut typed = text.clone();
                typed.insert(at, 'w');
                // The underline stays in its place.
                let mut typed_job = job(&text);
                typed_job.text = typed;
                let border = typed_job.sections[0].byte_range.end.0 + usize::from(at < typed_job.sections[0].byte_range.end.0);
                typed_job.sections[0].byte_range.end = ByteIndex(border);
                typed_job.sections[1].byte_range = ByteIndex(border)..ByteIndex(typed_job.text.len());
                let after = parts(ui, &typed_job).unwrap();
                let is_known = |part: &&Part| before.iter().any(|it| Arc::ptr_eq(&it.galley, &part.galley));
                let made = after.len() - after.iter().filter(is_known).count();
                assert!((1..=before.len() / 2).contains(&made), "{made} of {} are made for a letter at {at}", after.len());
            }
        });
    }

    #[test]
    fn a_text_that_is_the_same_is_joined_once() {
        let text = long_line();
        in_window(|ui| {
            let one = laid_out(ui, Id::unique("one"), job(&text));
            assert!(Arc::ptr_eq(&one, &laid_out(ui, Id::unique("one"), job(&text))));
            let other = laid_out(ui, Id::unique("one"), job(&(text.clone() + "w")));
            assert_eq!(other.text().len(), text.len() + 1);
        });
    }

    #[test]
    fn short_lines_and_words_from_right_to_left_stay_in_one_piece() {
        in_window(|ui| {
            assert!(parts(ui, &job(&"a red lake\n".repeat(1_000))).is_none());
            assert!(parts(ui, &job(&"אגם ".repeat(1_000))).is_none());
            assert_eq!(laid_out(ui, Id::unique("short"), job("a lake")).rows.len(), 1);
        });
    }
}
