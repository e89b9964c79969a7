//! Sharing of models through the controls, with real requests to the server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::gui::sharing::state::Phase;
use crate::gui::tests::*;

/// The status of the answer to a request with this token.
fn status(address: SocketAddr, token: Option<&str>) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let login = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET /sdapi/v1/cmd-flags HTTP/1.1\r\nHost: {address}\r\n{login}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// A window with the dialog open, and a free port.
fn open() -> Studio {
    let mut studio = Studio::open(ready());
    studio.app_mut().state.sharing.port = 0;
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
    assert!(!studio.app().settings().announces, "off unless it is asked for");
    studio.check("Announce in the network");
    studio.fill("Name of this studio", "Studio of Anna");
    studio.harness.check_accessibility();
    let settings = studio.app().settings();
    assert_eq!((settings.announces, settings.studio_name.as_str()), (true, "Studio of Anna"));
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
    assert!(studio.sees("asks for access"));
    studio.harness.check_accessibility();
    studio.click("Allow");
    assert_eq!(status(address, None), 200);
    assert!(!studio.sees("asks for access"));

    studio.fill("Name of the person", "Anna");
    studio.click("Add person");
    studio.until("Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_some()));
    let link = studio.app().state.sharing.running().unwrap().link("Anna").unwrap();
    let token = link.strip_prefix(&format!("http://{address}/#t=")).unwrap_or_else(|| panic!("{link}"));
    assert_eq!(status(address, Some(token)), 200);
    studio.until("Anna", |app| app.state.sharing.running().is_some_and(|it| it.guests.connected.iter().any(|name| name == "Anna")));
    studio.click_first("Show code");
    assert!(studio.harness.query_by_role_and_label(Role::Image, "Code of Anna for the camera of a phone").is_some());
    studio.harness.check_accessibility();
    studio.click("Stop sharing");
    studio.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
}
