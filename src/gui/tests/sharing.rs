//! Sharing of models through the controls, with real requests to the server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::gui::sharing::state::Phase;
use crate::gui::tests::*;
use crate::settings::SharingSettings;

/// The answer to a request with this token, from its status on.
fn answer(address: SocketAddr, path: &str, token: Option<&str>) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let login = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: Blender (Linux)\r\n{login}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The status of the answer to a request with this token.
fn status(address: SocketAddr, token: Option<&str>) -> u16 {
    let answer = answer(address, "/sdapi/v1/cmd-flags", token);
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// A window with the dialog open.
fn open() -> Studio {
    let mut studio = Studio::open(ready());
    studio.click("Menu");
    studio.click("Share models");
    studio
}

fn start(studio: &mut Studio) -> SocketAddr {
    studio.click("Start sharing");
    studio.until("the server", |app| app.state.sharing.address().is_some());
    studio.app().state.sharing.address().unwrap()
}

#[test]
fn models_are_shared_from_the_menu_and_no_longer_once_that_is_stopped() {
    let mut studio = open();
    assert!(studio.app().state.sharing.address().is_none() && !studio.sees("Models are shared"), "nobody asked for it");
    studio.harness.check_accessibility();
    let address = start(&mut studio);
    assert!(address.ip().is_loopback(), "other devices come only where that was chosen");
    assert!(studio.sees(&format!("http://{address}")) && studio.sees("Nobody yet."));
    assert_eq!(status(address, None), 200);
    studio.until("who asked", |app| app.state.sharing.running().is_some_and(|it| !it.guests.connected.is_empty()));
    assert!(studio.sees("Programs on this computer"));
    studio.harness.check_accessibility();
    // It goes on while the dialog is put away.
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.sharing.is_open);
    assert_eq!(status(address, None), 200);
    studio.click("Menu");
    studio.click("Share models");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
}

#[test]
fn a_studio_is_announced_only_where_others_may_come_and_the_choice_is_kept() {
    let mut studio = open();
    assert!(!studio.app().settings().sharing.announce, "off unless it is asked for");
    studio.check("Announce in the network");
    studio.fill("Name of this studio", "Studio of Anna");
    studio.harness.check_accessibility();
    let settings = studio.app().settings().sharing;
    assert_eq!((settings.announce, settings.studio_name.as_str()), (true, "Studio of Anna"));
    let address = start(&mut studio);
    assert!(address.ip().is_loopback());
    assert!(studio.sees("Nothing is announced in the network"));
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

#[test]
fn a_device_without_a_token_is_let_in_by_hand_and_a_person_gets_a_link_and_a_code() {
    let mut studio = open();
    studio.check("Programs on this computer need a token too");
    let address = start(&mut studio);
    assert_eq!(status(address, None), 401);
    studio.until("the question", |app| app.state.sharing.running().is_some_and(|it| it.guests.asking.len() == 1));
    assert!(studio.sees("asks for access") && studio.sees("Its program calls itself \"Blender\"."));
    studio.harness.check_accessibility();
    studio.click("Allow");
    assert_eq!(status(address, None), 200);
    assert!(!studio.sees("asks for access") && studio.sees("has access") && studio.sees("Its program calls itself"));
    press_first(&mut studio, "Revoke");
    assert_eq!(status(address, None), 401, "who was let in may be turned away later");
    assert!(!studio.sees("has access"));

    studio.fill("Name of the person", "Anna");
    studio.click("Add person");
    studio.until("Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_some()));
    let link = studio.app().state.sharing.running().unwrap().link("Anna").unwrap();
    let token = link.strip_prefix(&format!("http://{address}/#t=")).unwrap_or_else(|| panic!("{link}"));
    assert_eq!(status(address, Some(token)), 200);
    studio.until("Anna", |app| app.state.sharing.running().is_some_and(|it| it.guests.connected.iter().any(|name| name == "Anna")));
    press_first(&mut studio, "Show code");
    assert!(studio.harness.query_by_role_and_label(Role::Image, "Code of Anna for the camera of a phone").is_some());
    studio.harness.check_accessibility();
    studio.fill("Name of the person", "Ben");
    press_first(&mut studio, "Revoke");
    studio.until("the end of Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_none()));
    assert_eq!(status(address, Some(token)), 401, "her phone is shut out");
    assert!(studio.harness.query_by_role_and_label(Role::Image, "Code of Anna for the camera of a phone").is_none());
    assert_eq!(studio.app().state.sharing.person, "Ben", "what is typed stays");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

/// Stops sharing and starts it again.
fn share_again(studio: &mut Studio) -> SocketAddr {
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
    start(studio)
}

/// Shares with those who have a token, and hears of a device that has none.
fn asked_by_a_device(studio: &mut Studio) -> SocketAddr {
    studio.check("Programs on this computer need a token too");
    let address = start(studio);
    assert_eq!(status(address, None), 401);
    studio.until("the question", |app| app.state.sharing.running().is_some_and(|it| it.guests.asking.len() == 1));
    address
}

#[test]
fn a_device_stays_let_in_from_one_start_to_the_next_until_that_is_revoked() {
    let mut studio = open();
    asked_by_a_device(&mut studio);
    studio.click("Allow");
    assert!(studio.sees("ends after 30 days without use"));
    studio.harness.check_accessibility();
    studio.until_files_are_read();
    let address = share_again(&mut studio);
    assert_eq!(status(address, None), 200, "as it was answered");
    assert!(studio.sees("has access"));
    press_first(&mut studio, "Revoke");
    assert!(status(address, None) == 401 && !studio.sees("has access"));
    studio.until_files_are_read();
    let address = share_again(&mut studio);
    assert_eq!(status(address, None), 401);
    studio.until("the question", |app| app.state.sharing.running().is_some_and(|it| it.guests.asking.len() == 1));
    studio.click("Refuse");
    assert_eq!(status(address, None), 401);
    studio.harness.run_ok();
    assert!(!studio.sees("asks for access"), "it is not asked about twice");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

#[test]
fn an_answer_to_a_device_that_cannot_be_kept_is_told_and_holds_while_it_is_shared() {
    let mut studio = open();
    let address = asked_by_a_device(&mut studio);
    let file = Paths::beneath(studio.folder.path()).data.join("serve-approvals.json");
    std::fs::write(file, b"{").unwrap();
    studio.click("Allow");
    studio.until("the error", |app| app.state.shared.error.is_some());
    let told = studio.app().state.shared.error.as_ref().unwrap().advice.sentence.clone();
    assert!(told.contains("serve-approvals.json"), "{told}");
    assert_eq!(status(address, None), 200);
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

/// Gives Anna a token, and returns it.
fn add_anna(studio: &mut Studio) -> String {
    studio.fill("Name of the person", "Anna");
    studio.click("Add person");
    studio.until("Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_some()));
    let link = studio.app().state.sharing.running().unwrap().link("Anna").unwrap();
    link.split_once("#t=").unwrap().1.to_owned()
}

/// Presses the first button of this name by its name alone: a row of somebody who was just heard of
/// may have moved it since the last frame.
fn press_first(studio: &mut Studio, name: &str) {
    let found = studio.harness.query_all_by_label_contains(name).find(|it| it.accesskit_node().role() == Role::Button);
    found.unwrap().click_accesskit();
    studio.harness.run_ok();
}

#[test]
fn a_token_that_cannot_be_taken_back_is_told_with_a_hint_that_fits() {
    let mut studio = open();
    start(&mut studio);
    add_anna(&mut studio);
    let file = Paths::beneath(studio.folder.path()).data.join("serve-tokens.json");
    std::fs::write(file, b"{").unwrap();
    press_first(&mut studio, "Revoke");
    studio.until("the error", |app| app.state.shared.error.is_some());
    let hint = |studio: &Studio| studio.app().state.shared.error.as_ref().unwrap().advice.hint.clone();
    assert_eq!(hint(&studio), "Try again.");
    assert!(studio.app().state.sharing.running().is_some_and(|it| it.link("Anna").is_some()), "it is still one");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

#[test]
fn a_token_that_another_process_took_back_is_shown_no_longer() {
    let mut studio = open();
    studio.check("Programs on this computer need a token too");
    let address = start(&mut studio);
    let token = add_anna(&mut studio);
    assert_eq!(status(address, Some(&token)), 200);
    press_first(&mut studio, "Show code");
    assert!(studio.app().state.sharing.code.is_some());
    let file = Paths::beneath(studio.folder.path()).data.join("serve-tokens.json");
    atelier_core::paths::write_private(&file, b"{}").unwrap();
    assert_eq!(status(address, Some(&token)), 401);
    studio.until("the end of Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_none()));
    assert!(studio.app().state.sharing.code.is_none());

    // Also where nobody asks meanwhile.
    add_anna(&mut studio);
    studio.press(Modifiers::NONE, Key::Escape);
    atelier_core::paths::write_private(&file, b"{}").unwrap();
    studio.click("Models are shared");
    studio.until("the end of Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_none()));
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

#[test]
fn sharing_begins_again_at_the_next_start_where_that_is_chosen_and_every_view_says_so() {
    let mut studio = open();
    studio.check("Programs on this computer need a token too");
    studio.check("Share again when Atelier starts");
    start(&mut studio);
    let token = add_anna(&mut studio);
    let settings = studio.app().settings();
    assert!(settings.sharing.at_start && settings.sharing.require_token && !settings.sharing.network);
    studio.harness.state_mut().take().unwrap().finish();
    let Studio { harness, folder, port } = studio;
    drop((harness, port));

    let mut studio = Studio::at(folder, settings, Err("None.".into()), [1440.0, 900.0]);
    studio.until("the server", |app| app.state.sharing.address().is_some());
    let address = studio.app().state.sharing.address().unwrap();
    assert_eq!((status(address, None), status(address, Some(&token))), (401, 200), "as it was shared before");
    assert!(!studio.app().state.sharing.is_open);
    for view in [Key::Num1, Key::Num2, Key::Num3, Key::Num4] {
        studio.press(Modifiers::COMMAND, view);
        assert!(studio.sees("Models are shared"), "{view:?}");
    }
    studio.harness.check_accessibility();
    studio.click("Models are shared");
    assert!(studio.sees("Anna"), "with her link");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
    assert!(!studio.sees("Models are shared") && studio.app().settings().sharing.at_start);
}

#[test]
fn a_window_beside_another_one_shares_nothing_by_itself() {
    let settings = SharingSettings { at_start: true, ..SharingSettings::default() };
    let folder = tempfile::tempdir().unwrap();
    let options = Studio::options(&folder, Err("None.".into()), None);
    let is_due = |options: &Options| crate::gui::sharing::State::new(options, settings.clone()).is_start_due;
    assert!(is_due(&options) && !is_due(&options.beside()));
}

#[test]
fn what_each_person_uses_of_the_disk_is_shown_beside_what_they_may() {
    let mut studio = open();
    let address = start(&mut studio);
    let token = add_anna(&mut studio);
    let used = |app: &App| app.state.sharing.running().and_then(|it| it.usage.bytes.get("Anna").copied().flatten());
    studio.until("the disk space", |app| used(app) == Some(0));
    assert!(studio.sees("0 bytes of 10.0 GB"));

    // As large as it says, and without a byte on the disk.
    let folder = Paths::beneath(studio.folder.path()).shared_pictures().join("Anna");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::File::create(folder.join("a.png")).unwrap().set_len(1_000_000_000).unwrap();
    studio.press(Modifiers::NONE, Key::Escape);
    studio.click("Models are shared");
    studio.until("the disk space", |app| used(app) == Some(1_000_000_000));
    assert!(studio.sees("1.0 GB of 10.0 GB"));

    studio.harness.get_by_role_and_label(Role::SpinButton, "Disk space for each person").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.until("another limit", |app| app.state.sharing.settings.quota.gigabytes() < 10);
    let gigabytes = studio.app().state.sharing.settings.quota.gigabytes();
    assert!(studio.sees(&format!("1.0 GB of {gigabytes}.0 GB")));
    assert_eq!(studio.app().settings().sharing.quota.gigabytes(), gigabytes);
    let told = answer(address, "/sdcpp/v1/capabilities", Some(&token));
    assert!(told.contains(&format!("\"disk_quota_bytes\":{gigabytes}000000000")), "the server knows at once: {told}");
    assert!(told.contains("\"disk_used_bytes\":1000000000"), "{told}");
    studio.harness.check_accessibility();
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}

#[test]
fn how_long_pictures_of_others_are_kept_is_chosen_while_it_is_shared() {
    let mut studio = open();
    let address = start(&mut studio);
    let token = add_anna(&mut studio);
    studio.harness.get_by_role_and_label(Role::SpinButton, "Days that pictures of others are kept").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.until("another number", |app| app.state.sharing.settings.retention.days() < 7);
    let days = studio.app().state.sharing.settings.retention.days();
    assert_eq!(studio.app().settings().sharing.retention.days(), days);
    let told = answer(address, "/sdcpp/v1/capabilities", Some(&token));
    let said = if days == 0 { "\"keep_days\":null".to_owned() } else { format!("\"keep_days\":{days}") };
    assert!(told.contains(&said), "the server knows at once: {told}");
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}
