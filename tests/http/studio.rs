//! A server with a home, a queue and an engine of its own, and the tiny model in its library.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atelier::http::guard::Policy;
use atelier::http::{DiskQuota, Retention, Server, ServerOptions};
use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_gallery::queue::PauseMode;
use atelier_library::{Builtin, LibraryConfig};
use atelier_studio::queue::{QueueOptions, QueueRequest, QueueService};
use tempfile::TempDir;

use crate::support::tiny;

pub(crate) struct Studio {
    // In this order: the server before the queue, the queue before the engine.
    server: Option<Server>,
    queue: Option<QueueService>,
    engine: Option<Arc<Handle>>,
    options: ServerOptions,
    pub(crate) home: TempDir,
}

impl Studio {
    pub(crate) fn open() -> Self {
        Self::guarded(Policy::default())
    }

    pub(crate) fn guarded(policy: Policy) -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::beneath(home.path());
        // The model is loose files in a folder of the person's.
        let folder = tiny().diffusion.parent().unwrap().to_owned();
        LibraryConfig::change(&paths.library_file(), |config| config.add_folder(&folder)).unwrap();
        let engine = Arc::new(atelier_engine::start(Box::new(|| ())));
        let queue = QueueService::start(QueueOptions::of_command(&paths), Arc::clone(&engine), || {}).unwrap();
        let options = ServerOptions {
            paths,
            models_root: None,
            catalogues: Vec::new(),
            builtin: None::<Builtin>,
            default_model: None,
            threads: Some(1),
            policy,
            quota: DiskQuota::default(),
            retention: Retention::default(),
            takes_any_guidance: false,
        };
        let mut studio = Self { server: None, queue: Some(queue), engine: Some(engine), options, home };
        studio.serve();
        studio
    }

    /// Ends the server, where there is one, and starts another, which knows nothing of it.
    pub(crate) fn serve(&mut self) {
        drop(self.server.take());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (queue, engine) = (self.queue.as_ref().unwrap(), self.engine.as_ref().unwrap());
        self.server = Some(Server::start(vec![listener], self.options.clone(), queue.connect(), Arc::clone(engine)).unwrap());
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub(crate) fn set_quota(&self, gigabytes: u32) {
        self.server.as_ref().unwrap().set_quota(DiskQuota::of_gigabytes(gigabytes));
    }

    /// Lets nothing begin, or no longer; comes before what is asked of the queue after it.
    pub(crate) fn pause(&self, pause: PauseMode) {
        self.queue.as_ref().unwrap().send(QueueRequest::SetPause(pause));
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.as_ref().unwrap().address()
    }

    /// The kept pictures, in all folders of owners.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        let shared = self.home.path().join("Pictures/Atelier/Shared");
        let owners = std::fs::read_dir(shared).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = owners
            .flat_map(|owner| std::fs::read_dir(owner.path()).into_iter().flatten().flatten())
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|it| it == "png"))
            .collect();
        files.sort();
        files
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        drop(self.server.take());
        if let Some(queue) = self.queue.take() {
            assert!(queue.finish(Duration::from_mins(1)) || std::thread::panicking(), "the queue ends");
        }
        // None of the engine's threads may be in it when the process exits.
        let mut engine = self.engine.take().unwrap();
        while let Err(shared) = Arc::try_unwrap(engine) {
            engine = shared;
            std::thread::yield_now();
        }
    }
}
