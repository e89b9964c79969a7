//! Text that runs from right to left. egui shapes each word as its script wants, but sets all words
//! one after the other from the left, and counts more glyphs than letters where they run the other
//! way. Here a galley gets the order of the Unicode Bidirectional Algorithm, line by line, and one
//! glyph a letter again, so that the caret is where the next letter will be.
//!
//! What egui alone could do is left: lines begin at the left, brackets are not mirrored, and a click
//! puts the caret before the word that it hits.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::epaint::text::{Glyph, Row};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Color32, FontSelection, Galley, Id, TextBuffer, Ui};
use unicode_bidi::{BidiClass, BidiInfo, bidi_class};

/// Galleys in reading order that are kept: those of a few frames' fields and labels.
const MAX_KEPT: usize = 16;
/// Vertices of a glyph that is drawn.
pub(crate) const VERTICES: usize = 4;
/// The first letter that is written from right to left, of Hebrew: most texts have none, and are
/// looked through quickly.
const FIRST: char = '\u{590}';

/// Letters that are set as one: a word that runs to the left, or any other letter alone.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    bytes: Range<usize>,
    /// Number of its letters.
    letters: usize,
    /// It runs from right to left.
    is_word: bool,
}

/// True where something of a text runs from right to left.
#[must_use]
pub(crate) fn has_right_to_left(text: &str) -> bool {
    text.chars().any(|letter| letter >= FIRST && runs_left(letter))
}

fn runs_left(letter: char) -> bool {
    matches!(bidi_class(letter), BidiClass::R | BidiClass::AL)
}

/// Words that run to the left, and every other letter. `ends`: bytes at which a word ends in any
/// case, in order.
fn pieces(text: &str, ends: &[usize]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        let is_mark = bidi_class(letter) == BidiClass::NSM;
        match pieces.last_mut().filter(|last| last.is_word && !ends.contains(&at)) {
            Some(word) if runs_left(letter) || is_mark => (word.bytes.end, word.letters) = (end, word.letters + 1),
            _ => pieces.push(Piece { bytes: at..end, letters: 1, is_word: runs_left(letter) }),
        }
    }
    pieces
}

/// The text of a field, laid out in several lines: for [`eframe::egui::TextEdit::layouter`].
pub(crate) fn layouter() -> &'static mut dyn FnMut(&Ui, &dyn TextBuffer, f32) -> Arc<Galley> {
    // A function has no size, so nothing is allocated, and nothing leaks.
    Box::leak(Box::new(field_galley))
}

fn field_galley(ui: &Ui, text: &dyn TextBuffer, wrap_width: f32) -> Arc<Galley> {
    let font = FontSelection::Default.resolve(ui.style());
    let colour = ui.visuals().override_text_color.unwrap_or_else(|| ui.visuals().widgets.inactive.text_color());
    let height = ui.fonts_mut(|fonts| fonts.row_height(&font));
    let mut job = LayoutJob::simple(text.as_str().to_owned(), font, colour, wrap_width);
    job.keep_trailing_whitespace = true;
    for section in &mut job.sections {
        section.format.line_height = Some(height);
    }
    laid_out(ui, job)
}

/// A text for a label, in lines no wider than the room that there is.
pub(crate) fn lines(ui: &Ui, text: &str, colour: Color32) -> Arc<Galley> {
    laid_out(ui, LayoutJob::simple(text.to_owned(), FontSelection::Default.resolve(ui.style()), colour, ui.available_width()))
}

/// A text for a label or a button, in one line of this width at most.
pub(crate) fn line(ui: &Ui, text: &str, colour: Color32, width: f32) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), FontSelection::Default.resolve(ui.style()), colour);
    job.wrap = TextWrapping::truncate_at_width(width);
    laid_out(ui, job)
}

/// A text laid out in the order in which it is read.
pub(crate) fn laid_out(ui: &Ui, job: LayoutJob) -> Arc<Galley> {
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    if !has_right_to_left(galley.text()) {
        return galley;
    }
    // egui keeps the galleys of its last frame; so each is put into order once, not in each frame.
    let id = Id::unique("galleys in reading order");
    let mut kept = ui.data(|data| data.get_temp::<Vec<(Arc<Galley>, Arc<Galley>)>>(id)).unwrap_or_default();
    if let Some((_, ordered)) = kept.iter().find(|(from, _)| Arc::ptr_eq(from, &galley)) {
        return Arc::clone(ordered);
    }
    let mut measure = |job| ui.fonts_mut(|fonts| fonts.layout_job(job));
    let ordered = in_reading_order(&galley, &mut measure).map_or_else(|| Arc::clone(&galley), Arc::new);
    kept.insert(0, (galley, Arc::clone(&ordered)));
    kept.truncate(MAX_KEPT);
    ui.data_mut(|data| data.insert_temp(id, kept));
    ordered
}

/// The galley in the order in which it is read; `None` where it is not known which of its glyphs is
/// which letter. `measure` lays a text out by the same fonts.
pub(crate) fn in_reading_order(galley: &Galley, measure: &mut dyn FnMut(LayoutJob) -> Arc<Galley>) -> Option<Galley> {
    let text = galley.text();
    let ends: Vec<usize> = galley.job.sections.iter().map(|section| section.byte_range.end.0).collect();
    let pieces = pieces(text, &ends);
    let info = BidiInfo::new(text, None);
    let mut ordered = galley.clone();
    let (mut next, count) = (0, ordered.rows.len());
    for (index, placed) in ordered.rows.iter_mut().enumerate() {
        // The dots at the end of what was cut are no letter.
        let is_cut = galley.elided && index + 1 == count;
        let own = placed.row.glyphs.len().saturating_sub(usize::from(is_cut));
        let first = next;
        let mut counts = Vec::new();
        let mut glyphs = 0;
        while glyphs < own {
            let piece = pieces.get(next)?;
            let count = if piece.is_word { glyphs_of(galley, piece, measure)? } else { 1 };
            let count = if is_cut { count.min(own - glyphs) } else { count };
            counts.push(count);
            glyphs += count;
            next += 1;
        }
        if glyphs != own {
            return None;
        }
        let line = pieces.get(first..next)?;
        if line.iter().any(|piece| piece.is_word) {
            let order = order_of(&info, line);
            rearrange(Arc::make_mut(&mut placed.row), text, line, &counts, &order, galley.pixels_per_point);
        }
        if placed.ends_with_newline {
            next += 1;
        }
    }
    (galley.elided || next == pieces.len()).then_some(ordered)
}

/// Number of glyphs that a word has where it stands alone, as it is shaped.
fn glyphs_of(galley: &Galley, piece: &Piece, measure: &mut dyn FnMut(LayoutJob) -> Arc<Galley>) -> Option<usize> {
    let section = galley.job.sections.iter().find(|section| section.byte_range.end.0 >= piece.bytes.end)?;
    let word = galley.text().get(piece.bytes.clone())?;
    let alone = measure(LayoutJob::single_section(word.to_owned(), section.format.clone()));
    alone.rows.first().map(|row| row.row.glyphs.len())
}

/// Indices of the pieces of a line, from left to right.
fn order_of(info: &BidiInfo<'_>, line: &[Piece]) -> Vec<usize> {
    let (Some(first), Some(last)) = (line.first(), line.last()) else { return Vec::new() };
    let bytes = first.bytes.start..last.bytes.end;
    let Some(paragraph) = info.paragraphs.iter().find(|it| it.range.contains(&bytes.start)) else { return (0..line.len()).collect() };
    let (levels, runs) = info.visual_runs(paragraph, bytes);
    let mut order = Vec::with_capacity(line.len());
    for run in runs {
        let within = line.iter().enumerate().filter(|(_, piece)| run.contains(&piece.bytes.start)).map(|(index, _)| index);
        if levels.get(run.start).is_some_and(unicode_bidi::Level::is_rtl) {
            let mut within: Vec<usize> = within.collect();
            within.reverse();
            order.extend(within);
        } else {
            order.extend(within);
        }
    }
    order
}

/// Puts the pieces of a row into another order: its triangles, and its glyphs, of which each letter
/// has one then. `counts`: glyphs of each piece as they are.
fn rearrange(row: &mut Row, text: &str, line: &[Piece], counts: &[usize], order: &[usize], pixels_per_point: f32) {
    let mut starts = Vec::with_capacity(counts.len());
    let mut start = 0;
    for count in counts {
        starts.push(start..start + count);
        start += count;
    }
    let extent = |glyphs: &[Glyph]| {
        glyphs.iter().fold((f32::MAX, f32::MIN), |(left, right), it| (left.min(it.pos.x), right.max(it.pos.x + it.advance_width)))
    };
    let mut at = row.glyphs.first().map_or(0.0, |glyph| glyph.pos.x);
    let mut shifts = vec![0.0; line.len()];
    for index in order {
        let (left, right) = extent(&row.glyphs[starts[*index].clone()]);
        // Whole pixels, so that letters stay sharp.
        shifts[*index] = ((at - left) * pixels_per_point).round() / pixels_per_point;
        at += right - left;
    }
    let mut vertices = row.visuals.mesh.vertices.get_mut(row.visuals.glyph_vertex_range.clone()).into_iter().flatten();
    for (range, shift) in starts.iter().zip(&shifts) {
        let drawn = row.glyphs[range.clone()].iter().filter(|glyph| !glyph.uv_rect.is_nothing()).count();
        for vertex in vertices.by_ref().take(drawn * VERTICES) {
            vertex.pos.x += shift;
        }
    }
    let mut glyphs = Vec::with_capacity(line.iter().map(|piece| piece.letters).sum());
    for ((piece, range), shift) in line.iter().zip(&starts).zip(&shifts) {
        let own = &row.glyphs[range.clone()];
        if piece.is_word {
            glyphs.extend(letters_of(own, text.get(piece.bytes.clone()).unwrap_or_default(), *shift));
        } else {
            glyphs.extend(own.iter().map(|glyph| moved(*glyph, glyph.pos.x + shift, glyph.advance_width)));
        }
    }
    glyphs.extend_from_slice(row.glyphs.get(start..).unwrap_or_default());
    row.glyphs = glyphs;
}

fn moved(mut glyph: Glyph, x: f32, advance_width: f32) -> Glyph {
    (glyph.pos.x, glyph.advance_width) = (x, advance_width);
    glyph
}

/// One glyph for each letter of a word that runs to the left, the first letter first. Each begins at
/// its right edge and has a negative width, which is where its caret is.
fn letters_of(own: &[Glyph], word: &str, shift: f32) -> Vec<Glyph> {
    let right = own.iter().map(|glyph| glyph.pos.x + glyph.advance_width).fold(f32::MIN, f32::max) + shift;
    // From left to right those that are drawn or take room: the last letter first.
    let mut seen = own.iter().filter(|glyph| glyph.advance_width > 0.0 || !glyph.uv_rect.is_nothing()).rev().peekable();
    let mut edge = right;
    let mut letters = Vec::new();
    for letter in word.chars() {
        match seen.next_if(|glyph| glyph.chr == letter) {
            Some(glyph) => {
                let left = glyph.pos.x + shift;
                let width = (edge - left).max(0.0);
                letters.push(moved(*glyph, edge, -width));
                edge -= width;
            }
            // It is a part of the glyph before it, as in a ligature.
            None => letters.extend(own.first().map(|glyph| {
                let mut part = moved(*glyph, edge, 0.0);
                part.chr = letter;
                part.uv_rect.max = part.uv_rect.min;
                part
            })),
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use eframe::egui::FontId;
    use eframe::egui::epaint::text::{FontProvider, Fonts, TextOptions};
    use egui_system_font_provider::SystemFontProvider;

    use super::*;
    use crate::gui::theme;

    /// What a line shows from left to right, words as they are written.
    fn shown(text: &str) -> String {
        let pieces = pieces(text, &[]);
        let order = order_of(&BidiInfo::new(text, None), &pieces);
        order.into_iter().map(|index| text[pieces[index].bytes.clone()].to_owned()).collect()
    }

    #[test]
    fn words_of_a_line_follow_each_other_from_right_to_left() {
        // Hebrew "a lake at dusk"; within a word egui turns the letters round.
        assert_eq!(shown("אגם בשעת ערב"), "ערב בשעת אגם");
        assert_eq!(shown("a lake אגם בערב, oil"), "a lake בערב אגם, oil");
        // Numbers stay as they are, in a line that begins at the right.
        assert_eq!(shown("שנת 1984 טובה"), "טובה 1984 שנת");
        assert_eq!(shown("بحيرة عند الغسق"), "الغسق عند بحيرة");
        assert_eq!(shown("a lake at dusk"), "a lake at dusk");
    }

    #[test]
    fn marks_belong_to_their_word_and_a_change_of_format_ends_one() {
        let text = "שָׁלוֹם";
        assert_eq!(pieces(text, &[]), [Piece { bytes: 0..text.len(), letters: text.chars().count(), is_word: true }]);
        assert_eq!(pieces("אב", &[2]).len(), 2);
        assert!(has_right_to_left("x א") && !has_right_to_left("Ελληνικά, Русский, 日本語"));
    }
    /// A galley by the window's fonts and those of the system, as it is and in reading order.
    fn galleys(text: &str, width: f32) -> (Galley, Galley) {
        let providers: Vec<Arc<dyn FontProvider>> = vec![Arc::new(SystemFontProvider::new())];
        let mut fonts = Fonts::new(TextOptions::default(), theme::fonts()).with_font_providers(providers);
        let job = LayoutJob::simple(text.to_owned(), FontId::proportional(theme::HEADING), theme::UNTINTED, width);
        let before = fonts.layout_uncached(1.0, Arc::new(job));
        let mut measure = |job| Arc::new(fonts.layout_uncached(1.0, Arc::new(job)));
        let after = in_reading_order(&before, &mut measure).expect("the system has a font for Hebrew and Arabic");
        (before, after)
    }

    #[test]
    fn each_letter_has_a_caret_and_the_first_word_is_the_rightmost() {
        for text in ["אגם בשעת ערב", "بحيرة عند الغسق", "a lake אגם בערב\nand שלום, 12"] {
            let (before, after) = galleys(text, f32::INFINITY);
            let letters: usize = after.rows.iter().map(|row| row.glyphs.len() + usize::from(row.ends_with_newline)).sum();
            assert_eq!(letters, text.chars().count(), "{text}: one glyph a letter");
            assert!((after.rect.width() - before.rect.width()).abs() < 0.1, "{text}");
            for (row, was) in after.rows.iter().zip(&before.rows) {
                let extent = |row: &Row| {
                    row.visuals
                        .mesh
                        .vertices
                        .iter()
                        .fold((f32::MAX, f32::MIN), |(left, right), it| (left.min(it.pos.x), right.max(it.pos.x)))
                };
                let ((left, right), (old_left, old_right)) = (extent(row), extent(was));
                assert!((left - old_left).abs() < 4.0 && (right - old_right).abs() < 4.0, "{text}: nothing is drawn elsewhere");
            }
        }
        let (_, after) = galleys("אגם בשעת ערב", f32::INFINITY);
        let carets: Vec<f32> = after.rows[0].glyphs.iter().map(|glyph| glyph.pos.x).collect();
        assert!(carets[0] > carets[1] && carets[0] > carets[4] && carets[4] > carets[9], "{carets:?}");
        let (_, mixed) = galleys("a lake אגם בערב", f32::INFINITY);
        let carets: Vec<f32> = mixed.rows[0].glyphs.iter().map(|glyph| glyph.pos.x).collect();
        assert!(carets[0] < carets[2] && carets[2] < carets[14] && carets[7] > carets[11], "{carets:?}");
    }

    #[test]
    fn each_line_of_a_wrapped_text_has_its_own_order() {
        let (_, after) = galleys("אגם בשעת ערב ליד ההרים", 110.0);
        assert!(after.rows.len() > 1);
        for row in &after.rows {
            let words: Vec<f32> = row.glyphs.iter().filter(|glyph| glyph.chr != ' ').map(|glyph| glyph.pos.x).collect();
            assert!(words.windows(2).all(|pair| pair[0] >= pair[1]), "{words:?}");
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let ctx = eframe::egui::Context::default();
        theme::install(&ctx);
        let mut output = ctx.run_ui(eframe::egui::RawInput::default(), |ui| {
            let job = || LayoutJob::simple("A lighthouse, 日本".into(), FontId::proportional(theme::HEADING), theme::UNTINTED, 300.0);
            assert!(Arc::ptr_eq(&laid_out(ui, job()), &ui.fonts_mut(|fonts| fonts.layout_job(job()))));
        });
        // There is no graphics card.
        output.textures_delta.clear();
    }
}
