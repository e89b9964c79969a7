//! Keys that come faster than frames.

use super::gallery::open_gallery;
use super::*;
use egui::Event;

/// What a keyboard sends for a key, with the character that it writes.
fn stroke(modifiers: Modifiers, key: Key, character: Option<char>) -> Vec<Event> {
    let key_event = |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
    let text = character.map(|it| Event::Text(it.to_string()));
    [key_event(true)].into_iter().chain(text).chain([key_event(false)]).collect()
}

fn typed(text: &str) -> Vec<Event> {
    let key = |it: char| Key::from_name(&it.to_uppercase().to_string()).unwrap();
    text.chars().flat_map(|it| stroke(Modifiers::NONE, key(it), Some(it))).collect()
}

/// Gives the window all of these events before its next frame.
fn send_in_one_frame(studio: &mut Studio, events: impl IntoIterator<Item = Event>) {
    studio.harness.input_mut().events.extend(events);
    studio.harness.run_ok();
}

#[test]
fn what_is_typed_in_the_frame_of_a_key_that_opens_a_field_is_in_that_field() {
    let mut studio = open_gallery(&["a lake at dawn", "a red fox"]);
    let open_search = stroke(Modifiers::NONE, Key::Slash, Some('/'));
    send_in_one_frame(&mut studio, open_search.into_iter().chain(typed("lake")));
    let gallery = &studio.app().state.gallery;
    assert_eq!(gallery.search.text, "lake");
    assert!(gallery.dialog.is_none(), "a letter of the search was taken for a command");
    studio.press(Modifiers::NONE, Key::Escape);
    let open_palette = stroke(Modifiers::COMMAND, Key::K, None);
    send_in_one_frame(&mut studio, open_palette.into_iter().chain(typed("queue")));
    assert_eq!(studio.app().state.palette.search, "queue");
}

#[test]
fn letters_typed_while_a_field_has_the_keyboard_do_not_wait() {
    let mut studio = open_gallery(&["a lake at dawn"]);
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.input_mut().events.extend(typed("lake"));
    studio.harness.step();
    studio.harness.step();
    assert_eq!(studio.app().state.gallery.search.text, "lake");
}
