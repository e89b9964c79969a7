//! Order of typed text and of the focus that keys move: what is typed right after "/", Ctrl+K or
//! Enter reaches the field that then has the keyboard, also where a slow frame brings all of it at
//! once.

use std::collections::VecDeque;

use eframe::egui::{Context, Event, Key, Plugin, RawInput};

/// Frames until a field that a key opens has the focus: one carries out the command, the next draws
/// the field.
const FRAMES_TO_FOCUS: u8 = 2;

/// Holds text back until the key before it has moved the focus.
#[derive(Default)]
pub(crate) struct InputQueue {
    waiting: VecDeque<Event>,
    frames_to_focus: u8,
}

impl Plugin for InputQueue {
    fn debug_name(&self) -> &'static str {
        "input queue"
    }

    fn input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        self.frames_to_focus = self.frames_to_focus.saturating_sub(1);
        self.waiting.extend(input.events.drain(..));
        let typing = ctx.text_edit_focused();
        while let Some(event) = self.waiting.front() {
            if self.frames_to_focus > 0 && begins_text(event, self.waiting.get(1)) {
                break;
            }
            let Some(event) = self.waiting.pop_front() else { break };
            let moves_focus = may_move_focus(&event, typing);
            input.events.push(event);
            if moves_focus {
                self.frames_to_focus = FRAMES_TO_FOCUS;
                // The character of the key itself goes with it.
                let own = self.waiting.pop_front_if(|next| matches!(next, Event::Text(_)));
                input.events.extend(own);
            }
        }
        if !self.waiting.is_empty() {
            ctx.request_repaint();
        }
    }
}

/// Whether an event writes text, or is the press of a key whose character follows as `next`.
fn begins_text(event: &Event, next: Option<&Event>) -> bool {
    match event {
        Event::Text(_) | Event::Ime(_) => true,
        Event::Key { pressed: true, .. } => matches!(next, Some(Event::Text(_))),
        _ => false,
    }
}

/// Whether a command or a click of this event can give the keyboard to another field.
fn may_move_focus(event: &Event, typing: bool) -> bool {
    match event {
        Event::Key { key, pressed: true, repeat: false, modifiers, .. } => {
            !typing || modifiers.command || modifiers.alt || matches!(key, Key::Enter | Key::Tab | Key::Escape)
        }
        Event::PointerButton { pressed: false, .. } => true,
        _ => false,
    }
}
