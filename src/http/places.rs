//! Places that are taken for a while: so many of one and of all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Places, by who has them.
pub(crate) struct Places<K>(Mutex<HashMap<K, usize>>);

/// Some of them, until it is dropped.
pub(crate) struct Place<K: Eq + Hash> {
    places: Arc<Places<K>>,
    taker: K,
    count: usize,
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Places<K> {
    /// A place, where `has_room` says so of how many this taker has, and how many all have.
    pub(super) fn take(self: &Arc<Self>, taker: &K, has_room: impl FnOnce(usize, usize) -> bool) -> Option<Place<K>> {
        let mut place = self.none(taker);
        place.grow(1, has_room).then_some(place)
    }

    /// No place yet.
    pub(super) fn none(self: &Arc<Self>, taker: &K) -> Place<K> {
        Place { places: Arc::clone(self), taker: taker.clone(), count: 0 }
    }

    /// True where nobody has any.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl<K: Clone + Eq + Hash> Place<K> {
    /// Takes so many more, where `has_room` says so of how many this taker has, and how many all have.
    pub(super) fn grow(&mut self, count: usize, has_room: impl FnOnce(usize, usize) -> bool) -> bool {
        let mut taken = self.places.0.lock();
        let own = taken.get(&self.taker).copied().unwrap_or_default();
        if !has_room(own, taken.values().sum()) {
            return false;
        }
        taken.insert(self.taker.clone(), own + count);
        self.count += count;
        true
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock();
        if let Some(count) = taken.get_mut(&self.taker) {
            *count -= self.count;
            if *count == 0 {
                taken.remove(&self.taker);
            }
        }
    }
}
