//! Rights that a process which lends gives up before its first borrower.
//!
//! What a borrower sends is checked (`vendor/ggml-sys/shim/borrowed_graph.h`), but drivers and ggml
//! compute it, and each of them may have a fault that somebody finds. So the process keeps only
//! what it needs: the folder of weights, the devices, the connections that it is given. Linux alone
//! has what that takes for a program without privileges: Landlock for files, connections and
//! signals, seccomp for system calls.

use std::path::Path;

#[cfg(target_os = "linux")]
mod linux;

/// What somebody who has taken over the process that lends can still do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Use the devices and the folder of weights, and nothing else.
    Strict,
    /// That, and what graphics drivers need: read system folders, write their caches, `/dev` and
    /// `/tmp`.
    Drivers,
    /// Everything that this account can do, for this reason.
    None(String),
}

/// A lender that gives up its rights in two steps, because devices are opened between them.
pub(super) struct Confining<'a> {
    cache: Option<&'a Path>,
    begun: Result<(), String>,
}

impl<'a> Confining<'a> {
    /// The first step, before devices are opened and their drivers start threads of their own:
    /// those get the same rights.
    pub(super) fn begin(cache: Option<&'a Path>) -> Self {
        Self { cache, begun: begin(cache) }
    }

    /// The last step, once the address is listened at.
    pub(super) fn finish(self, has_drivers: bool) -> Confinement {
        let finished = finish(self.cache, has_drivers);
        match self.begun.and(finished) {
            Ok(()) if has_drivers => Confinement::Drivers,
            Ok(()) => Confinement::Strict,
            Err(reason) => Confinement::None(reason),
        }
    }
}

#[cfg(target_os = "linux")]
use linux::{begin, finish};

#[cfg(not(target_os = "linux"))]
fn begin(_: Option<&Path>) -> Result<(), String> {
    Err("this system has no sandbox that Atelier supports".into())
}

#[cfg(not(target_os = "linux"))]
fn finish(_: Option<&Path>, _: bool) -> Result<(), String> {
    begin(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
