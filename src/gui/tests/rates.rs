//! Tests of the measurement of devices in idle time; the test plays the engine.

use crate::gui::tests::board::{machine, recipe};
use crate::gui::tests::*;

/// Frames that last longer than nothing must run before devices are measured: a quarter of a second
/// each.
const IDLE_FRAMES: usize = 120;

impl Studio {
    /// Lets nothing happen for a while, then generates. Returns how often devices were to be
    /// measured before that.
    fn measurements_while_idle(&mut self) -> (usize, JobId) {
        for _ in 0..IDLE_FRAMES {
            self.harness.step();
        }
        self.press(Modifiers::COMMAND, Key::Enter);
        let mut count = 0;
        loop {
            match self.port.next() {
                Some(Request::Control(Control::Measure(Some(_)))) => count += 1,
                Some(Request::Control(_) | Request::Query(_)) => {}
                Some(Request::Job { job, .. }) => return (count, job),
                None => panic!("the window is gone"),
            }
        }
    }
}

#[test]
fn devices_are_measured_once_when_no_picture_was_made_for_a_while() {
    let mut studio = Studio::open(recipe());
    studio.port.send(Event::Devices(machine()));
    let (count, job) = studio.measurements_while_idle();
    assert_eq!(count, 1);
    assert!(studio.port.start(job).is_some());
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.harness.run_ok();
    let (count, _) = studio.measurements_while_idle();
    assert_eq!(count, 0, "they have rates");
}
