//! The real program in a real window, used from outside as a person uses it.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use desktop::Desktop;

/// A usual laptop's screen.
const SCREEN: (u32, u32) = (1440, 900);

fn open(home: &Path) -> Result<Desktop> {
    let home = home.to_str().unwrap_or_default();
    Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &[], &[("ATELIER_HOME", home)], SCREEN)
}

#[test]
#[ignore = "main does not open the window yet"]
fn the_window_opens_with_its_controls_takes_a_prompt_and_closes_when_asked() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path())?;
    for name in ["Prompt", "Negative prompt", "Generate"] {
        desktop.wait_for(name, Duration::from_secs(20))?;
    }
    desktop.fill("Prompt", "a red sunset over the sea")?;
    let area = desktop.window_area()?;
    let colours = screen::colours(&desktop.shot()?, area);
    assert!(colours > 8, "the window shows {colours} colours");
    desktop.close()?;
    let status = desktop.wait_for_end(Duration::from_secs(20))?;
    assert!(status.success(), "{status}: {}", desktop.output());
    let settings = std::fs::read_to_string(home.path().join("settings.json"))?;
    assert!(settings.contains("a red sunset over the sea"), "the prompt was not kept: {settings}");
    Ok(())
}
