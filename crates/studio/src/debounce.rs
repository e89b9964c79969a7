//! Debounce for values that are edited per keystroke. Pure: the time is an argument.

/// Holds a value back until it has not changed for some time.
#[derive(Debug)]
pub struct Debounce<T>(Option<(T, f64)>);

impl<T> Default for Debounce<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Debounce<T> {
    /// Seconds until the value is unchanged for `secs`; `None` when it is. `is_same` compares with
    /// the held value; if they differ, `value` makes the one to hold and the time begins anew.
    pub fn remaining_secs(&mut self, is_same: impl Fn(&T) -> bool, value: impl FnOnce() -> T, now_secs: f64, secs: f64) -> Option<f32> {
        let since = match &self.0 {
            Some((held, since)) if is_same(held) => *since,
            _ => {
                self.0 = Some((value(), now_secs));
                now_secs
            }
        };
        remaining_secs(since, now_secs, secs)
    }

    /// True where a value is held that was not yet unchanged for `secs`.
    #[must_use]
    pub fn is_waiting(&self, now_secs: f64, secs: f64) -> bool {
        self.0.as_ref().is_some_and(|(_, since)| remaining_secs(*since, now_secs, secs).is_some())
    }

    /// Drops the held value: it is back at the old one, or has been used.
    pub fn reset(&mut self) {
        self.0 = None;
    }
}

fn remaining_secs(since_secs: f64, now_secs: f64, secs: f64) -> Option<f32> {
    let remaining = since_secs + secs - now_secs;
    // A remainder of rounding is no time.
    (remaining > 1e-6).then_some(remaining as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_begins_the_wait_anew() {
        let mut debounce = Debounce::default();
        let mut remaining = |it: u32, now: f64| debounce.remaining_secs(|before| *before == it, || it, now, 0.5);
        assert_eq!((remaining(1, 0.0), remaining(1, 0.25), remaining(2, 0.4), remaining(2, 0.9)), (Some(0.5), Some(0.25), Some(0.5), None));
    }
}
