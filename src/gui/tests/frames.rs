//! Frames that nobody asks for: none while nothing happens, and few while a job computes. The test
//! is the system's event loop, on a clock of its own.

use parking_lot::Mutex;

use crate::gui::pace;
use crate::gui::shared::Screen;
use crate::gui::tests::board::{machine, open_board, recipe};
use crate::gui::tests::*;

/// Seconds after which a caret rests, what was set is written, and devices without rates are
/// measured.
const SETTLE_SECS: f64 = 40.0;

/// A window that is drawn where a frame was asked for.
struct SimulatedLoop {
    studio: Studio,
    /// The time, and that of the next frame, in seconds.
    clock: Arc<Mutex<(f64, f64)>>,
    drawn: usize,
}

impl SimulatedLoop {
    /// A frame takes this of a processor with so many cores.
    fn of(studio: Studio, cores: f64, cost_secs: f64) -> Self {
        let clock = Arc::new(Mutex::new((1000.0, f64::INFINITY)));
        let (told, asked) = (Arc::clone(&clock), Arc::clone(&clock));
        pace::simulate(&studio.harness.ctx, cores, cost_secs, move || told.lock().0);
        studio.harness.ctx.set_request_repaint_callback(move |info| {
            let mut clock = asked.lock();
            clock.1 = clock.1.min(clock.0 + info.delay.as_secs_f64());
        });
        let mut screen = Self { studio, clock, drawn: 0 };
        screen.draw();
        screen
    }

    fn draw(&mut self) {
        // Frames that the test drew by itself took time too.
        let last = self.studio.harness.ctx.input(|input| input.time);
        let now = {
            let mut clock = self.clock.lock();
            *clock = (clock.0.max(last), f64::INFINITY);
            clock.0
        };
        self.studio.harness.input_mut().time = Some(now);
        self.studio.harness.step();
        self.drawn += 1;
    }

    /// Lets so many seconds pass. Returns the frames that were drawn.
    fn pass(&mut self, secs: f64) -> usize {
        /// A screen of 60 Hz.
        const LEAST_SECS: f64 = 1.0 / 60.0;
        let (before, until) = (self.drawn, self.clock.lock().0 + secs);
        loop {
            let next = {
                let clock = self.clock.lock();
                clock.1.max(clock.0 + LEAST_SECS)
            };
            if next > until {
                break;
            }
            self.clock.lock().0 = next;
            self.draw();
        }
        self.clock.lock().0 = until;
        self.drawn - before
    }

    /// Begins a picture of this many steps, and lets the window come to rest.
    fn begin(&mut self) -> JobId {
        let (job, ..) = self.studio.generate();
        self.studio.begin(job, vec![1]);
        self.studio.port.send(Event::Phase { job, phase: JobPhase::Denoising { picture: 0 } });
        self.pass(SETTLE_SECS);
        job
    }

    fn step(&mut self, job: JobId, done: u32, fraction: f32) {
        let step = Step { picture: 0, done, total: 100, fraction, step_secs: 1.0 };
        self.studio.port.send(Event::Step { job, step });
    }
}

#[test]
fn parts_of_steps_cost_a_twentieth_of_a_processor_that_also_draws() {
    let mut screen = SimulatedLoop::of(Studio::open(ready()), 2.0, 0.027);
    let job = screen.begin();
    let mut frames = 0;
    for done in 0..10 {
        for part in 0..20_u8 {
            screen.step(job, done, f32::from(part) / 20.0);
            frames += screen.pass(0.05);
        }
    }
    // 27 ms of two cores are a twentieth of 0.27 s.
    assert!((10..=40).contains(&frames), "{frames} frames in ten seconds");
    screen.pass(1.0);
    assert!(screen.studio.sees("Step 10 of 100"));
}

#[test]
fn a_step_is_a_frame_and_its_parts_are_a_few_also_where_frames_cost_nothing() {
    let mut screen = SimulatedLoop::of(Studio::open(ready()), 32.0, 0.001);
    let job = screen.begin();
    let mut frames = 0;
    for done in 1..=20 {
        screen.step(job, done, 0.0);
        frames += screen.pass(1.0);
    }
    assert!((20..=24).contains(&frames), "{frames} frames for 20 steps");
    let mut frames = 0;
    for part in 0..100_u8 {
        screen.step(job, 21, f32::from(part) / 100.0);
        frames += screen.pass(0.05);
    }
    assert!((5..=24).contains(&frames), "{frames} frames in five seconds");
}

#[test]
fn while_nobody_knows_how_long_it_takes_a_frame_a_second_shows_that_it_goes_on() {
    let mut screen = SimulatedLoop::of(Studio::open(ready()), 32.0, 0.001);
    let job = screen.begin();
    screen.studio.port.send(Event::Phase { job, phase: JobPhase::Encoding });
    let frames = screen.pass(10.0);
    assert!((9..=13).contains(&frames), "{frames} frames in ten seconds");
}

#[test]
fn a_key_is_drawn_at_once_whatever_a_frame_costs() {
    let mut screen = SimulatedLoop::of(Studio::open(ready()), 1.0, 0.1);
    let job = screen.begin();
    screen.step(job, 1, 0.0);
    let ctx = screen.studio.harness.ctx.clone();
    screen.draw();
    assert!(pace::wait_secs(&ctx, pace::Urgency::Soon) > 0.9);
    screen.studio.harness.event(egui::Event::PointerMoved(egui::pos2(700.0, 300.0)));
    screen.draw();
    assert!(pace::wait_secs(&ctx, pace::Urgency::Soon) < 1e-9, "what a person does is followed");
}

#[test]
fn no_view_draws_a_frame_while_nothing_happens() {
    let mut screen = SimulatedLoop::of(Studio::open(recipe()), 2.0, 0.027);
    screen.studio.port.send(Event::Devices(machine()));
    let views = [(Screen::Devices, Key::Num2), (Screen::Models, Key::Num3), (Screen::Gallery, Key::Num4), (Screen::Create, Key::Num1)];
    // Each has asked other threads for what it shows.
    for (_, key) in views {
        screen.studio.press(Modifiers::COMMAND, key);
        screen.studio.settle();
        screen.pass(SETTLE_SECS);
    }
    for (view, key) in views {
        screen.studio.press(Modifiers::COMMAND, key);
        assert_eq!(screen.studio.app().state.shared.screen, view);
        screen.studio.settle();
        screen.pass(SETTLE_SECS);
        let frames = screen.pass(600.0);
        // An answer of another thread may come late.
        assert!(frames <= 2, "{frames} frames in ten minutes of {}", view.label());
    }
}

#[test]
fn a_pointer_that_rests_on_a_phrase_draws_no_frames_once_it_is_known_what_it_did() {
    let mut screen = SimulatedLoop::of(phrases::with_finding(), 2.0, 0.027);
    screen.pass(SETTLE_SECS);
    let frames = screen.pass(600.0);
    assert!(frames <= 2, "{frames} frames in ten minutes");
}

#[test]
fn devices_that_are_as_before_are_drawn_once_and_small_changes_are_not_animated() {
    let mut screen = SimulatedLoop::of(open_board(5), 2.0, 0.027);
    screen.pass(SETTLE_SECS);
    screen.studio.port.send(Event::Devices(machine()));
    let frames = screen.pass(10.0);
    assert!(frames <= 2, "{frames} frames for what is as it was");
    let mut devices = machine();
    devices[0].memory_free_bytes -= 200 << 20;
    screen.studio.port.send(Event::Devices(devices));
    let frames = screen.pass(10.0);
    // The planner looks at it a moment later, and answers of other threads may come late. What is
    // animated takes six frames and more.
    assert!((1..=5).contains(&frames), "{frames} frames for another digit");
}
