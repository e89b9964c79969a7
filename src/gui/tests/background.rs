//! Work in the background and what becomes of it.

use crate::gui::tests::*;
use crate::gui::workers::Worker;

#[test]
fn what_work_changes_in_the_settings_is_named_and_undone() {
    let mut studio = Studio::open(ready());
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().with(&ctx, |_, context| {
        context.run(
            Worker::Files,
            || 9,
            |steps, _, context| {
                context.name_change("Count the steps");
                context.shared.next.recipe.steps = steps;
            },
        );
    });
    studio.until("the output", |app| app.state.shared.next.recipe.steps == 9);
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Count the steps"));
    studio.app_mut().with(&ctx, |_, context| {
        context.run_alone("alone", || 11, |steps, _, context| context.shared.next.recipe.steps = steps.unwrap_or_default());
    });
    studio.until("the output", |app| app.state.shared.next.recipe.steps == 11);
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Change of settings"), "the name before is not kept");
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe.steps, 9);
}

#[test]
fn work_that_panics_is_told_and_the_work_after_it_is_done() {
    let mut studio = Studio::open(ready());
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().with(&ctx, |_, context| {
        context.run(Worker::Pixels, || panic!("a fault in a test"), |(), _, context| context.notice("never"));
        context.run(Worker::Pixels, || "still at work", |words, _, context| context.notice(words));
    });
    studio.until_notice("still at work");
    assert!(studio.sees("Internal error in background work."));
    studio.click("Dismiss");
    assert!(studio.app().state.shared.error.is_none());
}
