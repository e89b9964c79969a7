//! Memory over many jobs, in a process of its own so that nothing else counts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::recipe::Recipe;
use atelier_engine::{End, PreviewOptions, Task};
use support::engine::Engine;
use support::{recipe, resident_bytes};

#[test]
fn fifty_jobs_do_not_grow_the_memory() {
    let engine = Engine::start();
    let job = |n: i64| {
        let said = engine.run_task(Task::Generate {
            recipe: Box::new(Recipe { prompt: format!("picture {}", n % 5), seed: n, steps: 2, ..recipe() }),
            preview: PreviewOptions::Projection { every: 1 },
            shares_steps: false,
        });
        assert!(matches!(said.end(), End::Done { .. }));
    };
    (0..10).for_each(job);
    let before = resident_bytes();
    (10..60).for_each(job);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more after 50 jobs");
}
