//! The list under a prompt that completes the name that is being typed.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{
    Area, Button, Context, Event, EventFilter, Frame, Id, ImeEvent, Key, Modifiers, Order, Rect, Response, RichText, Ui, vec2,
};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::completion::{Candidate, Effect, candidates};
use crate::gui::state::State;
use crate::gui::styles;
use crate::gui::text_selection::{select, selected};
use crate::gui::theme;
use crate::gui::widgets::ROW_HEIGHT;
use atelier_core::words::TypedName;
use atelier_language::tr;

/// Points between the field and the list.
const GAP: f32 = 4.0;

/// A list that is open.
pub(super) struct Completion {
    /// Bytes of the prompt that the chosen name takes the place of.
    range: Range<usize>,
    candidates: Arc<[Candidate]>,
    /// Index of the marked one.
    marked: usize,
}

/// What is remembered of a field between frames.
#[derive(Clone, Default)]
struct Typing {
    /// The text after the last key, and the caret: a list opens for what is typed alone.
    typed: Option<(String, usize)>,
    /// What was found for it: of 200,000 tags it is looked for once a key, not once a frame.
    found: Option<Arc<[Candidate]>>,
    marked: usize,
    /// Where the list was.
    rect: Option<Rect>,
}

fn typing_id(field: Id) -> Id {
    field.with("completion")
}

fn caret(ctx: &Context, field: Id, text: &str) -> Option<usize> {
    selected(ctx, field, text).filter(Range::is_empty).map(|caret| caret.start)
}

impl Completion {
    /// The list of a field, if there is one: call it before the field is drawn, so that its keys are
    /// not the field's. Writes what was chosen by a key. `commands`: for after the prompt was changed.
    pub(super) fn open(ui: &Ui, state: &State, field: Id, text: &mut String, commands: &mut Commands) -> Option<Self> {
        let ctx = ui.ctx();
        let mut typing = ctx.data(|data| data.get_temp::<Typing>(typing_id(field)))?;
        let is_over_list =
            typing.rect.is_some_and(|rect| ctx.input(|input| input.pointer.latest_pos()).is_some_and(|at| rect.contains(at)));
        if !ctx.memory(|memory| memory.has_focus(field)) && !is_over_list {
            forget(ctx, field);
            return None;
        }
        // Enter and Tab that come with what an input method composes are its own. Without words its
        // events come by themselves.
        let composes =
            |event: &Event| matches!(event, Event::Ime(ImeEvent::Preedit { text, .. } | ImeEvent::Commit(text)) if !text.is_empty());
        if ctx.input(|input| input.events.iter().any(composes)) {
            return None;
        }
        let caret =
            caret(ctx, field, text).filter(|at| typing.typed.as_ref().is_some_and(|(typed, place)| typed == text && place == at))?;
        let typed = TypedName::at(text, caret)?;
        let find = || candidates(&state.shared, &state.create.word_lists, &state.styles, &typed).into();
        let found = Arc::clone(typing.found.get_or_insert_with(find));
        if found.is_empty() {
            ctx.data_mut(|data| data.insert_temp(typing_id(field), typing));
            return None;
        }
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let last = found.len() - 1;
        if pressed(Key::ArrowDown) {
            typing.marked = if typing.marked >= last { 0 } else { typing.marked + 1 };
        }
        if pressed(Key::ArrowUp) {
            typing.marked = typing.marked.checked_sub(1).unwrap_or(last);
        }
        let open = Self { range: typed.range, candidates: found, marked: typing.marked.min(last) };
        if pressed(Key::Escape) {
            forget(ctx, field);
            return None;
        }
        if pressed(Key::Tab) || pressed(Key::Enter) {
            open.write(ctx, field, open.marked, text, commands);
            return None;
        }
        ctx.data_mut(|data| data.insert_temp(typing_id(field), typing));
        Some(open)
    }

    /// Draws the list below its field.
    pub(super) fn show(self, field: &Response, text: &mut String, commands: &mut Commands) {
        let (ctx, id) = (&field.ctx, field.id);
        let mut chosen = None;
        let area = Area::new(id.with("completion list")).order(Order::Foreground).fixed_pos(field.rect.left_bottom() + vec2(0.0, GAP));
        let shown = area.show(ctx, |ui| {
            Frame::popup(ui.style()).show(ui, |ui| {
                let width = field.rect.width() - 2.0 * f32::from(ui.style().spacing.menu_margin.left);
                for (index, candidate) in self.candidates.iter().enumerate() {
                    let about = RichText::new(&candidate.about).size(theme::SMALL).color(theme::palette(ui).weak);
                    let button = Button::selectable(index == self.marked, candidate.name.as_str())
                        .right_text(about)
                        .min_size(vec2(width, ROW_HEIGHT));
                    let response = ui.add(button).on_hover_text(hover(candidate));
                    if response.accessible_name(candidate.name.as_str()).clicked() {
                        chosen = Some(index);
                    }
                }
            });
        });
        // While the list is open its keys are its own.
        let filter = EventFilter { tab: true, escape: true, horizontal_arrows: true, vertical_arrows: true };
        ctx.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        if let Some(index) = chosen {
            self.write(ctx, id, index, text, commands);
            field.request_focus();
        } else {
            ctx.data_mut(|data| data.get_temp_mut_or_default::<Typing>(typing_id(id)).rect = Some(shown.response.rect));
        }
    }

    fn write(&self, ctx: &Context, field: Id, index: usize, text: &mut String, commands: &mut Commands) {
        forget(ctx, field);
        let Some(candidate) = self.candidates.get(index) else { return };
        let mut start = self.range.start;
        if matches!(candidate.effect, Some(Effect::Style(_))) {
            // A style takes the place of its name, and of the comma before it.
            start = text.get(..start).unwrap_or_default().trim_end_matches([' ', ',']).len();
        }
        text.replace_range(start..self.range.end, &candidate.text);
        let end = start + candidate.text.len();
        select(ctx, field, text, end..end);
        match &candidate.effect {
            Some(Effect::Embedding(path)) => commands.push(Command::UseEmbedding(path.clone())),
            Some(Effect::Style(name)) => commands.push(styles::command::Command::Apply(name.clone())),
            None => {}
        }
    }
}

fn hover(candidate: &Candidate) -> String {
    match &candidate.effect {
        Some(Effect::Style(_)) => tr!("create-apply-this-style-tab").to_owned(),
        Some(Effect::Embedding(_)) | None => tr!("create-write-tab-writes-the", text = candidate.text),
    }
}

fn forget(ctx: &Context, field: Id) {
    ctx.data_mut(|data| drop(data.remove_temp::<Typing>(typing_id(field))));
}

/// Notes what was typed in a field: call it after the field was drawn.
pub(super) fn note_typed(field: &Response, text: &str) {
    if !field.changed() {
        return;
    }
    let typed = caret(&field.ctx, field.id, text).map(|caret| (text.to_owned(), caret));
    field.ctx.data_mut(|data| data.insert_temp(typing_id(field.id), Typing { typed, ..Typing::default() }));
}
