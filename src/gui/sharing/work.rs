//! Starting the server, and tokens. Everything here blocks.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_gallery::queue::Owner;
use atelier_language::tr;
use atelier_library::Builtin;
use atelier_peers::{Announcement, Network};
use atelier_studio::queue::QueueClient;

use crate::gui::sharing::state::{Running, Usage};
use crate::http::{Access, CannotServe, DiskQuota, Guests, Prepared, Retention, Server, ServerOptions, Tokens, lan_address, used_bytes};

/// What a server begins with.
pub(super) struct Parts {
    pub(super) access: Access,
    pub(super) quota: DiskQuota,
    pub(super) retention: Retention,
    /// The name under which it is announced.
    pub(super) announced_as: Option<String>,
    pub(super) paths: Paths,
    pub(super) builtin: Option<Arc<Builtin>>,
    pub(super) queue: QueueClient,
    pub(super) engine: Arc<Handle>,
}

/// Starts a server.
pub(super) fn start(parts: Parts) -> Result<Running, CannotServe> {
    let Parts { access, quota, retention, announced_as, paths, builtin, queue, engine } = parts;
    let Prepared { listeners, policy, .. } = access.prepare(&paths)?;
    // Also those of earlier starts, whose links are still good.
    let people = policy.tokens.people();
    let addresses: Vec<SocketAddr> = listeners.iter().filter_map(|it| it.local_addr().ok()).collect();
    let options = ServerOptions {
        paths,
        models_root: None,
        catalogues: Vec::new(),
        builtin: builtin.map(Arc::unwrap_or_clone),
        default_model: None,
        threads: None,
        policy,
        quota,
        retention,
        takes_any_guidance: false,
    };
    let failed = |error: std::io::Error| CannotServe::Failed(tr!("sharing-the-server-could-not", error));
    let server = Server::start(listeners, options, queue, engine).map_err(failed)?;
    let lan = if access.allow_network { lan_address() } else { None };
    // Other computers always need a token.
    let announce =
        |name: String| Announcement::start(&name, &addresses, true, server.id(), Network::Local).map_err(|error| error.to_string());
    let announced = announced_as.map(announce);
    Ok(Running { announced, server, lan, people, guests: Guests::default(), usage: Usage::default() })
}

/// Bytes of the disk that the pictures of each of these owners take; `None` where their folder cannot
/// be read.
pub(super) fn usage(paths: &Paths, owners: Vec<String>) -> BTreeMap<String, Option<u64>> {
    let bytes = |name: &str| {
        let used = used_bytes(paths, &Owner::named(name));
        used.inspect_err(|error| tracing::warn!("the disk space of an owner is not known: {error}")).ok()
    };
    let with_bytes = |name: String| {
        let used = bytes(&name);
        (name, used)
    };
    owners.into_iter().map(with_bytes).collect()
}

/// Everybody's tokens. The people of `access` get one where they have none; that of `gone` ends.
pub(super) fn tokens_of(access: &Access, gone: Option<&str>, paths: &Paths) -> Result<Tokens, CannotServe> {
    if let Some(person) = gone {
        Access::forget(paths, person)?;
    }
    Ok(access.tokens(paths)?.0)
}
