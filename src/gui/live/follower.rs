//! When the picture is made anew: the newest change wins, and at most one run is under way. Pure:
//! the time is an argument.

use atelier_studio::debounce::Debounce;

/// Seconds without a change after which the next one begins a picture at once. Changes in quicker
/// succession wait until they pause for so long.
const SETTLE_SECS: f64 = 0.15;

/// What the person and the canvas are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A stroke is being drawn, or an edit carried out: it stops a run and begins none.
    Drawing,
    /// It is not known yet what is to be made, or it cannot be made.
    NotReady,
    /// A picture can be begun.
    Ready,
}

/// Next step of the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FollowAction {
    None,
    /// Ask again after these seconds.
    Wait(f32),
    /// Stop the run that is under way, then call [`Follower::ended`] once it has ended.
    Stop,
    /// Begin a run, then call [`Follower::ended`] once it has ended.
    Begin,
}

/// State of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RunState {
    /// None is under way.
    #[default]
    None,
    Running,
    /// One is being stopped.
    Stopping,
}

/// Decides when a picture is made anew. `T`: everything that it is made from.
#[derive(Debug)]
pub struct Follower<T> {
    /// What the last run was made from; `None` where it was stopped or there was none.
    last_source: Option<T>,
    changed: Debounce<T>,
    /// The newest change came after a pause.
    is_after_pause: bool,
    run: RunState,
    is_drawing: bool,
    /// The next run does not wait for a pause of the changes.
    is_due: bool,
}

impl<T> Default for Follower<T> {
    fn default() -> Self {
        Self {
            last_source: None,
            changed: Debounce::default(),
            is_after_pause: false,
            run: RunState::None,
            is_drawing: false,
            is_due: false,
        }
    }
}

impl<T: Clone + PartialEq> Follower<T> {
    /// Next step. Called once a frame, and whenever something has changed.
    pub fn next_action(&mut self, source: &T, activity: Activity, now_secs: f64) -> FollowAction {
        if activity == Activity::Drawing {
            self.is_drawing = true;
            return self.stop();
        }
        // A stroke has an end: its picture waits for no other change.
        self.is_due |= std::mem::take(&mut self.is_drawing);
        let remaining_secs = self.remaining_secs(source, now_secs);
        if self.last_source.as_ref() == Some(source) {
            self.is_due = false;
            return FollowAction::None;
        }
        if self.run == RunState::Running {
            return self.stop();
        }
        if self.run == RunState::Stopping || activity == Activity::NotReady {
            return FollowAction::None;
        }
        if let Some(secs) = remaining_secs.filter(|_| !self.is_due) {
            return FollowAction::Wait(secs);
        }
        self.is_due = false;
        (self.last_source, self.run) = (Some(source.clone()), RunState::Running);
        FollowAction::Begin
    }

    /// Seconds until a picture of the source may begin; `None` where it may now.
    fn remaining_secs(&mut self, source: &T, now_secs: f64) -> Option<f32> {
        let (was_waiting, mut is_change) = (self.changed.is_waiting(now_secs, SETTLE_SECS), false);
        let change = || {
            is_change = true;
            source.clone()
        };
        let remaining = self.changed.remaining_secs(|held| held == source, change, now_secs, SETTLE_SECS);
        if is_change {
            self.is_after_pause = !was_waiting;
        }
        remaining.filter(|_| !self.is_after_pause)
    }

    /// The run has ended, or could not be begun: it is made anew only after a change.
    pub fn ended(&mut self) {
        self.run = RunState::None;
    }

    /// True while a run is under way, also one that is being stopped.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.run != RunState::None
    }

    /// True where the picture of this is finished, and no run is under way.
    #[must_use]
    pub fn is_finished(&self, source: &T) -> bool {
        !self.is_running() && self.last_source.as_ref() == Some(source)
    }

    /// Makes the picture anew at once, although nothing has changed.
    pub fn make_again(&mut self) {
        (self.last_source, self.is_due) = (None, true);
    }

    /// Declares that the picture of this is there already.
    pub fn set_finished(&mut self, source: T) {
        self.last_source = Some(source);
    }

    fn stop(&mut self) -> FollowAction {
        if self.run != RunState::Running {
            return FollowAction::None;
        }
        (self.last_source, self.run) = (None, RunState::Stopping);
        FollowAction::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Activity::{Drawing, NotReady, Ready};
    use FollowAction::{Begin, None, Stop, Wait};

    /// A follower whose run of this is under way at second 1.
    fn running(source: u32) -> Follower<u32> {
        let mut follower = Follower::default();
        assert_eq!(follower.next_action(&source, Ready, 1.0), Begin);
        follower
    }

    #[test]
    fn a_change_after_a_pause_begins_at_once_and_quick_ones_begin_once_they_pause() {
        let mut follower = Follower::default();
        assert_eq!(follower.next_action(&1, Ready, 0.0), Begin);
        assert_eq!(follower.next_action(&2, Ready, 0.125), Stop, "another change");
        follower.ended();
        assert_eq!(follower.next_action(&2, Ready, 0.125), Wait(0.15));
        assert_eq!(follower.next_action(&3, Ready, 0.25), Wait(0.15), "and another");
        assert!(matches!(follower.next_action(&3, Ready, 0.375), Wait(_)));
        assert_eq!(follower.next_action(&3, Ready, 0.4), Begin);
        assert_eq!(follower.next_action(&3, Ready, 9.0), None, "it is being made");
        follower.ended();
        assert_eq!(follower.next_action(&3, Ready, 99.0), None, "it is made");
        assert_eq!(follower.next_action(&4, Ready, 99.5), Begin, "the first change after a pause");
    }

    #[test]
    fn the_newest_change_wins_and_one_run_is_under_way() {
        let mut follower = running(1);
        assert_eq!(follower.next_action(&2, Ready, 2.0), Stop);
        for (n, source) in (3..23).enumerate() {
            assert_eq!(follower.next_action(&source, Ready, 2.0 + n as f64), None, "the first one has not ended yet");
        }
        follower.ended();
        assert_eq!(follower.next_action(&22, Ready, 30.0), Begin);
        assert_eq!(follower.next_action(&22, Ready, 31.0), None);
    }

    #[test]
    fn what_is_changed_back_is_made_again_where_it_was_stopped() {
        let mut follower = running(1);
        assert_eq!(follower.next_action(&2, Ready, 2.0), Stop);
        follower.ended();
        assert!(matches!(follower.next_action(&1, Ready, 2.05), Wait(_)));
        assert_eq!(follower.next_action(&1, Ready, 2.25), Begin, "also where it is the old one again");
    }

    #[test]
    fn a_stroke_stops_and_its_end_begins() {
        let mut follower = running(1);
        assert_eq!(follower.next_action(&1, Drawing, 2.0), Stop);
        assert_eq!(follower.next_action(&2, Drawing, 2.5), None);
        follower.ended();
        assert_eq!(follower.next_action(&3, Drawing, 9.0), None, "not while it is drawn");
        assert_eq!(follower.next_action(&3, NotReady, 9.1), None, "the canvas is not looked through yet");
        assert_eq!(follower.next_action(&3, Ready, 9.11), Begin, "nothing more to wait for");
    }

    #[test]
    fn a_stroke_that_changed_nothing_makes_nothing() {
        let mut follower = running(1);
        follower.ended();
        assert_eq!(follower.next_action(&1, Drawing, 2.0), None);
        assert_eq!(follower.next_action(&1, Ready, 3.0), None);
        assert_eq!(follower.next_action(&2, Ready, 4.0), Begin, "the next change does");
    }

    #[test]
    fn a_run_that_failed_is_not_begun_again_by_itself() {
        let mut follower = running(1);
        follower.ended();
        assert_eq!(follower.next_action(&1, Ready, 50.0), None);
        follower.make_again();
        assert_eq!(follower.next_action(&1, Ready, 51.0), Begin, "a person asked for it");
    }

    #[test]
    fn what_cannot_be_made_stops_what_was() {
        let mut follower = running(1);
        assert_eq!(follower.next_action(&2, NotReady, 2.0), Stop);
        follower.ended();
        assert_eq!(follower.next_action(&2, NotReady, 3.0), None);
        assert_eq!(follower.next_action(&2, Ready, 3.1), Begin, "it has stood long enough");
    }

    #[test]
    fn an_accepted_picture_is_not_made_again() {
        let mut follower = running(1);
        assert!(!follower.is_finished(&1));
        follower.ended();
        assert!(follower.is_finished(&1) && !follower.is_finished(&2));
        follower.set_finished(2);
        assert_eq!(follower.next_action(&2, Ready, 2.0), None);
    }
}
