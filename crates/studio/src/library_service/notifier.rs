//! Notification from another thread of which at most one is pending.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Sends a message to the library thread, and no further one until that was acknowledged.
pub(super) struct CoalescedNotifier<M> {
    is_pending: Arc<AtomicBool>,
    messages: Sender<M>,
    message: fn() -> M,
}

impl<M> CoalescedNotifier<M> {
    pub(super) fn new(messages: &Sender<M>, message: fn() -> M) -> Self {
        Self { is_pending: Arc::default(), messages: messages.clone(), message }
    }

    /// Called on any thread.
    pub(super) fn notify(&self) {
        if !self.is_pending.swap(true, Ordering::SeqCst) {
            // A thread that has ended needs no message.
            let _ = self.messages.send((self.message)());
        }
    }

    /// Called by the reader before it looks at what changed: a change from here on sends a message
    /// again.
    pub(super) fn acknowledge(&self) {
        self.is_pending.store(false, Ordering::SeqCst);
    }
}

impl<M> Clone for CoalescedNotifier<M> {
    fn clone(&self) -> Self {
        Self { is_pending: Arc::clone(&self.is_pending), messages: self.messages.clone(), message: self.message }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn one_message_is_pending_until_it_is_acknowledged() {
        let (messages, received) = channel();
        let notifier = CoalescedNotifier::new(&messages, || 7);
        let other = notifier.clone();
        notifier.notify();
        other.notify();
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [7]);
        notifier.acknowledge();
        other.notify();
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [7]);
    }
}
