//! The document itself: its pixels, what the pointer does to them, and what is drawn over them.

use eframe::egui::epaint::Vertex;
use eframe::egui::{
    Align2, CursorIcon, Event, FontId, Id, Key, Mesh, Painter, PointerButton, Pos2, Rect, Response, Role, Sense, Shape, Stroke, TextureId,
    Ui, WidgetInfo, pos2,
};

use super::bar::candidate_bar;
use super::room::MARGIN;
use super::vision::vision_bar;
use crate::gui::canvas::command::PointerInput;
use crate::gui::canvas::moving::Grip;
use crate::gui::canvas::state::{Edges, Gesture, OpenDocument};
use crate::gui::canvas::tool::Tool;
use crate::gui::canvas::transform::Transform;
use crate::gui::canvas::work::CanvasExport;
use crate::gui::canvas::{Command, candidates};
use crate::gui::command::Commands;
use crate::gui::create;
use crate::gui::panels;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport;
use crate::gui::widgets::menu_entry;
use atelier_core::canvas::{LayerKind, PixelRect, StrokePoint};
use atelier_language::tr;

/// How near the pointer must be to a border to take it, in points.
const REACH: f32 = 10.0;
/// Points of scrolling that zoom by a factor of e.
const WHEEL: f32 = 280.0;

/// Draws the document and takes the pointer.
pub(crate) fn surface_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(document) = state.canvas.edited() else { return };
    let whole = ui.available_rect_before_wrap();
    let room = whole.shrink(MARGIN);
    viewport::set_canvas_rect(ui.ctx(), room);
    let Some(size) = state.canvas.shown_size_px() else { return };
    let transform = Transform::new(state.create.view, size, room, state.canvas.rotation, state.canvas.is_flipped);
    let response = ui.interact(whole, Id::unique("canvas"), Sense::click_and_drag());
    let name = tr!("canvas-canvas-by-pixels", x = size.x, y = size.y);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));

    let painter = ui.painter_at(whole);
    ground(ui, &painter, transform, document.document.content().bounds());
    let copies = copies(state, document.document.content().bounds());
    let quad = |rect: PixelRect, texture: TextureId, uv: Rect| {
        for (dx, dy) in &copies {
            let copy = PixelRect { left: rect.left.saturating_add(*dx), top: rect.top.saturating_add(*dy), ..rect };
            quad(&painter, transform, copy, texture, uv);
        }
    };
    for (rect, texture) in document.surface.parts() {
        quad(rect, texture.id(), Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)));
    }
    let is_compared = ui.input(|input| input.key_down(Key::V)) && !ui.ctx().text_edit_focused();
    let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    if let Some(candidate) = document.shown_candidate.filter(|_| !is_compared).and_then(|at| document.candidates.get(at)) {
        quad(candidate.bounds, candidate.overlay.id(), all);
    }
    let bounds = document.document.content().bounds();
    if let Some((place, texture)) = forming(state, document) {
        pieces(place, bounds).for_each(|(rect, uv)| quad(rect, texture, uv));
    }
    if let Some(live) = state.live.shown_over(document.number).filter(|_| !is_compared) {
        let place = live.place.unwrap_or_else(|| document.document.content().bounds());
        pieces(place, bounds).for_each(|(rect, uv)| quad(rect, live.texture.id(), uv));
        for (rect, texture) in document.fresh.iter().flat_map(|fresh| fresh.surface.parts()) {
            quad(rect, texture.id(), all);
        }
    }
    drafts(ui, &painter, transform, document);
    if state.canvas.tool == Tool::Frame && document.gesture.is_none() {
        frame_handles(ui, &painter, transform, document.document.content().bounds());
    }

    if state.canvas.tool == Tool::Move {
        layer_handles(ui, &painter, transform, document);
    }

    let is_panning = ui.input(|input| input.key_down(Key::Space)) && !ui.ctx().text_edit_focused();
    navigate(ui, state, commands, &response, transform, is_panning);
    let misses_press = state.canvas.tool == Tool::Frame && document.gesture.is_none();
    let inputs = pointer(ui, &response, transform, is_panning, misses_press);
    if !inputs.is_empty() {
        commands.push(Command::Pointer(inputs));
    }
    cursor(ui, &painter, state, document, &response, transform, is_panning);
    let region = LayerKind::Region { words: String::new() };
    let groups: [&[Command]; 4] = [
        &[Command::Undo, Command::Redo],
        &[Command::MaskAll, Command::InvertMask],
        &[Command::AddLayer(LayerKind::Paint), Command::AddLayer(region), Command::AddText, Command::ToggleLayers],
        &[Command::Flip, Command::Leave],
    ];
    menu(state, commands, &response, &groups);
    if document.gesture.is_none() {
        let drawn = Rect::from_points(&corners(transform, document.document.content().bounds()));
        let free = panels::beside_panels(state, ui.ctx(), room);
        // Both have one place.
        if !vision_bar(ui, state, commands, document, drawn, free) {
            candidate_bar(ui, state, commands, document, drawn, free);
        }
    }
}

/// The pieces of a part that reaches beyond a border which another continues: each where it is seen,
/// and what of the part it shows. A part within the bounds is one piece.
fn pieces(place: PixelRect, bounds: PixelRect) -> impl Iterator<Item = (PixelRect, Rect)> {
    let ways = move |length: u32| [0, -i32::try_from(length).unwrap_or(0)];
    ways(bounds.width).into_iter().flat_map(move |dx| ways(bounds.height).map(|dy| (dx, dy))).filter_map(move |(dx, dy)| {
        let moved = PixelRect { left: place.left.saturating_add(dx), top: place.top.saturating_add(dy), ..place };
        let seen = moved.intersection(&bounds);
        let part = |at: i32, from: i32, length: u32| (at - from) as f32 / length.max(1) as f32;
        let from = pos2(part(seen.left, moved.left, place.width), part(seen.top, moved.top, place.height));
        let to = pos2(part(seen.right(), moved.left, place.width), part(seen.bottom(), moved.top, place.height));
        (!seen.is_empty()).then_some((seen, Rect::from_min_max(from, to)))
    })
}

/// How far the copies of the document lie from it, itself among them, in pixels.
fn copies(state: &State, bounds: PixelRect) -> Vec<(i32, i32)> {
    let [x_wraps, y_wraps] = state.shared.seamless();
    let ways = |side: u32, wraps: bool| {
        let side = i32::try_from(side).unwrap_or(0);
        if wraps && state.canvas.shows_copies { vec![-side, 0, side] } else { vec![0] }
    };
    let down = ways(bounds.height, y_wraps);
    ways(bounds.width, x_wraps).into_iter().flat_map(|dx| down.iter().map(move |dy| (dx, *dy))).collect()
}

/// The part that forms of this document, and its look.
fn forming(state: &State, document: &OpenDocument) -> Option<(PixelRect, TextureId)> {
    let forming = state.create.forming.first()?;
    let job = state.shared.jobs.iter().find(|job| job.id == forming.job)?;
    let place = forming.place.unwrap_or_else(|| document.document.content().bounds());
    candidates::asked_for(document, job.id, &job.recipe).then(|| (place, forming.texture.id()))
}

/// Wheel, pinch and dragging with the middle button or the space bar.
fn navigate(ui: &Ui, state: &State, commands: &mut Commands, response: &Response, transform: Transform, is_panning: bool) {
    let mut view = state.create.view;
    if response.dragged_by(PointerButton::Middle) || (is_panning && response.dragged_by(PointerButton::Primary)) {
        view = transform.moved(response.drag_delta());
    } else if let Some(at) = response.hover_pos() {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let factor = (scroll / WHEEL).exp() * pinch;
        if (factor - 1.0).abs() > 1e-4 {
            view = transform.zoomed(factor, at);
        }
    }
    if view != state.create.view {
        commands.push(create::Command::SetView(view));
    }
}

/// What the pointer did in this frame: every place that the system told of, not only the last.
fn pointer(ui: &Ui, response: &Response, transform: Transform, is_panning: bool, misses_press: bool) -> Vec<PointerInput> {
    let is_above = response.hovered() || response.is_pointer_button_down_on();
    let reach = REACH / transform.scale();
    let mut inputs = Vec::new();
    ui.input(|input| {
        let mut pressure = 1.0;
        for event in &input.events {
            let at = |point: Pos2| {
                let pixel = transform.to_pixel(point);
                StrokePoint { x: pixel.x, y: pixel.y, pressure }
            };
            match event {
                // A pen tells of its place by the events that follow.
                Event::Touch { force: Some(force), .. } => pressure = *force,
                Event::PointerButton { pos, button: PointerButton::Primary, pressed: true, modifiers } if is_above && !is_panning => {
                    inputs.push(PointerInput::Press { at: at(*pos), shift: modifiers.shift, alt: modifiers.alt, reach });
                }
                Event::PointerMoved(pos) => inputs.push(PointerInput::Move { at: at(*pos), shift: input.modifiers.shift }),
                Event::PointerButton { pos, button: PointerButton::Primary, pressed: false, .. } => {
                    inputs.push(PointerInput::Move { at: at(*pos), shift: input.modifiers.shift });
                    inputs.push(PointerInput::Release);
                }
                Event::PointerGone => inputs.push(PointerInput::Release),
                _ => {}
            }
        }
    });
    // A border that was taken before the picture became a canvas.
    let origin = ui.input(|input| input.pointer.press_origin().filter(|_| input.pointer.primary_down()));
    if let Some(at) = origin.filter(|at| misses_press && response.rect.contains(*at)) {
        let pixel = transform.to_pixel(at);
        inputs.insert(0, PointerInput::Press { at: StrokePoint::new(pixel.x, pixel.y), shift: false, alt: false, reach });
    }
    let concerns = |input: &PointerInput| !matches!(input, PointerInput::Move { .. });
    let is_drawing = ui.input(|input| input.pointer.primary_down());
    if is_drawing || inputs.iter().any(concerns) { inputs } else { Vec::new() }
}

/// A part of the document, as it lies on the screen.
pub(super) fn quad(painter: &Painter, transform: Transform, rect: PixelRect, texture: TextureId, uv: Rect) {
    let (left, top, right, bottom) = (rect.left as f32, rect.top as f32, rect.right() as f32, rect.bottom() as f32);
    let mut mesh = Mesh::with_texture(texture);
    let corners =
        [(left, top, uv.left_top()), (right, top, uv.right_top()), (right, bottom, uv.right_bottom()), (left, bottom, uv.left_bottom())];
    for (x, y, uv) in corners {
        mesh.vertices.push(Vertex { pos: transform.to_screen(pos2(x, y)), uv, color: theme::UNTINTED });
    }
    mesh.indices.extend([0, 1, 2, 0, 2, 3]);
    painter.add(Shape::mesh(mesh));
}

/// The ground under what has no pixels.
pub(super) fn ground(ui: &Ui, painter: &Painter, transform: Transform, bounds: PixelRect) {
    let palette = theme::palette(ui);
    painter.add(Shape::convex_polygon(corners(transform, bounds), palette.control, Stroke::new(1.0, palette.line)));
}

pub(super) fn corners(transform: Transform, rect: PixelRect) -> Vec<Pos2> {
    let (left, top, right, bottom) = (rect.left as f32, rect.top as f32, rect.right() as f32, rect.bottom() as f32);
    [(left, top), (right, top), (right, bottom), (left, bottom)].map(|(x, y)| transform.to_screen(pos2(x, y))).to_vec()
}

/// What is being drawn and is not done yet.
fn drafts(ui: &Ui, painter: &Painter, transform: Transform, document: &OpenDocument) {
    let palette = theme::palette(ui);
    let screen = |(x, y): (f32, f32)| transform.to_screen(pos2(x, y));
    let two = |points: Vec<Pos2>, is_closed: bool| {
        for (width, colour) in [(3.0, palette.canvas), (1.2, palette.accent)] {
            let stroke = Stroke::new(width, colour);
            painter.add(if is_closed { Shape::closed_line(points.clone(), stroke) } else { Shape::line(points.clone(), stroke) });
        }
    };
    if let Some(crop) = document.shown_crop() {
        let bounds = document.document.content().bounds();
        // Over a border it is drawn at the opposite one too.
        let back = |end: i32, side: u32| [0, i32::try_from(side).unwrap_or(0)].into_iter().filter(move |by| *by == 0 || end > *by);
        let places = back(crop.right(), bounds.width).flat_map(|dx| back(crop.bottom(), bounds.height).map(move |dy| (dx, dy)));
        for (dx, dy) in places {
            let corners = corners(transform, PixelRect { left: crop.left - dx, top: crop.top - dy, ..crop });
            let closed: Vec<Pos2> = corners.iter().chain(corners.first()).copied().collect();
            painter.add(Shape::line(closed.clone(), Stroke::new(2.5, palette.canvas.gamma_multiply(0.6))));
            painter.extend(Shape::dashed_line(&closed, Stroke::new(1.2, palette.accent), 6.0, 4.0));
            for corner in corners {
                painter.rect_filled(Rect::from_center_size(corner, eframe::egui::vec2(7.0, 7.0)), 1.0, palette.accent);
            }
        }
    }
    match &document.gesture {
        Some(Gesture::Lasso(points, _)) => two(points.iter().map(|point| screen(*point)).collect(), false),
        Some(Gesture::Rectangle(from, to, _)) => {
            two([*from, (to.0, from.1), *to, (from.0, to.1)].map(screen).to_vec(), true);
        }
        Some(Gesture::Gradient(from, to, _)) => two(vec![screen(*from), screen(*to)], false),
        Some(Gesture::Frame(drag)) => {
            painter.add(Shape::closed_line(corners(transform, drag.frame), Stroke::new(1.5, palette.accent)));
            let words = format!("{} × {}", drag.frame.width, drag.frame.height);
            let at = corners(transform, drag.frame)[0];
            painter.text(at, Align2::LEFT_BOTTOM, words, FontId::proportional(theme::SMALL), palette.strong);
        }
        Some(Gesture::Stroke(_) | Gesture::Crop(_) | Gesture::Pipette | Gesture::Move(_)) | None => {}
    }
}

/// The borders of the picture, and what they can be dragged by: their middles and corners.
fn frame_handles(ui: &Ui, painter: &Painter, transform: Transform, bounds: PixelRect) {
    let palette = theme::palette(ui);
    let corners = corners(transform, bounds);
    for stroke in [Stroke::new(3.0, palette.canvas.gamma_multiply(0.6)), Stroke::new(1.5, palette.accent)] {
        painter.add(Shape::closed_line(corners.clone(), stroke));
    }
    for (corner, next) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        for place in [*corner, corner.lerp(*next, 0.5)] {
            painter.rect_filled(Rect::from_center_size(place, eframe::egui::vec2(9.0, 9.0)), 2.0, palette.accent);
        }
    }
}

/// The outline of the current layer, what it can be dragged by, and where it goes while it is.
fn layer_handles(ui: &Ui, painter: &Painter, transform: Transform, document: &OpenDocument) {
    let palette = theme::palette(ui);
    let (layer, by) = match &document.gesture {
        Some(Gesture::Move(drag)) => (drag.before.clone(), drag.by),
        _ => match document.layer_move() {
            Some(layer) => (layer.clone(), layer.by),
            None => return,
        },
    };
    let screen = |(x, y): (f32, f32)| transform.to_screen(pos2(x, y));
    if let (Some(look), Some(back)) = (document.looks.layer(layer.layer).filter(|_| by != layer.by), layer.by.inverse()) {
        // The small look is of the layer as it lies now.
        let (content, by) = (document.document.content(), back.then(&by));
        let (right, bottom) = (content.width() as f32, content.height() as f32);
        let mut mesh = Mesh::with_texture(look.id());
        for (corner, uv) in
            [((0.0, 0.0), (0.0, 0.0)), ((right, 0.0), (1.0, 0.0)), ((right, bottom), (1.0, 1.0)), ((0.0, bottom), (0.0, 1.0))]
        {
            let pos = screen(by.apply(corner));
            mesh.vertices.push(Vertex { pos, uv: pos2(uv.0, uv.1), color: theme::UNTINTED });
        }
        mesh.indices.extend([0, 1, 2, 0, 2, 3]);
        painter.add(Shape::mesh(mesh));
    }
    let corners = layer.corners(&by).map(screen).to_vec();
    for stroke in [Stroke::new(3.0, palette.canvas.gamma_multiply(0.6)), Stroke::new(1.5, palette.accent)] {
        painter.add(Shape::closed_line(corners.clone(), stroke));
    }
    for corner in corners {
        painter.rect_filled(Rect::from_center_size(corner, eframe::egui::vec2(9.0, 9.0)), 2.0, palette.accent);
    }
}

/// The pointer's look: the brush's size, or what a border does.
fn cursor(ui: &Ui, painter: &Painter, state: &State, document: &OpenDocument, response: &Response, transform: Transform, is_panning: bool) {
    let Some(at) = response.hover_pos() else { return };
    let palette = theme::palette(ui);
    if is_panning {
        return ui.ctx().set_cursor_icon(CursorIcon::Grab);
    }
    match state.canvas.tool {
        Tool::Brush | Tool::Eraser | Tool::Mask => {
            let radius = state.canvas.options.brush_of(state.canvas.tool).size / 2.0 * transform.scale();
            if radius < 2.0 {
                return ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
            }
            painter.circle_stroke(at, radius + 0.5, Stroke::new(1.5, palette.canvas));
            painter.circle_stroke(at, radius - 0.5, Stroke::new(1.0, palette.strong));
            ui.ctx().set_cursor_icon(CursorIcon::None);
        }
        Tool::Frame => {
            let pixel = transform.to_pixel(at);
            let edges = Edges::near(document.document.content().bounds(), (pixel.x, pixel.y), REACH / transform.scale());
            ui.ctx().set_cursor_icon(match (edges.left || edges.right, edges.top || edges.bottom) {
                (true, true) if edges.left == edges.top => CursorIcon::ResizeNwSe,
                (true, true) => CursorIcon::ResizeNeSw,
                (true, false) => CursorIcon::ResizeHorizontal,
                (false, true) => CursorIcon::ResizeVertical,
                (false, false) => CursorIcon::Default,
            });
        }
        Tool::Move => {
            let pixel = transform.to_pixel(at);
            let grip = document.layer_move().map(|layer| layer.grip((pixel.x, pixel.y), REACH / transform.scale()));
            ui.ctx().set_cursor_icon(match grip {
                Some(Grip::Inside) => CursorIcon::Move,
                Some(Grip::Corner(at)) if at % 2 == 0 => CursorIcon::ResizeNwSe,
                Some(Grip::Corner(_)) => CursorIcon::ResizeNeSw,
                Some(Grip::Outside) => CursorIcon::Alias,
                None => CursorIcon::Default,
            });
        }
        Tool::Wand | Tool::Lasso | Tool::Rectangle | Tool::Bucket | Tool::Gradient | Tool::Pipette => {
            ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
        }
    }
}

/// The menu of the document: these groups of commands, then those of the document as a whole.
pub(super) fn menu(state: &State, commands: &mut Commands, response: &Response, groups: &[&[Command]]) {
    response.context_menu(|ui| {
        for group in groups {
            for command in *group {
                menu_entry(ui, state, commands, command.clone());
            }
            ui.separator();
        }
        for command in [Command::Save, Command::Export(CanvasExport::Png), Command::Export(CanvasExport::OpenRaster), Command::Close] {
            menu_entry(ui, state, commands, command);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_over_a_border_is_seen_on_both_sides_and_whole() {
        let bounds = PixelRect::of_size(100, 60);
        let inside = PixelRect { left: 10, top: 5, width: 20, height: 10 };
        let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        assert_eq!(pieces(inside, bounds).collect::<Vec<_>>(), [(inside, all)]);
        let over = PixelRect { left: 90, top: 50, width: 20, height: 20 };
        let seen: Vec<_> = pieces(over, bounds).collect();
        assert_eq!(seen.len(), 4);
        assert_eq!(seen.iter().map(|(rect, _)| rect.area()).sum::<u64>(), over.area());
        assert_eq!(seen[3], (PixelRect::of_size(10, 10), Rect::from_min_max(pos2(0.5, 0.5), pos2(1.0, 1.0))));
    }
}
