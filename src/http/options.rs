//! What a server is started with.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_library::Builtin;
use atelier_studio::queue::QueueClient;

use super::guard::Policy;
use super::hub::Hub;
use super::identity::identity;
use super::models::ModelPlaces;
use super::quota::DiskQuota;
use super::retention::Retention;
use super::state::{App, SharedApp};

/// Options of the server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The folders of this person.
    pub paths: Paths,
    /// Folder of downloaded models in place of the one in the settings.
    pub models_root: Option<PathBuf>,
    /// Catalogues beside the usual ones.
    pub catalogues: Vec<PathBuf>,
    /// The model that comes with the program, where it can be used.
    pub builtin: Option<Builtin>,
    /// The model of clients that name none.
    pub default_model: Option<String>,
    /// CPU threads of each job; `None`: as ever.
    pub threads: Option<u32>,
    /// Who may ask.
    pub policy: Policy,
    /// Disk space of the pictures of each owner.
    pub quota: DiskQuota,
    /// How long pictures of others are kept.
    pub retention: Retention,
    /// Clients may burn the pictures of distilled models by a guidance that is too high.
    pub takes_any_guidance: bool,
}

/// What all routes share, and who may ask.
pub(super) fn assemble(options: ServerOptions, client: QueueClient, engine: Arc<Handle>) -> io::Result<(SharedApp, Policy)> {
    let hub = Hub::start(client)?;
    let ServerOptions { paths, models_root, catalogues, builtin, default_model, threads, policy, quota, retention, takes_any_guidance } =
        options;
    let id = identity(&paths.data);
    let places = ModelPlaces { paths, models_root, catalogues, builtin };
    let mut app = App::new(hub, places, engine, threads, default_model, quota, id);
    app.takes_any_guidance = takes_any_guidance;
    app.set_retention(retention);
    Ok((Arc::new(app), policy))
}
