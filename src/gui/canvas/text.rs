//! Pixels of words, for layers of text. Takes time in proportion to them, and waits for nothing.

use std::sync::Arc;

use eframe::egui::epaint::text::{Fonts, TextOptions};
use eframe::egui::text::LayoutJob;
use eframe::egui::{Color32, FontId, epaint, vec2};

use crate::gui::{bidi, system_fonts, theme};
use atelier_core::canvas::{LayerText, PixelRect, TileImage};

/// Side of the picture in which glyphs are drawn before they are put in their places: some hundred
/// of the largest fit.
const GLYPHS_SIDE: usize = 8192;

/// The words in a picture of this size, in lines from their place.
pub(crate) fn draw(text: &LayerText, width: u32, height: u32) -> TileImage {
    let mut image = TileImage::new(width, height);
    let options = TextOptions {
        max_texture_side: GLYPHS_SIDE,
        // How much of a pixel a glyph covers is how opaque the pixel is.
        color_transfer_function: epaint::FontColorTransferFunction::Off,
        font_hinting: false,
        ..TextOptions::default()
    };
    let mut fonts = Fonts::new(options, theme::fonts()).with_font_providers(vec![system_fonts::provider()]);
    let job = LayoutJob::simple(text.words.clone(), FontId::proportional(text.size as f32), Color32::WHITE, f32::INFINITY);
    let galley = fonts.layout_uncached(1.0, Arc::new(job));
    let mut measure = |job| Arc::new(fonts.layout_uncached(1.0, Arc::new(job)));
    let galley = bidi::in_reading_order(&galley, &mut measure).unwrap_or(galley);
    let atlas = fonts.image();
    for row in &galley.rows {
        for glyph in row.row.glyphs.iter().filter(|glyph| !glyph.uv_rect.is_nothing()) {
            // Of letters that run to the left the place is their right edge.
            let left = glyph.pos + vec2(glyph.advance_width.min(0.0), 0.0);
            let place = row.pos + left.to_vec2() + glyph.uv_rect.offset;
            let ([left, top], [right, bottom]) = (glyph.uv_rect.min, glyph.uv_rect.max);
            let target = PixelRect {
                left: text.left.saturating_add(place.x.round() as i32),
                top: text.top.saturating_add(place.y.round() as i32),
                width: u32::from(right.saturating_sub(left)),
                height: u32::from(bottom.saturating_sub(top)),
            };
            image.change(target, true, |x, y, run| {
                let (column, line) = ((x as i32 - target.left) as usize, (y as i32 - target.top) as usize);
                let from = (usize::from(top) + line) * atlas.size[0] + usize::from(left) + column;
                for (pixel, drawn) in run.chunks_exact_mut(4).zip(atlas.pixels.get(from..).unwrap_or_default()) {
                    // Neighbours may touch: the more of both.
                    if drawn.a() > pixel[3] {
                        let [red, green, blue] = text.colour;
                        let own = if glyph.is_color { drawn.to_srgba_unmultiplied() } else { [red, green, blue, drawn.a()] };
                        pixel.copy_from_slice(&own);
                    }
                }
            });
        }
    }
    image.drop_blank_tiles();
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str, size: u32) -> LayerText {
        LayerText { words: words.into(), size, colour: [200, 30, 0], left: 20, top: 10 }
    }

    #[test]
    fn words_are_drawn_in_their_colour_from_their_place_and_lines_below_each_other() {
        let one = draw(&text("Lake", 40), 300, 200);
        let bounds = one.pixel_bounds();
        assert!(bounds.left >= 18 && bounds.top >= 10 && bounds.bottom() <= 65 && bounds.width > 50, "{bounds:?}");
        let pixels = one.read(bounds);
        assert!(pixels.chunks_exact(4).any(|pixel| pixel == [200, 30, 0, 255]), "strokes are opaque");
        assert!(pixels.chunks_exact(4).any(|pixel| (1..255).contains(&pixel[3])), "edges are smooth");
        let two = draw(&text("Lake\nLake", 40), 300, 200).pixel_bounds();
        assert!(two.width == bounds.width && two.height > bounds.height + 30, "{two:?}");
        let large = draw(&text("Lake", 80), 300, 200).pixel_bounds();
        assert!(large.width > bounds.width * 3 / 2);
    }

    #[test]
    fn what_lies_outside_the_picture_is_left_out() {
        let outside = LayerText { left: -4000, top: 9000, ..text("Lake", 40) };
        assert_eq!(draw(&outside, 64, 64).bytes(), 0);
        assert_eq!(draw(&text("", 40), 64, 64).bytes(), 0);
        assert!(draw(&LayerText { left: -10, ..text("Lake", 1024) }, 64, 64).pixel_bounds().width <= 64);
    }
}
