//! The canvas: the picture as it forms and when it is finished, with zoom and pan; or what to do
//! next.

use eframe::egui::{
    Align, CursorIcon, Id, Layout, PointerButton, Pos2, Rect, Response, RichText, Role, Sense, TextureId, Ui, UiBuilder, Vec2, WidgetInfo,
    pos2, vec2,
};

use crate::gui::canvas;
use crate::gui::canvas::tool::Tool;
use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::forming::FormingPicture;
use crate::gui::create::view::{examples, menu, notes, sheet};
use crate::gui::icons::Icon;
use crate::gui::phrases;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport;
use crate::gui::widgets::{bold, command_button, empty_sign};
use atelier_core::canvas::PixelRect;
use atelier_language::tr;
use atelier_studio::next_recipe::UnmetRequirement;

/// How near the pointer must be to the picture's border to take it, in points.
const BORDER: f32 = 5.0;
pub(crate) fn canvas_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if state.canvas.edited().is_some() {
        return canvas::view::canvas_panel(ui, state, commands);
    }
    if state.canvas.looked_at().is_some() {
        return canvas::view::look_panel(ui, state, commands);
    }
    let whole = ui.available_rect_before_wrap();
    if state.create.shows_sheet() {
        sheet::sheet_panel(ui, state, commands);
    } else {
        single_panel(ui, state, commands, whole);
    }
    sheet::leaving_pictures(ui, state, whole);
}

/// Draws one picture, or what to do next.
fn single_panel(ui: &mut Ui, state: &State, commands: &mut Commands, whole: Rect) {
    let room = canvas::view::picture_room(state, whole);
    viewport::set_canvas_rect(ui.ctx(), room);
    match (shown(state), state.create.canvas_size_px()) {
        (Some((texture, uv_size)), Some(size)) => {
            let response = ui.interact(whole, Id::unique("canvas"), Sense::click_and_drag());
            let name = tr!("create-picture-by-pixels", x = size.x, y = size.y);
            response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
            let drawn = state.create.view.rect(size, room);
            let painter = ui.painter_at(whole);
            let place = forming(state).and_then(|forming| forming.place);
            if place.is_some() {
                painter.rect_filled(drawn, 0.0, theme::palette(ui).control);
            }
            let part = place.map_or(drawn, |place| part_of(drawn, size, place));
            painter.image(texture, part, Rect::from_min_max(pos2(0.0, 0.0), uv_size), theme::UNTINTED);
            if let Some((step, Some(place))) = state.create.step_texture() {
                let whole_uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                painter.image(step.id(), part_of(drawn, size, place), whole_uv, theme::UNTINTED);
            }
            let takes_border = border(ui, state, commands, &response, drawn);
            let view = state.create.view.after(ui, &response, size, room);
            if view != state.create.view && !takes_border {
                commands.push(Command::SetView(view));
            }
            phrases::view::overlay(ui, state, drawn, whole);
            menu::picture_menu(state, commands, &response, None);
            notes::notes_panel(ui, state, commands, whole);
        }
        // A finished picture whose pixels are on their way to the graphics card.
        _ if state.create.session.shown().is_some_and(|it| it.pixels.is_some()) => {}
        _ => empty(ui, state, commands, whole),
    }
}

/// A drag of the picture's border makes it a canvas and extends it. True while the border is taken.
fn border(ui: &Ui, state: &State, commands: &mut Commands, response: &Response, drawn: Rect) -> bool {
    let is_finished = state.canvas.shown.is_some() && forming(state).is_none();
    let is_near = |at: Pos2| drawn.expand(BORDER).contains(at) && !drawn.shrink(BORDER).contains(at);
    if !is_finished {
        return false;
    }
    if let Some(at) = response.hover_pos().filter(|at| is_near(*at)) {
        let is_side = at.x < drawn.left() + BORDER || at.x > drawn.right() - BORDER;
        ui.ctx().set_cursor_icon(if is_side { CursorIcon::ResizeHorizontal } else { CursorIcon::ResizeVertical });
    }
    let takes = response.dragged_by(PointerButton::Primary) && ui.input(|input| input.pointer.press_origin()).is_some_and(is_near);
    if takes && response.drag_started() {
        commands.push(canvas::Command::SetTool(Tool::Frame));
    }
    takes
}

/// The live or forming picture, where it is what is shown.
fn forming(state: &State) -> Option<&FormingPicture> {
    state.live.shown().or(state.create.forming.first()).filter(|_| state.create.session.following())
}

/// Where a part of a picture of this size in pixels lies, of which the whole is drawn here.
fn part_of(drawn: Rect, size: Vec2, part: PixelRect) -> Rect {
    let scale = drawn.size() / size;
    let at = drawn.min + vec2(part.left as f32, part.top as f32) * scale;
    Rect::from_min_size(at, vec2(part.width as f32, part.height as f32) * scale)
}

/// The texture to draw: the forming picture, else a step of all of the one shown, else that, else
/// its small look until the large one is there.
fn shown(state: &State) -> Option<(TextureId, Pos2)> {
    let all = pos2(1.0, 1.0);
    if let Some(forming) = forming(state) {
        return Some((forming.texture.id(), all));
    }
    if let Some((texture, None)) = state.create.step_texture() {
        return Some((texture.id(), all));
    }
    let picture = state.create.session.shown()?;
    let kept = || picture.kept.and_then(|id| state.gallery.thumbnails.get(id));
    let texture = state.create.session.texture(picture.id).or(picture.thumbnail.as_ref()).or_else(kept)?;
    Some((texture.id(), all))
}

/// Next step for the person, in the middle of an empty canvas.
fn empty(ui: &mut Ui, state: &State, commands: &mut Commands, whole: Rect) {
    if examples::examples_panel(ui, state, commands, whole) {
        return;
    }
    let palette = theme::palette(ui);
    let area = Rect::from_center_size(whole.center(), vec2(whole.width().min(420.0), 190.0));
    ui.scope_builder(UiBuilder::new().max_rect(area).layout(Layout::top_down(Align::Center)), |ui| {
        empty_sign(ui, Icon::Picture);
        let (title, text) = words(state);
        ui.label(bold(title).size(theme::HEADING).color(palette.strong));
        ui.label(RichText::new(text).color(palette.weak));
        if state.shared.next.recipe.files.is_empty() && state.shared.jobs.is_empty() {
            ui.add_space(6.0);
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::AddFiles));
        }
    });
}

fn words(state: &State) -> (&'static str, &'static str) {
    if !state.shared.jobs.is_empty() || state.live.is_running() {
        return (tr!("create-generating-your-picture"), tr!("create-a-preview-appears-here"));
    }
    let is_elsewhere = state.shared.next.studio.is_some();
    if state.shared.next.recipe.files.is_empty() && !is_elsewhere {
        return (tr!("create-choose-a-model-to"), tr!("create-drop-model-files-here"));
    }
    if state.shared.next.uses_builtin() && state.shared.next.recipe.prompt.trim().is_empty() {
        return (tr!("create-describe-your-picture"), tr!("create-write-a-prompt-and"));
    }
    match state.shared.next.ready_anywhere() {
        Ok(()) => (tr!("create-ready-to-generate"), tr!("create-press-generate-and-your")),
        Err(UnmetRequirement::Prompt) => (tr!("create-describe-your-picture"), tr!("create-write-a-prompt-then")),
        Err(
            unmet @ (UnmetRequirement::OwnModel
            | UnmetRequirement::Controlnet
            | UnmetRequirement::Person
            | UnmetRequirement::Photomaker
            | UnmetRequirement::PersonWord
            | UnmetRequirement::Lora),
        ) => (tr!("create-almost-there"), unmet.sentence()),
        Err(UnmetRequirement::Model | UnmetRequirement::TextEncoder) => (tr!("create-almost-there"), tr!("create-one-part-of-this")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_in_the_whole_as_in_the_picture() {
        let drawn = Rect::from_min_max(pos2(10.0, 20.0), pos2(138.0, 148.0));
        let part = part_of(drawn, vec2(64.0, 64.0), PixelRect { left: 16, top: 8, width: 32, height: 24 });
        assert_eq!(part, Rect::from_min_max(pos2(42.0, 36.0), pos2(106.0, 84.0)));
    }
}
