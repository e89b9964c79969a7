//! Who asks the server, for the person at the machine, who lets devices without a token in.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_gallery::queue::Owner;
use parking_lot::Mutex;

/// Time for which somebody counts as connected after a request.
const CONNECTED_FOR: Duration = Duration::from_mins(5);
/// Most that are told, and addresses that were answered.
const MAX_SEEN: usize = 100;
const MAX_ASKING: usize = 10;
const MAX_ANSWERED: usize = 1000;

/// Who is there, as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guests {
    /// Names of those who asked for something lately.
    pub connected: Vec<String>,
    /// Devices without a token that nobody has answered yet.
    pub asking: Vec<IpAddr>,
    /// Those that were let in.
    pub admitted: Vec<IpAddr>,
}

type Wake = dyn Fn() + Send + Sync;

/// Who asks the server.
#[derive(Default)]
pub(super) struct Visitors(Mutex<State>);

#[derive(Default)]
struct State {
    seen: BTreeMap<Owner, Instant>,
    asking: Vec<IpAddr>,
    admitted: BTreeSet<IpAddr>,
    turned_away: BTreeSet<IpAddr>,
    wake: Option<Arc<Wake>>,
}

impl Visitors {
    /// From now on `wake` is called when somebody comes, on any thread.
    pub(super) fn set_wake(&self, wake: Arc<Wake>) {
        self.0.lock().wake = Some(wake);
    }

    /// Somebody was let in.
    pub(super) fn note_seen(&self, owner: &Owner) {
        self.change(|state| {
            let is_new = state.seen.insert(owner.clone(), Instant::now()).is_none_or(|last| last.elapsed() >= CONNECTED_FOR);
            while state.seen.len() > MAX_SEEN {
                let oldest = state.seen.iter().min_by_key(|(_, at)| **at).map(|(owner, _)| owner.clone());
                oldest.and_then(|owner| state.seen.remove(&owner));
            }
            is_new
        });
    }

    /// A device came without a token.
    pub(super) fn note_asking(&self, address: IpAddr) {
        self.change(|state| {
            let is_new = !state.asking.contains(&address) && !state.turned_away.contains(&address) && state.asking.len() < MAX_ASKING;
            if is_new {
                state.asking.push(address);
            }
            is_new
        });
    }

    /// Lets a device in, or not, for as long as the server runs, or until it is answered otherwise.
    pub(super) fn answer(&self, address: IpAddr, is_welcome: bool) {
        self.change(|state| {
            state.asking.retain(|it| *it != address);
            let State { admitted, turned_away, .. } = state;
            let (answered, others) = if is_welcome { (admitted, turned_away) } else { (turned_away, admitted) };
            others.remove(&address);
            answered.len() < MAX_ANSWERED && answered.insert(address)
        });
    }

    pub(super) fn is_admitted(&self, address: IpAddr) -> bool {
        self.0.lock().admitted.contains(&address)
    }

    pub(super) fn guests(&self) -> Guests {
        let state = self.0.lock();
        let connected = state.seen.iter().filter(|(_, at)| at.elapsed() < CONNECTED_FOR);
        Guests {
            connected: connected.map(|(owner, _)| owner.name().to_owned()).collect(),
            asking: state.asking.clone(),
            admitted: state.admitted.iter().copied().collect(),
        }
    }

    /// Changes the state; true asks for a look.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.0.lock();
        let wake = if change(&mut state) { state.wake.clone() } else { None };
        drop(state);
        if let Some(wake) = wake {
            wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_device_asks_once_and_is_let_in_or_turned_away() {
        let (visitors, woken) = (Visitors::default(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&woken);
        visitors.set_wake(Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        for _ in 0..3 {
            visitors.note_asking(address(1));
        }
        assert_eq!((visitors.guests().asking, woken.load(Ordering::Relaxed)), (vec![address(1)], 1), "told once");
        visitors.answer(address(1), true);
        assert!(visitors.is_admitted(address(1)) && !visitors.is_admitted(address(2)) && visitors.guests().asking.is_empty());
        visitors.note_asking(address(2));
        visitors.answer(address(2), false);
        visitors.note_asking(address(2));
        assert!(visitors.guests().asking.is_empty() && !visitors.is_admitted(address(2)), "who was turned away does not ask again");
        assert_eq!(visitors.guests().admitted, [address(1)]);
        visitors.answer(address(1), false);
        assert!(!visitors.is_admitted(address(1)) && visitors.guests().admitted.is_empty(), "who was let in may be turned away later");
        visitors.answer(address(1), true);
        assert!(visitors.is_admitted(address(1)), "and let in again");
        for last in 10..60 {
            visitors.note_asking(address(last));
        }
        assert_eq!(visitors.guests().asking.len(), MAX_ASKING);
        visitors.note_seen(&Owner::named("Anna"));
        assert_eq!(visitors.guests().connected, ["Anna"]);
        for n in 0..MAX_SEEN {
            visitors.note_seen(&Owner::named(&format!("{n}")));
        }
        assert_eq!(visitors.guests().connected.len(), MAX_SEEN);
    }
}
