//! Measurements within TLS: every request is answered as without, only by a server that is believed, and what
//! goes wrong in the handshake is told with what helps.

mod certificates;
#[path = "../common/mod.rs"]
mod common;
mod server;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use generator::Limits;
use measure::tls::{Credentials, TlsOptions, Trust, key};
use measure::{Measurement, Setup, Target, first_loss, measure};
use model::{Failure, Nanos, Silent};

use proptest::prelude::*;

use certificates::{NAME, Shown, Signed, asking, config, shown};
use server::{Manner, Seen, serve};

const REQUESTS: usize = 60;
const CONNECTIONS: u32 = 4;

fn setup(timeout: Nanos, requests_per_connection: Option<(u32, u32)>) -> Setup {
    common::setup(CONNECTIONS, Limits { timeout, requests_per_connection })
}

fn patient() -> Setup {
    setup(Nanos::from_secs(20), None)
}

fn believing(pem: &str) -> TlsOptions {
    let certificates = measure::tls::certificates(pem.as_bytes()).expect("certificates");
    TlsOptions {
        trust: Trust::File { name: "ca.pem".into(), certificates },
        ..TlsOptions::default()
    }
}

fn anyone() -> TlsOptions {
    TlsOptions { trust: Trust::Anyone, ..TlsOptions::default() }
}

fn target(scheme: &str, address: SocketAddr, options: &TlsOptions) -> Target {
    let user = if scheme.starts_with("postgresql") { "me@" } else { "" };
    let target = Target::parse(&format!("{scheme}://{user}{address}"), None).expect("a target");
    target.with_tls(options).expect("a target within TLS")
}

fn measured(target: &Target, setup: &Setup) -> Result<Measurement, Failure> {
    measure(target, setup, &common::load(REQUESTS), None, None, &Silent)
}

/// A measurement of a server that is believed, and what the server saw.
fn of(manner: &Manner, setup: &Setup, is_old: bool) -> (Measurement, Arc<Seen>) {
    let shown = shown(Signed::Authority);
    let (address, seen) = serve(&config(&shown, is_old), manner);
    let target = target("https", address, &believing(&shown.issuer));
    (measured(&target, setup).expect("a measurement"), seen)
}

fn assert_all_answered((measured, seen): &(Measurement, Arc<Seen>)) {
    assert_eq!(measured.losses.len() + measured.complaints.len(), 0, "{:?}", measured.losses);
    assert_eq!(measured.records.len() as u64, seen.requests.load(Relaxed));
    assert!(measured.records.len() >= REQUESTS - 1);
}

#[test]
fn every_request_is_answered_once_whatever_records_and_pieces_it_comes_in() {
    for is_old in [false, true] {
        for manner in [
            Manner::default(),
            Manner { body: 300_000, ..Manner::default() },
            Manner { body: 2_000, record: Some(100), piece: 7, ..Manner::default() },
            Manner { body: 0, piece: 1, ..Manner::default() },
        ] {
            let both = of(&manner, &patient(), is_old);
            assert_all_answered(&both);
            let (measured, _) = both;
            assert_eq!(
                measured.tally.dropped_idle, 0,
                "what resumes sessions is no answer: {manner:?}"
            );
            assert_eq!(measured.tally.opened, u64::from(CONNECTIONS));
        }
    }
}

#[test]
fn a_latency_ends_with_the_last_byte_at_the_socket() {
    let pause = Duration::from_millis(30);
    let late =
        of(&Manner { pause, ..Manner::default() }, &setup(Nanos::from_secs(60), None), false);
    assert_all_answered(&late);
    let least = |measured: &Measurement| measured.records.iter().map(|r| r.latency()).min();
    assert!(least(&late.0) >= Some(Nanos(pause.as_nanos() as u64)), "{:?}", least(&late.0));
    // The control.
    let prompt = of(&Manner::default(), &patient(), false);
    assert!(least(&prompt.0) < Some(Nanos(pause.as_nanos() as u64)));
}

#[test]
fn places_count_what_goes_over_the_connection() {
    let one = Setup { connections: 1, ..patient() };
    let (measured, seen) = of(&Manner::default(), &one, false);
    let places: Vec<_> = measured.places.iter().flatten().collect();
    assert!(places.windows(2).all(|two| two[0].answer_end == two[1].answer_begin));
    let last = places.last().expect("answers");
    assert_eq!(last.answer_end, seen.wrote.load(Relaxed));
    // The farewell may have come.
    let came = seen.came.load(Relaxed);
    assert!((last.request_end..last.request_end + 40).contains(&came), "{last:?}, {came}");
}

#[test]
fn connections_that_are_opened_again_resume_their_session_and_say_farewell() {
    let (measured, seen) =
        of(&Manner::default(), &setup(Nanos::from_secs(20), Some((5, 5))), false);
    assert_eq!(measured.losses.len(), 0, "{:?}", measured.losses);
    let opened = measured.tally.opened;
    assert!(opened >= u64::from(CONNECTIONS) + 4, "{opened}");
    assert!(seen.resumed.load(Relaxed) > 0);
    assert!(seen.farewells.load(Relaxed) > 0);
}

#[test]
fn a_body_to_the_end_is_whole_only_where_tls_says_that_it_ends() {
    let closes =
        |says| of(&Manner { closes: Some(says), ..Manner::default() }, &patient(), false).0;
    let whole = closes(true);
    assert_eq!(whole.losses.len(), 0, "{:?}", whole.losses);
    let cut = closes(false);
    assert_eq!(cut.losses.keys().collect::<Vec<_>>(), [&"half"], "it may have been cut off");
}

fn refused(scheme: &str, address: SocketAddr, options: &TlsOptions) -> String {
    match measured(&target(scheme, address, options), &patient()) {
        Err(Failure::Input(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was measured"),
    }
}

fn served(shown: &Shown) -> SocketAddr {
    serve(&config(shown, false), &Manner::default()).0
}

#[test]
fn only_a_server_that_is_believed_is_measured() {
    let [ours, others] = [(); 2].map(|()| shown(Signed::Authority));
    let address = served(&ours);
    let named = |options: TlsOptions, name: &str| TlsOptions {
        server_name: Some(name.to_string()),
        ..options
    };
    let anyone = anyone();
    for believed in [
        believing(&ours.issuer),
        believing(&format!("{}{}", others.issuer, ours.issuer)),
        named(believing(&ours.issuer), NAME),
        named(anyone.clone(), "other.test"),
        anyone,
    ] {
        measured(&target("https", address, &believed), &patient()).expect("a measurement");
    }
    let unknown = refused("https", address, &believing(&others.issuer));
    assert!(unknown.contains("ca.pem") && unknown.contains("--insecure"), "{unknown}");
    let unknown = refused("https", address, &TlsOptions::default());
    assert!(unknown.contains("to this machine: --cacert FILE"), "{unknown}");
    let misnamed = refused("https", address, &named(believing(&ours.issuer), "other.test"));
    let names = format!("not for other.test, but for {NAME}, 127.0.0.1:");
    assert!(misnamed.contains(&names), "{misnamed}");
    assert!(misnamed.contains("--server-name"), "{misnamed}");
}

#[test]
fn a_certificate_that_a_server_made_itself_is_believed_by_that_very_one() {
    let [ours, others] = [(); 2].map(|()| shown(Signed::Itself));
    let address = served(&ours);
    let own = believing(&ours.issuer);
    measured(&target("https", address, &own), &patient()).expect("a measurement");
    let unknown = refused("https", address, &believing(&others.issuer));
    assert!(unknown.contains("--insecure"), "{unknown}");
    let unknown = refused("https", address, &TlsOptions::default());
    assert!(unknown.contains("--cacert FILE"), "{unknown}");
    let misnamed = TlsOptions { server_name: Some("other.test".to_string()), ..own };
    assert!(refused("https", address, &misnamed).contains("not for other.test"));
    let old = shown(Signed::Expired);
    let expired = refused("https", served(&old), &believing(&old.issuer));
    assert!(expired.contains("has expired"), "{expired}");
}

/// A server that says something at once to each client, and then ends or is silent.
fn saying(words: &'static [u8], ends: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, words);
            if !ends {
                kept.push(stream);
            }
        }
    });
    address
}

#[test]
fn what_is_no_tls_is_told_with_what_helps() {
    let anyone = anyone();
    let plain = refused("https", saying(b"HTTP/1.1 400 Bad Request\r\n\r\n", false), &anyone);
    assert!(plain.contains("no TLS") && plain.contains("http://"), "{plain}");
    let ended = refused("rediss", saying(b"", true), &anyone);
    assert!(ended.contains("ended the connection in the TLS handshake"), "{ended}");
    let alert = refused("https", saying(&[21, 3, 3, 0, 2, 2, 112], false), &anyone);
    assert!(alert.contains("--server-name"), "{alert}");
    let silent = setup(Nanos::from_millis(300), None);
    let mute = measured(&target("https", saying(b"", false), &anyone), &silent);
    let Err(Failure::Input(mute)) = mute else { panic!("it was measured") };
    assert!(mute.contains("did not answer in the TLS handshake"), "{mute}");
    let open = Target::parse("http://127.0.0.1:1", None).expect("a target").with_tls(&anyone);
    assert!(open.expect_err("no TLS").to_string().contains("https://"));
}

#[test]
fn http2_is_spoken_only_where_the_server_says_so() {
    let anyone = anyone();
    let address = served(&shown(Signed::Authority));
    let sessions = |scheme: &str| target(scheme, address, &anyone).protocol().session().is_some();
    assert!(sessions("h2") && !sessions("https"));
    let unspoken = refused("h2", address, &anyone);
    assert!(unspoken.contains("ALPN") && unspoken.contains("https://"), "{unspoken}");
}

#[test]
fn postgresql_is_asked_first() {
    let anyone = anyone();
    let refuses = refused("postgresql+tls", saying(b"N", false), &anyone);
    assert!(refuses.contains("offers no TLS"), "{refuses}");
    let stuffed = refused("postgresql+tls", saying(b"SS", false), &anyone);
    assert!(stuffed.contains("offers no TLS"), "what comes before TLS is not believed: {stuffed}");
    let shown = shown(Signed::Authority);
    let manner = Manner { is_asked: true, ..Manner::default() };
    let address = serve(&config(&shown, false), &manner).0;
    // It is no database: its channel is there, and what it says in it is not PostgreSQL's.
    let target = target("postgresql+tls", address, &believing(&shown.issuer));
    let asked = measured(&target, &setup(Nanos::from_millis(300), None));
    let Err(Failure::Input(mute)) = asked else { panic!("it was measured") };
    assert!(mute.contains("did not answer"), "{mute}");
}

#[test]
fn a_server_that_asks_is_shown_a_certificate() {
    let [ours, client, others] = [(); 3].map(|()| shown(Signed::Authority));
    let believed = believing(&ours.issuer);
    let first = |address: SocketAddr, own: Option<&Shown>| {
        let own = own.map(|shown| {
            let (certificate, key) = &shown.server;
            Credentials::new(vec![certificate.clone()], key.clone_key()).expect("a pair")
        });
        let target = target("https", address, &TlsOptions { own, ..believed.clone() });
        first_loss(&target, &patient(), &Silent)
    };
    let refused = |address, own| match first(address, own) {
        Err(Failure::Input(why)) => why,
        other => panic!("{other:?}"),
    };
    for is_old in [false, true] {
        let asks = serve(&asking(&ours, &client.issuer, is_old), &Manner::default()).0;
        assert_eq!(first(asks, Some(&client)).expect("it is known"), None);
        let without = refused(asks, None);
        assert!(without.contains("; it asks for a certificate of the client: --cert"), "{without}");
        let unknown = refused(asks, Some(&others));
        assert!(unknown.contains("does it know the issuer?"), "{unknown}");
        let silent = serve(&config(&ours, is_old), &Manner::default()).0;
        assert_eq!(first(silent, None).expect("the control"), None);
    }
}

#[test]
fn a_certificate_has_its_own_key() {
    let [one, other] = [(); 2].map(|()| shown(Signed::Authority).server);
    let wrong = Credentials::new(vec![one.0], other.1).expect_err("another's");
    assert!(wrong.contains("not the key of the first certificate"), "{wrong}");
    let sealed =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for text in [sealed, "", "-----BEGIN PRIVATE KEY-----\n"] {
        let wrong = key(text.as_bytes()).expect_err("no key");
        assert!(wrong.contains("openssl pkey"), "{wrong}");
    }
}

#[test]
fn who_speaks_without_tls_to_a_server_that_has_it_is_told_so() {
    let address = served(&shown(Signed::Authority));
    let first = |text: &str| {
        let target = Target::parse(&format!("{text}://{address}"), None).expect("a target");
        first_loss(&target, &patient(), &Silent)
    };
    for (open, secure) in [("http", "https://"), ("redis", "rediss://"), ("memcached", "+tls://")] {
        let Err(Failure::Input(why)) = first(open) else { panic!("{open} was answered") };
        assert!(why.contains("speaks TLS") && why.contains(secure), "{why}");
    }
    // The control: one that speaks neither.
    let address = saying(b"no\r\n", false);
    let target = Target::parse(&format!("http://{address}"), None).expect("a target");
    assert!(first_loss(&target, &patient(), &Silent).expect("a loss").is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_channel_survives_any_bytes(words in prop::collection::vec(any::<u8>(), 0..200), cut: u8) {
        for scheme in ["https", "postgresql+tls"] {
            let options = anyone();
            let target = target(scheme, ([127, 0, 0, 1], 1).into(), &options);
            let mut channel = target.protocol().channel().expect("a channel");
            let (mut plain, mut wire) = (Vec::new(), Vec::new());
            channel.receive(&[], &mut plain, &mut wire).expect("it begins");
            prop_assert!(!wire.is_empty());
            let (one, other) = words.split_at(usize::from(cut).min(words.len()));
            let first = channel.receive(one, &mut plain, &mut wire);
            if first.is_ok() {
                let _ = channel.receive(other, &mut plain, &mut wire);
            }
            prop_assert!(plain.is_empty() && !channel.is_established());
        }
    }
}
