//! Messages of the system about jobs that ended while the person was elsewhere.

use super::queue::EndedJob;
use atelier_gallery::queue::JobState;
use atelier_language::tr;

/// A message of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesktopNotification {
    /// Its first line.
    pub title: String,
    /// What it is about.
    pub body: String,
}

impl DesktopNotification {
    /// The message about a job that ended.
    #[must_use]
    pub fn of_job(job: &EndedJob) -> Self {
        let title = match (job.state, job.pictures) {
            (JobState::Failed | JobState::Held, _) => tr!("studio-a-picture-failed").to_owned(),
            (_, 1) if job.is_last => tr!("studio-your-picture-is-ready").to_owned(),
            (_, pictures) if job.is_last => tr!("studio-pictures-are-ready-the", pictures),
            (_, 1) => tr!("studio-a-picture-is-ready").to_owned(),
            (_, pictures) => tr!("studio-pictures-are-ready", pictures),
        };
        let body = job.reason.clone().unwrap_or_else(|| job.prompt.clone());
        Self { title, body }
    }

    /// Shows it, where the system shows such messages; a failure is logged. Blocks.
    #[cfg(all(unix, not(target_os = "macos")))]
    pub fn show(self) {
        let shown =
            notify_rust::Notification::new().appname("Atelier").icon("atelier").summary(&self.title).body(&escaped(&self.body)).show();
        if let Err(error) = shown {
            tracing::info!("the system shows no notifications: {error}");
        }
    }

    /// Shows nothing: on this system the window asks for attention by itself.
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    pub fn show(self) {
        tracing::info!("{}", self.title);
    }
}

/// Text without markup, which some systems read in the body of a message.
#[cfg(all(unix, not(target_os = "macos")))]
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_gallery::queue::{Owner, QueuedJobId};

    #[test]
    fn the_message_says_what_is_ready_and_of_which_words() {
        let job = EndedJob {
            job: QueuedJobId(1),
            state: JobState::Done,
            prompt: "a <lora:ink:1> lake".into(),
            pictures: 1,
            secs: 90.0,
            is_last: true,
            owner: Owner::person(),
            reason: None,
        };
        let title = |job: EndedJob| DesktopNotification::of_job(&job).title;
        assert_eq!(title(job.clone()), "Your picture is ready");
        assert_eq!(title(EndedJob { pictures: 4, is_last: false, ..job.clone() }), "4 pictures are ready");
        let failed = DesktopNotification::of_job(&EndedJob { state: JobState::Failed, reason: Some("No memory.".into()), ..job });
        assert_eq!((failed.title.as_str(), failed.body.as_str()), ("A picture failed", "No memory."));
        #[cfg(all(unix, not(target_os = "macos")))]
        assert_eq!(escaped("a <b> & c"), "a &lt;b&gt; &amp; c");
    }
}
