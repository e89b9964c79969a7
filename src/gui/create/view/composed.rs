//! What an input method composes in a field: it stands in the text, and nobody has written it yet.

use std::ops::Range;

use eframe::egui::text_edit::TextEditState;
use eframe::egui::{Event, Id, ImeEvent, Ui};

use crate::gui::text_selection::byte_of_letter;

/// Letters of a field that are composed and may yet be others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Composed(Option<Range<usize>>);

impl Composed {
    /// Follows the input method: call it before the field is drawn, which takes the same events.
    pub(super) fn follow(ui: &Ui, field: Id) -> Self {
        let (ctx, id) = (ui.ctx(), field.with("composed"));
        if !ctx.memory(|memory| memory.has_focus(field)) {
            ctx.data_mut(|data| data.remove::<Self>(id));
            return Self::default();
        }
        let selected = TextEditState::load(ctx, field).and_then(|state| state.cursor.char_range());
        let selected = selected.map(|range| range.as_sorted_char_range()).map(|letters| letters.start.0..letters.end.0);
        let Self(before) = ctx.data(|data| data.get_temp(id)).unwrap_or_default();
        // What is composed is selected; a click ends it.
        let mut now = before.filter(|letters| selected.as_ref() == Some(letters));
        ctx.input(|input| {
            for event in &input.events {
                match event {
                    Event::Ime(ImeEvent::Preedit { text, .. }) if !text.is_empty() => {
                        // It takes the place of what was composed, or selected.
                        let start = now.as_ref().or(selected.as_ref()).map_or(0, |letters| letters.start);
                        now = Some(start..start + text.chars().count());
                    }
                    Event::Ime(ImeEvent::Preedit { .. } | ImeEvent::Commit(_)) => now = None,
                    _ => {}
                }
            }
        });
        ctx.data_mut(|data| data.insert_temp(id, Self(now.clone())));
        Self(now)
    }

    /// The bytes of the field's text that are composed.
    pub(super) fn bytes_of(&self, text: &str) -> Option<Range<usize>> {
        self.0.as_ref().map(|letters| byte_of_letter(text, letters.start)..byte_of_letter(text, letters.end))
    }
}
