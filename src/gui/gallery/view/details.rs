//! Everything known of the picture with the cursor: marks, settings, tags, note, file, family.

use atelier_core::format::file_size;
use atelier_core::recipe::RecallPart;
use atelier_gallery::{PictureDetails, PictureFlag, PictureId};
use atelier_language::tr;
use eframe::egui::{Align, Button, Key, Label, Layout, RichText, Role, Sense, Stroke, TextEdit, Ui, WidgetInfo, vec2};

use crate::gui::bidi;
use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::gallery;
use crate::gui::gallery::compare::setting_values;
use crate::gui::gallery::view::cell;
use crate::gui::icons::{self, Icon};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{
    ROW_HEIGHT, bare_icon, command_button, command_control, heading, line_edit_with_undo, removable_chip, row, small,
};

/// Side of a picture of the family, in points.
const FAMILY_SIDE: f32 = 64.0;
/// Pictures of the family that are shown.
const MAX_FAMILY: usize = 12;

/// The section; nothing where no picture has the cursor.
pub(super) fn details_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(picture) = state.gallery.current_details() else { return };
    heading(ui, tr!("gallery-this-picture"), |ui| icon_hint(ui, state, commands));
    marks(ui, state, commands, picture);
    made_for(ui, picture);
    recall(ui, state, commands);
    settings(ui, state, commands, picture);
    tags(ui, state, commands, picture);
    note(ui, state, commands, picture);
    file(ui, state, commands, picture);
    family(ui, state, commands, picture);
}

fn icon_hint(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let label = gallery::Command::ShowInFolder.label();
    command_control(ui, state, commands, gallery::Command::ShowInFolder, |ui| bare_icon(ui, Icon::Folder, label));
    let label = gallery::Command::CopyPicture.label();
    command_control(ui, state, commands, gallery::Command::CopyPicture, |ui| bare_icon(ui, Icon::Copy, label));
}

/// Stars, pick and reject.
fn marks(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let palette = theme::palette(ui);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        let rating = picture.summary.rating;
        for star in 1..=5 {
            // A second click on the last star takes the rating away.
            let command = gallery::Command::Rate(if rating == star { 0 } else { star });
            let name = gallery::Command::Rate(star).label();
            command_control(ui, state, commands, command, |ui| {
                let (rect, response) = ui.allocate_exact_size(vec2(22.0, ROW_HEIGHT), Sense::click());
                response.widget_info(|| WidgetInfo::selected(Role::Button, true, star <= rating, name));
                let colour = if response.hovered() || response.has_focus() { palette.accent_hover } else { palette.accent };
                icons::star(ui.painter(), rect.center(), 8.0, if star <= rating { colour } else { palette.weak }, star <= rating);
                response
            });
        }
        ui.add_space(12.0);
        for (flag, icon, colour) in [(PictureFlag::Pick, Icon::Check, palette.accent), (PictureFlag::Reject, Icon::Close, palette.error)] {
            let is_set = picture.summary.flag == Some(flag);
            let command = gallery::Command::Flag((!is_set).then_some(flag));
            let name = gallery::Command::Flag(Some(flag)).label();
            command_control(ui, state, commands, command, |ui| {
                let (rect, response) = ui.allocate_exact_size(vec2(ROW_HEIGHT, ROW_HEIGHT), Sense::click());
                response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_set, name));
                if is_set || response.hovered() || response.has_focus() {
                    ui.painter().rect_filled(rect, theme::RADIUS, palette.control_hover);
                }
                icons::paint(ui.painter(), rect, icon, if is_set { colour } else { palette.weak });
                response
            });
        }
    });
}

/// Who asked for it, where that is somebody else.
fn made_for(ui: &mut Ui, picture: &PictureDetails) {
    if !picture.owner.is_person() {
        let words = tr!("gallery-made-for", owner = picture.owner.label());
        ui.add(Label::new(RichText::new(words).color(theme::palette(ui).text)).wrap());
    }
}

/// What the next picture can take over.
fn recall(ui: &mut Ui, state: &State, commands: &mut Commands) {
    use gallery::Command as It;
    ui.horizontal(|ui| {
        theme::accented(ui, |ui| command_button(ui, state, commands, It::UseSettings));
        command_control(ui, state, commands, It::Recall(RecallPart::AllButSeed), |ui| ui.add(Button::new(tr!("gallery-all-but-the-seed"))));
    });
    let rows = [
        [
            (It::Recall(RecallPart::Prompt), tr!("gallery-prompt")),
            (It::Recall(RecallPart::Seed), tr!("gallery-seed")),
            (It::Recall(RecallPart::Size), tr!("common-size")),
        ],
        [
            (It::Recall(RecallPart::Model), tr!("gallery-model")),
            (It::StartFrom, tr!("gallery-start-from-it")),
            (It::UseAsReference, tr!("gallery-reference")),
        ],
    ];
    for row in rows {
        ui.horizontal(|ui| {
            for (command, words) in row {
                let name = command.label();
                command_control(ui, state, commands, command, |ui| ui.add(Button::new(words)).accessible_name(name));
            }
        });
    }
}

fn settings(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let palette = theme::palette(ui);
    for (name, value) in setting_values(picture) {
        if value.is_empty() {
            continue;
        }
        if [tr!("gallery-prompt"), tr!("gallery-negative-prompt")].contains(&name) {
            ui.horizontal(|ui| {
                ui.label(small(name, palette.weak));
                let command = gallery::Command::CopyText(value.clone());
                let label = tr!("gallery-copy", name);
                command_control(ui, state, commands, command, |ui| bare_icon(ui, Icon::Copy, &label));
            });
            ui.add(Label::new(bidi::lines(ui, &value, palette.text)).selectable(true));
        } else {
            row(ui, name, |ui| {
                ui.add(Label::new(RichText::new(&value).color(palette.text)).truncate().selectable(true)).on_hover_text(&value);
            });
        }
    }
    if picture.settings.tool.is_none() {
        let words = tr!("gallery-this-file-contains-no");
        ui.add(Label::new(small(words, palette.weak)).wrap());
    }
    for (name, value) in &picture.settings.not_understood {
        row(ui, name, |ui| {
            ui.add(Label::new(RichText::new(value).color(palette.weak)).truncate()).on_hover_text(tr!("gallery-not-understood", value));
        });
    }
}

fn tags(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let palette = theme::palette(ui);
    heading(ui, tr!("gallery-tags"), |_| {});
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        for tag in &picture.tags {
            removable_chip(ui, commands, tag, palette.text, gallery::Command::RemoveTag(tag.clone()));
        }
    });
    let mut text = state.gallery.tag_text.clone();
    let wide = ui.available_width();
    let hover = gallery::Command::EditTag(String::new());
    let response = line_edit_with_undo(ui, wide, TextEdit::singleline(&mut text).hint_text(tr!("gallery-add-a-tag")))
        .on_hover_text(hover.tooltip())
        .accessible_name(hover.label());
    let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if text != state.gallery.tag_text {
        commands.push(Command::Gallery(gallery::Command::EditTag(text)));
    }
    if entered {
        commands.push(Command::Gallery(gallery::Command::AddTag));
    }
}

fn note(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let id = picture.summary.id;
    let typed = state.gallery.note_text.as_ref().filter(|(of, _)| *of == id).map(|(_, text)| text.as_str());
    let before = typed.unwrap_or(&picture.note);
    let mut text = before.to_owned();
    let hover = gallery::Command::EditNote(id, String::new());
    let edit = TextEdit::multiline(&mut text)
        .layouter(bidi::layouter())
        .hint_text(tr!("gallery-a-note-of-your"))
        .desired_rows(2)
        .desired_width(ui.available_width());
    let response = ui.add(edit).on_hover_text(hover.tooltip()).accessible_name(hover.label());
    let is_left = response.lost_focus();
    if text != before {
        commands.push(Command::Gallery(gallery::Command::EditNote(id, text)));
    }
    if is_left {
        commands.push(Command::Gallery(gallery::Command::SaveNote));
    }
}

fn file(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let palette = theme::palette(ui);
    heading(ui, tr!("gallery-file"), |_| {});
    let path = picture.summary.path.display().to_string();
    ui.horizontal(|ui| {
        let wide = ui.available_width() - ROW_HEIGHT - 8.0;
        let name = crate::gui::widgets::middle_elided(ui, &crate::gui::widgets::file_name(&picture.summary.path), wide);
        ui.add_sized([wide, ROW_HEIGHT], Label::new(RichText::new(name).color(palette.text)).halign(Align::LEFT)).on_hover_text(&path);
        command_control(ui, state, commands, gallery::Command::CopyText(path.clone()), |ui| {
            bare_icon(ui, Icon::Copy, tr!("gallery-copy-path"))
        });
    });
    ui.label(small(format!("{} · {}", created_words(picture.summary.created_ms), file_size(picture.summary.bytes)), palette.weak));
}

/// What the picture came from, and what came of it.
fn family(ui: &mut Ui, state: &State, commands: &mut Commands, picture: &PictureDetails) {
    let parents: Vec<PictureId> = picture.parent.into_iter().collect();
    let rows =
        [(tr!("gallery-made-from"), &parents), (tr!("gallery-used-for"), &picture.children), (tr!("gallery-same-batch"), &picture.batch)];
    for (words, pictures) in rows {
        if pictures.is_empty() {
            continue;
        }
        heading(ui, words, |_| {});
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
            for id in pictures.iter().take(MAX_FAMILY) {
                relative(ui, state, commands, *id, words);
            }
        });
        if pictures.len() > MAX_FAMILY {
            ui.label(small(tr!("gallery-and-more", value = pictures.len() - MAX_FAMILY), theme::palette(ui).weak));
        }
    }
}

fn relative(ui: &mut Ui, state: &State, commands: &mut Commands, id: PictureId, words: &str) {
    let palette = theme::palette(ui);
    let command = gallery::Command::LookAt(id);
    // Not a control of its own `Ui`, which would not wrap.
    let (rect, response) = ui.allocate_exact_size(vec2(FAMILY_SIDE, FAMILY_SIDE), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, tr!("gallery-picture-2", words, id = id.0)));
    ui.painter().rect_filled(rect, 4, palette.control);
    if let Some(texture) = state.gallery.thumbnails.get(id) {
        cell::thumbnail(ui, texture, rect.shrink(2.0), false);
    }
    if response.hovered() || response.has_focus() {
        ui.painter().rect_stroke(rect, 4, Stroke::new(1.5, palette.accent), eframe::egui::StrokeKind::Inside);
    }
    if response.on_hover_text(command.tooltip()).clicked() {
        commands.push(command);
    }
}

/// Date and time in this machine's zone.
fn created_words(created_ms: i64) -> String {
    let words = || {
        let format = time::macros::format_description!("[day padding:none] [month repr:short] [year], [hour]:[minute]");
        let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(created_ms) * 1_000_000).ok()?;
        let zone = time::UtcOffset::local_offset_at(time).unwrap_or(time::UtcOffset::UTC);
        time.to_offset(zone).format(format).ok()
    };
    words().unwrap_or_else(|| tr!("gallery-at-an-unknown-time").into())
}
