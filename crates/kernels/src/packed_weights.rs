//! Packed weights that stay in memory from one operation to the next.
//!
//! Each step of a picture packs the weights that the step before packed. Where products are as quick
//! as AMX's, that takes about as long as the products do. So packed blocks can be kept: of weights
//! that lie in memory whose owner says that they do not change ([`keep`]), until it says that they
//! may ([`forget`]), and as many of them as its limit allows. What is kept are the very bytes that
//! would be packed again, so no result depends on it.

use std::collections::HashMap;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::rows::{Rows, Values};
use crate::scratch::Buffer;
use crate::table::Kernels;

static STORE: LazyLock<RwLock<Store>> = LazyLock::new(RwLock::default);
/// There is memory of which blocks are kept: without, nobody asks for the lock.
static IS_IN_USE: AtomicBool = AtomicBool::new(false);

/// What one block of packed weights is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Address of the functions that packed it.
    pub(crate) kernels: usize,
    pub(crate) weights: Stored,
    pub(crate) form: Form,
    /// Rows of the weights.
    pub(crate) rows: Range<usize>,
    /// Values of all of a row that are used, and of a block.
    pub(crate) depth: [usize; 2],
}

/// Where weights lie, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    address: usize,
    /// Bytes from one row to the next.
    stride: usize,
    /// Bits of a value; of blocks, their bytes, and their function's address.
    values: [usize; 2],
}

impl Stored {
    pub(crate) fn of(rows: &Rows) -> Self {
        let values = match rows.values {
            Values::F32 => [32, 0],
            Values::F16 => [16, 0],
            Values::Bf16 => [16, 1],
            Values::Blocks { bytes, unpack, .. } => [bytes, unpack as usize],
        };
        Self { address: rows.data.addr(), stride: rows.stride, values }
    }
}

/// How weights are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// As the right factor: in panels.
    Panels,
    /// As the left factor: row by row.
    Rows,
    /// As the left factor, two channels in a word: windows of so many values, of so many channels.
    PairedRows { window: usize, channels: usize },
}

#[derive(Default)]
struct Store {
    regions: Vec<Region>,
    accounts: HashMap<usize, Account>,
    slots: HashMap<Key, Slot>,
    next_slot: u64,
}

/// Memory whose weights do not change.
struct Region {
    addresses: Range<usize>,
    owner: usize,
}

/// Bytes that an owner's blocks may take, and take.
#[derive(Clone, Copy)]
struct Account {
    limit: usize,
    used: usize,
}

struct Slot {
    number: u64,
    owner: usize,
    bytes: usize,
    /// `None` while a thread packs it.
    block: Option<Arc<Buffer>>,
}

/// Keeps packed blocks of the weights in this memory from now on, which must not change until
/// [`forget`]: `limit` bytes at most of all memory of the same `owner`, a number of the caller's.
pub fn keep(start: *const u8, bytes: usize, owner: usize, limit: usize) {
    let addresses = start.addr()..start.addr().saturating_add(bytes);
    let mut store = write();
    store.accounts.entry(owner).or_insert(Account { limit, used: 0 }).limit = limit;
    if !store.regions.iter().any(|region| region.addresses == addresses) {
        store.regions.push(Region { addresses, owner });
    }
    IS_IN_USE.store(true, Ordering::Release);
}

/// The weights in this memory may change, or the memory is freed: nothing of them is kept any more.
/// Not while an operation reads them.
pub fn forget(start: *const u8, bytes: usize) {
    if !IS_IN_USE.load(Ordering::Acquire) {
        return;
    }
    let addresses = start.addr()..start.addr().saturating_add(bytes);
    let mut store = write();
    let overlaps = |other: &Range<usize>| other.start < addresses.end && addresses.start < other.end;
    let (gone, left): (Vec<_>, Vec<_>) = mem::take(&mut store.regions).into_iter().partition(|region| overlaps(&region.addresses));
    store.regions = left;
    let is_gone = |key: &Key| gone.iter().any(|region| region.addresses.contains(&key.weights.address));
    let freed: Vec<Slot> = store.slots.extract_if(|key, _| is_gone(key)).map(|(_, slot)| slot).collect();
    for slot in &freed {
        store.pay_back(slot);
    }
    let owners: Vec<usize> = store.regions.iter().map(|region| region.owner).collect();
    store.accounts.retain(|owner, _| owners.contains(owner));
    IS_IN_USE.store(!store.regions.is_empty(), Ordering::Release);
    drop(store);
    // Gigabytes are freed without the lock.
    drop(freed);
}

/// Bytes of all packed blocks that are kept.
#[must_use]
pub fn total_bytes() -> usize {
    if IS_IN_USE.load(Ordering::Acquire) { read().accounts.values().map(|account| account.used).sum() } else { 0 }
}

/// A packed block of weights.
pub(crate) enum Block {
    /// It is kept nowhere.
    Scratch,
    /// It is packed.
    Kept(Arc<Buffer>),
    /// It is to be packed, by this thread.
    New(NewBlock),
}

impl Block {
    /// The block of so many words with this key: kept, or a new one where its memory and its owner's
    /// limit allow it.
    pub(crate) fn find(words: usize, key: Key) -> Self {
        if words == 0 || !IS_IN_USE.load(Ordering::Acquire) {
            return Self::Scratch;
        }
        let bytes = 4 * words;
        {
            let store = read();
            let Some(owner) = store.owner_of(&key) else { return Self::Scratch };
            match store.slots.get(&key) {
                Some(Slot { block: Some(block), .. }) => return Self::Kept(Arc::clone(block)),
                Some(Slot { block: None, .. }) => return Self::Scratch,
                None if !store.has_room(owner, bytes) => return Self::Scratch,
                None => {}
            }
        }
        let Some(buffer) = Buffer::allocate(bytes) else { return Self::Scratch };
        let mut store = write();
        // Another thread may have been quicker.
        match store.owner_of(&key).filter(|owner| store.has_room(*owner, bytes) && !store.slots.contains_key(&key)) {
            Some(owner) => {
                let number = store.next_slot;
                store.next_slot += 1;
                if let Some(account) = store.accounts.get_mut(&owner) {
                    account.used += bytes;
                }
                store.slots.insert(key.clone(), Slot { number, owner, bytes, block: None });
                Self::New(NewBlock { key, number, buffer: Some(buffer) })
            }
            None => Self::Scratch,
        }
    }

    /// Its words, aligned to a cache line; `None` of what is kept nowhere.
    pub(crate) fn words(&self) -> Option<*mut u32> {
        match self {
            Self::Scratch => None,
            Self::Kept(buffer) => Some(buffer.words()),
            Self::New(block) => block.buffer.as_ref().map(Buffer::words),
        }
    }

    /// The words are written.
    pub(crate) fn finish(self) {
        if let Self::New(mut block) = self
            && let Some(buffer) = block.buffer.take()
            && let Some(slot) = write().slots.get_mut(&block.key).filter(|slot| slot.number == block.number)
        {
            slot.block = Some(Arc::new(buffer));
        }
    }
}

/// A block that a thread packs: dropped before it is finished, it is not kept.
pub(crate) struct NewBlock {
    key: Key,
    number: u64,
    /// `None` once it is finished.
    buffer: Option<Buffer>,
}

impl Drop for NewBlock {
    fn drop(&mut self) {
        if self.buffer.is_none() {
            return;
        }
        let mut store = write();
        if store.slots.get(&self.key).is_some_and(|slot| slot.number == self.number)
            && let Some(slot) = store.slots.remove(&self.key)
        {
            store.pay_back(&slot);
        }
    }
}

impl Store {
    fn owner_of(&self, key: &Key) -> Option<usize> {
        self.regions.iter().find(|region| region.addresses.contains(&key.weights.address)).map(|region| region.owner)
    }

    fn has_room(&self, owner: usize, bytes: usize) -> bool {
        self.accounts.get(&owner).is_some_and(|account| account.used.saturating_add(bytes) <= account.limit)
    }

    fn pay_back(&mut self, slot: &Slot) {
        if let Some(account) = self.accounts.get_mut(&slot.owner) {
            account.used -= slot.bytes;
        }
    }
}

fn read() -> RwLockReadGuard<'static, Store> {
    STORE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Store> {
    STORE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Where the functions of a level lie.
pub(crate) fn address_of(kernels: &Kernels) -> usize {
    std::ptr::from_ref(kernels).addr()
}
