//! Letters that are typed while nothing has the keyboard. A word is meant for the prompt; a letter
//! alone is a key. So that nobody starts work or loses settings by typing, a letter that is a key
//! waits a moment for the next one, and both go into the prompt where that comes.

use eframe::egui::{Context, Event, Id, Key, Modifiers};

/// Seconds within which the second letter of a word comes.
const WORD_SECS: f64 = 0.3;

/// A letter that may be the first one of a word.
#[derive(Clone, Debug, PartialEq)]
struct HeldLetter {
    text: String,
    key: (Modifiers, Key),
    until_secs: f64,
}

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Typed {
    /// Words for the prompt.
    pub(crate) words: String,
    /// A letter that was pressed alone.
    pub(crate) key: Option<(Modifiers, Key)>,
    /// Seconds until it is known what the last letter is.
    pub(crate) wait_secs: Option<f64>,
}

/// Takes typed letters out of this frame's input. `is_key`: a letter is the key of a command that
/// can be carried out.
pub(crate) fn take(ctx: &Context, is_key: impl Fn(Modifiers, Key) -> bool) -> Typed {
    let id = Id::unique("held letter");
    let mut held = ctx.data(|data| data.get_temp::<HeldLetter>(id));
    let typed = ctx.input_mut(|input| {
        let now_secs = input.time;
        sort(&mut held, &mut input.events, now_secs, is_key)
    });
    ctx.data_mut(|data| match held {
        Some(held) => drop(data.insert_temp(id, held)),
        None => data.remove::<HeldLetter>(id),
    });
    typed
}

/// Forgets a letter that waits: a field has the keyboard now.
pub(crate) fn forget(ctx: &Context) {
    ctx.data_mut(|data| data.remove::<HeldLetter>(Id::unique("held letter")));
}

fn sort(held: &mut Option<HeldLetter>, events: &mut Vec<Event>, now_secs: f64, is_key: impl Fn(Modifiers, Key) -> bool) -> Typed {
    let mut typed = Typed::default();
    let (mut rest, mut pending) = (Vec::with_capacity(events.len()), std::mem::take(events).into_iter().peekable());
    while let Some(event) = pending.next() {
        let key = match &event {
            Event::Key { key, modifiers, pressed: true, repeat, .. } if !(modifiers.command || modifiers.ctrl || modifiers.alt) => {
                Some((*modifiers, *key, *repeat))
            }
            _ => None,
        };
        let text = match (&event, key, pending.peek()) {
            (Event::Text(text), ..) | (_, Some(_), Some(Event::Text(text))) => Some(text.clone()),
            _ => None,
        };
        let is_letter = text.as_deref().is_some_and(|it| it.chars().all(char::is_alphabetic));
        let is_word = held.is_some() || !typed.words.is_empty();
        let Some(text) = text.filter(|it| is_letter || (is_word && !it.chars().any(char::is_control))) else {
            // Enter, another key or a click: who pressed the letter meant it.
            let is_press = match &event {
                Event::Key { key, pressed, .. } => *pressed && !is_modifier(*key),
                Event::PointerButton { pressed, .. } => *pressed,
                _ => false,
            };
            if is_press && let Some(held) = held.take() {
                typed.key = Some(held.key);
            }
            rest.push(event);
            continue;
        };
        if key.is_some() {
            // Its text goes with the key.
            pending.next();
        }
        match key {
            Some((_, _, true)) => {}
            Some((modifiers, key, false)) if !is_word && is_key(modifiers, key) => {
                *held = Some(HeldLetter { text, key: (modifiers, key), until_secs: now_secs + WORD_SECS });
            }
            _ => {
                typed.words.extend(held.take().map(|it| it.text));
                typed.words.push_str(&text);
            }
        }
    }
    *events = rest;
    if let Some(waiting) = held.take_if(|it| it.until_secs <= now_secs) {
        typed.key = Some(waiting.key);
    }
    typed.wait_secs = held.as_ref().map(|it| it.until_secs - now_secs);
    typed
}

const fn is_modifier(key: Key) -> bool {
    use Key::{AltLeft, AltRight, ControlLeft, ControlRight, ShiftLeft, ShiftRight, SuperLeft, SuperRight};
    matches!(key, ShiftLeft | ShiftRight | ControlLeft | ControlRight | AltLeft | AltRight | SuperLeft | SuperRight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stroke(key: Key, text: &str) -> [Event; 2] {
        let modifiers = if text.chars().all(char::is_uppercase) { Modifiers::SHIFT } else { Modifiers::NONE };
        [Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers }, Event::Text(text.into())]
    }

    /// U and F are keys.
    fn is_key(modifiers: Modifiers, key: Key) -> bool {
        modifiers.is_none() && [Key::U, Key::F].contains(&key)
    }

    /// What comes of these strokes, each at its time in seconds.
    fn typed(strokes: &[(f64, Key, &str)]) -> Vec<Typed> {
        let mut held = None;
        let result = strokes.iter().map(|(secs, key, text)| sort(&mut held, &mut stroke(*key, text).into(), *secs, is_key));
        result.filter(|it| !it.words.is_empty() || it.key.is_some()).collect()
    }

    #[test]
    fn a_word_is_text_whatever_its_letters_mean() {
        let words: Vec<String> = typed(&[(0.0, Key::F, "f"), (0.2, Key::O, "o")]).into_iter().map(|it| it.words).collect();
        assert_eq!(words, ["fo"]);
        let words: Vec<String> = typed(&[(0.0, Key::A, "a"), (0.1, Key::F, "F")]).into_iter().map(|it| it.words).collect();
        assert_eq!(words, ["a", "F"], "a letter that is no key begins a word at once");
        let (mut held, mut events) = (None, [stroke(Key::F, "f"), stroke(Key::Space, " "), stroke(Key::Num2, "2")].concat());
        assert_eq!(sort(&mut held, &mut events, 0.0, is_key).words, "f 2");
        assert!(events.is_empty() && held.is_none());
        let mut events = vec![Event::Text("б".into())];
        assert_eq!(sort(&mut None, &mut events, 0.0, is_key).words, "б");
    }

    #[test]
    fn a_letter_alone_is_its_key_after_a_moment_or_with_the_next_key() {
        let mut held = None;
        let pressed = sort(&mut held, &mut stroke(Key::U, "u").into(), 1.0, is_key);
        assert_eq!((pressed.key, pressed.words.as_str()), (None, ""));
        assert!(pressed.wait_secs.is_some_and(|it| it > 0.0));
        assert_eq!(sort(&mut held, &mut Vec::new(), 1.0 + WORD_SECS, is_key).key, Some((Modifiers::NONE, Key::U)));
        assert_eq!(held, None);
        sort(&mut held, &mut stroke(Key::U, "u").into(), 2.0, is_key);
        let enter = Event::Key { key: Key::Enter, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::COMMAND };
        let mut events = vec![enter.clone()];
        assert_eq!(sort(&mut held, &mut events, 2.1, is_key).key, Some((Modifiers::NONE, Key::U)));
        assert_eq!(events, [enter]);
    }

    #[test]
    fn keys_without_text_and_signs_are_left_alone() {
        let key = |key, modifiers| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
        let mut events = vec![key(Key::U, Modifiers::NONE), key(Key::F, Modifiers::COMMAND)];
        events.extend(stroke(Key::Plus, "+"));
        let before = events.clone();
        assert_eq!(sort(&mut None, &mut events, 0.0, is_key), Typed::default());
        assert_eq!(events, before);
    }

    #[test]
    fn a_key_that_is_held_down_is_pressed_once() {
        let mut held = None;
        sort(&mut held, &mut stroke(Key::U, "u").into(), 0.0, is_key);
        let mut again = stroke(Key::U, "u");
        if let Event::Key { repeat, .. } = &mut again[0] {
            *repeat = true;
        }
        let typed = sort(&mut held, &mut again.into(), 0.25, is_key);
        assert_eq!((typed.words.as_str(), typed.key), ("", None));
    }
}
