//! What drawing takes of the processor, as the system counts it. Blocks: it reads files of `/proc`
//! and `/sys`.

/// Threads that the processor computes at once.
pub(crate) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |threads| threads.get() as f64)
}

/// Seconds of the processor that the threads that draw have taken since the start: the window's own,
/// and those in which Mesa draws where there is no GPU. `None` where the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn drawing_secs() -> Option<f64> {
    let window = std::process::id().to_string();
    let mut nanos = None;
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let folder = thread.path();
        let is_window = thread.file_name().to_str() == Some(window.as_str());
        let draws = || std::fs::read_to_string(folder.join("comm")).is_ok_and(|name| is_of_mesa(&name));
        // A thread may end meanwhile.
        if (is_window || draws())
            && let Ok(text) = std::fs::read_to_string(folder.join("schedstat"))
        {
            nanos = Some(nanos.unwrap_or(0) + computed_nanos(&text)?);
        }
    }
    nanos.map(|nanos| nanos as f64 / 1e9)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn drawing_secs() -> Option<f64> {
    None
}

/// True for the name of a thread in which Mesa draws: `llvmpipe-0`, or `atelier:gdrv0` where a
/// driver computes beside the program.
#[cfg(target_os = "linux")]
fn is_of_mesa(name: &str) -> bool {
    name.starts_with("llvmpipe") || name.contains(':')
}

/// Nanoseconds that a thread has computed: the first number of its `schedstat`.
#[cfg(target_os = "linux")]
fn computed_nanos(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_of_mesa_are_known_by_their_names() {
        let draws = ["llvmpipe-0", "llvmpipe-13\n", "atelier:gdrv0"].map(is_of_mesa);
        let others = ["engine job", "atelier", "queue\n"].map(is_of_mesa);
        assert_eq!((draws, others), ([true; 3], [false; 3]));
    }

    #[test]
    fn the_system_counts_what_a_thread_computes() {
        assert_eq!(computed_nanos("81234567 12 3\n"), Some(81_234_567));
        assert_eq!((computed_nanos(""), computed_nanos("x 1")), (None, None));
        // The test's own main thread is the window's.
        assert!(drawing_secs().is_none_or(|secs| secs >= 0.0));
    }
}
