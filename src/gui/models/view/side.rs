//! Side panel: search, filters, download queue, and the sections of [`super::add`].

use atelier_language::tr;
use eframe::egui::{ComboBox, Frame, Id, Key, Margin, ScrollArea, TextEdit, Ui};

use crate::gui::command::{Command, Commands, keys_text};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models;
use crate::gui::models::view::{add, downloads};
use crate::gui::models::{Filter, FitFilter, ModelKind, Sort, StateFilter};
use crate::gui::state::State;
use crate::gui::widgets;
use crate::gui::widgets::{icon_button, row};
use crate::gui::window_command::WindowCommand;

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;

pub(crate) fn side_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    Frame::new().inner_margin(Margin { left: EDGE, right: EDGE, top: 12, bottom: 0 }).show(ui, |ui| search(ui, state, commands));
    ScrollArea::vertical().id_salt("models side scroll").auto_shrink([false, false]).show(ui, |ui| {
        Frame::new().inner_margin(Margin { left: EDGE, right: EDGE, top: 4, bottom: 16 }).show(ui, |ui| {
            filters(ui, state, commands);
            downloads::downloads_section(ui, state, commands);
            add::add_section(ui, state, commands);
            add::folders_section(ui, state, commands);
            add::settings_section(ui, state, commands);
        });
        widgets::follow_focus(ui);
    });
}

fn search(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let view = &state.models;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let mut text = view.search.clone();
        let wide = ui.available_width() - widgets::ROW_HEIGHT - 4.0;
        let id = Id::unique("search models");
        let hover = tr!("models-press-or", tooltip = models::Command::SetSearch(String::new()).tooltip(), shortcut = shortcut(ui));
        let edit = TextEdit::singleline(&mut text).id(id).hint_text(tr!("models-search-models"));
        let response =
            widgets::line_edit_with_undo(ui, wide, edit).on_hover_text(hover).accessible_name(models::Command::FocusSearch.label());
        if view.focus_search {
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if text != view.search {
            commands.push(Command::Models(models::Command::SetSearch(text)));
        } else if entered {
            // Enter goes to the first card found.
            commands.push(Command::Models(models::Command::MoveCursor(0)));
        }
        icon_button(ui, state, commands, Icon::Search, Command::Models(models::Command::SearchHub));
    });
}

fn shortcut(ui: &Ui) -> String {
    Command::Window(WindowCommand::Find).shortcut().map_or_else(String::new, |it| keys_text(ui.ctx(), it.keys))
}

fn filters(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let view = &state.models;
    let mut filter = view.filter.clone();
    let kinds: Vec<(Option<ModelKind>, &str)> =
        [(None, tr!("models-all"))].into_iter().chain(ModelKind::ALL.map(|it| (Some(it), it.plural()))).collect();
    choice(ui, tr!("models-kind"), &mut filter.kind, &kinds);
    let families: Vec<(Option<String>, &str)> =
        [(None, tr!("models-all"))].into_iter().chain(view.library.families.iter().map(|it| (Some(it.clone()), it.as_str()))).collect();
    choice(ui, tr!("models-family"), &mut filter.family, &families);
    let states: Vec<(Option<StateFilter>, &str)> =
        [(None, tr!("models-all"))].into_iter().chain(StateFilter::ALL.map(|it| (Some(it), it.label()))).collect();
    choice(ui, tr!("models-state"), &mut filter.state, &states);
    let fits: Vec<(Option<FitFilter>, &str)> =
        [(None, tr!("models-all"))].into_iter().chain(FitFilter::ALL.map(|it| (Some(it), it.label()))).collect();
    choice(ui, tr!("models-fits"), &mut filter.fit, &fits);
    if filter != view.filter {
        commands.push(Command::Models(models::Command::SetFilter(filter)));
    }
    let mut sort = view.sort;
    let sorts: Vec<(Sort, &str)> = Sort::ALL.map(|it| (it, it.label())).into();
    choice(ui, tr!("models-order"), &mut sort, &sorts);
    if sort != view.sort {
        commands.push(Command::Models(models::Command::SetSort(sort)));
    }
}

/// Row with a drop-down list.
fn choice<T: Clone + PartialEq>(ui: &mut Ui, label: &str, value: &mut T, all: &[(T, &str)]) {
    let hover = if label == tr!("models-order") {
        models::Command::SetSort(Sort::Name).tooltip()
    } else {
        models::Command::SetFilter(Filter::default()).tooltip()
    };
    row(ui, label, |ui| {
        let now = all.iter().find(|(it, _)| it == value).map_or(tr!("models-all"), |(_, words)| words);
        let combo = ComboBox::from_id_salt(("models", label)).icon(widgets::chevron).width(ui.available_width()).selected_text(now);
        let shown = combo.show_ui(ui, |ui| {
            for (it, words) in all {
                ui.selectable_value(value, it.clone(), *words);
            }
        });
        shown.response.on_hover_text(hover).accessible_name(label);
    });
}
