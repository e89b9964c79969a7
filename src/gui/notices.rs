//! Short lines that go away by themselves.

/// Seconds that a notice is shown.
const NOTICE_SECS: f64 = 5.0;
/// Seconds that an offer stays after the pointer has left it.
const LEFT_SECS: f64 = 1.0;

/// Short lines that go away by themselves; the newest is shown.
#[derive(Debug, Default)]
pub struct Notices(Option<Notice>);

impl Notices {
    /// The line that is shown.
    #[must_use]
    pub fn shown(&self) -> Option<&Notice> {
        self.0.as_ref()
    }

    pub(crate) fn show(&mut self, now_secs: f64, text: impl Into<String>, offer: Option<Offer>) {
        self.0 = Some(Notice { text: text.into(), until_secs: now_secs + NOTICE_SECS, offer });
    }

    /// Removes the line: what it spoke of is out of sight.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// Removes a line whose time is over; else the seconds until it is. An offer that is pointed at
    /// stays.
    pub(crate) fn expire(&mut self, now_secs: f64, is_pointed_at: bool) -> Option<f64> {
        if let Some(notice) = self.0.as_mut().filter(|notice| is_pointed_at && notice.offer.is_some()) {
            notice.until_secs = notice.until_secs.max(now_secs + LEFT_SECS);
        }
        let left = self.0.as_ref()?.until_secs - now_secs;
        if left <= 0.0 {
            self.0 = None;
            return None;
        }
        Some(left)
    }
}

/// A short line that goes away by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub text: String,
    /// When it goes away, in seconds of `egui`'s clock.
    pub until_secs: f64,
    /// What can be done about it.
    pub offer: Option<Offer>,
}

/// Something that can be done about what a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Cancel the job that was added last.
    CancelNewestJob,
}
