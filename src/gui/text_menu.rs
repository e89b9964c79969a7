//! The menu that the secondary button opens on a text field: what its keys do. egui has none.

use atelier_language::tr;
use eframe::egui::text_edit::TextEditState;
use eframe::egui::text_selection::CCursorRange;
use eframe::egui::{Button, Context, Id, Key, KeyboardShortcut, Modifiers, Response, RichText, Ui, Vec2, ViewportCommand, vec2};

use crate::gui::command::keys_text;
use crate::gui::theme;

/// Size of an entry, in points.
const SIZE: Vec2 = vec2(150.0, 26.0);

/// Gives a text field its menu.
pub(crate) fn text_menu(response: &Response) {
    keep_selection(response);
    response.context_menu(|ui| {
        let has_selection = noted_selection(ui.ctx(), response.id).is_some_and(|range| !range.is_empty());
        entry(ui, response, tr!("window-cut"), tr!("window-cut-the-selected-text"), Key::X, has_selection, ViewportCommand::RequestCut);
        entry(ui, response, tr!("common-copy"), tr!("window-copy-the-selected-text"), Key::C, has_selection, ViewportCommand::RequestCopy);
        entry(ui, response, tr!("window-paste"), tr!("window-insert-the-text-of"), Key::V, true, ViewportCommand::RequestPaste);
    });
}

fn entry(ui: &mut Ui, field: &Response, words: &str, hover: &str, key: Key, is_enabled: bool, request: ViewportCommand) {
    let keys = keys_text(ui.ctx(), KeyboardShortcut::new(Modifiers::COMMAND, key));
    let keys = RichText::new(keys).size(theme::SMALL).color(theme::palette(ui).weak);
    let button = Button::new(words).right_text(keys).frame_when_inactive(false).min_size(SIZE);
    let response = ui.add_enabled(is_enabled, button).on_hover_text(hover).on_disabled_hover_text(tr!("window-select-some-first", hover));
    if response.accessible_name(words).clicked() {
        // What the clipboard has comes in a later frame, to what has the keyboard then.
        field.request_focus();
        restore(ui.ctx(), field.id);
        ui.ctx().send_viewport_cmd(request);
        ui.close();
    }
}

/// egui moves the caret under any button, which would lose what is to be copied.
fn keep_selection(response: &Response) {
    let (ctx, id) = (&response.ctx, response.id);
    let is_secondary = ctx.input(|input| {
        let pointer = &input.pointer;
        pointer.secondary_pressed() || pointer.secondary_down() || pointer.secondary_released()
    });
    if is_secondary && response.contains_pointer() {
        restore(ctx, id);
    } else if response.context_menu_opened() {
        // What is kept is what the menu acts on.
    } else if response.has_focus() {
        let range = TextEditState::load(ctx, id).and_then(|state| state.cursor.char_range());
        ctx.data_mut(|data| match range {
            Some(range) => {
                data.insert_temp(noted_id(id), range);
            }
            None => data.remove::<CCursorRange>(noted_id(id)),
        });
    } else {
        ctx.data_mut(|data| data.remove::<CCursorRange>(noted_id(id)));
    }
}

/// Selects again what was selected before the secondary button.
fn restore(ctx: &Context, field: Id) {
    let before = noted_selection(ctx, field).filter(|range| !range.is_empty());
    if let (Some(before), Some(mut state)) = (before, TextEditState::load(ctx, field)) {
        state.cursor.set_char_range(Some(before));
        state.store(ctx, field);
    }
}

fn noted_selection(ctx: &Context, field: Id) -> Option<CCursorRange> {
    ctx.data(|data| data.get_temp(noted_id(field)))
}

fn noted_id(field: Id) -> Id {
    field.with("selection before the menu")
}
