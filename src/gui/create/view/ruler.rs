//! The ruler of steps under the picture: a line that sums it up, and below it a track for each thing
//! that acts in some of the steps, with borders that are dragged or moved by keys.

use std::sync::Arc;

use eframe::egui::{
    Align, Align2, Context, CursorIcon, EventFilter, FontId, Id, Key, Label, Layout, Modifiers, Rect, ScrollArea, Sense, Stroke, Ui,
    WidgetInfo, pos2, vec2,
};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::ruler::{
    Handle, Ruler, Track, TrackControl, act_name, first_computed, moved, with_guidance_in, with_guidance_range,
};
use crate::gui::create::session::SessionPictureId;
use crate::gui::icons::Icon;
use crate::gui::memo::memoize_while;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, command_button, small, square_icon};
use crate::settings::Fold;
use atelier_core::recipe::{Lora, ROWS, Recipe};
use atelier_language::{Language, chosen_language, tr};

/// Height of the tracks where they are in sight, in points: more of them scroll, so that typing
/// moves no picture.
const TRACKS_HEIGHT: f32 = 112.0;
/// Height of a track, in points.
const TRACK_HEIGHT: f32 = 22.0;
/// Width of the names of tracks, in points.
const NAME_WIDTH: f32 = 110.0;
/// Side of the buttons beside a name, in points.
const BUTTON_SIDE: f32 = 20.0;
/// Width of what takes the pointer at a border, in points.
const HANDLE_WIDTH: f32 = 10.0;
/// Width from which on the line says in words why every step is computed, in points.
const MIN_EXPLAINED_WIDTH: f32 = 420.0;
/// Steps have marks where each has so many points.
const MIN_STEP_WIDTH: f32 = 5.0;

/// Height of the ruler, in points.
pub(crate) fn height(state: &State) -> f32 {
    if is_open(state) { ROW_HEIGHT + TRACKS_HEIGHT + 8.0 } else { ROW_HEIGHT + 4.0 }
}

fn is_open(state: &State) -> bool {
    state.create.open_folds.contains(&Fold::Steps)
}

/// What the ruler is read from.
struct Source {
    recipe: Recipe,
    /// The LoRAs that its prompt names.
    prompt_loras: Vec<Lora>,
    reads_control: bool,
    picture_count: u32,
    /// Pictures whose steps the engine may still keep; their recipes stay as they are.
    made_here: Vec<SessionPictureId>,
    /// That of the names of tracks.
    language: Language,
}

impl Source {
    fn of(state: &State) -> Self {
        let next = &state.shared.next;
        Self {
            recipe: next.recipe.clone(),
            prompt_loras: next.prompt_loras(),
            reads_control: next.reads_control(),
            picture_count: state.shared.picture_count(),
            made_here: made_here(state).collect(),
            language: chosen_language(),
        }
    }

    /// True while it would be the same. The recipe, with its long prompts, is not copied for that.
    fn is_of(&self, state: &State) -> bool {
        let Self { recipe, prompt_loras, reads_control, picture_count, made_here: known, language } = self;
        let next = &state.shared.next;
        *recipe == next.recipe
            && *prompt_loras == next.prompt_loras()
            && *reads_control == next.reads_control()
            && *picture_count == state.shared.picture_count()
            && known.iter().copied().eq(made_here(state))
            && *language == chosen_language()
    }
}

/// Pictures of this session that were made here.
fn made_here(state: &State) -> impl Iterator<Item = SessionPictureId> {
    state.create.session.iter().filter(|it| it.is_made_here).map(|it| it.id)
}

/// The ruler of the next picture, and the first step, from 1, that is computed. Read once for what it
/// is read from: prompts are parsed for it, and for each picture of its seeds.
fn read(ctx: &Context, state: &State) -> Arc<(Source, (Ruler, Option<u32>))> {
    let (next, session) = (&state.shared.next, &state.create.session);
    let is_same = |source: &Source| source.is_of(state);
    memoize_while(
        ctx,
        Id::unique("reading of the ruler"),
        is_same,
        || Source::of(state),
        |source| {
            let listed = &source.recipe.loras;
            let is_named = |at: usize| listed.get(at).is_some_and(|lora| source.prompt_loras.iter().any(|named| named.path == lora.path));
            let ruler = Ruler::of(&source.recipe, source.reads_control).without_loras(is_named);
            (ruler, first_computed(session, &next.resolved_recipe(), source.picture_count))
        },
    )
}

/// Draws the ruler of the next picture.
pub(crate) fn ruler_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let reading = read(ui.ctx(), state);
    let (ruler, first) = &reading.1;
    header(ui, state, ruler, *first, commands);
    if !is_open(state) {
        return;
    }
    ScrollArea::vertical().id_salt("ruler tracks").auto_shrink([false, false]).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        for (index, track) in ruler.tracks.iter().enumerate() {
            track_row(ui, index, track, ruler.steps, state, commands);
        }
        if ruler.tracks.iter().all(|track| track.handles.is_empty()) {
            let hint = small(tr!("create-write-from-to-when"), theme::palette(ui).weak);
            ui.add(Label::new(hint).wrap());
        }
        widgets::follow_focus(ui);
    });
}

/// Draws the line that sums the ruler up, and what the next pictures compute. `first`: their first
/// computed step.
fn header(ui: &mut Ui, state: &State, ruler: &Ruler, first: Option<u32>, commands: &mut Commands) {
    let is_open = is_open(state);
    let title = tr!("create-steps");
    let recipe = &state.shared.next.recipe;
    let computed = first.map(|first| tr!("create-computes-from-step", first, steps = ruler.steps));
    let ranges = tr!("create-ranges-of-steps", count = ruler.range_count());
    let summary: Vec<String> = [ranges].into_iter().chain(computed.clone()).collect();
    let mut is_pressed = false;
    let has_room = ui.available_width() >= MIN_EXPLAINED_WIDTH;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        let left = |ui: &mut Ui| {
            let (fold, pressed) = widgets::fold(ui, title, &summary.join(", "), is_open, |_| ());
            fold.header_response.on_hover_text(tr!("create-drag-words-loras-and"));
            is_pressed = pressed;
        };
        widgets::sides(ui, title, left, |ui| {
            if !is_open {
                return;
            }
            if let Some(computed) = computed {
                ui.label(small(computed, theme::palette(ui).weak)).on_hover_text(tr!("create-earlier-steps-are-those"));
            } else if recipe.seed.is_none() && state.create.last_seed.is_some() {
                if has_room {
                    ui.label(small(tr!("create-a-new-seed-computes"), theme::palette(ui).weak));
                }
                command_button(ui, state, commands, Command::LockSeed);
            }
        });
    });
    if is_pressed {
        commands.push(Command::SetFold(Fold::Steps, !is_open));
    }
}

/// Draws a track: its name, what acts in which steps, and its borders.
fn track_row(ui: &mut Ui, index: usize, track: &Track, steps: u32, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.horizontal(|ui| {
        ui.allocate_ui_with_layout(vec2(NAME_WIDTH, TRACK_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
            ui.set_width(NAME_WIDTH);
            match track.control {
                Some(control) => track_control(ui, track, control, state, commands),
                None => {
                    ui.add(Label::new(small(&track.name, palette.weak)).truncate());
                }
            }
        });
        let (whole, response) = ui.allocate_exact_size(vec2(ui.available_width(), TRACK_HEIGHT), Sense::hover());
        // Borders at the ends have room for their handles.
        let room = whole.shrink2(vec2(HANDLE_WIDTH / 2.0, 0.0));
        paint_track(ui, track, steps, room);
        let acts: Vec<String> = track.acts.iter().map(|act| act_name(&act.words, &act.steps)).collect();
        response.on_hover_text(acts.join("\n"));
        for (number, handle) in track.handles.iter().enumerate() {
            let id = Id::unique(("handle of the ruler", index, number));
            let Some(at) = handle_moved(ui, id, handle, steps, room) else { continue };
            if let Some(recipe) = moved(&state.shared.next.recipe, handle.border, at) {
                commands.push(Command::ChangeRecipe(Box::new(recipe)));
            }
        }
    });
}

/// Draws what is changed beside a track's name, and the name where there is room.
fn track_control(ui: &mut Ui, track: &Track, control: TrackControl, state: &State, commands: &mut Commands) {
    let recipe = &state.shared.next.recipe;
    let is_pressed = |ui: &mut Ui, icon: Icon, words: &str| square_icon(ui, icon, words, BUTTON_SIDE).on_hover_text(words).clicked();
    let changed = match control {
        TrackControl::AddGuidance => {
            ui.add(Label::new(small(&track.name, theme::palette(ui).weak)));
            if is_pressed(ui, Icon::Plus, tr!("create-add-a-range-of")) { with_guidance_range(recipe) } else { None }
        }
        TrackControl::Guidance(index, guidance) => {
            let mut asked = guidance;
            let number = widgets::number_field(&mut asked).range(ROWS.guidance.limits).speed(0.05).max_decimals(2);
            let hover = tr!("create-guidance-in-these-steps");
            let room = vec2(NAME_WIDTH - BUTTON_SIDE - ui.spacing().item_spacing.x, TRACK_HEIGHT);
            ui.add_sized(room, number).on_hover_text(hover).accessible_name(track.name.as_str());
            if is_pressed(ui, Icon::Close, &tr!("create-remove-this-range-of", name = track.name)) {
                with_guidance_in(recipe, index, None)
            } else if asked != guidance {
                with_guidance_in(recipe, index, Some(asked))
            } else {
                None
            }
        }
    };
    if let Some(recipe) = changed {
        commands.push(Command::ChangeRecipe(Box::new(recipe)));
    }
}

/// Where so many steps end.
fn step_x(done: u32, steps: u32, room: Rect) -> f32 {
    room.left() + room.width() * done as f32 / steps.max(1) as f32
}

fn paint_track(ui: &Ui, track: &Track, steps: u32, room: Rect) {
    let palette = theme::palette(ui);
    let painter = ui.painter();
    painter.rect_filled(room, 4.0, palette.field);
    for act in &track.acts {
        let x = step_x(act.steps.start, steps, room)..=step_x(act.steps.end.min(steps), steps, room);
        let rect = Rect::from_x_y_ranges(x, room.y_range()).shrink2(vec2(0.5, 2.0));
        painter.rect_filled(rect, 4.0, palette.selection);
        let place = pos2(rect.left() + HANDLE_WIDTH / 2.0 + 2.0, rect.center().y);
        painter.with_clip_rect(rect).text(place, Align2::LEFT_CENTER, &act.words, FontId::proportional(theme::SMALL), palette.text);
    }
    if room.width() >= MIN_STEP_WIDTH * steps as f32 {
        for done in 1..steps {
            painter.vline(step_x(done, steps, room), room.bottom() - 3.0..=room.bottom(), Stroke::new(1.0, palette.edge));
        }
    }
}

/// Draws a border. The steps before it, where a person has moved it.
fn handle_moved(ui: &Ui, id: Id, handle: &Handle, steps: u32, room: Rect) -> Option<u32> {
    let palette = theme::palette(ui);
    let middle = pos2(step_x(handle.at, steps, room), room.center().y);
    let response = ui.interact(Rect::from_center_size(middle, vec2(HANDLE_WIDTH, room.height())), id, Sense::drag());
    response.widget_info(|| WidgetInfo::slider(true, f64::from(handle.at), &handle.name));
    if response.drag_started() {
        response.request_focus();
    }
    let is_taken = response.hovered() || response.dragged();
    if is_taken {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    let colour = if is_taken || response.has_focus() { palette.accent } else { palette.edge };
    let bar = Rect::from_center_size(middle, vec2(if response.has_focus() { 5.0 } else { 3.0 }, room.height()));
    ui.painter().rect_filled(bar, 2.0, colour);
    let dragged = response.interact_pointer_pos().filter(|_| response.dragged()).map(|place| {
        let done = (place.x - room.left()) / room.width().max(1.0) * steps as f32;
        done.round().clamp(0.0, steps as f32) as u32
    });
    let typed = if response.has_focus() { key_moved(ui, id, handle) } else { None };
    response.on_hover_text(tr!("create-drag-this-border-or", name = handle.name));
    let (least, most) = handle.limits;
    let at = dragged.or(typed)?.clamp(least, most.max(least));
    (at != handle.at).then_some(at)
}

/// Where a key moves the border that has the keyboard.
fn key_moved(ui: &Ui, id: Id, handle: &Handle) -> Option<u32> {
    let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
    let (least, most) = handle.limits;
    let ways = [
        (Key::Home, least),
        (Key::End, most),
        (Key::ArrowLeft, handle.at.saturating_sub(1)),
        (Key::ArrowDown, handle.at.saturating_sub(1)),
        (Key::ArrowRight, handle.at + 1),
        (Key::ArrowUp, handle.at + 1),
    ];
    let is_pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    ways.into_iter().find_map(|(key, at)| is_pressed(key).then_some(at))
}
