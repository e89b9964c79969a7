//! The dialog about sharing.

use atelier_core::format::file_size;
use atelier_gallery::queue::Owner;
use atelier_language::tr;
use eframe::egui::{Key, Label, Rect, RichText, Role, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::sharing::command::Command;
use crate::gui::sharing::state::{Phase, PhoneCode, Running};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, heading, line_edit_with_undo, small, whole_number, wide_modal};
use crate::http::{APPROVAL_DAYS, Caller, DiskQuota, Retention};

/// Width of the dialog and of its text field, in points.
const WIDTH: f32 = 460.0;
const FIELD_WIDTH: f32 = 240.0;
/// Letters of a studio's name.
const MAX_STUDIO_NAME: usize = 60;
/// Side of a square of a code, in points, and the squares around it that stay light: cameras need
/// four.
const SQUARE: f32 = 5.0;
const MARGIN: usize = 4;

/// True while the dialog is open, which then has the keys.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.sharing.is_open
}

/// Draws the dialog, where it is open.
pub(crate) fn dialog(ui: &Ui, state: &State, commands: &mut Commands) {
    if state.sharing.is_open && wide_modal(ui, "sharing", WIDTH, |ui| contents(ui, state, commands)) {
        commands.push(Command::Close);
    }
}

fn contents(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.label(bold(Command::Open.label()).size(theme::HEADING).color(palette.strong));
    let about = tr!("sharing-other-programs-people-and");
    ui.add(Label::new(RichText::new(about).color(palette.weak)).wrap());
    ui.add_space(6.0);
    match &state.sharing.phase {
        Phase::On(running) => shared(ui, state, commands, running),
        Phase::Off | Phase::Starting | Phase::Stopping => choices(ui, state, commands),
    }
    ui.add_space(6.0);
    quota(ui, state, commands);
    retention(ui, state, commands);
    choice(ui, state, commands, state.sharing.settings.at_start, Command::ShareAtStart);
    ui.add_space(10.0);
    ui.horizontal(|ui| {
        match state.sharing.phase {
            Phase::On(_) | Phase::Stopping => drop(command_button(ui, state, commands, Command::Stop)),
            Phase::Off | Phase::Starting => drop(theme::accented(ui, |ui| command_button(ui, state, commands, Command::Start))),
        }
        command_button(ui, state, commands, Command::Close);
    });
}

/// What is chosen before the start.
fn choices(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let settings = &state.sharing.settings;
    choice(ui, state, commands, settings.network, Command::ListenToNetwork);
    choice(ui, state, commands, settings.require_token, Command::RequireToken);
    choice(ui, state, commands, settings.announce, Command::Announce);
    if settings.announce {
        let about = Command::SetStudioName(String::new());
        let mut name = settings.studio_name.clone();
        let edit = TextEdit::singleline(&mut name).hint_text(about.label()).char_limit(MAX_STUDIO_NAME);
        let is_free = about.enabled(&state.sharing, &state.shared).is_ok();
        ui.add_enabled_ui(is_free, |ui| {
            line_edit_with_undo(ui, FIELD_WIDTH, edit).on_hover_text(about.tooltip()).accessible_name(about.label())
        });
        if name != settings.studio_name {
            commands.push(Command::SetStudioName(name));
        }
    }
}

fn choice(ui: &mut Ui, state: &State, commands: &mut Commands, is_on: bool, command: fn(bool) -> Command) {
    let about = command(!is_on);
    let mut wanted = is_on;
    let is_free = about.enabled(&state.sharing, &state.shared).is_ok();
    ui.add_enabled_ui(is_free, |ui| ui.checkbox(&mut wanted, about.label()).on_hover_text(about.tooltip()));
    if wanted != is_on {
        commands.push(about);
    }
}

/// Disk space of each person.
fn quota(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let before = state.sharing.settings.quota;
    let about = Command::SetDiskQuota(before);
    let mut gigabytes = before.gigabytes();
    ui.horizontal(|ui| {
        ui.label(RichText::new(about.label()).color(theme::palette(ui).text));
        let number = whole_number(&mut gigabytes, 0..=DiskQuota::MAX_GIGABYTES).suffix(" GB");
        ui.add(number).on_hover_text(about.tooltip()).accessible_name(about.label());
    });
    if gigabytes != before.gigabytes() {
        commands.push(Command::SetDiskQuota(DiskQuota::of_gigabytes(gigabytes)));
    }
}

/// How long pictures of others are kept.
fn retention(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let before = state.sharing.settings.retention;
    let about = Command::SetRetention(before);
    let mut days = before.days();
    ui.horizontal(|ui| {
        ui.label(RichText::new(about.label()).color(theme::palette(ui).text));
        let number = whole_number(&mut days, 0..=Retention::MAX_DAYS);
        ui.add(number).on_hover_text(about.tooltip()).accessible_name(about.label());
    });
    if days != before.days() {
        commands.push(Command::SetRetention(Retention::of_days(days)));
    }
}

/// What an owner uses of the disk, in words, and whether that is all that they may; `None` where it
/// is not known.
fn usage(state: &State, running: &Running, name: &str) -> Option<(String, bool)> {
    let used = running.usage.bytes.get(name).copied().flatten()?;
    Some(match state.sharing.settings.quota.bytes_of(&Owner::named(name)) {
        Some(quota) => (tr!("sharing-used-of-quota", used = file_size(used), quota = file_size(quota)), used >= quota),
        None => (file_size(used), false),
    })
}

/// What a program without a token calls itself, which proves nothing.
fn calls_itself(ui: &mut Ui, program: Option<&str>) {
    if let Some(program) = program {
        ui.add(Label::new(small(tr!("sharing-its-program-calls-itself", program), theme::palette(ui).weak)).wrap());
    }
}

/// What is shared, with whom.
fn shared(ui: &mut Ui, state: &State, commands: &mut Commands, running: &Running) {
    let palette = theme::palette(ui);
    ui.horizontal(|ui| {
        ui.add(Label::new(bold(running.url()).color(palette.strong)).selectable(true));
        command_button(ui, state, commands, Command::CopyAddress);
    });
    if let Some(announced) = &running.announced {
        let words = match announced {
            Ok(announcement) => tr!("sharing-announced-in-the-network", name = announcement.name()),
            Err(reason) => reason.clone(),
        };
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    for Caller { address, program } in &running.guests.asking {
        ui.push_id(address, |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(tr!("sharing-a-device-at-asks-for-access", address)).color(palette.text));
                theme::accented(ui, |ui| command_button(ui, state, commands, Command::Admit(*address)));
                command_button(ui, state, commands, Command::TurnAway(*address));
            });
            calls_itself(ui, program.as_deref());
        });
    }
    for Caller { address, program } in &running.guests.admitted {
        // One of them may ask anew in another network.
        ui.push_id(("admitted", address), |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(tr!("sharing-a-device-at-has-access", address)).color(palette.text));
                command_button(ui, state, commands, Command::RevokeDevice(*address));
            });
            calls_itself(ui, program.as_deref());
        });
    }
    if !running.guests.admitted.is_empty() {
        ui.add(Label::new(small(tr!("sharing-access-belongs-to-an", days = APPROVAL_DAYS), palette.weak)).wrap());
    }
    heading(ui, tr!("sharing-people"), |_| {});
    for (person, _) in &running.people {
        ui.push_id(person, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new(person).color(palette.text));
                if let Some((words, is_full)) = usage(state, running, person) {
                    ui.label(small(words, if is_full { palette.warn } else { palette.weak }));
                }
                let is_shown = state.sharing.code.as_ref().is_some_and(|code| code.person == *person);
                let code = if is_shown { Command::HideCode } else { Command::ShowCode(person.clone()) };
                command_button(ui, state, commands, code);
                command_button(ui, state, commands, Command::CopyLink(person.clone()));
                command_button(ui, state, commands, Command::RemovePerson(person.clone()));
            });
        });
    }
    if let Some(code) = &state.sharing.code {
        draw_code(ui, code);
    }
    ui.horizontal(|ui| {
        let about = Command::SetPerson(String::new());
        let mut name = state.sharing.person.clone();
        let edit = TextEdit::singleline(&mut name).hint_text(tr!("common-name"));
        let field = line_edit_with_undo(ui, FIELD_WIDTH, edit).on_hover_text(about.tooltip()).accessible_name(about.label());
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if name != state.sharing.person {
            commands.push(Command::SetPerson(name));
        }
        let add = Command::AddPerson;
        if is_entered && add.enabled(&state.sharing, &state.shared).is_ok() {
            commands.push(add.clone());
        }
        command_button(ui, state, commands, add);
    });
    heading(ui, tr!("sharing-connected"), |_| {});
    let with_usage = |name: &String| {
        let owner = Owner::named(name);
        match usage(state, running, name) {
            Some((used, _)) => tr!("sharing-person-uses", name = owner.label(), used),
            None => owner.label().to_owned(),
        }
    };
    let connected = match &running.guests.connected[..] {
        [] => tr!("sharing-nobody-yet").to_owned(),
        names => names.iter().map(with_usage).collect::<Vec<_>>().join(", "),
    };
    ui.add(Label::new(RichText::new(connected).color(palette.weak)).wrap());
}

fn draw_code(ui: &mut Ui, code: &PhoneCode) {
    let side = (code.side + 2 * MARGIN) as f32 * SQUARE;
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::hover());
    let name = tr!("sharing-code-of-for-the", person = code.person);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    response.on_hover_text(tr!("sharing-point-a-phones-camera"));
    let painter = ui.painter();
    painter.rect_filled(rect, 0.0, theme::CODE_LIGHT);
    for (at, _) in code.dark.iter().enumerate().filter(|(_, is_dark)| **is_dark) {
        let (x, y) = (at % code.side + MARGIN, at / code.side + MARGIN);
        let corner = rect.min + vec2(x as f32, y as f32) * SQUARE;
        painter.rect_filled(Rect::from_min_max(corner, pos2(corner.x + SQUARE, corner.y + SQUARE)), 0.0, theme::CODE_DARK);
    }
}
