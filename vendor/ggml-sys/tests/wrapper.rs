//! Only Clippy does without the compiled shim.

#[path = "../build/wrapper.rs"]
mod wrapper;

#[test]
fn other_wrappers_link_programs() {
    let is_clippy = |name: &str| wrapper::is_clippy(Some(name.as_ref()));
    assert!(is_clippy("/toolchains/stable/bin/clippy-driver") && is_clippy("clippy-driver.exe"));
    assert!(!is_clippy("/usr/bin/sccache") && !is_clippy("/clippy-driver/rustc") && !is_clippy(""));
    assert!(!wrapper::is_clippy(None));
}
