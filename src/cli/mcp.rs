//! `atelier mcp`: tools for one agent, by lines of standard input and output, until the input ends.

use std::io;
use std::sync::Arc;

use super::exit::Exit;
use super::flags::McpFlags;
use super::http::{END_WITHIN, HttpEnv, queue_options};
use super::interrupt::no_ctrl_c;
use super::reporter::write_message;
use super::resolve::threads;
use crate::http::guard::Policy;
use crate::http::{DiskQuota, Retention, ServerOptions, speak_mcp};
use atelier_engine::Handle;
use atelier_studio::queue::{QueueEvent, QueueService};

/// Speaks with one agent. Standard output carries the protocol, and nothing else.
pub(super) fn run(flags: McpFlags, start_engine: impl FnOnce() -> Arc<Handle>, env: HttpEnv<'_>) -> Exit {
    let HttpEnv { out, err, paths, builtin, interrupt, listen } = env;
    if let Err(error) = listen(&interrupt) {
        write_message(err, &no_ctrl_c(&error));
    }
    if let Err(error) = &builtin {
        write_message(err, &format!("warning: {error}"));
    }
    let engine = start_engine();
    for server in flags.servers.rpc_servers {
        if let Err(busy) = engine.add_server(server) {
            write_message(err, &format!("warning: {busy}"));
        }
    }
    let queue = match QueueService::start(queue_options(&paths, &flags.library), Arc::clone(&engine), || {}) {
        Ok(queue) => queue,
        Err(error) => {
            write_message(err, &format!("error: {error}"));
            return Exit::Failed;
        }
    };
    let options = ServerOptions {
        paths,
        models_root: flags.library.models_root,
        catalogues: flags.library.catalogue,
        builtin: builtin.ok(),
        default_model: flags.model,
        threads: threads(flags.threads),
        // Who has started this process may ask.
        policy: Policy::default(),
        quota: DiskQuota::default(),
        retention: Retention::default(),
        takes_any_guidance: false,
    };
    let mut goes_on = || {
        // The queue keeps the pictures; nobody else reads these.
        while engine.try_next().is_some() {}
        while let Some(event) = queue.try_next() {
            match event {
                QueueEvent::Problem(advice) => write_message(err, &format!("error: {advice}")),
                QueueEvent::Notice(advice) => write_message(err, &format!("warning: {}", advice.sentence)),
                _ => {}
            }
        }
        !interrupt.pressed()
    };
    let spoken = speak_mcp(options, queue.connect(), Arc::clone(&engine), io::stdin(), out, &mut goes_on);
    let is_cancelled = interrupt.pressed();
    if !queue.finish(END_WITHIN) {
        write_message(err, "warning: the queue did not end in time");
    }
    match spoken {
        Ok(()) if is_cancelled => Exit::Cancelled,
        Ok(()) => Exit::Done,
        Err(error) => {
            write_message(err, &format!("error: {error}"));
            Exit::Failed
        }
    }
}
