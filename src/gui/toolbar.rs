//! The bar over the canvas: what is shown, what can be done with it, zoom and theme.

use eframe::egui::{Align, Button, Frame, Label, Layout, Popup, Response, RichText, Ui, vec2};

use crate::gui::canvas;
use crate::gui::command::{Command, Commands};
use crate::gui::create;
use crate::gui::create::larger::UpscaleMethod;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models::queue as downloads;
use crate::gui::program::view::menu_button;
use crate::gui::queue;
use crate::gui::shared::{ErrorCard, Screen};
use crate::gui::sharing;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport::canvas_rect;
use crate::gui::widgets::{ROW_HEIGHT, bare_icon, coloured_icon, command_control, icon_button, menu_entry, sides, text_width};
use crate::gui::window_command::WindowCommand;
use crate::settings::ThemeChoice;
use atelier_core::recipe::{RecallPart, SeedNumber};
use atelier_gallery::queue::PauseMode;
use atelier_language::tr;

/// Space between two buttons, and round the line between two groups, in points.
const SPACE: f32 = 2.0;
const GAP: f32 = 7.0;
/// Height of the bar, in points.
const HEIGHT: f32 = 32.0;
/// Width of the button with the zoom, in points.
const PERCENT_WIDTH: f32 = 58.0;
/// Points: radius of the mark of an error, and its distance from two edges of a tab, beside the word.
const MARK_RADIUS: f32 = 2.5;
const MARK_INSET: f32 = 5.0;
/// Points: a narrower title would be little more than an ellipsis.
const MIN_TITLE_WIDTH: f32 = 90.0;

/// A group of buttons. Where the bar has no room for all, the last ones of [`Group::ALL`] go into the
/// menu of more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Picture,
    History,
    Program,
    Zoom,
}

impl Group {
    /// What is wanted most comes first.
    const ALL: [Self; 4] = [Self::Picture, Self::History, Self::Program, Self::Zoom];
    /// From left to right.
    const IN_BAR: [Self; 4] = [Self::Picture, Self::History, Self::Zoom, Self::Program];

    /// Its buttons, from left to right; none where it has no use.
    fn tools(self, state: &State) -> Vec<(Icon, Command)> {
        let is_create = state.shared.screen == Screen::Create;
        match self {
            // Side by side each picture has its own buttons.
            Self::Picture if is_create && !state.create.session.is_empty() && !state.create.shows_sheet() => vec![
                (Icon::Upscale, create::Command::Upscale(UpscaleMethod::Plain).into()),
                (Icon::Settings, create::Command::Recall(RecallPart::All).into()),
                (Icon::Picture, create::Command::StartFromShown.into()),
                (Icon::Copy, create::Command::CopyPicture.into()),
                (Icon::Save, create::Command::SaveAs.into()),
            ],
            Self::History if matches!(state.shared.screen, Screen::Create | Screen::Devices) => {
                vec![(Icon::Undo, WindowCommand::Undo.into()), (Icon::Redo, WindowCommand::Redo.into())]
            }
            Self::Zoom if is_create && state.create.canvas_size_px().is_some() => vec![
                (Icon::Minus, create::Command::ZoomOut.into()),
                (Icon::Plus, create::Command::ZoomIn.into()),
                (Icon::Fit, create::Command::ZoomFit.into()),
            ],
            Self::Program => {
                let theme = match state.shared.theme {
                    ThemeChoice::System => Icon::HalfMoon,
                    ThemeChoice::Light => Icon::Sun,
                    ThemeChoice::Dark => Icon::Moon,
                };
                vec![(Icon::Folder, create::Command::OpenFolder.into()), (theme, WindowCommand::SetTheme(state.shared.theme.next()).into())]
            }
            Self::Picture | Self::History | Self::Zoom => Vec::new(),
        }
    }

    /// Width with the line before it, which the program's has not, in points.
    fn width(self, tools: usize) -> f32 {
        let percent = if self == Self::Zoom { PERCENT_WIDTH + SPACE } else { 0.0 };
        let line = if self == Self::Program { 0.0 } else { 2.0 * GAP + 1.0 };
        tools as f32 * (ROW_HEIGHT + SPACE) + percent + line
    }
}

pub(crate) fn toolbar_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let layout = Layout::left_to_right(Align::Center);
    let size = vec2(ui.available_width(), HEIGHT);
    ui.allocate_ui_with_layout(size, layout, |ui| {
        ui.spacing_mut().item_spacing.x = SPACE;
        let tabs: f32 = Screen::ALL.iter().map(|screen| TabWidth::of(ui, *screen).0 + SPACE).sum();
        // The queue behind a line, and the menus.
        let always = 2.0 * GAP
            + 1.0
            + 3.0 * (ROW_HEIGHT + SPACE)
            + queue_words(state).map_or(0.0, |words| text_width(ui, &words, theme::BODY) + SPACE);
        let button_width = |words: &str| text_width(ui, words, theme::BODY) + 2.0 * (GAP + ui.spacing().button_padding.x);
        let always = always + sharing_words(state).map_or(0.0, button_width);
        // Where the panel is shown, its own room is worth more than a button.
        let is_folded = !state.shared.side_panel.is_shown(ui.ctx());
        let always = always + if is_folded { ROW_HEIGHT + SPACE } else { 0.0 };
        let coming = downloads_words(state).map_or(0.0, |words| button_width(&words));
        let has_tabs = tabs + always + TAB_MARGIN <= size.x;
        let tabs = if has_tabs { tabs + TAB_MARGIN } else { PERCENT_WIDTH + 2.0 * SPACE };
        let mut room = size.x - tabs - always;
        let shows_downloads = coming > 0.0 && coming <= room;
        room -= if shows_downloads { coming } else { 0.0 };
        let mut left_out = Vec::new();
        for group in Group::ALL {
            let width = group.width(group.tools(state).len());
            if group.tools(state).is_empty() {
                continue;
            }
            if left_out.is_empty() && width <= room {
                room -= width;
            } else {
                left_out.push(group);
            }
        }
        let left = |ui: &mut Ui| {
            if is_folded {
                icon_button(ui, state, commands, Icon::SidePanel, WindowCommand::ToggleSidePanel);
            }
            if has_tabs {
                screens(ui, state, commands);
            } else {
                screens_menu(ui, state, commands);
            }
            ui.add_space(10.0);
            if state.shared.screen == Screen::Create && ui.available_width() > MIN_TITLE_WIDTH {
                ui.add(Label::new(RichText::new(title(state)).color(theme::palette(ui).weak)).truncate());
            }
        };
        let mut of_right = Commands::default();
        let right = |ui: &mut Ui| {
            ui.spacing_mut().item_spacing.x = SPACE;
            for group in Group::IN_BAR.into_iter().filter(|group| *group != Group::Program && !left_out.contains(group)) {
                group_of_buttons(ui, state, &mut of_right, group);
            }
            if shows_downloads {
                coming_in(ui, state, &mut of_right);
            }
            sharing_button(ui, state, &mut of_right);
            gap(ui);
            queue_button(ui, state, &mut of_right);
            if !left_out.contains(&Group::Program) {
                group_of_buttons(ui, state, &mut of_right, Group::Program);
            }
            if !left_out.is_empty() {
                more_button(ui, state, &mut of_right, &left_out);
            }
            menu_button(ui, state, &mut of_right);
        };
        sides(ui, "toolbar", left, right);
        commands.append(of_right);
    });
}

fn group_of_buttons(ui: &mut Ui, state: &State, commands: &mut Commands, group: Group) {
    let tools = group.tools(state);
    if tools.is_empty() {
        return;
    }
    if group != Group::Program {
        gap(ui);
    }
    for (icon, command) in tools {
        match command {
            Command::Window(command @ (WindowCommand::Undo | WindowCommand::Redo)) => history_button(ui, state, commands, icon, command),
            command => {
                let is_minus = icon == Icon::Minus;
                icon_button(ui, state, commands, icon, command);
                if is_minus {
                    percent(ui, state, commands);
                }
            }
        }
    }
}

/// The zoom as a button: one pixel of the picture to one of the screen.
fn percent(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let percent = canvas_rect(ui.ctx())
        .zip(state.create.canvas_size_px())
        .map_or(100.0, |(canvas, size)| state.create.view.scale(size, canvas) * ui.pixels_per_point() * 100.0);
    command_control(ui, state, commands, create::Command::ZoomActual, |ui| {
        let text = RichText::new(format!("{percent:.0} %")).color(palette.text);
        let button = Button::new(text).frame_when_inactive(false).min_size(vec2(PERCENT_WIDTH, ROW_HEIGHT));
        ui.add(button).accessible_name(create::Command::ZoomActual.label())
    });
}

/// The menu of the buttons that the bar has no room for.
fn more_button(ui: &mut Ui, state: &State, commands: &mut Commands, groups: &[Group]) {
    let button = bare_icon(ui, Icon::Dots, tr!("window-more")).on_hover_text(tr!("window-commands-that-the-bar"));
    Popup::menu(&button).accessible_name(tr!("window-more")).show(|ui| {
        for (at, group) in groups.iter().enumerate() {
            if at > 0 {
                ui.separator();
            }
            for (_, command) in group.tools(state) {
                menu_entry(ui, state, commands, command.redirected(state));
            }
        }
    });
}

/// A button for undo or redo; its tooltip names the change.
fn history_button(ui: &mut Ui, state: &State, commands: &mut Commands, icon: Icon, command: WindowCommand) {
    let command = Command::from(command).redirected(state);
    let change = match &command {
        Command::Canvas(canvas::Command::Undo) => state.canvas.edited().and_then(|it| it.document.next_undo()),
        Command::Canvas(_) => state.canvas.edited().and_then(|it| it.document.next_redo()),
        Command::Window(WindowCommand::Undo) => state.shared.history.next_undo(),
        _ => state.shared.history.next_redo(),
    };
    let label = command.label();
    command_control(ui, state, commands, command, |ui| {
        let response = bare_icon(ui, icon, label);
        match change {
            Some(change) => response.on_hover_text(format!("{label}: {change}")),
            None => response,
        }
    });
}

/// The words beside the queue's button: how many jobs wait, and that they do not run.
fn queue_words(state: &State) -> Option<String> {
    let waiting = state.shared.waiting_count();
    if state.shared.queue.pause != PauseMode::No {
        return Some(tr!("window-paused", waiting));
    }
    (waiting > 0).then(|| waiting.to_string())
}

/// The button of the queue's panel.
fn queue_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let is_paused = state.shared.queue.pause != PauseMode::No;
    if let Some(words) = queue_words(state) {
        ui.label(RichText::new(words).size(theme::SMALL).color(if is_paused { palette.warn } else { palette.weak }));
    }
    command_control(ui, state, commands, queue::Command::Toggle, |ui| {
        coloured_icon(ui, Icon::List, queue::Command::Toggle.label(), if is_paused { palette.warn } else { palette.text })
    });
}

/// The words that say that models are shared; none where they are not.
fn sharing_words(state: &State) -> Option<&'static str> {
    state.sharing.address().map(|_| tr!("sharing-sharing"))
}

/// Says that models are shared, and leads to with whom.
fn sharing_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(words) = sharing_words(state) else { return };
    gap(ui);
    let palette = theme::palette(ui);
    command_control(ui, state, commands, sharing::Command::Open, |ui| {
        let button = Button::new(RichText::new(words).color(palette.accent)).frame_when_inactive(false);
        ui.add(button).accessible_name(tr!("sharing-models-are-shared"))
    });
}

/// Progress of the downloads, where the view does not show it.
fn downloads_words(state: &State) -> Option<String> {
    downloads::summary(&state.models.queue).filter(|_| state.shared.screen != Screen::Models)?;
    Some(
        downloads::summary_fraction(&state.models.queue)
            .map_or_else(|| tr!("window-downloads-2").to_owned(), |it| tr!("window-downloads", value = format!("{:.0}", it * 100.0))),
    )
}

/// Progress of the downloads, a button that leads to them.
fn coming_in(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (Some(words), Some(total)) = (downloads_words(state), downloads::summary(&state.models.queue)) else { return };
    gap(ui);
    let palette = theme::palette(ui);
    command_control(ui, state, commands, WindowCommand::SetScreen(Screen::Models), |ui| {
        let button = Button::new(RichText::new(words).color(palette.text)).frame_when_inactive(false);
        ui.add(button).on_hover_text(&total).accessible_name(tr!("window-go-to-the-downloads"))
    });
}

/// Space that the frame of the tabs and what follows it take, in points.
const TAB_MARGIN: f32 = 18.0;

/// Width of the button of a view, in points.
struct TabWidth(f32);

impl TabWidth {
    fn of(ui: &Ui, screen: Screen) -> Self {
        Self(text_width(ui, screen.label(), theme::BODY) + 2.0 * ui.spacing().button_padding.x)
    }
}

/// The switch between the parts of the program.
fn screens(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    Frame::new().fill(palette.field).stroke((1.0, palette.edge)).corner_radius(theme::RADIUS + 1).inner_margin(2).show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = SPACE;
        for screen in Screen::ALL.iter().copied() {
            let here = state.shared.screen == screen;
            let width = TabWidth::of(ui, screen).0;
            command_control(ui, state, commands, WindowCommand::SetScreen(screen), |ui| {
                let text = RichText::new(screen.label()).color(if here { palette.strong } else { palette.weak });
                let button = ui.add(Button::selectable(here, text).min_size(vec2(width, 22.0)));
                let error = state.shared.error_elsewhere().filter(|error| error.screen == screen);
                announced(ui, button, screen.label(), error)
            });
        }
    });
}

/// The button of this name with a mark where an error card waits behind it; the tooltip has its
/// sentence.
fn announced(ui: &Ui, button: Response, name: &str, error: Option<&ErrorCard>) -> Response {
    let Some(error) = error else { return button };
    let at = button.rect.right_top() + vec2(-MARK_INSET, MARK_INSET);
    ui.painter().circle_filled(at, MARK_RADIUS, theme::palette(ui).error);
    let hover = format!("{}: {}", error.screen.label(), error.advice.sentence);
    button.on_hover_text(hover).accessible_name(tr!("window-1-message", name))
}

/// The switch between the parts of the program, where there is no room for a button each.
fn screens_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let here = state.shared.screen;
    let button = ui.add(Button::new(here.label()).right_text("").min_size(vec2(PERCENT_WIDTH, ROW_HEIGHT)));
    let button = button.on_hover_text(tr!("window-go-to-another-view")).accessible_name(tr!("window-view", here = here.label()));
    let button = announced(ui, button, &tr!("window-view", here = here.label()), state.shared.error_elsewhere());
    Popup::menu(&button).accessible_name(tr!("window-views")).show(|ui| {
        for screen in Screen::ALL.iter().copied().filter(|it| *it != here) {
            menu_entry(ui, state, commands, WindowCommand::SetScreen(screen));
        }
    });
}

fn gap(ui: &mut Ui) {
    ui.add_space(GAP - SPACE);
    let palette = theme::palette(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(1.0, 16.0), eframe::egui::Sense::hover());
    ui.painter().rect_filled(rect, 0.0, palette.line);
    ui.add_space(GAP - SPACE);
}

/// Title of the canvas: size, seed and steps.
fn title(state: &State) -> String {
    if let Some(document) = state.canvas.in_sight() {
        let content = document.document.content();
        return format!("{} · {} × {}", document.name(), content.width(), content.height());
    }
    if let Some(live) = state.live.shown().filter(|_| state.create.session.following()) {
        return tr!("window-live", width = live.width, height = live.height);
    }
    if state.create.shows_sheet() {
        return tr!("window-pictures-2", cells = state.create.sheet.cells().len());
    }
    if let Some(forming) = state.create.forming_shown() {
        return tr!("window-generating", width = forming.width, height = forming.height);
    }
    state.create.session.shown().map_or_else(String::new, |picture| {
        let (recipe, seed) = (&picture.recipe, SeedNumber(picture.info.seed));
        tr!("window-seed-steps", width = picture.width, height = picture.height, seed, steps = recipe.steps)
    })
}
