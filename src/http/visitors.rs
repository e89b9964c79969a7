//! Who asks the server in this run, for the person at the machine, who lets devices without a token
//! in. Those that were let in are in the [register](super::register).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_gallery::queue::Owner;
use parking_lot::Mutex;

/// Time for which somebody counts as connected after a request.
const CONNECTED_FOR: Duration = Duration::from_mins(5);
/// Most that are told, and addresses that were turned away.
const MAX_SEEN: usize = 100;
const MAX_ASKING: usize = 10;
const MAX_TURNED_AWAY: usize = 1000;

/// Who is there, as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guests {
    /// Names of those who asked for something lately.
    pub connected: Vec<String>,
    /// Devices without a token that nobody has answered yet.
    pub asking: Vec<Caller>,
    /// Those that were let in, also by an earlier start.
    pub admitted: Vec<Caller>,
}

/// A device without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub address: IpAddr,
    /// What the program called itself that asked; a stranger's word, short and in one line.
    pub program: Option<String>,
}

/// A device that asks.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) caller: Caller,
    /// The address of this computer that it asked.
    pub(super) here: IpAddr,
}

type Wake = dyn Fn() + Send + Sync;

/// Who asks the server.
#[derive(Default)]
pub(super) struct Visitors(Mutex<State>);

#[derive(Default)]
struct State {
    seen: BTreeMap<Owner, Instant>,
    asking: Vec<Asking>,
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

    /// A device came without a token. `here`: the address of this computer that it asked.
    pub(super) fn note_asking(&self, caller: Caller, here: IpAddr) {
        self.change(|state| {
            let address = caller.address;
            let is_known = state.turned_away.contains(&address) || state.asking.iter().any(|it| it.caller.address == address);
            let is_new = !is_known && state.asking.len() < MAX_ASKING;
            if is_new {
                state.asking.push(Asking { caller, here });
            }
            is_new
        });
    }

    /// A device is answered: one that is turned away does not ask again in this run. Returns what it
    /// asked, where it did.
    pub(super) fn answer(&self, address: IpAddr, is_welcome: bool) -> Option<Asking> {
        let mut asked = None;
        self.change(|state| {
            let place = state.asking.iter().position(|it| it.caller.address == address);
            asked = place.map(|place| state.asking.remove(place));
            if is_welcome {
                state.turned_away.remove(&address);
            } else if state.turned_away.len() < MAX_TURNED_AWAY {
                state.turned_away.insert(address);
            }
            true
        });
        asked
    }

    /// Those of which this is true ask no longer.
    pub(super) fn forget_asking(&self, is_answered: impl Fn(IpAddr, IpAddr) -> bool) {
        self.0.lock().asking.retain(|it| !is_answered(it.caller.address, it.here));
    }

    pub(super) fn is_turned_away(&self, address: IpAddr) -> bool {
        self.0.lock().turned_away.contains(&address)
    }

    /// Who is there; those that were let in are not known here.
    pub(super) fn guests(&self) -> Guests {
        let state = self.0.lock();
        let connected = state.seen.iter().filter(|(_, at)| at.elapsed() < CONNECTED_FOR);
        Guests {
            connected: connected.map(|(owner, _)| owner.name().to_owned()).collect(),
            asking: state.asking.iter().map(|it| it.caller.clone()).collect(),
            admitted: Vec::new(),
        }
    }

    /// Changes the state; true asks for a look.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let asks = change(&mut self.0.lock());
        if asks {
            self.wake();
        }
    }

    /// Asks for a look.
    pub(super) fn wake(&self) {
        let wake = self.0.lock().wake.clone();
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
        let here = address(100);
        let caller = |last: u8| Caller { address: address(last), program: Some(format!("Program/{last}")) };
        for _ in 0..3 {
            visitors.note_asking(caller(1), here);
        }
        assert_eq!((visitors.guests().asking, woken.load(Ordering::Relaxed)), (vec![caller(1)], 1), "told once");
        visitors.note_asking(Caller { program: None, ..caller(1) }, here);
        assert_eq!(visitors.guests().asking, [caller(1)], "as it came first");
        let answered = |last: u8, is_welcome: bool| visitors.answer(address(last), is_welcome).map(|it| (it.caller, it.here));
        assert_eq!(answered(1, true), Some((caller(1), here)));
        assert!(!visitors.is_turned_away(address(1)) && visitors.guests().asking.is_empty());
        visitors.note_asking(caller(2), here);
        assert_eq!(answered(2, false), Some((caller(2), here)));
        visitors.note_asking(caller(2), here);
        assert!(visitors.guests().asking.is_empty() && visitors.is_turned_away(address(2)), "who was turned away does not ask again");
        assert_eq!(answered(1, false), None);
        assert!(visitors.is_turned_away(address(1)), "who was let in may be turned away later");
        for last in 10..60 {
            visitors.note_asking(caller(last), here);
        }
        visitors.forget_asking(|address, asked| address == IpAddr::from([10, 0, 0, 10]) && asked == here);
        assert_eq!(visitors.guests().asking.len(), MAX_ASKING - 1, "one was let in elsewhere");
        visitors.note_asking(caller(10), here);
        assert_eq!(visitors.guests().asking.len(), MAX_ASKING);
        visitors.note_seen(&Owner::named("Anna"));
        assert_eq!(visitors.guests().connected, ["Anna"]);
        for n in 0..MAX_SEEN {
            visitors.note_seen(&Owner::named(&format!("{n}")));
        }
        assert_eq!(visitors.guests().connected.len(), MAX_SEEN);
    }
}
