//! Events of the queue for its own reader and for every other that subscribed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use atelier_core::mailbox::Mailbox;
use parking_lot::Mutex;

use super::message::{QueueEvent, QueueSnapshot};

/// Sends each event to every reader.
pub(super) struct Publisher {
    own: Mailbox<QueueEvent>,
    subscribers: Mutex<Subscribers>,
}

#[derive(Default)]
struct Subscribers {
    mailboxes: Vec<Weak<Mailbox<QueueEvent>>>,
    /// What a new reader begins with.
    snapshot: Option<Arc<QueueSnapshot>>,
}

impl Publisher {
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { own: Mailbox::new(wake), subscribers: Mutex::default() }
    }

    /// A mailbox that gets every event from now on, the last snapshot first.
    pub(super) fn subscribe(&self) -> Arc<Mailbox<QueueEvent>> {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        let mut subscribers = self.subscribers.lock();
        if let Some(snapshot) = &subscribers.snapshot {
            mailbox.send(QueueEvent::Snapshot(Arc::clone(snapshot)));
        }
        subscribers.mailboxes.push(Arc::downgrade(&mailbox));
        mailbox
    }

    pub(super) fn has_subscribers(&self) -> bool {
        self.subscribers.lock().mailboxes.iter().any(|mailbox| mailbox.strong_count() > 0)
    }

    pub(super) fn send(&self, event: QueueEvent) {
        self.send_to_subscribers(&event, |_| false);
        self.own.send(event);
    }

    /// A snapshot takes the place of the unread one.
    pub(super) fn send_snapshot(&self, snapshot: Arc<QueueSnapshot>) {
        let is_snapshot = |unread: &QueueEvent| matches!(unread, QueueEvent::Snapshot(_));
        self.subscribers.lock().snapshot = Some(Arc::clone(&snapshot));
        let event = QueueEvent::Snapshot(snapshot);
        self.send_to_subscribers(&event, is_snapshot);
        self.own.send_replacing(event, is_snapshot);
    }

    /// Sends an event to those that subscribed alone, in place of the unread ones that it outdates.
    pub(super) fn send_to_subscribers(&self, event: &QueueEvent, is_outdated: impl Fn(&QueueEvent) -> bool) {
        self.subscribers.lock().mailboxes.retain(|mailbox| {
            let Some(mailbox) = mailbox.upgrade() else { return false };
            mailbox.send_replacing(event.clone(), &is_outdated);
            true
        });
    }

    pub(super) fn try_next(&self) -> Option<QueueEvent> {
        self.own.try_next()
    }

    pub(super) fn next_within(&self, limit: Duration) -> Option<QueueEvent> {
        self.own.next_within(limit)
    }
}
