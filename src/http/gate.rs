//! Who is let in, and who was there.

use std::sync::Arc;

use parking_lot::RwLock;

use super::guard::Policy;
use super::visitors::Visitors;

/// What the guard of every request looks at, and writes to.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) policy: Arc<RwLock<Policy>>,
    pub(super) visitors: Arc<Visitors>,
}
