//! Who waits for a job: as long as somebody does, it is made.

use tokio::sync::watch;

use super::view::JobView;

/// Somebody who waits for a job. Dropped before the job is over, the job is cancelled: its client
/// has closed the connection.
pub(crate) struct Waiter {
    view: watch::Receiver<JobView>,
    /// Cancels it; `None` once it is left alone.
    cancel: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Waiter {
    pub(super) const fn new(view: watch::Receiver<JobView>, cancel: Box<dyn FnOnce() + Send + Sync>) -> Self {
        Self { view, cancel: Some(cancel) }
    }

    /// The job as it is now.
    pub(crate) fn view(&self) -> JobView {
        self.view.borrow().clone()
    }

    /// Waits until it is over.
    pub(crate) async fn end(&mut self) -> JobView {
        // The sender lives as long as the job is not over.
        let is_over = self.view.wait_for(JobView::is_over).await.is_ok();
        debug_assert!(is_over, "a job that is waited for is not forgotten");
        self.view()
    }

    /// Waits until something about it has changed; false where nothing will any more.
    pub(crate) async fn change(&mut self) -> bool {
        self.view.changed().await.is_ok()
    }

    /// Lets the job be made although nobody waits.
    pub(crate) fn leave_alone(mut self) -> JobView {
        self.cancel = None;
        self.view()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let is_over = self.view.borrow().is_over();
        if let Some(cancel) = self.cancel.take().filter(|_| !is_over) {
            cancel();
        }
    }
}
