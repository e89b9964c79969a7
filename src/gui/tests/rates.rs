//! Tests of the measurement of devices in idle time; the test plays the engine.

use crate::gui::tests::board::{machine, recipe};
use crate::gui::tests::*;

/// Frames that last longer than nothing must run before devices are measured: a quarter of a second
/// each.
const IDLE_FRAMES: usize = 120;

impl Studio {
    /// Lets nothing happen for a while.
    fn idle_for_a_while(&mut self) {
        for _ in 0..IDLE_FRAMES {
            self.harness.step();
        }
    }

    /// Generates. Returns how often a measurement of devices was begun, and stopped, before that.
    fn measurements(&mut self) -> ([usize; 2], JobId) {
        self.press(Modifiers::COMMAND, Key::Enter);
        let [mut begun, mut stopped] = [0, 0];
        loop {
            match self.port.next() {
                Some(Request::Control(Control::Measure(Some(_)))) => begun += 1,
                Some(Request::Control(Control::Measure(None))) => stopped += 1,
                Some(Request::Control(_) | Request::Query(_)) => {}
                Some(Request::Job { job, .. }) => return ([begun, stopped], job),
                None => panic!("the window is gone"),
            }
        }
    }
}

#[test]
fn devices_are_measured_once_when_no_picture_was_made_for_a_while() {
    let mut studio = Studio::open(recipe());
    studio.port.send(Event::Devices(machine()));
    studio.idle_for_a_while();
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.harness.run_ok();
    let (count, job) = studio.measurements();
    assert_eq!(count, [1, 0]);
    assert!(studio.port.start(job).is_some());
    studio.port.send(Event::End { job, end: End::Cancelled });
    studio.harness.run_ok();
    studio.idle_for_a_while();
    assert_eq!(studio.measurements().0, [0, 0], "they have rates");
}

#[test]
fn a_measurement_gives_way_to_the_pointer_and_goes_on_once_nothing_was_touched_for_a_while() {
    let mut studio = Studio::open(recipe());
    studio.port.send(Event::Devices(machine()));
    studio.idle_for_a_while();
    studio.harness.hover_at(egui::pos2(700.0, 300.0));
    studio.harness.step();
    // What was stopped has ended.
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.idle_for_a_while();
    assert_eq!(studio.measurements().0, [2, 2], "the key that generates stops it too");
}
