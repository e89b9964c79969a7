//! The system's request to end: log out, shut down, or Ctrl-C where the program was started.

/// Calls `end` on a thread of its own when the system asks this program to end. Without it the
/// program would end at once.
pub fn on_termination(end: impl Fn() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(end) {
        tracing::warn!("the program will end at once when the system asks it to: {error}");
    }
}
