//! Live: the picture follows words, settings and strokes, with the test in the engine's place.

use std::sync::atomic::AtomicBool;

use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::live::command::Command;
use crate::gui::live::state::LIVE_SECS;
use crate::gui::tests::*;
use atelier_core::canvas::LayerKind;

type Taken = (JobId, Recipe, Arc<AtomicBool>);

impl Studio {
    /// Switches Live on, and takes the first run's job.
    fn go_live(&mut self) -> Taken {
        self.click("Live");
        assert!(self.app().state.live.is_on);
        self.take_live()
    }

    /// Runs frames until Live has begun a run, and takes its job.
    fn take_live(&mut self) -> Taken {
        self.until("a run", |app| app.state.live.run.as_ref().is_some_and(|run| !run.has_begun));
        let taken = self.take();
        self.begin(taken.0, vec![seed_of(&taken.1)]);
        taken
    }

    /// Sends a finished picture of this shade, and the end of its job.
    fn finish_live(&mut self, job: JobId, shade: u8, secs: f64) {
        let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
        self.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, shade) } });
        let timings = Timings { total_secs: secs, ..Timings::default() };
        self.port.send(Event::End { job, end: End::Done { pictures: vec![info], timings, notes: Vec::new() } });
        self.until("the live picture", |app| app.state.live.has_result());
    }

    /// Answers that a job was cancelled.
    fn cancelled(&mut self, job: JobId) {
        self.port.send(Event::End { job, end: End::Cancelled });
        self.harness.step();
    }

    /// Types at the end of the prompt.
    fn type_words(&mut self, words: &str) {
        self.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
        self.harness.step();
        self.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(words);
        self.harness.step();
    }

    /// Takes the keyboard from the prompt.
    fn leave_prompt(&mut self) {
        let focused = self.harness.ctx.memory(egui::Memory::focused);
        self.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
        self.harness.run_ok();
    }

    /// The job that Live has under way. The engine's jobs are taken in the order in which they
    /// came, so none is overlooked.
    fn run(&self) -> Option<JobId> {
        self.app().state.live.run.as_ref().map(|run| run.job)
    }

    fn idle(&mut self) {
        for _ in 0..8 {
            self.harness.step();
        }
    }

    /// Number of pictures of this session; the gallery may find those of the folder a second time.
    fn session_pictures(&self) -> usize {
        self.app().state.create.session.len()
    }

    fn layers(&self) -> usize {
        self.app().state.canvas.edited().unwrap().document.content().layers().len()
    }
}

fn is_cancelled(taken: &Taken) -> bool {
    taken.2.load(Ordering::Relaxed)
}

/// The window with a picture of one shade as a canvas, and nothing with the keyboard.
fn canvas(tool: Key) -> Studio {
    let mut studio = Studio::open(ready());
    studio.make(120);
    studio.leave_prompt();
    studio.press(Modifiers::NONE, tool);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    studio
}

#[test]
fn typing_makes_a_job_and_the_next_change_takes_its_place() {
    let mut studio = Studio::open(ready());
    assert!(studio.sees("Generate") && !studio.sees("Generate again"));
    let first = studio.go_live();
    assert!(studio.sees("Generate again") && studio.sees("Live"));
    studio.harness.check_accessibility();
    assert_eq!((first.1.prompt.as_str(), first.1.batch_count), ("a lake", 1));
    assert!(first.1.seed.is_some(), "the seed stays the same from run to run");
    assert!(studio.app().state.shared.jobs.is_empty(), "the queue knows nothing of it");

    studio.type_words(" at dawn");
    studio.until("the cancel", |_| is_cancelled(&first));
    assert_eq!(studio.run(), Some(first.0), "the first one has not ended yet");
    studio.cancelled(first.0);
    let second = studio.take_live();
    assert_eq!((second.1.prompt.as_str(), second.1.seed), ("a lake at dawn", first.1.seed));

    // A setting is a change too.
    studio.app_mut().state.shared.next.recipe.steps = 9;
    studio.until("the cancel", |_| is_cancelled(&second));
    studio.cancelled(second.0);
    let third = studio.take_live();
    assert_eq!((third.1.steps, third.1.seed), (9, first.1.seed));
    studio.finish_live(third.0, 7, 1.0);
    studio.idle();
    assert_eq!(studio.run(), None, "nothing has changed");
}

#[test]
fn a_preview_is_shown_in_place_and_the_picture_is_kept_only_when_it_is_accepted() {
    let mut studio = Studio::open(ready());
    let (job, ..) = studio.go_live();
    let preview = Preview { picture: 0, step: 1, place: None, image: image(8, 50) };
    studio.port.send(Event::Preview { job, preview });
    studio.until("the preview", |app| app.state.live.shown().is_some());
    assert!(studio.sees("Picture, 64 by 64 pixels"));
    assert!(!studio.app().state.live.has_result(), "a preview cannot be accepted");
    studio.finish_live(job, 90, 1.0);
    let folder = studio.folder.path().join("Pictures");
    let is_picture = |file: &std::io::Result<std::fs::DirEntry>| file.as_ref().unwrap().path().extension().is_some_and(|it| it == "png");
    let files = || std::fs::read_dir(&folder).map_or(0, |files| files.filter(is_picture).count());
    let pictures = |studio: &Studio| (studio.session_pictures(), files());
    assert_eq!(pictures(&studio), (0, 0));
    assert!(studio.app().state.shared.queue.rows.is_empty());

    studio.click(Command::Accept.label());
    studio.until("the file", |app| !app.state.create.session.is_empty() && app.state.create.session.writing() == 0);
    assert_eq!(pictures(&studio), (1, 1));
    let kept = studio.app().state.create.session.shown().unwrap();
    assert!(matches!(kept.stored, PictureFile::At(_)) && kept.pixels.as_deref() == Some(&*image(64, 90)));
    studio.idle();
    assert!(!studio.app().state.live.has_result() && studio.run().is_none(), "once is enough");
}

#[test]
fn a_stroke_stops_the_run_and_its_end_begins_another() {
    let mut studio = canvas(Key::B);
    let first = studio.go_live();
    assert_eq!(atelier_media::read_image(&first.1.init.as_ref().unwrap().image).unwrap(), *image(64, 120));
    studio.finish_live(first.0, 30, 1.0);
    assert!(studio.app().state.live.shown_over(studio.app().state.canvas.edited().unwrap().number).is_some());

    studio.type_words(" at night");
    let second = studio.take_live();
    studio.leave_prompt();
    let middle = crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap().center();
    studio.harness.drag_at(middle);
    studio.harness.step();
    studio.until("the cancel", |_| is_cancelled(&second));
    assert!(studio.app().state.live.look.is_some() && !studio.app().state.live.has_result(), "the result stays, as what is painted on");
    studio.cancelled(second.0);
    for n in 0..6_u8 {
        studio.harness.hover_at(middle + egui::vec2(f32::from(n), 0.0));
        studio.harness.step();
    }
    assert_eq!(studio.run(), None, "not while it is drawn");
    studio.harness.drop_at(middle + egui::vec2(6.0, 0.0));
    studio.harness.step();
    let third = studio.take_live();
    let drawn = atelier_media::read_image(&third.1.init.as_ref().unwrap().image).unwrap();
    assert_ne!(drawn, *image(64, 120), "the stroke is in it");
    assert_eq!(third.1.prompt, "a lake at night");
}

#[test]
fn stroke_and_result_are_seen_together_until_the_result_holds_the_stroke() {
    let mut studio = canvas(Key::B);
    let first = studio.go_live();
    studio.finish_live(first.0, 30, 1.0);
    studio.leave_prompt();
    let painted = |studio: &Studio| studio.app().state.canvas.edited().and_then(|it| it.fresh.as_ref()?.content().colour_at(30, 30));
    assert_eq!(painted(&studio), None);
    studio.draw((20.0, 30.0), (40.0, 30.0));
    let ink = studio.app().state.canvas.options.colour;
    let number = studio.app().state.canvas.edited().unwrap().number;
    assert!(studio.app().state.live.shown_over(number).is_some(), "the result is still there");
    assert_eq!(painted(&studio), Some(ink), "and the stroke over it");
    let second = studio.take_live();
    studio.draw((10.0, 50.0), (40.0, 50.0));
    studio.until("the cancel", |_| is_cancelled(&second));
    studio.cancelled(second.0);
    assert_eq!(painted(&studio), Some(ink), "a second stroke takes nothing of the first away");
    let third = studio.take_live();
    let drawn = atelier_media::read_image(&third.1.init.as_ref().unwrap().image).unwrap();
    assert_eq!(drawn.pixels()[(30 * 64 + 30) * 3..][..3], ink, "it is what the next one is made from");
    studio.finish_live(third.0, 60, 1.0);
    assert!(studio.app().state.canvas.edited().unwrap().fresh.is_none(), "the new result holds them");
    studio.draw((20.0, 10.0), (40.0, 10.0));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert!(studio.app().state.canvas.edited().unwrap().fresh.is_none(), "what was undone is not seen");
}

#[test]
fn a_tool_paints_on_the_live_picture_that_is_shown() {
    let mut studio = Studio::open(ready());
    studio.make(120);
    let (job, ..) = studio.go_live();
    studio.finish_live(job, 90, 1.0);
    assert!(studio.sees("Live · 64 × 64"), "the title names what is shown");
    studio.leave_prompt();
    studio.press(Modifiers::NONE, Key::B);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!(studio.content().colour_at(9, 9), Some([90; 3]), "not the picture that is chosen in the strip");
}

#[test]
fn nothing_piles_up_however_much_changes() {
    let mut studio = Studio::open(ready());
    let first = studio.go_live();
    for n in 0..20 {
        studio.type_words(&format!(" {n}"));
    }
    studio.idle();
    assert!(is_cancelled(&first));
    assert_eq!(studio.run(), Some(first.0), "it is under way until it ends");
    studio.cancelled(first.0);
    let second = studio.take_live();
    assert!(second.1.prompt.ends_with(" 18 19"), "the newest wins: {}", second.1.prompt);
    assert_eq!(second.0.0, first.0.0 + 1, "twenty changes made one job");
    // Each one begins only after the one before has ended.
    let mut last = second;
    for n in 0..20 {
        studio.type_words(&format!(" and {n}"));
        studio.until("the cancel", |_| is_cancelled(&last));
        studio.cancelled(last.0);
        let next = studio.take_live();
        assert_eq!(next.0.0, last.0.0 + 1);
        last = next;
    }
    assert!(last.1.prompt.ends_with(" and 19"));
}

#[test]
fn the_live_picture_becomes_a_layer_with_one_undo() {
    let mut studio = canvas(Key::B);
    let (job, ..) = studio.go_live();
    studio.finish_live(job, 30, 1.0);
    assert_eq!(studio.layers(), 1);
    studio.leave_prompt();
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!(studio.layers(), 2);
    let colour = |studio: &Studio| studio.app().state.canvas.edited().unwrap().document.content().colour_at(9, 9);
    assert_eq!(colour(&studio), Some([30; 3]));
    assert!(studio.app().state.live.look.is_none());
    studio.idle();
    assert_eq!(studio.run(), None, "it is not made from itself");
    assert_eq!(studio.session_pictures(), 1, "it is no picture of its own");

    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!((studio.layers(), colour(&studio)), (1, Some([120; 3])));
    assert_eq!(studio.app().state.canvas.edited().unwrap().document.next_undo(), None, "there was one entry");
    studio.take_live();
}

#[test]
fn only_the_masked_part_follows() {
    let mut studio = canvas(Key::M);
    let middle = crate::gui::viewport::canvas_rect(&studio.harness.ctx).unwrap().center();
    studio.drag_between(middle, middle + egui::vec2(8.0, 0.0));
    assert_eq!(studio.app().state.canvas.edited().unwrap().document.content().current_layer().kind, LayerKind::Mask);
    let (_, recipe, _) = studio.go_live();
    assert!(recipe.mask.is_some() && recipe.area.is_some() && recipe.init.is_some());
    assert!(studio.sees("Generate again") && !studio.sees("Inpaint the masked part"));
}

#[test]
fn a_slow_picture_says_so_and_offers_what_is_faster() {
    let mut recipe = ready();
    (recipe.steps, recipe.width, recipe.height) = (20, 512, 768);
    let mut studio = Studio::open(recipe);
    let (job, ..) = studio.go_live();
    assert!(!studio.sees("Fewer steps"));
    studio.finish_live(job, 30, LIVE_SECS * 2.0);
    assert!(studio.sees("Fewer steps") && studio.sees("Work smaller") && studio.sees("4 s a picture"));
    assert!(studio.paints("Live") && !studio.paints("Follow"), "it has one name, also where it is slow");
    studio.click("Fewer steps");
    let (job, recipe, _) = studio.take_live();
    assert_eq!(recipe.steps, 10, "as many as two seconds have");
    studio.finish_live(job, 30, 3.0);
    studio.click("Work smaller");
    let (job, recipe, _) = studio.take_live();
    assert_eq!((recipe.width, recipe.height), (384, 576));
    studio.finish_live(job, 30, 1.0);
    assert!(!studio.sees("Fewer steps"));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe.width, 512, "undo knows it");
}

#[test]
fn it_waits_for_the_queue_and_says_so() {
    let mut studio = Studio::open(ready());
    let (queued, ..) = studio.generate();
    studio.begin(queued, vec![3]);
    studio.click("Live");
    studio.until("the run", |app| app.state.live.is_running());
    assert!(studio.sees("Waits for the pictures of the queue"));
    studio.picture(queued, 0, 3);
    studio.done(queued);
    let (job, recipe, _) = studio.take();
    assert_eq!(recipe.seed, Some(Seed(3)), "the seed of the last picture");
    studio.begin(job, vec![seed_of(&recipe)]);
    assert!(!studio.sees("Waits for the pictures"));
}

#[test]
fn a_batch_steps_aside_for_it_and_goes_on_afterwards() {
    let mut studio = Studio::open(Recipe { batch_count: 3, seed: Some(Seed(1)), ..ready() });
    let batch = studio.generate();
    studio.begin(batch.0, vec![1, 2, 3]);
    studio.click("Live");
    studio.until("the run", |app| app.state.live.is_running());
    studio.picture(batch.0, 0, 1);
    studio.until("the cancel", |_| is_cancelled(&batch));
    studio.cancelled(batch.0);
    let (job, recipe, _) = studio.take();
    assert_eq!((recipe.batch_count, studio.run()), (1, Some(job)), "the live one, and the rest of the batch not before it");
    studio.begin(job, vec![1]);
    studio.finish_live(job, 30, 1.0);
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.batch_count, recipe.seed), (2, Some(Seed(2))), "the pictures that are missing");
}

#[test]
fn switched_off_it_stops_and_leaves_nothing_behind() {
    let mut studio = Studio::open(ready());
    let first = studio.go_live();
    studio.press(Modifiers::COMMAND, Key::G);
    assert!(is_cancelled(&first) && !studio.app().state.live.is_on && studio.sees("Generate") && !studio.sees("Generate again"));
    studio.type_words(" at dawn");
    studio.idle();
    assert_eq!(studio.run(), Some(first.0));
    // Switched on again before the first run has ended.
    studio.press(Modifiers::COMMAND, Key::G);
    studio.idle();
    assert_eq!(studio.run(), Some(first.0), "at most one is under way");
    studio.cancelled(first.0);
    let second = studio.take_live();
    studio.port.send(Event::End { job: second.0, end: End::Failed(Failure::new("It is broken.", "Try another.")) });
    studio.until("the error", |app| app.state.shared.error.is_some());
    studio.idle();
    assert_eq!(studio.run(), None, "what failed is not tried without end");
    // A person may try again, with another seed.
    studio.press(Modifiers::COMMAND, Key::Enter);
    let third = studio.take_live();
    assert_ne!(third.1.seed, second.1.seed);
    assert!(studio.app().state.shared.jobs.is_empty());
}
