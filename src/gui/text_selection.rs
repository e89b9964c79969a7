//! What is selected in a text field, in bytes of its text: egui counts letters.

use std::ops::Range;

use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::text_edit::TextEditState;
use eframe::egui::{Context, Id};

/// Bytes that are selected in a field with this text, none of them at a caret; `None` where it was
/// never drawn or never had the keyboard.
pub(crate) fn selected(ctx: &Context, field: Id, text: &str) -> Option<Range<usize>> {
    let letters = TextEditState::load(ctx, field)?.cursor.char_range()?.as_sorted_char_range();
    Some(byte_of_letter(text, letters.start.0)..byte_of_letter(text, letters.end.0))
}

/// The byte at which the letter of this index begins; the end of the text where it has fewer.
pub(crate) fn byte_of_letter(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Selects these bytes of a field with this text.
pub(crate) fn select(ctx: &Context, field: Id, text: &str, bytes: Range<usize>) {
    let letter = |at: usize| CCursor::new(text.get(..at).unwrap_or(text).chars().count());
    let mut state = TextEditState::load(ctx, field).unwrap_or_default();
    state.cursor.set_char_range(Some(CCursorRange::two(letter(bytes.start), letter(bytes.end))));
    state.store(ctx, field);
}
