//! Starting the server, and tokens. Everything here blocks.

use std::net::SocketAddr;
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_language::tr;
use atelier_library::Builtin;
use atelier_peers::{Announcement, Network};
use atelier_studio::queue::QueueClient;

use crate::gui::sharing::state::Running;
use crate::http::{Access, CannotServe, Guests, Prepared, Server, ServerOptions, Tokens, lan_address};

/// What a server begins with.
pub(super) struct Parts {
    pub(super) access: Access,
    /// The name under which it is announced.
    pub(super) announced_as: Option<String>,
    pub(super) paths: Paths,
    pub(super) builtin: Option<Arc<Builtin>>,
    pub(super) queue: QueueClient,
    pub(super) engine: Arc<Handle>,
}

/// Starts a server.
pub(super) fn start(parts: Parts) -> Result<Running, CannotServe> {
    let Parts { access, announced_as, paths, builtin, queue, engine } = parts;
    let Prepared { listeners, policy, tokens } = access.prepare(&paths)?;
    let addresses: Vec<SocketAddr> = listeners.iter().filter_map(|it| it.local_addr().ok()).collect();
    let options = ServerOptions {
        paths,
        models_root: None,
        catalogues: Vec::new(),
        builtin: builtin.map(Arc::unwrap_or_clone),
        default_model: None,
        threads: None,
        policy,
    };
    let failed = |error: std::io::Error| CannotServe::Failed(tr!("sharing-the-server-could-not", error));
    let server = Server::start(listeners, options, queue, engine).map_err(failed)?;
    let lan = if access.allow_network { lan_address() } else { None };
    // Other computers always need a token.
    let announce = |name: String| Announcement::start(&name, &addresses, true, Network::Local).map_err(|error| error.to_string());
    Ok(Running { announced: announced_as.map(announce), server, lan, people: tokens, guests: Guests::default() })
}

/// The tokens of these people, who get one where they have none.
pub(super) fn tokens_of(access: &Access, paths: &Paths) -> Result<(Tokens, Vec<(String, String)>), CannotServe> {
    access.tokens(paths)
}
