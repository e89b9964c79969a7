//! Painting on a large document: from an event of the pointer to the composed pixels of what it
//! changed.

use std::time::Instant;

use atelier_core::canvas::{Brush, Document, DocumentContent, Ink, LayerChoice, LayerKind, Stroke, StrokePoint, TileImage};

use super::{Outcome, peak_bytes};

const SIDE: u32 = 4096;
const LAYERS: u32 = 8;
const EVENTS: usize = 900;
/// Pixels that the pointer moves between two events; at 60 a second, a quick stroke across the
/// picture in two seconds.
const PIXELS_AN_EVENT: f32 = 35.0;

/// Prints the row: milliseconds an event, and memory.
pub(super) fn measure() -> Outcome<()> {
    let layer = |n: u32| {
        let mut pixels = TileImage::new(SIDE, SIDE);
        let all = pixels.bounds();
        let alpha = if n == 0 { 255 } else { 90 };
        pixels.change(all, true, |x, y, run| {
            for (pixel, x) in run.chunks_exact_mut(4).zip(x..) {
                pixel.copy_from_slice(&[(x * (n + 1)) as u8, (y + n * 31) as u8, (x ^ y) as u8, alpha]);
            }
        });
        pixels
    };
    let mut document = Document::new(DocumentContent::new("Layer 0", layer(0))?);
    for n in 1..LAYERS {
        document.add_layer(LayerKind::Paint, &format!("Layer {n}"), Some(layer(n)))?;
    }
    // The stroke is in the middle of the pile, and crosses itself.
    document.select_layer(document.content().layers()[LAYERS as usize / 2].id);
    let brush = Brush { size: 200.0, ..Brush::default() };
    let place = |n: usize| {
        let along = n as f32 * PIXELS_AN_EVENT / 1500.0;
        StrokePoint::new(2048.0 + 1500.0 * along.sin(), 2048.0 + 1500.0 * (along * 0.7 + 0.4).cos())
    };
    let (mut stroke, _) = Stroke::begin(&mut document, brush, Ink::Colour([230, 40, 90]), place(0))?;
    let mut millis = Vec::with_capacity(EVENTS);
    let mut composed = 0;
    for n in 1..=EVENTS {
        let begun = Instant::now();
        let changed = stroke.move_to(&mut document, place(n));
        composed += document.content().compose(changed, LayerChoice::Visible).len() / 4;
        millis.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    stroke.finish(&mut document);
    let begun = Instant::now();
    document.undo();
    let undo_ms = begun.elapsed().as_secs_f64() * 1000.0;
    millis.sort_by(f64::total_cmp);
    let within = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!(
        "| {SIDE} x {SIDE}, {LAYERS} layers, brush of 200 px | median | 95 of 100 within | longest | pixels an event | undo | memory |"
    );
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {EVENTS} events of a stroke | {:.2} ms | {:.2} ms | {:.2} ms | {} | {undo_ms:.2} ms | {:.0} MiB, pixels {:.0} MiB |",
        within(0.5),
        within(0.95),
        within(1.0),
        composed / EVENTS,
        peak_bytes("self").unwrap_or(0) as f64 / f64::from(1 << 20),
        document.content().bytes() as f64 / f64::from(1 << 20),
    );
    Ok(())
}
