//! Text whose letters have several colours. egui shapes each section of a text by itself, which takes
//! longer than all else that a key in a long prompt brings about: so a text is laid out in few
//! sections, long lines of it in parts, and its glyphs are coloured afterwards.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, Galley, Id, Stroke, Ui};

use crate::gui::bidi::{self, VERTICES};
use crate::gui::create::view::long_text;
use crate::gui::memo::memoize;

/// What some letters look like otherwise than the others, by their bytes: each list in order, and
/// none of its ranges meets another.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Looks {
    pub(super) colours: Vec<(Range<usize>, Color32)>,
    /// Lines under the letters.
    pub(super) underlines: Vec<(Range<usize>, Stroke)>,
}

/// Ranges in order that do not meet, with all bytes of these.
pub(super) fn apart<'a>(ranges: impl IntoIterator<Item = &'a Range<usize>>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = ranges.into_iter().filter(|range| !range.is_empty()).cloned().collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        if meets {
            last.end = last.end.max(next.end);
        }
        meets
    });
    ranges
}

/// Ranges with `what` over others, in order. Both do not meet their like, and are in order.
pub(super) fn overlaid<T: Copy>(
    below: impl IntoIterator<Item = (Range<usize>, T)>,
    above: &[Range<usize>],
    what: T,
) -> Vec<(Range<usize>, T)> {
    let mut all = Vec::new();
    for (range, own) in below {
        let mut start = range.start;
        let first = above.partition_point(|over| over.end <= range.start);
        for over in above.iter().skip(first).take_while(|over| over.start < range.end) {
            if start < over.start {
                all.push((start..over.start, own));
            }
            start = over.end;
        }
        if start < range.end {
            all.push((start..range.end, own));
        }
    }
    all.extend(above.iter().map(|range| (range.clone(), what)));
    all.sort_by_key(|(range, _)| range.start);
    all
}

/// What the colours of a galley are made of.
struct Source {
    plain: Arc<Galley>,
    colours: Vec<(Range<usize>, Color32)>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // The one that is known is kept, so that no other has its place in memory.
        Arc::ptr_eq(&self.plain, &other.plain) && self.colours == other.colours
    }
}

/// Lays the text of a field out in lines of this width in points. `format`: that of letters without
/// a look of their own.
pub(super) fn laid_out(ui: &Ui, field: Id, text: &str, width: f32, format: &TextFormat, looks: Looks) -> Arc<Galley> {
    let Looks { colours, underlines } = looks;
    let plain = long_text::laid_out(ui, field, job(text, width, format, &[], &underlines));
    let source = Source { plain, colours };
    let made = memoize(ui.ctx(), field.with("colours"), source, |source| coloured(&source.plain, &source.colours));
    let (Source { colours, .. }, galley) = &*made;
    galley.clone().unwrap_or_else(|| bidi::laid_out(ui, job(text, width, format, colours, &underlines)))
}

/// The text in a section for each of its looks.
fn job(
    text: &str,
    width: f32,
    format: &TextFormat,
    mut colours: &[(Range<usize>, Color32)],
    mut underlines: &[(Range<usize>, Stroke)],
) -> LayoutJob {
    let mut job = LayoutJob { keep_trailing_whitespace: true, ..LayoutJob::default() };
    job.wrap.max_width = width;
    let ranges = colours.iter().map(|it| &it.0).chain(underlines.iter().map(|it| &it.0));
    let mut edges: Vec<usize> = ranges.flat_map(|range| [range.start, range.end]).chain([0, text.len()]).collect();
    edges.sort_unstable();
    edges.dedup();
    for edge in edges.windows(2) {
        let &[start, end] = edge else { continue };
        let color = at(&mut colours, start).unwrap_or(format.color);
        let underline = at(&mut underlines, start).unwrap_or(Stroke::NONE);
        job.append(text.get(start..end).unwrap_or_default(), 0.0, TextFormat { color, underline, ..format.clone() });
    }
    job
}

/// What a list has at a byte that is none before the last one; ranges that end before it leave the
/// list.
fn at<T: Copy>(list: &mut &[(Range<usize>, T)], byte: usize) -> Option<T> {
    while let [(range, what), rest @ ..] = *list {
        if byte < range.end {
            return (range.start <= byte).then_some(*what);
        }
        *list = rest;
    }
    None
}

/// The galley with letters in these colours; `None` where it is not known which of its glyphs is
/// which letter.
fn coloured(galley: &Arc<Galley>, mut colours: &[(Range<usize>, Color32)]) -> Option<Arc<Galley>> {
    if colours.is_empty() {
        return Some(Arc::clone(galley));
    }
    let text = galley.text();
    let glyphs: usize = galley.rows.iter().map(|placed| placed.row.glyphs.len() + usize::from(placed.ends_with_newline)).sum();
    if glyphs != text.chars().count() {
        return None;
    }
    let mut bytes = text.char_indices().map(|(byte, _)| byte);
    let mut made = Galley::clone(galley);
    for placed in &mut made.rows {
        let mut changed = Vec::new();
        for glyph in &placed.row.glyphs {
            let colour = at(&mut colours, bytes.next()?).filter(|_| !glyph.uv_rect.is_nothing());
            changed.extend(colour.map(|colour| (glyph.first_vertex as usize, colour)));
        }
        if placed.ends_with_newline {
            bytes.next();
        }
        // A row that is changed is copied.
        if changed.is_empty() {
            continue;
        }
        let vertices = &mut Arc::make_mut(&mut placed.row).visuals.mesh.vertices;
        for (first, colour) in changed {
            for vertex in vertices.iter_mut().skip(first).take(VERTICES) {
                vertex.color = colour;
            }
        }
    }
    Some(Arc::new(made))
}

#[cfg(test)]
mod tests {
    use eframe::egui::epaint::text::{FontProvider, Fonts, TextOptions};
    use eframe::egui::{Context, FontId, RawInput};
    use egui_system_font_provider::SystemFontProvider;

    use super::*;
    use crate::gui::theme;

    const WORDS: Color32 = Color32::WHITE;
    const WEIGHT: Color32 = Color32::PLACEHOLDER;
    const WEAK: Color32 = Color32::TRANSPARENT;

    fn format() -> TextFormat {
        TextFormat::simple(FontId::proportional(theme::HEADING), WORDS)
    }

    /// The letters that are drawn, with their colours.
    fn letters(galley: &Galley) -> Vec<(char, Color32)> {
        let rows = galley.rows.iter().map(|placed| &placed.row);
        let of_row = rows.flat_map(|row| {
            let drawn = row.glyphs.iter().filter(|glyph| !glyph.uv_rect.is_nothing());
            drawn.map(move |glyph| (glyph.chr, row.visuals.mesh.vertices[glyph.first_vertex as usize].color))
        });
        of_row.collect()
    }

    #[test]
    fn ranges_over_others_cut_them() {
        assert_eq!(apart(&[5..9, 1..3, 8..12, 3..4, 20..20]), [1..4, 5..12]);
        assert_eq!(
            overlaid([(0..4, 'a'), (4..10, 'b'), (12..14, 'c')], &[2..5, 7..8, 13..20], 'x'),
            [(0..2, 'a'), (2..5, 'x'), (5..7, 'b'), (7..8, 'x'), (8..10, 'b'), (12..13, 'c'), (13..20, 'x')]
        );
        assert_eq!(overlaid([(0..4, 'a')], &[], 'x'), [(0..4, 'a')]);
    }

    #[test]
    fn letters_have_the_colours_that_sections_would_give_them() {
        let ctx = Context::default();
        let mut shown = Vec::new();
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            let texts = [
                ("a (red:1.2) lake,\nfog over many more words", vec![(2..3, WEIGHT), (6..11, WEIGHT), (18..21, WEAK)]),
                ("é {a|b}\n\n", vec![(3..4, WEIGHT), (5..6, WEIGHT), (7..8, WEIGHT)]),
                ("", Vec::new()),
            ];
            for (text, colours) in texts {
                let underlines = vec![(0..text.len().min(2), Stroke::new(1.5, WEAK))];
                let sections = bidi::laid_out(ui, job(text, 80.0, &format(), &colours, &underlines));
                // Twice: made, and remembered.
                for _ in 0..2 {
                    let looks = Looks { colours: colours.clone(), underlines: underlines.clone() };
                    let galley = laid_out(ui, Id::unique(text), text, 80.0, &format(), looks);
                    assert_eq!(galley.text(), text);
                    assert!(galley.job.sections.len() <= 2, "colours make no sections");
                    shown.push((letters(&galley), letters(&sections)));
                }
            }
        });
        // Without a screen nobody else takes them.
        output.textures_delta.clear();
        for (own, of_sections) in &shown {
            assert_eq!(own, of_sections);
        }
        let brackets: Vec<char> = shown[0].0.iter().filter(|(_, colour)| *colour == WEIGHT).map(|(letter, _)| *letter).collect();
        assert_eq!(brackets, ['(', ':', '1', '.', '2', ')']);
    }

    #[test]
    fn words_from_right_to_left_keep_their_colours() {
        let text = "a (אגם:1.2) b";
        let providers: Vec<Arc<dyn FontProvider>> = vec![Arc::new(SystemFontProvider::new())];
        let mut fonts = Fonts::new(TextOptions::default(), theme::fonts()).with_font_providers(providers);
        let laid = fonts.layout_uncached(1.0, Arc::new(job(text, f32::INFINITY, &format(), &[], &[])));
        let mut measure = |job| Arc::new(fonts.layout_uncached(1.0, Arc::new(job)));
        let ordered = bidi::in_reading_order(&laid, &mut measure).expect("the system has a font for Hebrew");
        let galley = coloured(&Arc::new(ordered), &[(2..3, WEIGHT), (9..14, WEIGHT)]).expect("each letter has a glyph");
        for (letter, colour) in letters(&galley) {
            let is_of_weight = "(:1.2)".contains(letter);
            assert_eq!(colour, if is_of_weight { WEIGHT } else { WORDS }, "{letter}");
        }
    }
}
