//! Memory of this machine.

/// RAM in bytes, total and available. ggml reports all of it as free.
pub(super) fn ram() -> (u64, u64) {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    (system.total_memory(), system.available_memory())
}
