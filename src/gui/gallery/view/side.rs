//! Side panel: search, conditions, kept searches, everything known of the picture with the cursor,
//! folders.

use atelier_core::sentences::capitalized;
use atelier_gallery::{FIELDS, Grouping, Order};
use atelier_language::{self as language, tr};
use eframe::egui::{Button, ComboBox, Frame, Id, Key, Label, Margin, RichText, ScrollArea, TextEdit, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::gallery;
use crate::gui::gallery::state::Dialog;
use crate::gui::gallery::view::details;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, bare_icon, command_control, heading, icon_button, row, small};

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;
/// Conditions that a search can begin with: text, and its meaning.
const EXAMPLES: [(&str, &str); 8] = [
    ("rating>=3", "gallery-three-stars-and-more"),
    ("is:pick", "gallery-picked-2"),
    ("since:7d", "gallery-of-the-last-seven"),
    ("seed:1..9", "gallery-seeds-1-to-9"),
    ("-is:reject", "gallery-not-rejected"),
    ("is:missing", "gallery-missing"),
    ("has:owner", "gallery-shared"),
    ("-has:owner", "gallery-not-shared"),
];

/// Size of the list of all fields, in points.
const FIELDS_WIDTH: f32 = 420.0;
const FIELDS_HEIGHT: f32 = 320.0;

/// Groups, in the order of the list.
const GROUPINGS: [Grouping; 4] = [Grouping::Day, Grouping::Prompt, Grouping::Model, Grouping::Batch];

pub(crate) fn side_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    Frame::new().inner_margin(Margin { left: EDGE, right: EDGE, top: 12, bottom: 0 }).show(ui, |ui| {
        search(ui, state, commands);
        conditions(ui, state, commands);
    });
    ScrollArea::vertical().id_salt("gallery side scroll").auto_shrink([false, false]).show(ui, |ui| {
        Frame::new().inner_margin(Margin { left: EDGE, right: EDGE, top: 4, bottom: 16 }).show(ui, |ui| {
            order(ui, state, commands);
            kept_searches(ui, state, commands);
            details::details_section(ui, state, commands);
            folders(ui, state, commands);
        });
        widgets::follow_focus(ui);
    });
}

fn search(ui: &mut Ui, state: &State, commands: &mut Commands) {
    use gallery::Command as It;
    let view = &state.gallery;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let mut text = view.search.text.clone();
        let wide = ui.available_width() - 2.0 * (widgets::ROW_HEIGHT + 4.0);
        let edit = TextEdit::singleline(&mut text).id(Id::unique("search pictures")).hint_text(tr!("gallery-search-pictures"));
        let response =
            widgets::line_edit_with_undo(ui, wide, edit).on_hover_text(It::FocusSearch.tooltip()).accessible_name(It::FocusSearch.label());
        if view.focus_search {
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if text != view.search.text {
            commands.push(Command::Gallery(It::SetSearch(text)));
        } else if entered {
            // Enter goes to the first picture found.
            commands.push(Command::Gallery(It::MoveTo(0, false)));
        }
        examples(ui, state, commands);
        icon_button(ui, state, commands, Icon::Save, It::SetDialog(Some(Dialog::SaveSearch(String::new()))));
    });
}

/// Menu with conditions to begin with, and every field with an example.
fn examples(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let hover = tr!("gallery-search-fields-conditions-that");
    let response = bare_icon(ui, Icon::Plus, tr!("gallery-add-a-condition")).on_hover_text(hover);
    eframe::egui::Popup::menu(&response).show(|ui| {
        ui.set_width(FIELDS_WIDTH);
        for (text, words) in EXAMPLES {
            condition_entry(ui, state, commands, text, language::text(words));
        }
        ui.separator();
        ui.label(small(tr!("gallery-all-fields"), theme::palette(ui).weak));
        ScrollArea::vertical().id_salt("search fields").max_height(FIELDS_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
            for field in FIELDS {
                condition_entry(ui, state, commands, field.example, field.description());
            }
        });
    });
}

/// An entry that adds a condition to the search, where it can be changed.
fn condition_entry(ui: &mut Ui, state: &State, commands: &mut Commands, text: &str, words: &str) {
    let button = Button::new(capitalized(words)).shortcut_text(text).truncate();
    let entry = ui.add_sized([FIELDS_WIDTH, widgets::ROW_HEIGHT], button);
    let entry = entry.on_hover_text(tr!("gallery-add-to-the-search", text, words)).accessible_name(format!("{text}: {words}"));
    if entry.clicked() {
        let search = format!("{} {text}", state.gallery.search.text.trim());
        commands.push(Command::Gallery(gallery::Command::SetSearch(search.trim().to_owned())));
        commands.push(Command::Gallery(gallery::Command::FocusSearch));
        ui.close();
    }
}

/// Conditions of the search as chips that can be taken out, and what was not understood.
fn conditions(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.gallery;
    if view.found.search.text == view.search.text && !view.found.query.is_empty() {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = eframe::egui::vec2(4.0, 4.0);
            for (index, chip) in view.found.query.chips().enumerate() {
                let colour = if chip.problem.is_some() { palette.warn } else { palette.text };
                widgets::removable_chip(ui, commands, chip.label, colour, gallery::Command::RemoveCondition(index));
            }
        });
    }
    if let Some(problem) = &view.found.problem {
        ui.add(Label::new(small(problem, palette.warn)).wrap());
    }
}

fn order(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let view = &state.gallery;
    let mut order = view.search.order;
    let orders: Vec<(Order, &str)> = Order::ALL.map(|it| (it, order_label(it))).into();
    choice(ui, &gallery::Command::SetOrder(order), &mut order, &orders);
    if order != view.search.order {
        commands.push(Command::Gallery(gallery::Command::SetOrder(order)));
    }
    let mut grouping = view.search.grouping;
    let groupings: Vec<(Option<Grouping>, &str)> =
        [(None, tr!("gallery-none"))].into_iter().chain(GROUPINGS.map(|it| (Some(it), grouping_label(it)))).collect();
    choice(ui, &gallery::Command::SetGrouping(grouping), &mut grouping, &groupings);
    if grouping != view.search.grouping {
        commands.push(Command::Gallery(gallery::Command::SetGrouping(grouping)));
    }
}

fn order_label(order: Order) -> &'static str {
    match order {
        Order::Newest => tr!("gallery-newest-first"),
        Order::Oldest => tr!("gallery-oldest-first"),
        Order::Rating => tr!("gallery-best-rating-first"),
        Order::Name => tr!("gallery-by-file-name"),
        Order::Largest => tr!("gallery-largest-first"),
        Order::Board => tr!("gallery-as-on-the-board"),
    }
}

fn grouping_label(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::Prompt => tr!("gallery-by-prompt"),
        Grouping::Day => tr!("gallery-by-day"),
        Grouping::Model => tr!("gallery-by-model"),
        Grouping::Batch => tr!("gallery-by-batch"),
    }
}

/// Row with a drop-down list, named after its command.
fn choice<T: Copy + PartialEq>(ui: &mut Ui, command: &gallery::Command, value: &mut T, all: &[(T, &str)]) {
    row(ui, command.label(), |ui| {
        let now = all.iter().find(|(it, _)| it == value).map_or("", |(_, words)| words);
        let combo = ComboBox::from_id_salt(("gallery", command.label())).icon(widgets::chevron).width(ui.available_width());
        let shown = combo.selected_text(now).show_ui(ui, |ui| {
            for (it, words) in all {
                ui.selectable_value(value, *it, *words);
            }
        });
        shown.response.on_hover_text(command.tooltip()).accessible_name(command.label());
    });
}

fn kept_searches(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let searches = &state.gallery.overview.saved_searches;
    if searches.is_empty() {
        return;
    }
    heading(ui, tr!("gallery-saved-searches"), |_| {});
    for (name, text) in searches {
        ui.horizontal(|ui| {
            let wide = ui.available_width() - widgets::ROW_HEIGHT - 8.0;
            let is_shown = state.gallery.search.text == *text;
            command_control(ui, state, commands, gallery::Command::SetSearch(text.clone()), |ui| {
                let button = Button::selectable(is_shown, name).truncate().min_size(eframe::egui::vec2(wide, widgets::ROW_HEIGHT));
                ui.add_sized([wide, widgets::ROW_HEIGHT], button).on_hover_text(text)
            });
            let command = gallery::Command::DeleteSearch(name.clone());
            let label = format!("{} {name}", command.label());
            command_control(ui, state, commands, command, |ui| bare_icon(ui, Icon::Close, &label));
        });
    }
}

/// Folders whose pictures are shown.
fn folders(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    heading(ui, tr!("gallery-folders"), |ui| {
        icon_button(ui, state, commands, Icon::Plus, gallery::Command::AddFolder);
        icon_button(ui, state, commands, Icon::Reuse, gallery::Command::Rescan);
    });
    for folder in &state.gallery.overview.folders {
        ui.horizontal(|ui| {
            let wide = ui.available_width() - widgets::ROW_HEIGHT - 8.0;
            let words = match (folder.is_here, folder.pictures) {
                (false, _) => tr!("gallery-missing-2").to_owned(),
                (true, 1) => tr!("gallery-1-picture").to_owned(),
                (true, count) => tr!("gallery-pictures-2", count),
            };
            ui.vertical(|ui| {
                ui.set_width(wide);
                ui.spacing_mut().item_spacing.y = 0.0;
                let name = widgets::file_name(&folder.path);
                ui.add(Label::new(RichText::new(name).color(palette.text)).truncate()).on_hover_text(folder.path.display().to_string());
                let colour = if folder.is_here { palette.weak } else { palette.warn };
                ui.label(small(words, colour));
            });
            if !folder.is_own {
                let command = gallery::Command::ForgetFolder(folder.path.clone());
                let label = format!("{} {}", command.label(), widgets::file_name(&folder.path));
                command_control(ui, state, commands, command, |ui| bare_icon(ui, Icon::Close, &label));
            }
        });
    }
    let loose = state.gallery.overview.loose_pictures;
    if loose > 0 {
        let words = tr!("gallery-pictures-saved-in-other", count = loose);
        ui.add(Label::new(small(words, palette.weak)).wrap()).on_hover_text(tr!("gallery-they-were-saved-by-name"));
    }
}
