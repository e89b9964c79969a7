//! Who is let in, and who was there.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::sync::watch;

use super::guard::{Entry, Policy};
use super::register::{DeviceAnswer, Register, Welcome};
use super::tokens::Tokens;
use super::visitors::{Guests, Visitors};

/// What the guard of every request looks at, and writes to.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) policy: Arc<RwLock<Policy>>,
    pub(super) visitors: Arc<Visitors>,
    register: Arc<Register>,
    /// Heard by those whose answers last.
    changes: Arc<watch::Sender<()>>,
}

impl Gate {
    pub(super) fn new(policy: Policy, register: Register) -> Self {
        let changes = Arc::new(watch::Sender::new(()));
        Self { policy: Arc::new(RwLock::new(policy)), visitors: Arc::default(), register: Arc::new(register), changes }
    }

    /// Learns what was changed in the files since: tokens that were given out or taken back, devices that
    /// were let in or are no longer. Blocks.
    pub(super) fn refresh_now(&self) {
        if self.register.refresh(&self.policy) {
            self.visitors.wake();
            self.changes.send_replace(());
        }
    }

    /// The same, from the server's runtime, whose thread may not wait for a disk. Comes before somebody
    /// is judged by what the files say.
    pub(super) async fn refresh(&self) {
        let gate = self.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || gate.refresh_now()).await {
            tracing::error!("the register was not read: {error}");
        }
    }

    /// Keeps what is known of the files while answers last: nobody may ask meanwhile, and a token's time
    /// may be over. `pause`: time between two looks. Never ends.
    pub(super) async fn follow(self, pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            if self.changes.receiver_count() > 0 {
                self.refresh().await;
                self.changes.send_replace(());
            }
        }
    }

    /// What hears of everything after which somebody may come in no longer.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Who may come in from now on by a token.
    pub(super) fn set_tokens(&self, tokens: Tokens) {
        self.policy.write().tokens = tokens;
        self.changes.send_replace(());
    }

    /// True where the person at the machine has let a device in that comes to this address of this
    /// computer.
    pub(super) fn admits(&self, address: IpAddr, here: IpAddr) -> bool {
        !self.visitors.is_turned_away(address) && self.register.admits(address, here)
    }

    /// Who is there, and who was let in.
    pub(super) fn guests(&self) -> Guests {
        // Another process may have let one in.
        self.visitors.forget_asking(|address, here| self.register.admits(address, here));
        Guests { admitted: self.register.devices(), ..self.visitors.guests() }
    }

    /// Answers a device.
    pub(super) fn answer(&self, address: IpAddr, is_welcome: bool) -> DeviceAnswer {
        let welcome = match self.visitors.answer(address, is_welcome) {
            Some(asked) if is_welcome => Welcome::At(asked.here, asked.caller.program),
            None if is_welcome => Welcome::Answered,
            Some(_) | None => Welcome::TurnedAway,
        };
        let answer = DeviceAnswer::new(&self.register, address, welcome);
        self.changes.send_replace(());
        answer
    }

    /// Writes down what was not written yet, at the end. Blocks.
    pub(super) fn write_uses(&self) {
        self.register.write_uses();
    }

    /// Notes that somebody was let in by this. Called from the server's runtime.
    pub(super) fn note_use(&self, entry: &Entry) {
        if self.register.note_use(entry) {
            let register = Arc::clone(&self.register);
            drop(tokio::task::spawn_blocking(move || register.write_uses()));
        }
    }
}
