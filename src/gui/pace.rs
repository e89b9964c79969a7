//! Pace of the frames that nobody asks for.
//!
//! A frame takes 3 ms of a computer with a GPU, and 30 ms where the processor draws it; the engine
//! tells twenty times a second that it goes on. So what comes by itself waits for its frame while a
//! job computes, so long that drawing takes a twentieth of the processor. Keys and the pointer are
//! drawn at once, by `egui` itself, and for a moment after them so is everything else.

use std::time::Instant;

use eframe::egui::{Context, Plugin, RawInput, ViewportId};

/// Most of the processor that drawing may take while a job computes, 0 to 1.
const MAX_SHARE: f64 = 0.05;
/// Longest distance of two frames, in seconds, whatever one costs: the window is seen to live.
const MAX_WAIT_SECS: f64 = 1.0;
/// Seconds after a key or a movement of the pointer in which a person waits for what follows.
const ACTS_SECS: f64 = 0.5;
/// Least seconds between two frames for parts of steps: each moves a bar by a pixel or two.
const PART_SECS: f64 = 0.25;
/// Weight of the newest cost of a frame in the smoothed one, 0 to 1.
const COST_WEIGHT: f64 = 0.3;
/// Seconds between two looks at what drawing takes, while a job computes.
const LOOK_SECS: f64 = 2.0;

/// How soon something that came by itself is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// As soon as the processor may draw.
    Soon,
    /// With the next of its kind, where several come in a second.
    Part,
}

/// When the next frame may be drawn that nobody asks for. Pure: times are arguments, in seconds of
/// one clock.
#[derive(Debug)]
struct Pace {
    /// Threads of the processor.
    cores: f64,
    /// Seconds of the processor that a frame takes, smoothed; 0 while that is not known.
    cost_secs: f64,
    /// Begin of the last frame.
    drawn_secs: f64,
    /// Last key or movement of the pointer.
    acted_secs: f64,
    is_computing: bool,
}

impl Pace {
    const fn new(cores: f64) -> Self {
        Self { cores, cost_secs: 0.0, drawn_secs: f64::NEG_INFINITY, acted_secs: f64::NEG_INFINITY, is_computing: false }
    }

    /// A frame begins. `is_asked_for`: by a key or the pointer.
    const fn frame_begins(&mut self, now_secs: f64, is_asked_for: bool) {
        self.drawn_secs = now_secs;
        if is_asked_for {
            self.acted_secs = now_secs;
        }
    }

    /// A frame has taken so many seconds of the processor.
    fn measured(&mut self, secs: f64) {
        if secs.is_finite() && secs > 0.0 {
            self.cost_secs = if self.cost_secs == 0.0 { secs } else { self.cost_secs + COST_WEIGHT * (secs - self.cost_secs) };
        }
    }

    /// Seconds until a frame may be drawn for something that came by itself.
    fn wait_secs(&self, urgency: Urgency, now_secs: f64) -> f64 {
        let of_parts = if urgency == Urgency::Part { PART_SECS } else { 0.0 };
        let is_capped = self.is_computing && now_secs - self.acted_secs > ACTS_SECS;
        let of_cost = if is_capped { (self.cost_secs / (MAX_SHARE * self.cores)).min(MAX_WAIT_SECS) } else { 0.0 };
        (self.drawn_secs + of_parts.max(of_cost) - now_secs).max(0.0)
    }
}

/// Seconds of a clock that never goes back.
type Clock = Box<dyn Fn() -> f64 + Send + Sync>;

/// The pace of a window: a plugin, so that it sees each frame, and other threads reach it.
pub(crate) struct FramePace {
    pace: Pace,
    clock: Clock,
    /// Time of the last look at what drawing takes.
    looked_secs: f64,
    /// Frames, and seconds that the threads that draw have taken, at the last look.
    drawn: Option<(u64, f64)>,
    /// The system says what these threads take.
    is_told: bool,
}

impl Default for FramePace {
    fn default() -> Self {
        let start = Instant::now();
        // Until it is looked at.
        Self::new(1.0, Box::new(move || start.elapsed().as_secs_f64()))
    }
}

impl FramePace {
    fn new(cores: f64, clock: Clock) -> Self {
        Self { pace: Pace::new(cores), clock, looked_secs: f64::NEG_INFINITY, drawn: None, is_told: false }
    }

    /// There are so many threads of the processor, and those that draw have taken so many seconds for
    /// all `frames` since the start; `None` where the system does not say.
    fn looked(&mut self, cores: f64, frames: u64, secs: Option<f64>) {
        self.pace.cores = cores;
        let Some(secs) = secs else { return };
        let Some((frames_before, before)) = self.drawn.replace((frames, secs)) else { return };
        if frames > frames_before {
            if !self.is_told {
                // What the clock says leaves out what other threads draw.
                (self.is_told, self.pace.cost_secs) = (true, 0.0);
            }
            self.pace.measured((secs - before) / (frames - frames_before) as f64);
        }
    }
}

impl Plugin for FramePace {
    fn debug_name(&self) -> &'static str {
        "frame pace"
    }

    fn input_hook(&mut self, _: &Context, input: &mut RawInput) {
        self.pace.frame_begins((self.clock)(), !input.events.is_empty());
    }
}

/// Seconds until a frame may be drawn for something that came by itself. May be called from any
/// thread.
pub(crate) fn wait_secs(ctx: &Context, urgency: Urgency) -> f64 {
    ctx.with_plugin(|it: &mut FramePace| it.pace.wait_secs(urgency, (it.clock)())).unwrap_or_default()
}

/// Sets whether a job computes. Returns true where it is time to look at what drawing takes, and to
/// call [`looked`].
pub(crate) fn set_computing(ctx: &Context, is_computing: bool) -> bool {
    let look = |it: &mut FramePace| {
        it.pace.is_computing = is_computing;
        let now = (it.clock)();
        let is_due = is_computing && now - it.looked_secs >= LOOK_SECS;
        if is_due {
            it.looked_secs = now;
        }
        is_due
    };
    ctx.with_plugin(look).unwrap_or_default()
}

/// The processor has so many threads, and those that draw have taken so many seconds of it since the
/// start; `None` where the system does not say. May be called from any thread.
pub(crate) fn looked(ctx: &Context, cores: f64, secs: Option<f64>) {
    // Not passes: a frame whose layout changes has two.
    let frames = ctx.cumulative_frame_nr_for(ViewportId::ROOT);
    ctx.with_plugin(|it: &mut FramePace| it.looked(cores, frames, secs));
}

/// The last frame took so many seconds by the clock, which counts where the system says nothing
/// better.
pub(crate) fn frame_took(ctx: &Context, secs: f64) {
    ctx.with_plugin(|it: &mut FramePace| {
        if !it.is_told {
            it.pace.measured(secs);
        }
    });
}

/// Gives the window this clock and processor, and frames of this cost in seconds.
#[cfg(test)]
pub(crate) fn simulate(ctx: &Context, cores: f64, cost_secs: f64, clock: impl Fn() -> f64 + Send + Sync + 'static) {
    ctx.with_plugin(|it: &mut FramePace| {
        *it = FramePace::new(cores, Box::new(clock));
        it.pace.measured(cost_secs);
        // What the test's own threads take is not looked at.
        it.looked_secs = f64::INFINITY;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace of two cores with frames of 25 ms, the last of which was drawn at 10 s.
    fn pace(is_computing: bool) -> Pace {
        let mut pace = Pace { is_computing, ..Pace::new(2.0) };
        pace.measured(0.025);
        pace.frame_begins(10.0, false);
        pace
    }

    #[test]
    fn drawing_takes_a_twentieth_of_the_processor_while_a_job_computes() {
        let pace = pace(true);
        // 25 ms of two cores are a twentieth of a quarter of a second.
        assert!((pace.wait_secs(Urgency::Soon, 10.0) - 0.25).abs() < 1e-9);
        assert!((pace.wait_secs(Urgency::Soon, 10.2) - 0.05).abs() < 1e-9);
        assert_eq!(pace.wait_secs(Urgency::Soon, 10.3), 0.0);
        let quick = Pace { cores: 16.0, ..pace };
        assert!((quick.wait_secs(Urgency::Soon, 10.0) - 0.031_25).abs() < 1e-9);
        assert!((quick.wait_secs(Urgency::Part, 10.0) - PART_SECS).abs() < 1e-9, "no eye follows parts of steps");
    }

    #[test]
    fn nothing_waits_while_no_job_computes_or_a_person_acts() {
        assert_eq!(pace(false).wait_secs(Urgency::Soon, 10.0), 0.0);
        let mut pace = pace(true);
        pace.frame_begins(11.0, true);
        pace.frame_begins(11.4, false);
        assert_eq!(pace.wait_secs(Urgency::Soon, 11.4), 0.0);
        assert!((pace.wait_secs(Urgency::Part, 11.4) - PART_SECS).abs() < 1e-9);
        pace.frame_begins(11.6, false);
        assert!(pace.wait_secs(Urgency::Soon, 11.6) > 0.2, "what a person did is long drawn");
    }

    #[test]
    fn the_cost_follows_slowly_and_no_frame_waits_for_long() {
        let mut pace = pace(true);
        pace.measured(f64::NAN);
        pace.measured(0.0);
        pace.measured(0.125);
        assert!((pace.cost_secs - 0.055).abs() < 1e-9);
        pace.measured(100.0);
        assert_eq!(pace.wait_secs(Urgency::Soon, 10.0), MAX_WAIT_SECS);
    }

    #[test]
    fn the_cost_is_what_all_threads_that_draw_take_where_the_system_tells() {
        let mut pace = FramePace::new(1.0, Box::new(|| 0.0));
        pace.pace.measured(0.004);
        pace.looked(2.0, 7, None);
        pace.looked(2.0, 7, Some(100.0));
        assert_eq!(pace.pace.cores, 2.0);
        assert!(!pace.is_told && pace.pace.cost_secs == 0.004, "what they took before is not known");
        pace.looked(2.0, 7, Some(100.1));
        assert!(!pace.is_told, "nothing was drawn");
        pace.looked(2.0, 11, Some(100.2));
        assert!(pace.is_told && (pace.pace.cost_secs - 0.025).abs() < 1e-9, "{}", pace.pace.cost_secs);
    }

    /// Its bars move, so each has a layout of its own.
    #[test]
    fn a_frame_of_two_passes_costs_what_both_take() {
        let ctx = Context::default();
        ctx.add_plugin(FramePace::default());
        let frame = || {
            let draw = |ctx: &Context| {
                if ctx.current_pass_index() == 0 {
                    ctx.request_discard("a bar moves");
                }
            };
            let mut output = ctx.run_pass(RawInput::default(), draw);
            // There is no graphics card.
            output.textures_delta.clear();
        };
        frame();
        looked(&ctx, 2.0, Some(10.0));
        for _ in 0..4 {
            frame();
        }
        looked(&ctx, 2.0, Some(10.1));
        let cost = ctx.with_plugin(|it: &mut FramePace| it.pace.cost_secs).unwrap();
        assert!((cost - 0.025).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn what_drawing_takes_is_looked_at_now_and_then_while_a_job_computes() {
        let ctx = Context::default();
        assert!(!set_computing(&ctx, true) && wait_secs(&ctx, Urgency::Part) == 0.0, "without the plugin");
        ctx.add_plugin(FramePace::default());
        assert!(!set_computing(&ctx, false));
        assert!(set_computing(&ctx, true) && !set_computing(&ctx, true), "once in two seconds");
    }
}
