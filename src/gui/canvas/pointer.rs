//! Effects of the pointer on the document.

use crate::gui::canvas::command::PointerInput;
use crate::gui::canvas::fresh::FreshStrokes;
use crate::gui::canvas::moving::{LayerDrag, LayerMove};
use crate::gui::canvas::state::{Edges, FrameDrag, Gesture, OpenDocument, State};
use crate::gui::canvas::tool::{Tool, ToolOptions};
use crate::gui::context::Context;
use crate::gui::workers::Worker;
use atelier_core::canvas::{DocumentEdit, Ink, LayerError, MAX_DOCUMENT_SIDE, PixelRect, Shape, Stroke, StrokePoint};

/// Sides that are dragged snap to multiples of this, as models like them, in pixels.
const SNAP: f32 = 8.0;

/// Folds in what the pointer did.
pub(crate) fn update(state: &mut State, inputs: Vec<PointerInput>, context: &mut Context<'_>) {
    let (tool, mut options) = (state.tool, state.options);
    let wraps = context.shared.seamless();
    let is_covered = state.is_covered;
    let Some(document) = state.edited_mut() else { return };
    for input in inputs {
        match input {
            PointerInput::Press { at, shift, alt, reach } => {
                if document.gesture.is_none() {
                    if is_covered && document.fresh.is_none() {
                        document.fresh = FreshStrokes::new(document.document.content());
                    }
                    press(document, tool, &mut options, (at, reach), (shift, alt), wraps, context);
                }
            }
            PointerInput::Move { at, shift } => move_to(document, &mut options, at, shift, wraps),
            PointerInput::Release => {
                if let Some(gesture) = document.gesture.take() {
                    finish(document, gesture, context);
                }
            }
        }
    }
    state.options = options;
}

const fn place(at: StrokePoint) -> (f32, f32) {
    (at.x, at.y)
}

fn press(
    document: &mut OpenDocument,
    tool: Tool,
    options: &mut ToolOptions,
    (at, reach): (StrokePoint, f32),
    (shift, alt): (bool, bool),
    wraps: [bool; 2],
    context: &mut Context<'_>,
) {
    let here = place(at);
    if let Some(crop) = document.shown_crop() {
        // Over a border it is also seen at the opposite one.
        let bounds = document.document.content().bounds();
        let round = |at: f32, end: i32, side: u32| {
            if end as f32 > side as f32 && at < end as f32 - side as f32 + reach { at + side as f32 } else { at }
        };
        let over = (round(here.0, crop.right(), bounds.width), round(here.1, crop.bottom(), bounds.height));
        let direct = Edges::near(crop, here, reach / 2.0);
        let edges = if direct.is_empty() { Edges::near(crop, over, reach / 2.0) } else { direct };
        // Corners alone: what lies along the borders is painted on.
        if (edges.left || edges.right) && (edges.top || edges.bottom) {
            document.gesture = Some(Gesture::Crop(FrameDrag { edges, from: here, before: crop, frame: crop }));
            return;
        }
    }
    document.gesture = match tool {
        Tool::Brush | Tool::Pipette if alt || tool == Tool::Pipette => {
            take_colour(document, options, at, wraps);
            Some(Gesture::Pipette)
        }
        Tool::Brush | Tool::Mask | Tool::Eraser => {
            let erases = tool == Tool::Eraser || alt;
            let ink = if erases { Ink::Eraser } else { Ink::Colour(options.colour) };
            let line_from = document.last_point.filter(|_| shift);
            if let Some(fresh) = &mut document.fresh {
                let layer = document.document.content().current_layer();
                fresh.begin(layer, *options.brush_of(tool), ink, line_from.unwrap_or(at), wraps);
                if line_from.is_some() {
                    fresh.line(at);
                }
            }
            match Stroke::begin_wrapped(&mut document.document, *options.brush_of(tool), ink, line_from.unwrap_or(at), wraps) {
                Ok((mut stroke, dirty)) => {
                    document.surface.mark(dirty);
                    if line_from.is_some() {
                        let dirty = stroke.line(&mut document.document, at);
                        document.surface.mark(dirty);
                    }
                    Some(Gesture::Stroke(Box::new(stroke)))
                }
                Err(error) => {
                    context.notice(error.to_string());
                    None
                }
            }
        }
        Tool::Lasso => Some(Gesture::Lasso(vec![here], alt)),
        Tool::Rectangle => Some(Gesture::Rectangle(here, here, alt)),
        Tool::Gradient => Some(Gesture::Gradient(here, here, alt)),
        Tool::Bucket => {
            let from = pixel_at(document, at, wraps);
            let shape = wrapped(Shape::Bucket { from, tolerance: options.tolerance }, wraps);
            fill(document, shape, options.colour, alt, context);
            None
        }
        Tool::Wand => {
            let (from, tolerance) = (pixel_at(document, at, wraps), options.wand_tolerance);
            let shape = if options.wand_by_edges { Shape::EdgeBound { from, tolerance } } else { Shape::Bucket { from, tolerance } };
            fill(document, wrapped(shape, wraps), options.colour, alt, context);
            None
        }
        Tool::Pipette => None,
        Tool::Move => match document.document.content().current_layer() {
            layer if layer.locked => {
                context.notice(LayerError::Locked.to_string());
                None
            }
            _ => document.layer_move().filter(|_| document.pending_edits == 0).map(|before| {
                let (grip, by) = (before.grip(here, reach), before.by);
                Gesture::Move(Box::new(LayerDrag { grip, start: here, before, by }))
            }),
        },
        Tool::Frame => {
            let bounds = document.document.content().bounds();
            let edges = Edges::near(bounds, here, reach);
            (!edges.is_empty()).then_some(Gesture::Frame(FrameDrag { edges, from: here, before: bounds, frame: bounds }))
        }
    };
    // Shapes are filled with the colour of the moment at which they are finished.
    document.ink = options.colour;
}

fn move_to(document: &mut OpenDocument, options: &mut ToolOptions, at: StrokePoint, shift: bool, wraps: [bool; 2]) {
    let here = place(at);
    match &mut document.gesture {
        Some(Gesture::Stroke(stroke)) => {
            let dirty = stroke.move_to(&mut document.document, at);
            document.surface.mark(dirty);
            if let Some(fresh) = &mut document.fresh {
                fresh.move_to(at);
            }
        }
        Some(Gesture::Lasso(points, _)) if points.last().is_some_and(|last| (last.0 - here.0).hypot(last.1 - here.1) < 1.0) => {}
        Some(Gesture::Lasso(points, _)) => points.push(here),
        Some(Gesture::Rectangle(from, to, _)) => {
            let side = (here.0 - from.0).abs().max((here.1 - from.1).abs());
            *to = if shift { (from.0 + side.copysign(here.0 - from.0), from.1 + side.copysign(here.1 - from.1)) } else { here };
        }
        Some(Gesture::Gradient(from, to, _)) => {
            let is_flat = (here.0 - from.0).abs() > (here.1 - from.1).abs();
            *to = match (shift, is_flat) {
                (false, _) => here,
                (true, true) => (here.0, from.1),
                (true, false) => (from.0, here.1),
            };
        }
        Some(Gesture::Move(drag)) => drag.by = drag.dragged(here, shift),
        Some(Gesture::Frame(drag)) => drag.frame = dragged(drag, here, shift),
        Some(Gesture::Crop(drag)) => {
            drag.frame = within(dragged(drag, here, shift), document.document.content().bounds(), wraps);
            document.crop = Some(drag.frame);
        }
        Some(Gesture::Pipette) => take_colour(document, options, at, wraps),
        None => {}
    }
}

/// What of a part lies in the picture; over borders that continue each other it may reach beyond
/// them, and is no larger than the picture.
fn within(rect: PixelRect, bounds: PixelRect, [x_wraps, y_wraps]: [bool; 2]) -> PixelRect {
    let inside = rect.intersection(&bounds);
    let across = PixelRect { left: rect.left, width: rect.width.min(bounds.width), ..inside };
    let inside = if x_wraps { across } else { inside };
    if y_wraps { PixelRect { top: rect.top, height: rect.height.min(bounds.height), ..inside } } else { inside }
}

/// The frame after its borders were dragged to a place.
fn dragged(drag: &FrameDrag, to: (f32, f32), freely: bool) -> PixelRect {
    let before = drag.before;
    let snapped = |by: f32| if freely { by.round() } else { (by / SNAP).round() * SNAP };
    let (dx, dy) = (snapped(to.0 - drag.from.0), snapped(to.1 - drag.from.1));
    let most = MAX_DOCUMENT_SIDE as f32;
    let side = |start: i32, end: i32, by: f32, first: bool, last: bool| {
        let (start, end) = (start as f32, end as f32);
        let from = if first { (start + by).clamp(end - most, end - 1.0) } else { start };
        let until = if last { (end + by).clamp(start + 1.0, start + most) } else { end };
        (from as i32, until as i32)
    };
    let (left, right) = side(before.left, before.right(), dx, drag.edges.left, drag.edges.right);
    let (top, bottom) = side(before.top, before.bottom(), dy, drag.edges.top, drag.edges.bottom);
    PixelRect::between((left, top), (right, bottom))
}

fn take_colour(document: &OpenDocument, options: &mut ToolOptions, at: StrokePoint, wraps: [bool; 2]) {
    let (x, y) = pixel_at(document, at, wraps);
    if let Some(colour) = document.document.content().colour_at(x, y) {
        options.colour = colour;
    }
}

/// The pixel at a place, which may be one of a copy beyond borders that continue each other.
fn pixel_at(document: &OpenDocument, at: StrokePoint, [x_wraps, y_wraps]: [bool; 2]) -> (i32, i32) {
    let bounds = document.document.content().bounds();
    let inside = |at: f32, side: u32, wraps: bool| {
        let at = at.floor() as i32;
        if wraps { at.rem_euclid((side as i32).max(1)) } else { at }
    };
    (inside(at.x, bounds.width, x_wraps), inside(at.y, bounds.height, y_wraps))
}

/// A shape that comes back at the opposite border, where borders continue each other.
fn wrapped(shape: Shape, wraps: [bool; 2]) -> Shape {
    if wraps == [false; 2] { shape } else { Shape::Wrapped { shape: Box::new(shape), wraps } }
}

/// Ends what the pointer is doing.
pub(crate) fn finish(document: &mut OpenDocument, gesture: Gesture, context: &mut Context<'_>) {
    let colour = document.ink;
    let wraps = context.shared.seamless();
    match gesture {
        Gesture::Stroke(stroke) => {
            document.last_point = Some(stroke.pointer());
            let dirty = stroke.finish(&mut document.document);
            document.surface.mark(dirty);
            if let Some(fresh) = &mut document.fresh {
                fresh.finish();
            }
        }
        Gesture::Lasso(points, erases) => {
            if points.len() >= 3 {
                fill(document, wrapped(Shape::Polygon(points), wraps), colour, erases, context);
            }
        }
        Gesture::Rectangle(from, to, erases) => {
            let corner = |x: f32, y: f32| (x.round() as i32, y.round() as i32);
            let rect = PixelRect::between(corner(from.0.min(to.0), from.1.min(to.1)), corner(from.0.max(to.0), from.1.max(to.1)));
            if !rect.is_empty() {
                fill(document, wrapped(Shape::Rectangle(rect), wraps), colour, erases, context);
            }
        }
        Gesture::Gradient(from, to, erases) => {
            fill(document, wrapped(Shape::Gradient { from, to }, wraps), colour, erases, context);
        }
        Gesture::Move(drag) if drag.by != drag.before.by => {
            let LayerMove { layer, from, .. } = drag.before;
            edit(document, DocumentEdit::Transform { layer, from, by: drag.by }, context);
        }
        Gesture::Frame(drag) if drag.frame != drag.before => edit(document, DocumentEdit::Reframe(drag.frame), context),
        Gesture::Frame(_) | Gesture::Crop(_) | Gesture::Pipette | Gesture::Move(_) => {}
    }
}

/// Takes back what the pointer is doing.
pub(crate) fn cancel(document: &mut OpenDocument) -> bool {
    match document.gesture.take() {
        Some(Gesture::Stroke(stroke)) => {
            let dirty = stroke.cancel(&mut document.document);
            document.surface.mark(dirty);
            if let Some(fresh) = &mut document.fresh {
                fresh.cancel();
            }
            true
        }
        Some(_) => true,
        None => false,
    }
}

/// Fills a shape on the current layer.
pub(crate) fn fill(document: &mut OpenDocument, shape: Shape, colour: [u8; 3], erases: bool, context: &mut Context<'_>) {
    let layer = document.document.content().current_layer();
    let ink = if erases { Ink::Eraser } else { Ink::Colour(layer.ink(colour)) };
    edit(document, DocumentEdit::Fill { layer: layer.id, shape, ink, opacity: 255 }, context);
}

/// Has an edit carried out on another thread.
pub(crate) fn edit(document: &mut OpenDocument, edit: DocumentEdit, context: &mut Context<'_>) {
    document.pending_edits += 1;
    let (number, version, content) = (document.number, document.document.version(), document.document.content().clone());
    context.run(
        Worker::Pixels,
        move || (content.edited(&edit), edit),
        move |(result, edit), features, context| {
            if let Some(document) = features.canvas.open_document_mut(number) {
                edited(document, version, edit, result, context);
            }
        },
    );
}

/// An edit was carried out. Where the document has changed meanwhile, it is carried out once more
/// on what is there now.
fn edited(
    document: &mut OpenDocument,
    version: u64,
    done: DocumentEdit,
    result: Result<atelier_core::canvas::DocumentContent, LayerError>,
    context: &mut Context<'_>,
) {
    document.pending_edits = document.pending_edits.saturating_sub(1);
    match result {
        Err(error) => context.notice(error.to_string()),
        Ok(_) if version != document.document.version() || matches!(document.gesture, Some(Gesture::Stroke(_))) => {
            edit(document, done, context);
        }
        Ok(content) => {
            let dirty = document.document.replace(done.name(), content);
            document.surface.mark(dirty);
            if let DocumentEdit::Transform { layer, from, by } = done {
                let bounds = from.pixel_bounds();
                document.moved = Some(LayerMove { layer, version: document.document.version(), from, bounds, by });
            }
        }
    }
}
