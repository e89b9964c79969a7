//! The card that asks what a dropped, pasted or opened picture is for.

use eframe::egui::{
    Align, CollapsingHeader, Frame, Id, Image, Label, Layout, Margin, Modal, RichText, ScrollArea, Ui, load::SizedTexture, vec2,
};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::dropped::{DroppedPictures, DroppedUse};
use crate::gui::state::State;
use crate::gui::widgets::{bold, command_button, command_control, heading};
use crate::gui::{models, theme, widgets};
use atelier_core::recipe::ImageSource;
use atelier_language::tr;
use atelier_studio::opened_picture::{ModelRemedy, OpenedPicture, SettingLine};

/// Width of the card, in points.
const WIDTH: f32 = 560.0;
/// Space that the window keeps beside the card, and that the card needs beside its lists, in
/// points.
const MARGIN: f32 = 48.0;
const AROUND_LISTS: f32 = 250.0;
/// Side of the small look, in points.
const LOOK: f32 = 96.0;
/// Width of the names of settings, in points.
const NAME_WIDTH: f32 = 128.0;

/// Draws the card, where pictures wait for a decision.
pub(crate) fn dropped_card(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(dropped) = &state.create.dropped else { return };
    let palette = theme::palette(ui);
    let window = ui.ctx().content_rect().size();
    let frame = Frame::popup(ui.style()).inner_margin(Margin::same(20)).corner_radius(12);
    let modal = Modal::new(Id::unique("dropped picture")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(WIDTH.min(window.x - MARGIN));
        title(ui, state, dropped);
        if let Some(opened) = &dropped.opened {
            let height = (window.y - AROUND_LISTS).max(80.0);
            ScrollArea::vertical().id_salt("settings of the picture").max_height(height).auto_shrink([false, true]).show(ui, |ui| {
                lists(ui, state, opened, commands);
            });
        }
        ui.add_space(12.0);
        buttons(ui, state, dropped, commands);
    });
    repaint_until_still(ui, modal.response.rect.height());
    if modal.should_close() {
        commands.push(Command::CloseDropped);
    }
}

/// Asks for another frame while the card's height changes: lists take their final height in the
/// frame after the one that measures them.
fn repaint_until_still(ui: &Ui, height: f32) {
    let id = Id::unique("height of the dropped picture's card");
    if ui.data(|data| data.get_temp(id)) != Some(height) {
        ui.data_mut(|data| data.insert_temp(id, height));
        ui.request_repaint();
    }
}

fn title(ui: &mut Ui, state: &State, dropped: &DroppedPictures) {
    let palette = theme::palette(ui);
    let look = dropped.images.first().and_then(|image| match image {
        ImageSource::File(path) => state.create.thumbnail(path),
        ImageSource::Pixels(_) => None,
    });
    ui.horizontal_top(|ui| {
        if let Some(texture) = look {
            let size = texture.size_vec2();
            let scale = LOOK / size.max_elem().max(1.0);
            ui.add(
                Image::from_texture(SizedTexture::from_handle(texture))
                    .fit_to_exact_size(size * scale)
                    .corner_radius(6)
                    .alt_text(&dropped.name),
            );
            ui.add_space(6.0);
        }
        ui.vertical(|ui| {
            ui.add(Label::new(bold(tr!("create-how-should-this-picture")).size(theme::TITLE).color(palette.strong)).wrap());
            ui.add(Label::new(RichText::new(&dropped.name).color(palette.text)).truncate()).on_hover_text(&dropped.name);
            let from = match &dropped.opened {
                Some(opened) => tr!("create-made-by-pixels", tool = opened.tool.label(), width = opened.width, height = opened.height),
                None => tr!("create-this-picture-contains-no").to_owned(),
            };
            ui.add(Label::new(RichText::new(from).color(palette.weak)).wrap());
            match dropped.images.len() - 1 {
                0 => {}
                1 => drop(ui.label(RichText::new(tr!("create-and-one-more-picture")).color(palette.weak))),
                more => drop(ui.label(RichText::new(tr!("create-and-more-pictures", more)).color(palette.weak))),
            }
        });
    });
}

fn lists(ui: &mut Ui, state: &State, opened: &OpenedPicture, commands: &mut Commands) {
    let palette = theme::palette(ui);
    if !opened.missing.is_empty() {
        heading(ui, tr!("create-not-on-this-machine"), |_| {});
        for missing in &opened.missing {
            ui.add(Label::new(RichText::new(missing.sentence()).color(palette.warn)).wrap());
            if let Some(remedy) = &missing.remedy {
                let (label, command) = match remedy {
                    ModelRemedy::Download { id, name, .. } => (tr!("create-download", name), models::Command::Download(id.clone())),
                    ModelRemedy::Nearest { id, name } => (tr!("create-use", name), models::Command::Use(id.clone())),
                };
                command_control(ui, state, commands, command, |ui| ui.button(&label).accessible_name(label.as_str()));
            }
        }
    }
    if !opened.differences.is_empty() {
        heading(ui, tr!("create-differences"), |_| {});
        for sentence in &opened.differences {
            ui.add(Label::new(RichText::new(sentence).color(palette.text)).wrap());
        }
    }
    heading(ui, tr!("common-settings"), |_| {});
    setting_lines(ui, &opened.understood);
    if !opened.not_understood.is_empty() {
        ui.add_space(6.0);
        let name = tr!("create-not-understood", not_understood = opened.not_understood.len());
        CollapsingHeader::new(RichText::new(name).color(palette.weak))
            .id_salt("not understood")
            .icon(widgets::fold_chevron)
            .show_unindented(ui, |ui| setting_lines(ui, &opened.not_understood))
            .header_response
            .on_hover_text(tr!("create-other-settings-in-the"));
    }
}

fn setting_lines(ui: &mut Ui, lines: &[SettingLine]) {
    let palette = theme::palette(ui);
    for line in lines {
        ui.horizontal_top(|ui| {
            ui.allocate_ui_with_layout(vec2(NAME_WIDTH, 0.0), Layout::left_to_right(Align::Min), |ui| {
                ui.set_min_width(NAME_WIDTH);
                ui.add(Label::new(RichText::new(&line.name).color(palette.weak)).truncate()).on_hover_text(&line.name);
            });
            ui.add(Label::new(RichText::new(&line.value).color(palette.text)).wrap());
        });
    }
}

fn buttons(ui: &mut Ui, state: &State, dropped: &DroppedPictures, commands: &mut Commands) {
    ui.horizontal_wrapped(|ui| {
        let uses =
            [DroppedUse::Settings, DroppedUse::Start, DroppedUse::Reference, DroppedUse::Control, DroppedUse::Person, DroppedUse::Gallery];
        let offered = uses.into_iter().filter(|purpose| match purpose {
            DroppedUse::Settings => dropped.opened.is_some(),
            DroppedUse::Control => state.shared.next.takes_control(),
            DroppedUse::Reference => state.shared.takes_references().is_ok(),
            DroppedUse::Person => state.shared.takes_person().is_ok(),
            DroppedUse::Start | DroppedUse::Gallery => true,
        });
        for (index, purpose) in offered.enumerate() {
            let command = Command::UseDropped(purpose);
            if index > 0 {
                command_button(ui, state, commands, command);
                continue;
            }
            let response = theme::accented(ui, |ui| command_button(ui, state, commands, command));
            if state.create.focus_dialog {
                response.request_focus();
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| command_button(ui, state, commands, Command::CloseDropped));
    });
}
