//! Questions before something is done: the Tab key stays among their controls, Escape cancels, and
//! Enter means the button in colour.

use crate::gui::tests::*;

/// The names of the controls that have the keyboard after each of so many presses of Tab.
pub(super) fn tab_names(studio: &mut Studio, modifiers: Modifiers, presses: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..presses {
        studio.press(modifiers, Key::Tab);
        // From the last control the keyboard comes to the first one a frame later.
        studio.harness.step();
        let mut all = studio.harness.root().children_recursive();
        let focused = all.find(egui_kittest::Node::is_focused);
        names.push(focused.and_then(|it| it.accesskit_node().label()).unwrap_or_default());
    }
    names
}

/// Asks to close while a picture forms. The question is there only as long as one does: a state that
/// a test merely sets is taken back in the next frame.
fn ask(studio: &mut Studio) {
    studio.ask_to_close();
    studio.harness.run_ok();
    assert_eq!(studio.app().state.closing, Closing::Confirming);
}

#[test]
fn the_question_before_closing_is_answered_by_keys_alone() {
    let mut studio = Studio::open(ready());
    let (job, _, cancel) = studio.generate();
    studio.begin(job, vec![1]);
    for key in [Key::Escape, Key::Enter] {
        ask(&mut studio);
        studio.press(Modifiers::NONE, key);
        assert_eq!(studio.app().state.closing, Closing::No, "{key:?}");
    }
    ask(&mut studio);
    let [keep, stop] = ["Keep going", "Stop and close"];
    assert_eq!(tab_names(&mut studio, Modifiers::NONE, 5), [keep, stop, keep, stop, keep]);
    assert_eq!(tab_names(&mut studio, Modifiers::SHIFT, 2), [stop, keep]);
    assert!(!cancel.load(Ordering::Relaxed));
    // Enter means the control that has the keyboard.
    assert_eq!(tab_names(&mut studio, Modifiers::NONE, 1), [stop]);
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the engine to be told", |_| cancel.load(Ordering::Relaxed));
}

#[test]
fn a_key_that_is_held_down_answers_no_question() {
    let mut studio = Studio::open(ready());
    studio.click("Save as a style");
    studio.fill("Name of the style", "Ink");
    let enter = |pressed, modifiers| egui::Event::Key { key: Key::Enter, physical_key: None, pressed, repeat: false, modifiers };
    // With Ctrl it is another key; the next press of one that is down already is a repetition.
    studio.harness.event(enter(true, Modifiers::COMMAND));
    studio.harness.event(enter(true, Modifiers::NONE));
    studio.harness.run_ok();
    assert!(studio.app().state.styles.draft.is_some());
    studio.harness.event(enter(false, Modifiers::NONE));
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the style", |app| app.state.styles.get("Ink").is_some());
}
