//! Other studios through the controls, with a real server and a real announcement on this computer.

use std::net::{Ipv4Addr, SocketAddr};

use atelier_peers::{Announcement, KeptStudios, Network};

use crate::gui::studios::state::Answer;
use crate::gui::tests::*;

/// Where windows of other tests look: a port that nobody announces anything at.
pub(super) const NETWORK: Network = Network::ThisComputer { port: 45_363 };

/// A window that shares its models with Anna, and the link that it has for her.
fn sharing() -> (Studio, String) {
    let mut studio = Studio::open(ready());
    studio.click("Menu");
    studio.click("Share models");
    studio.check("Programs on this computer need a token too");
    studio.click("Start sharing");
    studio.until("the server", |app| app.state.sharing.address().is_some());
    studio.fill("Name of the person", "Anna");
    studio.click("Add person");
    studio.until("Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_some()));
    let link = studio.app().state.sharing.running().unwrap().link("Anna").unwrap();
    (studio, link)
}

/// A window with the dialog open, which looks at this port.
fn open(port: u16) -> Studio {
    let mut studio = Studio::open(ready());
    studio.app_mut().state.studios.network = Network::ThisComputer { port };
    studio.click("Menu");
    studio.click("Other studios");
    studio
}

fn kept(studio: &Studio) -> KeptStudios {
    KeptStudios::read(&Paths::beneath(studio.folder.path()).studios_file()).unwrap()
}

#[test]
fn a_studio_is_added_by_its_link_kept_with_its_models_and_forgotten() {
    let (_there, link) = sharing();
    let mut studio = open(45_364);
    assert!(studio.sees("None yet.") && studio.sees("No other studio is found."), "it says what to do");
    studio.harness.check_accessibility();
    studio.fill("Link or token", &link);
    studio.click("Add studio");
    studio.until("the studio", |app| app.state.studios.kept.iter().next().is_some());
    assert!(studio.sees("Studio at 127.0.0.1") && studio.app().state.studios.link.is_empty());
    studio.harness.check_accessibility();
    let file = kept(&studio);
    let one = file.iter().next().unwrap();
    assert!(link.starts_with(&one.address.to_string()) && one.token.is_some());
    let told = studio.app().state.studios.models_of(&one.address).unwrap();
    assert!(told.names.is_some() && told.answer == Answer::Given, "{told:?}");

    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.studios.is_open && studio.app().state.studios.search.is_none(), "nobody is looked for unseen");
    studio.click("Menu");
    studio.click("Other studios");
    studio.click("Forget");
    studio.until("the empty list", |app| app.state.studios.kept.iter().next().is_none());
    assert_eq!(kept(&studio), KeptStudios::default());
}

#[test]
fn a_link_that_does_not_lead_to_a_studio_is_said_and_not_kept() {
    let (_there, link) = sharing();
    let mut studio = open(45_365);
    let without_token = link.split('#').next().unwrap().to_owned();
    for (text, words) in
        [(without_token.as_str(), "needs a token"), ("http://127.0.0.1:1", "cannot be reached"), ("http://x/api", "is not the address")]
    {
        studio.fill("Link or token", text);
        studio.click("Add studio");
        studio.until("the reason", |app| app.state.studios.connecting.is_none() && app.state.studios.trouble.is_some());
        assert!(studio.sees(words), "{words}");
    }
    studio.harness.check_accessibility();
    assert_eq!(kept(&studio), KeptStudios::default());
    assert_eq!(studio.app().state.studios.link, "http://x/api", "what was typed stays");
}

#[test]
fn a_studio_of_the_network_is_listed_while_the_dialog_is_open_and_connected_to_with_a_token() {
    let (there, link) = sharing();
    let port = there.app().state.sharing.address().unwrap().port();
    let listener = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (mdns, network) = (45_366, Network::ThisComputer { port: 45_366 });
    let announcement = Announcement::start("Studio of Anna", &[listener], true, network).unwrap();
    let mut studio = open(mdns);
    studio.until("the studio", |app| app.state.studios.found.iter().any(|it| it.name == "Studio of Anna"));
    assert!(studio.sees("needs a token") && !studio.sees("No other studio is found."));
    studio.harness.check_accessibility();
    let token = link.split_once("#t=").unwrap().1;
    studio.fill("Link or token", token);
    studio.click("Connect");
    studio.until("the connection", |app| app.state.studios.kept.named("Studio of Anna").is_some());
    assert_eq!(studio.app().state.studios.strangers().count(), 0, "it has one line");
    drop(announcement);
    studio.until("its end", |app| app.state.studios.found.is_empty());
    assert!(studio.sees("Studio of Anna"), "what is kept stays listed");
}
