//! Messages from any thread to one reader.
//!
//! Sending never blocks and never fails. A message may take the place of unread ones that it makes
//! worthless (progress, previews, snapshots); everything else is read in order and never dropped.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// A queue of messages with one reader, which is woken by a callback or waits.
pub struct Mailbox<M> {
    messages: Mutex<VecDeque<M>>,
    arrived: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl<M> Mailbox<M> {
    /// An empty mailbox. `wake` is called after each message, on the thread that sent it.
    #[must_use]
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { messages: Mutex::default(), arrived: Condvar::new(), wake: Box::new(wake) }
    }

    /// Appends a message.
    pub fn send(&self, message: M) {
        self.send_replacing(message, |_| false);
    }

    /// Appends a message and drops the unread ones for which `is_outdated` is true.
    pub fn send_replacing(&self, message: M, is_outdated: impl Fn(&M) -> bool) {
        {
            let mut messages = self.messages.lock();
            messages.retain(|unread| !is_outdated(unread));
            messages.push_back(message);
        }
        self.arrived.notify_all();
        (self.wake)();
    }

    /// Appends a message; of the unread ones for which `is_bounded` is true only the newest `limit`
    /// stay, this one included.
    pub fn send_bounded(&self, message: M, limit: usize, is_bounded: impl Fn(&M) -> bool) {
        {
            let mut messages = self.messages.lock();
            let unread = messages.iter().filter(|unread| is_bounded(unread)).count();
            if unread >= limit
                && let Some(oldest) = messages.iter().position(&is_bounded)
            {
                messages.remove(oldest);
            }
            messages.push_back(message);
        }
        self.arrived.notify_all();
        (self.wake)();
    }

    /// Changes the unread messages in one step, for a rule that the other methods lack. The reader
    /// is woken where `change` returns true; it finds the messages the next time it is woken or
    /// looks.
    pub fn update(&self, change: impl FnOnce(&mut VecDeque<M>) -> bool) {
        let is_urgent = change(&mut self.messages.lock());
        if is_urgent {
            self.arrived.notify_all();
            (self.wake)();
        }
    }

    /// True where `holds` is, for every unread message.
    pub fn all(&self, holds: impl FnMut(&M) -> bool) -> bool {
        self.messages.lock().iter().all(holds)
    }

    /// The oldest unread message, as soon as there is one.
    pub fn wait(&self) -> M {
        let mut messages = self.messages.lock();
        loop {
            if let Some(message) = messages.pop_front() {
                return message;
            }
            self.arrived.wait(&mut messages);
        }
    }

    /// The oldest unread message.
    pub fn try_next(&self) -> Option<M> {
        self.messages.lock().pop_front()
    }

    /// The oldest unread message; `None` where none comes within `limit`.
    pub fn next_within(&self, limit: Duration) -> Option<M> {
        let deadline = Instant::now() + limit;
        let mut messages = self.messages.lock();
        loop {
            if let Some(message) = messages.pop_front() {
                return Some(message);
            }
            if self.arrived.wait_until(&mut messages, deadline).timed_out() {
                return messages.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn drain(mailbox: &Mailbox<(char, u32)>) -> Vec<(char, u32)> {
        std::iter::from_fn(|| mailbox.try_next()).collect()
    }

    #[test]
    fn messages_come_in_order_and_each_wakes_once() {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let mailbox = Mailbox::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        for n in 0..3 {
            mailbox.send(('a', n));
        }
        assert_eq!(drain(&mailbox), [('a', 0), ('a', 1), ('a', 2)]);
        assert_eq!(woken.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_newer_message_takes_the_place_of_outdated_ones_only() {
        let mailbox = Mailbox::new(|| {});
        mailbox.send(('p', 1));
        mailbox.send(('e', 1));
        mailbox.send_replacing(('p', 2), |it| it.0 == 'p');
        assert_eq!(drain(&mailbox), [('e', 1), ('p', 2)]);
    }

    #[test]
    fn bounded_messages_lose_their_oldest() {
        let mailbox = Mailbox::new(|| {});
        mailbox.send(('e', 0));
        for n in 0..4 {
            mailbox.send_bounded(('l', n), 2, |it| it.0 == 'l');
        }
        assert_eq!(drain(&mailbox), [('e', 0), ('l', 2), ('l', 3)]);
    }

    #[test]
    fn a_rule_of_its_own_may_let_the_reader_sleep() {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let mailbox = Mailbox::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        for (message, is_urgent) in [(('a', 1), false), (('b', 2), true)] {
            mailbox.update(|unread| {
                unread.push_front(message);
                is_urgent
            });
        }
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert!(mailbox.all(|(_, n)| *n > 0) && !mailbox.all(|(letter, _)| *letter == 'a'));
        assert_eq!((mailbox.wait(), mailbox.wait()), (('b', 2), ('a', 1)));
    }

    #[test]
    fn a_reader_that_waits_is_woken_by_a_message_and_not_by_time() {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        assert_eq!(mailbox.next_within(Duration::ZERO), None);
        let sender = Arc::clone(&mailbox);
        let thread = thread::spawn(move || sender.send(('a', 1)));
        assert_eq!(mailbox.next_within(Duration::from_mins(1)), Some(('a', 1)));
        thread.join().unwrap();
    }
}
